/** What comes in one turn is done in one go, and what fails holds up nothing. */
import { execFile } from 'node:child_process';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { together } from '../../src/core/together.ts';

it('begins what came in one turn at its end, in order, and goes on side by side', async () => {
  const seen: string[] = [];
  const begin = together<string>(async (name) => {
    seen.push(`${name}1`);
    await null;
    seen.push(`${name}2`);
  });
  begin('a');
  begin('b');
  begin('c');
  expect(seen).toEqual([]);
  await turn();
  expect(seen).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2']);
});

it('takes what comes while it begins at the end of the next turn', async () => {
  const seen: number[] = [];
  const begin = together<number>((count) => {
    seen.push(count);
    if (count < 3) begin(count + 1);
  });
  begin(1);
  await turn();
  expect(seen).toEqual([1]);
  await turn();
  expect(seen).toEqual([1, 2]);
  await turn();
  expect(seen).toEqual([1, 2, 3]);
});

it('loses nothing by a piece that throws, whose error is the process own', async () => {
  const program = `
    import { together } from ${JSON.stringify(new URL('../../src/core/together.ts', import.meta.url).href)};
    process.on('uncaughtException', (error) => console.log(error.message));
    const begin = together((name) => {
      if (name === 'b') {
        begin('d');
        throw new Error('b failed');
      }
      console.log(name);
    });
    for (const name of ['a', 'b', 'c']) begin(name);
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  expect(stdout.trim().split('\n')).toEqual(['a', 'b failed', 'c', 'd']);
});
