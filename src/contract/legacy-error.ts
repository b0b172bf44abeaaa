/** The form of a catalogue of legacy errors, and the errors that every family has. */

/** The detail, a property name or a limit, replaces `{}` in code and text. `cause` is the payments family's number. */
export interface LegacyErrorEntry {
  status: number;
  error: string;
  message: string;
  cause?: number;
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
] as const;
export type CommonErrorName = (typeof commonNames)[number];
export type Catalogue = Readonly<Record<CommonErrorName, LegacyErrorEntry> & Record<string, LegacyErrorEntry>>;

const NOTHING_CHARGED = 'Temporarily unavailable; nothing was charged, try again';
const NOT_REACHED = 'The payments service could not be reached; nothing was charged';
const NOT_YET = 'The payments service can not do this yet; nothing was changed, try again in a moment';
/** True of each call with an effect: a repetition is answered with the first outcome (`docs/protocol.md` §3.9). */
const NO_ANSWER =
  'The payments service did not answer in time; the same request can safely be sent again and is not carried out twice';
const BAD_ANSWER = 'The answer of the payments service can not be read; look at the payment before trying again';

/** Errors of the door itself; the texts are Puente's. */
export const doorErrors = {
  action_not_supported: { status: 404, error: 'not_found', message: 'Action not supported' },
  too_large: { status: 413, error: 'request_too_large', message: 'Request body is too large' },
  unsupported_media: { status: 415, error: 'unsupported_media_type', message: 'Content type is not supported' },
  too_many_requests: { status: 429, error: 'too_many_requests', message: 'Too many requests' },
  bad_gateway: { status: 502, error: 'bad_gateway', message: NOT_REACHED },
  not_yet: { status: 503, error: 'service_unavailable', message: NOT_YET },
  bad_answer: { status: 502, error: 'bad_gateway', message: BAD_ANSWER },
  unavailable: { status: 503, error: 'service_unavailable', message: NOTHING_CHARGED },
  outcome_unknown: { status: 504, error: 'gateway_timeout', message: NO_ANSWER },
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
