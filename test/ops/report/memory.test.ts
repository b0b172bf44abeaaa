/** Exchanges summed in a heap too small for a quarter of them; `npm run nightly:report` sums a million in SQLite. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/** A quarter of the exchanges needs more: unless they are summed page by page, the child process runs out of memory. */
const HEAP_MB = 32;

it('the sums of a million calls are right, from a heap that could not hold the calls [F130]', () => {
  const child = spawnSync(
    process.execPath,
    [`--max-old-space-size=${HEAP_MB}`, join(import.meta.dirname, 'memory-child.ts'), '200000'],
    { encoding: 'utf8' },
  );
  expect(child.stderr).toBe('');
  expect(JSON.parse(child.stdout)).toEqual({
    count: 200_000,
    calls: 200_000,
    lost: 20_000,
    errors: 2_000,
    longest: 299,
  });
});
