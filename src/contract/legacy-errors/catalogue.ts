/** What a catalogue of legacy errors is, and what every family's has. */

/** `{}` in a code or text is filled with the detail: a property name, a limit. `cause` is the number of the payments family. */
export interface LegacyErrorEntry {
  status: number;
  error: string;
  message: string;
  cause?: number;
}

/** Errors that can happen to any call, so that every family has words for them. */
const commonNames = [
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
  'unavailable',
  'outcome_unknown',
] as const;
export type CommonErrorName = (typeof commonNames)[number];
export type Catalogue = Readonly<Record<CommonErrorName, LegacyErrorEntry> & Record<string, LegacyErrorEntry>>;

/** Texts of our own, the same in every family. */
export const NOTHING_CHARGED = 'Temporarily unavailable; nothing was charged, try again';
export const NOT_REACHED = 'The payments service could not be reached; nothing was charged';
export const NO_ANSWER = 'The payments service did not answer in time; look at the payment before trying again';
