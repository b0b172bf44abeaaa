/** The one error class: a closed list of codes; the message says what happened and what to do next. */

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

// What Puente says as a code with facts, beside the English sentence: whoever shows it can say it in another
// language.

/** A sentence inside a sentence is one, too; instants are RFC 3339, under names that end in `_at`. */
export type Fact = string | number | boolean | null | readonly string[] | Sentence;

export interface Said {
  /** Of the closed list `sentences` in `locales/sentences.ts`. */
  code: string;
  facts: Readonly<Record<string, Fact>>;
}

/** What a sentence is made of, its code among it. */
export type Spoken = Sentence & { said: Said };

export interface Sentence {
  /** In English. */
  text: string;
  /** Null for a text that no code is known for: a person's own words, a table's, or an older build's. */
  said: Said | null;
}
