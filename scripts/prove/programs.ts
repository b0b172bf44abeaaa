/** The parts of the proof that are separate programs; the last output of each becomes its line in the table. */
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Part } from './part.ts';
import { runProgram } from './run-program.ts';

const HOUSE = join(import.meta.dirname, '..', '..');
const VITEST = join(HOUSE, 'node_modules', 'vitest', 'vitest.mjs');

interface Program {
  name: string;
  about: string;
  promise: string;
  what: string;
  script: string;
  file: string;
  /** Arguments; the seed is last, where there is one. */
  words: string[];
  /** Matches the result in the output, in groups. */
  result: RegExp;
}

/** A failing program prints its reason last. */
const LAST_LINES = 8;

/** Variables set by the caller win. */
const asked = (name: string, usual: number): string => process.env[name] ?? String(usual);
const drawn = (name: string): string => asked(name, randomInt(1, 1_000_000_000));

const programs = (): Program[] => [
  {
    name: 'moves',
    about: 'merchants moved to and fro at any moment, against the model of two worlds; MOVE_SEQUENCES',
    promise: 'P11',
    what: 'a move never disturbs a payment under way',
    script: 'nightly:moves',
    file: join(HOUSE, 'scripts', 'nightly-moves.ts'),
    words: ['--sequences', asked('MOVE_SEQUENCES', 100_000), '--seed', drawn('MOVE_SEED')],
    result: /^(\d+ sequences, .*)$/,
  },
  {
    name: 'coverage',
    about: 'every branch of protocol, mapping, state, money, guard and redaction has a test',
    promise: '§5.1',
    what: '100 % of the branches of the proof list are tested',
    script: 'coverage',
    file: VITEST,
    words: ['run', '--coverage', '--config', 'vitest.proof.config.ts'],
    result: /^(All files) +\| +[\d.]+ \| +([\d.]+) \|/,
  },
  {
    name: 'mutation',
    about: 'small changes of the same modules are noticed by a test; hours',
    promise: '§5.1',
    what: '85 % of the mutants of each group are killed',
    script: 'mutate',
    file: join(HOUSE, 'scripts', 'mutate.ts'),
    words: [],
    result: /^│ (?!group)(\S+) +│ +([\d.]+) /,
  },
  {
    name: 'soak',
    about: 'a mixed load of all operations with faults, then flat memory, descriptors, WAL and timers; SOAK_MINUTES',
    promise: 'P1–P6 I14',
    what: 'the invariants hold at the end, and nothing has grown',
    script: 'soak',
    file: join(HOUSE, 'scripts', 'soak.ts'),
    words: ['--minutes', asked('SOAK_MINUTES', 60), '--seed', drawn('SOAK_SEED')],
    result: /^([\d.]+ min at .*), seed/,
  },
];

export const programParts: readonly Part[] = programs().map(
  ({ name, about, promise, what, script, file, words, result }) => ({
    name,
    about,
    async run(_options, say) {
      const found: string[] = [];
      const last: string[] = [];
      const code = await runProgram([file, ...words], {}, (line) => {
        const [, ...groups] = result.exec(stripVTControlCharacters(line)) ?? [];
        if (groups.length > 0) found.push(groups.join(' '));
        last.push(line);
        last.splice(0, last.length - LAST_LINES);
        say(line);
      });
      const own = file === VITEST ? [] : words;
      const command = ['npm run', script, ...(own.length === 0 ? [] : ['--', ...own])].join(' ');
      const failures = code === 0 ? [] : [`${name} ended with ${code}\n  ${last.join('\n  ')}\n  (${command})`];
      const count = [...found, ...(own.includes('--seed') ? [`seed ${own.at(-1)}`] : [])].join('\n');
      return { lines: [{ promise, what, count, violations: failures.length }], failures, remarks: [] };
    },
  }),
);
