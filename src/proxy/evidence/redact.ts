/** Redacts messages before they are stored; what a replay needs stays (`test/faults/README.md` F133, F134). */
import { createHash } from 'node:crypto';
import { isExactNumber, parseJson, stringifyJson } from '../../contract/json.ts';
import type { Loss } from '../../mapping/tables.ts';
import { MASK, maskCards, maskText } from './redact-text.ts';

/** Redacts by an allow-list: ids, amounts and references stay; of URLs the origin; of headers not listed the name. */
export function redactMessages({ request, answer, upstream }: CapturedMessages): CapturedMessages {
  return {
    request: {
      method: redactMethod(request.method),
      target: redactTarget(request.target),
      headers: redactHeaders(request.headers),
      body: redactValue(request.body),
    },
    answer: { status: answer.status, headers: redactHeaders(answer.headers), body: redactValue(answer.body) },
    upstream: upstream.map((call) => ({
      method: redactMethod(call.method),
      path: redactTarget(call.path),
      body: redactValue(call.body),
      status: call.status,
      answer: redactValue(call.answer),
    })),
  };
}

/** A copy of parsed JSON without secrets and personal data, for storage and logs. */
export function redactValue(value: unknown): unknown {
  return walk(value, TOP);
}

/** For the name of an unknown header, field or endpoint, which may contain anything. */
export function redactName(name: string): string {
  return maskText(name, false);
}

/** Longest stored name of an unknown field, and longest sentence with it. */
const MAX_NAME = 200;
const MAX_WHY = MAX_NAME + 50;

/** Losses of unknown fields contain the till's own names, which are redacted. */
export function redactLosses(losses: readonly Loss[]): Loss[] {
  return losses.map((loss) =>
    loss.unknown === true ? { ...loss, path: keptText(loss.path, MAX_NAME), why: keptText(loss.why, MAX_WHY) } : loss,
  );
}

/** Masked, cut to `longest`, and well-formed: a store can't hold half of a surrogate pair. */
export function keptText(text: string, longest: number): string {
  return redactName(text).slice(0, longest).toWellFormed();
}

/** A place in a value; `kind` follows from its name and the object around it. */
interface Place {
  name: string;
  kind: NameKind;
  depth: number;
}

const TOP: Place = { name: '', kind: 'plain', depth: 0 };
/** The parser accepts 32 levels, and in a line of a capture a body is four levels down. */
const MAX_DEPTH = 26;
/** Longer than any field of either API; longer texts are pages of HTML and are cut after masking. */
const MAX_TEXT = 16_384;

function walk(value: unknown, place: Place): unknown {
  if (value === null || value === undefined || typeof value === 'boolean') return value;
  if (place.depth > MAX_DEPTH) return MASK;
  if (typeof value === 'string') return redactText(value, place);
  if (typeof value === 'number' || typeof value === 'bigint' || isExactNumber(value)) return redactNumber(value, place);
  if (Array.isArray(value)) return value.map((one) => walk(one, { ...place, depth: place.depth + 1 }));
  if (typeof value !== 'object') return MASK;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => {
      const kind = kindOfName(key, place.kind);
      return [maskText(key, false), walk(one, { name: key, kind, depth: place.depth + 1 })];
    }),
  );
}

function redactNumber(value: unknown, { name, kind }: Place): unknown {
  if (kind !== 'plain' && kind !== 'id' && kind !== 'url') return MASK;
  const text = String(value);
  const masked = maskCards(text, kind === 'id' || isOpaqueFine(name));
  return masked === text ? value : masked;
}

function redactText(text: string, place: Place): string {
  if (text === '') return text;
  if (place.kind === 'url') return originOnly(text);
  if (place.kind !== 'plain' && place.kind !== 'id') return MASK;
  const inside = jsonInside(text); // a text may be JSON too
  if (inside !== null) return stringifyJson(walk(inside, { ...place, depth: place.depth + 1 }));
  const masked = maskText(text, isOpaqueFine(place.name));
  return masked.length > MAX_TEXT ? `${masked.slice(0, MAX_TEXT)}…` : masked;
}

/** The JSON object or list in a text; null for any other text. */
function jsonInside(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return null;
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

/** Tills also write addresses without a scheme (`docs/field-notes.md` QR §1.1). */
function originOnly(text: string): string {
  const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`;
  const url = URL.canParse(whole) ? new URL(whole) : null;
  if (url === null || url.host === '') return MASK;
  const origin = whole === text ? `${url.protocol}//${url.host}/` : `${url.host}/`;
  return maskText(origin, false);
}

/** Headers kept with masked values: those that the tables read, and those that identify the client. */
const KEPT_HEADERS = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'content-length',
  'content-type',
  'retry-after',
  'user-agent',
  'x-corporation-id',
  'x-integrator-id',
  'x-platform-id',
  'x-product-id',
  'x-test-scope',
  'x-tracking-id',
  'x-ttl-store-preference',
]);
const HEADER_NAME = /^[a-z0-9-]{1,64}$/;

