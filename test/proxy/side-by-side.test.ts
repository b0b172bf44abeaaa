/** Calls of one turn begin together, in their order, and within it. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { sideBySide } from '../../src/proxy/side-by-side.ts';

it('begins what came in one turn at its end, in order, and goes on side by side', async () => {
  const seen: string[] = [];
  const begin = sideBySide<string>(async (name) => {
    seen.push(`${name}1`);
    await null;
    seen.push(`${name}2`);
  });
  for (const name of ['a', 'b', 'c']) begin(name);
  expect(seen).toEqual([]);
  await turn();
  expect(seen).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2']);
});

it('takes what comes while it begins at the end of the next turn', async () => {
  const seen: number[] = [];
  const begin = sideBySide<number>((count) => {
    seen.push(count);
    if (count < 3) begin(count + 1);
  });
  begin(1);
  for (const so_far of [[1], [1, 2], [1, 2, 3]]) {
    await turn();
    expect(seen).toEqual(so_far);
  }
});

it('of many, brings 32 as far as they go before the next begin, and begins all within the turn', async () => {
  let under_way = 0;
  let most = 0;
  const seen: number[] = [];
  const begin = sideBySide<number>(async (count) => {
    seen.push(count);
    most = Math.max(most, ++under_way);
    await null;
    under_way--;
  });
  const all = Array.from({ length: 300 }, (_, index) => index);
  for (const count of all) begin(count);
  await turn();
  expect(seen).toEqual(all);
  expect([most, under_way]).toEqual([32, 0]);
});
