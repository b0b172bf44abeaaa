/** The checker is checked: each seeded bug of `reliability.md` §5.4 is caught, by a small plan or by the test that is there for it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Caught, catchByPlan, planFile } from './bugs/catch.ts';
import { bugs, patched } from './bugs/list.ts';
import { replayInProcess } from './workers.ts';

/** Only ends what hangs. */
const PATIENCE_MS = 600_000;
const SOURCES = join(import.meta.dirname, '..', '..', 'src');

describe('the seeded bugs', () => {
  const results: Caught[] = [];
  afterAll(() => {
    const caught = results.filter(({ by }) => by !== null);
    const lines = results.map(({ bug, by }) => `  ${bug} — ${by ?? 'NOT CAUGHT'}`);
    process.stdout.write(`seeded bugs caught: ${caught.length}/${bugs.length}\n${lines.join('\n')}\n`);
  });

  it('are the 27 of the list', () => {
    expect(bugs).toHaveLength(27);
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
      const caught = await catchByPlan(bug);
      results.push(caught);
      expect(caught.by).not.toBeNull();
    },
    PATIENCE_MS,
  );
});
