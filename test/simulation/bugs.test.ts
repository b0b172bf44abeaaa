/** The checker is checked: each seeded bug of `docs/protocol.md` §5.4 is caught, by a small plan or by the test that is there for it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Caught, catchByPlans, catchOne, judged, planFile } from './bugs/catch.ts';
import { type Bug, bugs, patched } from './bugs/list.ts';
import type { Violation } from './invariants.ts';
import { replayInProcess } from './workers.ts';

/** Only ends what hangs. */
const PATIENCE_MS = 600_000;
/** Each of these runs a seeded bug's test or plan once more; the nightly proof runs them all, a change the first ones. */
const NIGHT = process.env.NIGHT === '1';
const SOURCES = join(import.meta.dirname, '..', '..', 'src');

describe('the seeded bugs', () => {
  const results: Caught[] = [];
  let planned: Caught[];
  beforeAll(async () => {
    planned = await catchByPlans(bugs.filter(({ test }) => test === null));
  }, PATIENCE_MS);
  afterAll(() => {
    const caught = results.filter(({ by }) => by !== null);
    const lines = results.map(({ bug, by, instead }) => `  ${bug} — ${by ?? `NOT CAUGHT: ${instead}`}`);
    process.stdout.write(`seeded bugs caught: ${caught.length}/${bugs.length}\n${lines.join('\n')}\n`);
  });

  it('are the 27 of the list, the old rule of retries, one of merchant orders, three of refunds and two of ramps', () => {
    expect(bugs).toHaveLength(34);
  });

  it.each(bugs)('$name still fits the sources', ({ edits }) => {
    for (const [file, mine] of Map.groupBy(edits, (edit) => edit.file))
      expect(patched(readFileSync(join(SOURCES, file), 'utf8'), mine)).not.toBe('');
  });

  it(
    'have plans that break nothing where there is no bug',
    async () => {
      const files = bugs.filter(({ test }) => test === null).map(planFile);
      const { tally, found } = await replayInProcess(files);
      expect(found).toEqual([]);
      expect(tally.seeds).toBe(files.length);
    },
    PATIENCE_MS,
  );

  it.each(bugs)(
    '$name is caught',
    async (bug) => {
      const caught = planned.find((one) => one.bug === bug.name) ?? (await catchOne(bug));
      results.push(caught);
      expect(caught).toMatchObject({ by: expect.any(String), instead: null });
    },
    PATIENCE_MS,
  );
});

describe('a patch that is no proof of the checker', () => {
  const sync = named('NORMAL sync');
  const post = named('POST before insert');
  const tested = bugs.filter(({ test }) => test !== null);
  const settings = { file: 'store/sqlite/settings.ts', from: "['synchronous', '" };
  const opening = { file: 'proxy/sales/create.ts', from: "ports.memory.failpoint('create.before_row');" };

  it.each<[string, Bug, RegExp]>([
    ...(NIGHT ? tested : tested.slice(0, 1)).map((bug): [string, Bug, RegExp] => [
      `no edit, for ${bug.name},`,
      { ...bug, edits: [] },
      /: passed$/,
    ]),
    ['no edit, for a plan,', { ...post, edits: [] }, /^nothing was broken$/],
    ['a test of another name', { ...sync, test: { file: sync.test?.file ?? '', name: 'no such' } }, /no test .* ran$/],
    ['a syntax error', { ...sync, edits: [{ ...settings, to: "(['synchronous', '" }] }, /: broke off: /],
    [
      'code that throws',
      { ...post, edits: [{ ...opening, to: 'opening.nothing();' }] },
      /^broke off: .*ReferenceError/,
    ],
  ])(
    '%s is not caught',
    async (_name, bug, instead) => {
      expect(await catchOne(bug)).toMatchObject({ by: null, instead: expect.stringMatching(instead) });
    },
    PATIENCE_MS,
  );

  it(
    'nothing of the patch of a bug is left over for the next process, or for the next plan of its process',
    async () => {
      if (NIGHT) {
        expect((await catchOne(sync)).by).not.toBeNull();
        expect((await catchOne({ ...sync, edits: [] })).by).toBeNull();
      }
      const found = await catchByPlans([post, { ...post, edits: [] }, post]);
      expect(found.map(({ by }) => by !== null)).toEqual([true, false, true]);
      expect((await catchOne({ ...post, edits: [] })).by).toBeNull();
    },
    PATIENCE_MS,
  );

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
