/** The one error class: a closed list of codes; the message says what happened and what to do next. */

export const errorCodes = [
  'bad_setting', // the configuration is invalid; the process refuses to start
  'bad_tables', // a proof of the mapping tables failed
  'bad_request', // a request that can't be understood
  'refused', // understood, and refused on purpose
  'not_found',
  'conflict', // a revision precondition failed, or the store saw a race
  'unauthorized',
  'forbidden', // known, but the role is too low
  'too_many', // wrong tokens faster than a person types them
  'store_unusable', // file foreign, newer, locked, or broken
  'store_failed', // a write failed or could not be proved durable
  'blocked_address', // the outbound guard refused a URL
  'no_credential', // no usable merchant token is known
  'unreachable', // another service could not be reached
] as const;

export type ErrorCode = (typeof errorCodes)[number];

export class PuenteError extends Error {
  readonly code: ErrorCode;
  /** Facts for logs and answers; never a secret. */
  readonly facts: Readonly<Record<string, string | number | boolean>>;
  /** The message by its codes, one per sentence, for other languages; empty without codes. */
  readonly said: readonly Said[];
  /** Separates two sentences of the message, in each language. */
  readonly between: string;

  /** @param message a text, or its sentences. */
  constructor(
    code: ErrorCode,
    message: string | Spoken | readonly Spoken[],
    options: { facts?: Record<string, string | number | boolean>; cause?: unknown; between?: string } = {},
  ) {
    const { between = ' ' } = options;
    const sentences = typeof message === 'string' ? [] : [message].flat();
    const text = typeof message === 'string' ? message : sentences.map((one) => one.text).join(between);
    super(text, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'PuenteError';
    this.code = code;
    this.facts = options.facts ?? {};
    this.said = sentences.map(({ said }) => said);
    this.between = between;
  }
}

// Messages: a code with facts. `src/locales` makes their text in the language of the reader.

/** Messages may be nested; instants are RFC 3339, under names in `_at`; a record has a text for each language. */
export type Fact =
  | string
  | number
  | boolean
  | null
  | readonly string[]
  | Sentence
  | Readonly<Record<'en' | 'es' | 'pt', string>>;

export interface Said {
  /** A key of `messages` in `src/locales/en.json`. */
  code: string;
  facts: Readonly<Record<string, Fact>>;
}

export type Spoken = Sentence & { said: Said };

export interface Sentence {
  /** In English. */
  readonly text: string;
  /** Null for a text without a code: a person's own words, or those of a table. */
  said: Said | null;
}

/** The message of the PuenteError that this throws; null when it throws nothing. Other errors pass. */
export function complaintOf(attempt: () => unknown): string | null {
  try {
    attempt();
    return null;
  } catch (error) {
    if (error instanceof PuenteError) return error.message;
    throw error;
  }
}

/** Node's code of an error, such as `ENOENT`. */
export function codeOf(error: unknown, otherwise = 'unknown'): string {
  return error instanceof Error && 'code' in error ? String(error.code) : otherwise;
}
