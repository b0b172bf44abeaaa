/** The record of the demonstration: lines for people, and every check with its values. */
import { isDeepStrictEqual } from 'node:util';

/**
 * `clock`: time passes; `trade`: a summary of the tills' sales; `sent` and `answered`: one till's calls; `person`: an
 * act at a terminal or code; `office` and `said`: an operator's call and its answer; `found`: an observation.
 */
type Kind = 'scene' | 'clock' | 'trade' | 'sent' | 'answered' | 'person' | 'notice' | 'office' | 'said' | 'found';

export interface Transcript {
  tell(kind: Kind, text: string): void;
  /** Records a check: whether `found` equals `expected`. */
  expect(what: string, found: unknown, expected: unknown): void;
  /** Whether every check held. */
  holds(): boolean;
}

/** @param show gets every line as it happens. */
export function createTranscript(show: (line: string) => void, colours: boolean): Transcript {
  const paint = (colour: keyof typeof COLOURS, plain: string): string =>
    colours ? `\u001b[${COLOURS[colour]}m${plain}\u001b[0m` : plain;
  let all_hold = true;
  return {
    tell: (kind, text) => show(kind === 'scene' ? `\n${paint('strong', text)}` : paint('faint', MARKS[kind]) + text),
    expect(what, found, expected) {
      const holds = isDeepStrictEqual(found, expected);
      const text = holds ? what : `${what}: found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`;
      show(`  ${holds ? paint('good', `✓ ${text}`) : paint('bad', `✗ ${text}`)}`);
      all_hold &&= holds;
    },
    holds: () => all_hold,
  };
}

const MARKS: Readonly<Record<Exclude<Kind, 'scene'>, string>> = {
  clock: '  clock   » ',
  trade: '  tills   · ',
  sent: '  till    → ',
  answered: '          ← ',
  person: '  person  · ',
  notice: '  notice  ← ',
  office: '  office  → ',
  said: '          ← ',
  found: '  found   = ',
};

const COLOURS = { strong: 1, faint: 2, bad: 31, good: 32 } as const;
