/** Secrets: a value that can't be printed, and the vault, which seals values at rest and makes keyed fingerprints. */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomUUID,
  scryptSync,
} from 'node:crypto';
import { inspect } from 'node:util';
import { PuenteError } from '../error.ts';
import { showsSecret } from './evidence/redact-text.ts';

/** A value that can't be printed by accident: every conversion to text, JSON or a debug dump gives `[secret]`. */
export class Secret {
  readonly #value: string;
  #known: { by: object; text: string } | null = null;

  /** @param value in clear; kept in memory only. */
  constructor(value: string) {
    this.#value = value;
    Object.freeze(this);
  }

  /** The clear value; only for bytes that leave the process or are sealed. */
  reveal(): string {
    return this.#value;
  }

  /** `make` of the clear value, cached for the last `by`; not in a WeakMap, which outlives young collections. */
  once(by: object, make: (value: string) => string): string {
    if (this.#known?.by !== by) this.#known = { by, text: make(this.#value) };
    return this.#known.text;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [Symbol.toPrimitive](): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}

// The vault: seals and opens values, and makes keyed fingerprints, all under one installation key.

/** First byte of every sealed value, for later forms. */
const VERSION = 1;
/** The nonce size of AES-GCM; random ones are safe for 2^32 values under one key. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
/** A shorter passphrase is more likely a word than a secret. */
const MIN_PASSPHRASE_CHARACTERS = 32;

/** Seals values at rest and recognises secrets, under one installation key. */
export interface Vault {
  /** Version byte, nonce, ciphertext, tag. A value sealed for one purpose can't be opened for another. */
  seal(value: string | Uint8Array, purpose: string): Uint8Array;
  /** @throws PuenteError store_unusable for another key or changed bytes. */
  open(sealed: Uint8Array, purpose: string): Buffer;
  /** HMAC-SHA256 of a secret, hex: recognises a token without storing it. Computed once for each object. */
  fingerprint(secret: Secret): string;
  /** HMAC-SHA256 of any text under the purpose's own key, hex. */
  keyed(purpose: string, text: string): string;
  /** The key that covers texts in the store (`Cover`); other threads get it too. */
  coverKey(): KeyObject;
}

/**
 * Makes the vault from the key: 32 bytes as hex or base64, or a passphrase of at least 32 characters.
 * @throws PuenteError bad_setting for any other text (`docs/architecture.md` Decision 9).
 */
export function createVault(key: Secret): Vault {
  const root = readKey(key.reveal().trim());
  const subkeys = new Map<string, KeyObject>();
  const subkey = (label: string): KeyObject => {
    const known = subkeys.get(label);
    if (known !== undefined) return known;
    // A key object is prepared once; raw bytes, copied and checked on every use, cost four times the work.
    const made = createSecretKey(Buffer.from(hkdfSync('sha256', root, 'puente', label, KEY_BYTES)));
    subkeys.set(label, made);
    return made;
  };
  const keyed = (label: string, text: string): string => createHmac('sha256', subkey(label)).update(text).digest('hex');
  return {
    seal: (value, purpose) => seal(subkey(`seal:${purpose}`), value, purpose),
    open: (sealed, purpose) => open(subkey(`seal:${purpose}`), sealed, purpose),
    fingerprint: (secret) => secret.once(subkeys, (value) => keyed('fingerprint', value)),
    keyed: (purpose, text) => keyed(`keyed:${purpose}`, text),
    coverKey: () => subkey('cover'),
  };
}

function readKey(text: string): Buffer {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return Buffer.from(text, 'base64');
  if (text.length < MIN_PASSPHRASE_CHARACTERS) {
    throw new PuenteError(
      'bad_setting',
      `PUENTE_SECRET_KEY must be 32 bytes as hex or base64, or a passphrase of at least ${MIN_PASSPHRASE_CHARACTERS} characters. Make one with: openssl rand -base64 32`,
    );
  }
  // Scrypt makes guessing expensive. The salt is fixed: every start must derive the same key without stored data.
  return scryptSync(text, 'puente passphrase', KEY_BYTES);
}

/** The nonce is no parameter, because a nonce used twice reveals the content. */
function seal(key: KeyObject, value: string | Uint8Array, purpose: string): Uint8Array {
  const nonce = freshNonce();
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(boundText(purpose));
  const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
  return Buffer.concat([Buffer.of(VERSION), nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/** The 12 bytes of a v4 UUID that are all random: Node keeps them in store, and a request for 12 costs ten times as much. */
function freshNonce(): Buffer {
  const uuid = randomUUID();
  return Buffer.from(uuid.slice(0, 8) + uuid.slice(9, 13) + uuid.slice(24), 'hex');
}

function open(key: KeyObject, sealed: Uint8Array, purpose: string): Buffer {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  if (bytes.length < 1 + NONCE_BYTES + TAG_BYTES || bytes[0] !== VERSION) throw unusable(purpose);
  const tag = bytes.subarray(bytes.length - TAG_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(1, 1 + NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(boundText(purpose));
  decipher.setAuthTag(tag);
  const clear = decipher.update(bytes.subarray(1 + NONCE_BYTES, bytes.length - TAG_BYTES));
  try {
    return Buffer.concat([clear, decipher.final()]);
  } catch (cause) {
    throw unusable(purpose, cause);
  }
}

function boundText(purpose: string): Buffer {
  return Buffer.from(`puente ${VERSION} ${purpose}`, 'utf8');
}

function unusable(purpose: string, cause?: unknown): PuenteError {
  return new PuenteError(
    'store_unusable',
    `A sealed value (${purpose}) can't be opened: PUENTE_SECRET_KEY is not the key it was sealed with, or the stored bytes were changed. Start again with the key that was used before.`,
    { facts: { purpose }, cause },
  );
}

// The cover seals stored texts with a card number or token; they can still be looked up (`test/faults/README.md` F134).

/** Start of a covered text; a till's text with this start is covered too, so that the two differ. */
const MARK = '~covered1:';
/** A covered order is still JSON, because the store reads its status. */
const ORDER_MARK = `{"covered":"${MARK}`;
/** Longer than tills' texts; searching a text as long as a body would delay the commits of others. */
const LONGEST_READ = 1_024;

/** Encrypts texts of tills that show a card number or a token, so that equal texts can still be found. */
export interface Cover {
  /** The text, or its covered form. Equal texts have equal forms, so that a row is found by either. */
  text(text: string): string;
  /** The same for the JSON text of an order, whose `status` stays readable. */
  order(json: string): string;
  /** The covered text; other text unchanged. @throws PuenteError store_unusable for another key or changed bytes. */
  open(stored: string): string;
}

/** Stores and reads every text as it is: for a store without a key. */
export const noCover: Cover = { text: (text) => text, order: (json) => json, open: (stored) => stored };

/** @param key the installation's key for this purpose (`coverKey`). */
export function createCover(key: KeyObject): Cover {
  const sealing = derived(key, 'cover seal');
  const nonces = derived(key, 'cover nonce');
  const seal = (text: string): string => MARK + sealed(sealing, nonces, text);
  const covers = (text: string): boolean => text.length > LONGEST_READ || text.startsWith(MARK) || showsSecret(text);
  const unseal = (text: string): string => opened(sealing, text.slice(MARK.length));
  return {
    text: (text) => (covers(text) ? seal(text) : text),
    order: (json) => {
      if (!json.startsWith(ORDER_MARK) && !showsSecret(json)) return json;
      return JSON.stringify({ covered: seal(json), status: statusOf(json) });
    },
    open: (stored) => {
      if (stored.startsWith(MARK)) return unseal(stored);
      if (!stored.startsWith(ORDER_MARK)) return stored;
      const { covered } = JSON.parse(stored) as { covered: string }; // written above: an order that begins so is covered
      return unseal(covered);
    },
  };
}

function derived(key: KeyObject, label: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, 'puente', label, KEY_BYTES)));
}

/** AES-256-GCM; the nonce is a keyed hash of the text: equal texts share one, which reveals only their equality. */
function sealed(sealing: KeyObject, nonces: KeyObject, text: string): string {
  const nonce = createHmac('sha256', nonces).update(text).digest().subarray(0, NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', sealing, nonce, { authTagLength: TAG_BYTES });
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64');
}

function opened(sealing: KeyObject, base64: string): string {
  const bytes = Buffer.from(base64, 'base64');
  try {
    const options = { authTagLength: TAG_BYTES };
    const decipher = createDecipheriv('aes-256-gcm', sealing, bytes.subarray(0, NONCE_BYTES), options);
    decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
    const clear = decipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES));
    return Buffer.concat([clear, decipher.final()]).toString('utf8');
  } catch (cause) {
    throw new PuenteError(
      'store_unusable',
      "A covered text can't be opened: PUENTE_SECRET_KEY is not the key it was covered with, or the stored bytes were changed. Start again with the key that was used before.",
      { cause },
    );
  }
}

function statusOf(json: string): unknown {
  const order: unknown = JSON.parse(json);
  return typeof order === 'object' && order !== null && 'status' in order ? order.status : null;
}
