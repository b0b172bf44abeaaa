/** The record of the demonstration: lines for people, the same as data, and every check with its values. */
import { isDeepStrictEqual } from 'node:util';

/**
 * `clock`: time passes; `trade`: a summary of the tills' sales; `sent` and `answered`: one till's calls; `person`: an
 * act at a terminal or code; `office` and `said`: an operator's call and its answer; `found`: an observation.
 */
type Kind =
  | 'scene'
  | 'clock'
  | 'trade'
  | 'sent'
  | 'answered'
  | 'person'
  | 'notice'
  | 'office'
  | 'said'
  | 'found'
  | 'check';

interface Entry {
  kind: Kind;
  text: string;
  data?: unknown;
  holds?: boolean;
}

export interface Transcript {
  tell(kind: Exclude<Kind, 'check'>, text: string, data?: unknown): void;
  /** Records a check: whether `found` equals `expected`. */
  expect(what: string, found: unknown, expected: unknown): void;
  entries(): readonly Entry[];
  holds(): boolean;
}

/** @param show gets every line as it happens. */
export function createTranscript(show: (line: string) => void, colours: boolean): Transcript {
  const entries: Entry[] = [];
  const add = (entry: Entry): void => {
    entries.push(entry);
    show(render(entry, colours));
  };
  return {
    tell: (kind, text, data) => add({ kind, text, ...(data === undefined ? {} : { data }) }),
    expect(what, found, expected) {
      const holds = isDeepStrictEqual(found, expected);
      const text = holds ? what : `${what}: found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`;
      add({ kind: 'check', text, data: { found, expected }, holds });
    },
    entries: () => entries,
    holds: () => entries.every(({ holds }) => holds !== false),
  };
}

const MARKS: Readonly<Record<Kind, string>> = {
  scene: '',
  clock: '  clock   » ',
  trade: '  tills   · ',
  sent: '  till    → ',
  answered: '          ← ',
  person: '  person  · ',
  notice: '  notice  ← ',
  office: '  office  → ',
  said: '          ← ',
  found: '  found   = ',
  check: '  ',
};

const COLOURS = { strong: 1, faint: 2, bad: 31, good: 32 } as const;

function render({ kind, text, holds }: Entry, colours: boolean): string {
  const paint = (colour: keyof typeof COLOURS, plain: string): string =>
    colours ? `\u001b[${COLOURS[colour]}m${plain}\u001b[0m` : plain;
  if (kind === 'scene') return `\n${paint('strong', text)}`;
  if (kind === 'check') return MARKS.check + (holds ? paint('good', `✓ ${text}`) : paint('bad', `✗ ${text}`));
  return paint('faint', MARKS[kind]) + text;
}
