/** The checker is checked: each seeded bug of `docs/protocol.md` §5.4 is caught, by a small plan or by the test that is there for it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Caught, catchByPlans, catchByTests, judged, planFile } from './bugs/catch.ts';
import { type Bug, bugs, patched } from './bugs/list.ts';
import type { Violation } from './invariants.ts';
import { rerunInProcess } from './workers.ts';

/** Only ends what hangs. */
const PATIENCE_MS = 600_000;
/** The nightly proof runs the test of each seeded bug without the bug; a change, that of the first. */
const NIGHT = process.env.NIGHT === '1';
const SOURCES = join(import.meta.dirname, '..', '..', 'src');

const sync = named('NORMAL sync');
const post = named('POST before insert');
const tested = bugs.filter(({ test }) => test !== null);
const settings = { file: 'store/sqlite/settings.ts', from: "['synchronous', '" };
const opening = { file: 'proxy/sales/create.ts', from: "ports.memory.failpoint('create.before_row');" };
const throwing = [{ ...opening, to: 'opening.nothing();' }];

/** Patches that prove nothing of the checker, and what is seen instead of a catch. */
const blanks: [what: string, Bug, instead: RegExp][] = [
  ...(NIGHT ? tested : tested.slice(0, 1)).map((bug): [string, Bug, RegExp] => [
    `no edit, for ${bug.name},`,
    { ...bug, edits: [] },
    /: passed$/,
  ]),
  ['no edit, for a plan,', { ...post, edits: [] }, /^nothing was broken$/],
  ['a test of another name', { ...sync, test: { file: sync.test?.file ?? '', name: 'no such' } }, /no test .* ran$/],
  ['a syntax error', { ...sync, edits: [{ ...settings, to: "(['synchronous', '" }] }, /: broke off: /],
  ['code that throws', { ...post, edits: throwing }, /^broke off: .*ReferenceError/],
];
/** After them all in its process. */
const postAgain = { ...post };

const caught = new Map<Bug, Caught>();
beforeAll(async () => {
  const trials = [...bugs, ...blanks.map(([, bug]) => bug), postAgain];
  const work = [
    [trials.filter(({ test }) => test === null), catchByPlans],
    [trials.filter(({ test }) => test !== null), catchByTests],
  ] as const;
  await Promise.all(
    work.map(async ([own, catchAll]) => {
      for (const [index, result] of (await catchAll(own)).entries()) caught.set(own[index] as Bug, result); // one for each
    }),
  );
}, PATIENCE_MS);

describe('the seeded bugs', () => {
  afterAll(() => {
    const results = bugs.flatMap((bug) => caught.get(bug) ?? []);
    const lines = results.map(({ bug, by, instead }) => `  ${bug} — ${by ?? `NOT CAUGHT: ${instead}`}`);
    const count = results.filter(({ by }) => by !== null).length;
    process.stdout.write(`seeded bugs caught: ${count}/${bugs.length}\n${lines.join('\n')}\n`);
  });

  it('are the 27 of the list, the old rule of retries, two of lost answers, one of merchant orders, three of refunds and five of ramps', () => {
    expect(bugs).toHaveLength(39);
  });

  it.each(bugs)('$name still fits the sources', ({ edits }) => {
    for (const [file, mine] of Map.groupBy(edits, (edit) => edit.file))
      expect(patched(readFileSync(join(SOURCES, file), 'utf8'), mine)).not.toBe('');
  });

  it(
    'have plans that break nothing where there is no bug, in a process after theirs',
    async () => {
      const files = bugs.filter(({ test }) => test === null).map(planFile);
      const { tally, found } = await rerunInProcess(files);
      expect(found).toEqual([]);
      expect(tally.seeds).toBe(files.length);
    },
    PATIENCE_MS,
  );

  it.each(bugs)('$name is caught', (bug) => {
    expect(caught.get(bug)).toMatchObject({ by: expect.any(String), instead: null });
  });
});

describe('a patch that is no proof of the checker', () => {
  it.each(blanks)('%s is not caught', (_what, bug, instead) => {
    expect(caught.get(bug)).toMatchObject({ by: null, instead: expect.stringMatching(instead) });
  });

  it('leaves nothing over for the next one of its process', () => {
    expect(caught.get(postAgain)).toMatchObject({ by: expect.any(String), instead: null });
  });

  it.each<[string, Violation[]]>([
    ['a promise that its plan does not name', [{ invariant: 'I8', text: 'another state' }]],
    ['a simulation that broke off', [{ invariant: 'run', text: 'Error: the process did not start' }]],
    ['a promise of the plan, by code that threw', [{ invariant: 'I3', text: 'call failed: TypeError: no function' }]],
  ])('%s is not caught', (_name, violations) => {
    expect(judged('its plan', [{ seed: 1, violations, small: null }], new Set(['I3', 'run'])).by).toBeNull();
  });
});

function named(name: string): Bug {
  const found = bugs.find((bug) => bug.name === name);
  if (found === undefined) throw new Error(`there is no seeded bug named ${name}`);
  return found;
}
