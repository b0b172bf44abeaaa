/** The form of a catalogue of legacy errors, and the errors that every family has. */

/** The detail, a property name or a limit, replaces `{}` in code and text. `cause` is the payments family's number. */
export interface LegacyErrorEntry {
  status: number;
  error: string;
  message: string;
  cause?: number;
}

/** A row of a catalogue; `cause` only in families whose clients compare that number. */
export function answered(status: number, error: string, message: string, cause?: number): LegacyErrorEntry {
  return { status, error, message, ...(cause === undefined ? {} : { cause }) };
}

/** Errors of any call: every family has texts for them. */
const commonNames = [
  'action_not_supported',
  'bad_json',
  'bad_request',
  'missing_property',
  'invalid_property',
  'additional_property',
  'amount_minimum',
  'amount_maximum',
  'unauthorized',
  'forbidden',
  'too_large',
  'unsupported_media',
  'too_many_requests',
  'internal',
  'bad_gateway',
  'not_yet',
  'bad_answer',
  'unavailable',
  'outcome_unknown',
  'no_answer',
] as const;
export type CommonErrorName = (typeof commonNames)[number];
export type Catalogue = Readonly<Record<CommonErrorName, LegacyErrorEntry> & Record<string, LegacyErrorEntry>>;

const NOTHING_CHARGED = 'Temporarily unavailable; nothing was charged, try again';
const NOT_REACHED = 'The payments service could not be reached; nothing was charged';
const NOT_YET = 'The payments service can not do this yet; nothing was changed, try again in a moment';
/** True of each call with an effect on orders: a repetition is answered with the first outcome (`docs/protocol.md` §3.9). */
const SAFE_TO_REPEAT =
  'The payments service did not answer in time; the same request can safely be sent again and is not carried out twice';
/** Without an idempotency key legacy knows no repetition: it makes a sale or a refund again. */
const NO_ANSWER = 'The payments service did not answer in time; look at the payment before trying again';
const BAD_ANSWER = 'The answer of the payments service can not be read; look at the payment before trying again';

/** Errors of the door itself; the texts are Puente's. */
export const doorErrors = {
  action_not_supported: answered(404, 'not_found', 'Action not supported'),
  too_large: answered(413, 'request_too_large', 'Request body is too large'),
  unsupported_media: answered(415, 'unsupported_media_type', 'Content type is not supported'),
  too_many_requests: answered(429, 'too_many_requests', 'Too many requests'),
  bad_gateway: answered(502, 'bad_gateway', NOT_REACHED),
  not_yet: answered(503, 'service_unavailable', NOT_YET),
  bad_answer: answered(502, 'bad_gateway', BAD_ANSWER),
  unavailable: answered(503, 'service_unavailable', NOTHING_CHARGED),
  outcome_unknown: answered(504, 'gateway_timeout', SAFE_TO_REPEAT),
  no_answer: answered(504, 'gateway_timeout', NO_ANSWER),
} as const;

// Properties as the errors of the in-store families name them: in their codes, and in their texts.

/** A property in the code and in the text of a refusal: v1 has one code for all of `items`; no text has an index. */
export function namesOf(family: string, detail: string): { code: string; text: string } {
  const isProperty = /^[A-Za-z_]/.test(detail);
  if (!isProperty || (family !== 'qr' && family !== 'qr_v1')) return { code: detail, text: detail };
  const name = detail.replaceAll(/\[\d*\]/g, '');
  const parts = name.split('.');
  if (family === 'qr_v1') return { code: parts[0] ?? name, text: parts.at(-1) ?? name };
  const own = ownNames[name] ?? name;
  return { code: own, text: own };
}

/** Properties that the reference names differently from the request (`docs/field-notes.md` QR §1.2 errors). */
const ownNames: Readonly<Record<string, string>> = {
  'items.unit_measure': 'unit_measure',
  'items.quantity': 'quantity',
  'items.unit_price': 'unit_price',
  external_pos_id: 'externalPosId',
  user_id: 'collectorId',
};
