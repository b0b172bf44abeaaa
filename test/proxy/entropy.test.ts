/** Random bytes from a pool: each is returned once, in a copy. */
import { expect, it } from 'vitest';
import { takeRandom } from '../../src/proxy/ids.ts';

it('never hands out the same bytes twice, however often the pool is filled', () => {
  const taken = Array.from({ length: 5_000 }, () => Buffer.from(takeRandom(12)).toString('hex'));
  expect(new Set(taken).size).toBe(taken.length);
  expect(taken.every((text) => text.length === 24)).toBe(true);
});

it('hands out a copy, which later takers can not see or change', () => {
  const first = takeRandom(10);
  const before = Uint8Array.from(first);
  first.fill(0);
  const next = takeRandom(10);
  expect(next.buffer).not.toBe(first.buffer);
  expect(Buffer.from(next).equals(Buffer.from(before))).toBe(false);
});
