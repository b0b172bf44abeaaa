/** The one error class: a closed list of codes; the message says what happened and what to do next. */

import type { Said, Spoken } from './said.ts';

export const errorCodes = [
  'bad_setting', // the configuration does not hold; the process refuses to start
  'bad_tables', // a proof of the mapping tables failed
  'bad_request', // what a caller sent can't be understood
  'refused', // understood, and refused on purpose
  'not_found',
  'conflict', // a revision precondition failed, or the store saw a race
  'unauthorized',
  'forbidden', // known, but the role is too low
  'too_many', // wrong tokens faster than a person types them
  'store_unusable', // file foreign, newer, locked, or broken
  'store_failed', // a write could not be proved durable
  'blocked_address', // the outbound guard refused a URL
  'no_credential', // no usable merchant token is known
  'unreachable', // another service could not be reached
] as const;

export type ErrorCode = (typeof errorCodes)[number];

export class PuenteError extends Error {
  readonly code: ErrorCode;
  /** Facts for logs and answers; never a secret. */
  readonly facts: Readonly<Record<string, string | number | boolean>>;
  /** The message by its codes, sentence by sentence, to be said in another language; empty where it has none. */
  readonly said: readonly Said[];

  /** @param message a text, or sentences that make it up. @param options.between stands between two of them. */
  constructor(
    code: ErrorCode,
    message: string | Spoken | readonly Spoken[],
    options: { facts?: Record<string, string | number | boolean>; cause?: unknown; between?: string } = {},
  ) {
    const sentences = typeof message === 'string' ? [] : [message].flat();
    const text = typeof message === 'string' ? message : sentences.map((one) => one.text).join(options.between ?? ' ');
    super(text, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'PuenteError';
    this.code = code;
    this.facts = options.facts ?? {};
    this.said = sentences.map(({ said }) => said);
  }
}
