/** Every failpoint of the sources is in the plan, with the promised number of kills (`docs/protocol.md` §5.1). */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { failpoints } from '../../src/proxy/process-memory.ts';
import { ROOT } from './child.ts';
import { OUTSIDE, PLAN, REPEATS } from './plan.ts';

const PASSED = /failpoint\('([a-z_.]+)'\)/g;
/** Points of commands beside a stopped server: test/faults/storage-backup and test/store/postgres/transfer. */
const OF_COMMANDS = /^(?:restore|transfer)\./;

function pointsOfSources(): Set<string> {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
  const texts = files
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(ROOT, 'src', file), 'utf8'));
  return new Set(
    texts
      .flatMap((text) => [...text.matchAll(PASSED)].map((match) => match[1] ?? ''))
      .filter((point) => !OF_COMMANDS.test(point)),
  );
}

it('the closed list has the points of the sources and no other', () => {
  expect(failpoints.filter((point) => !OF_COMMANDS.test(point)).sort()).toEqual([...pointsOfSources()].sort());
});

it('every named point is in the plan of a chain, and each gets its kills [F33]', () => {
  const planned = Map.groupBy(
    Object.values(PLAN)
      .flat()
      .filter((point) => point !== OUTSIDE),
    (point) => point,
  );
  expect([...planned.keys()].sort()).toEqual([...pointsOfSources()].sort());
  expect(planned.size).toBeGreaterThanOrEqual(25);
  for (const [point, kills] of planned) expect(kills.length, point).toBeGreaterThanOrEqual(REPEATS);
});