function redactHeaders(headers: Record<string, string>): Record<string, string> {
  const kept: [string, string][] = [];
  for (const [written, value] of Object.entries(headers)) {
    const name = written.toLowerCase();
    if (!HEADER_NAME.test(name) || kindOfName(name, 'plain') === 'secret' || maskText(name, false) !== name) continue;
    if (name === 'x-idempotency-key') kept.push([name, keyMark(value)]);
    else kept.push([name, KEPT_HEADERS.has(name) ? maskText(value, true) : MASK]);
  }
  return Object.fromEntries(kept);
}

/** Distinguishes keys; too short to find a key or card number by brute force. */
function keyMark(key: string): string {
  return /^key-[0-9a-f]{8}$/.test(key) ? key : `key-${createHash('sha256').update(key).digest('hex').slice(0, 8)}`;
}

function redactMethod(method: string): string {
  return /^[A-Za-z]{1,10}$/.test(method) ? method : MASK;
}

/** Path and query; a token in the query is left out, name included. */
function redactTarget(target: string): string {
  const [path = '', ...rest] = target.split('?');
  const clean = path
    .split('/')
    .map((segment) => maskText(segment, false))
    .join('/');
  const pairs = rest
    .join('?')
    .split('&')
    .flatMap((pair) => redactPair(pair));
  return pairs.length === 0 ? clean : `${clean}?${pairs.join('&')}`;
}

function redactPair(pair: string): string[] {
  if (pair === '') return [];
  const [written = '', ...rest] = pair.split('=');
  const name = maskText(decoded(written), false);
  const kind = kindOfName(name, 'plain');
  if (kind === 'secret') return [];
  if (rest.length === 0) return [name === decoded(written) ? written : encodeURIComponent(name)];
  const value = rest.join('=');
  const plain = decoded(value.replaceAll('+', ' '));
  const masked = redactText(plain, { name, kind, depth: 0 });
  return [`${encodeURIComponent(name)}=${masked === plain ? value : encodeURIComponent(masked)}`];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What a name says about its value. `id`: kept. `url`: origin kept. `plain`: searched for secrets. Others: masked. */
export type NameKind = 'plain' | 'id' | 'url' | 'secret' | 'card' | 'person' | 'contact';

/** @param around kind of the object that has the field: everything inside a person is about the person. */
export function kindOfName(name: string, around: NameKind): NameKind {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  if (SECRETS.test(plain) || SECRET_WORDS.has(plain)) return 'secret';
  if (around === 'secret' || around === 'contact') return around;
  if (CARDS.has(plain)) return 'card';
  if (CONTACTS.test(plain) || CONTACT_WORDS.has(plain)) return 'contact';
  // A replay and reconciliation need a payer's id and type, which identify no person.
  if (around === 'person') return FACTS_OF_A_PERSON.has(plain) ? 'id' : 'person';
  if (PEOPLE.has(plain)) return 'person';
  if (around === 'url' || URLS.test(plain)) return 'url';
  return IDS.test(name) ? 'id' : 'plain';
}

/** True for a name whose long runs of letters and digits are ids or references, not keys. */
export function isOpaqueFine(name: string): boolean {
  return IDS.test(name) || REFERENCES.test(name);
}

const SECRETS =
  /token|secret|passw|senha|authoriz|apikey|accesskey|privatekey|publickey|signature|cookie|session|credential|securitycode|hmac|bearer/;
const SECRET_WORDS = new Set(['auth', 'cvc', 'cvv', 'cvv2', 'jwt', 'pin', 'pwd', 'sign']);

const CARDS = new Set(['cardnumber', 'pan', 'track1', 'track2', 'trackdata']);

const CONTACTS =
  /mail|phone|telefono|telefone|celular|whatsapp|^(?:doc|document|identification|identificacion)(?:number|numero)?$/;
const CONTACT_WORDS = new Set(['ci', 'cnpj', 'cpf', 'cuil', 'cuit', 'curp', 'dni', 'rfc', 'rut', 'taxid']);

const PEOPLE = new Set([
  'buyer',
  'buyername',
  'cardholder',
  'cardholdername',
  'customer',
  'customername',
  'firstname',
  'fullname',
  'holder',
  'holdername',
  'lastname',
  'payer',
  'payername',
  'receiveraddress',
  'shopper',
  'surname',
]);
const FACTS_OF_A_PERSON = new Set(['id', 'type', 'entitytype', 'operatorid']);

const URLS = /ur[li]s?$|^(?:backurls|callback|href|initpoint|link|redirect|webhook)$/;

/** `id`, `order_id`, `ids`, and `order-id` as headers spell it. */
const IDS = /^(?:id|ids)$|[_-]ids?$|[a-z]Ids?$/;
const REFERENCES = /reference|^(?:collection|device|preference|sku_number|external_code|terminal)$/;

/** The messages of an exchange, redacted when captured; bodies are parsed JSON, or text. */
export interface CapturedMessages {
  request: { method: string; target: string; headers: Record<string, string>; body: unknown };
  answer: { status: number; headers: Record<string, string>; body: unknown };
  /** Calls to the orders API; the would-be call of a shadow has no answer. */
  upstream: { method: string; path: string; body: unknown; status: number | null; answer: unknown }[];
}
