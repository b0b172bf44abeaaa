/** Covers a till's own text where it is kept: what shows a card number or a token, or is long, is sealed, and can still be looked up (`test/faults/README.md` F134). */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { PuenteError } from '../error.ts';
import { showsSecret } from './evidence/redact-text.ts';

/** What a covered text begins with; a text of a till that begins so is covered too, so that the two can't be mixed up. */
const MARK = '~covered1:';
/** A covered order is JSON still: the store looks at its status. */
const ORDER_MARK = `{"covered":"${MARK}`;
/** The nonce size AES-GCM is defined for. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
/** Longer than what tills write; looking through as much as a body holds would keep the commits of others waiting. */
const LONGEST_READ = 1_024;

export interface Cover {
  /** The text itself, or its covered form. Equal texts have equal forms, so that a row is found by either. */
  text(text: string): string;
  /** The same for the JSON text of an order, whose `status` stays readable. */
  order(json: string): string;
  /** What was covered; any other text as it is. @throws PuenteError store_unusable for another key or changed bytes. */
  open(stored: string): string;
}

/** Covers nothing: for files that have no key. */
export const noCover: Cover = { text: (text) => text, order: (json) => json, open: (stored) => stored };

/** @param key of the installation, for this purpose alone; a thread of its own can be handed it. */
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
      const { covered } = JSON.parse(stored) as { covered: string }; // this file wrote it: an order that begins so is covered
      return unseal(covered);
    },
  };
}

function derived(key: KeyObject, label: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, 'puente', label, KEY_BYTES)));
}

/**
 * AES-256-GCM whose nonce is made of the text under a key of its own: a nonce comes twice for the same text alone, which
 * then gives nothing away but that it is the same.
 */
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
