/** Memory by token, order, unit or answer: after a hundred thousand entries it holds at most its capacity (F51). */
import { expect, it } from 'vitest';
import { createCache } from '../../src/proxy/concurrency.ts';
import {
  createProcessMemory,
  createProofs,
  createRecentReads,
  createUnrecorded,
} from '../../src/proxy/process-memory.ts';
import { Secret } from '../../src/proxy/vault.ts';

const MANY = 100_000;
const FOR_EVER = Number.MAX_SAFE_INTEGER;

interface Memory {
  keep(key: string): void;
  knows(key: string): boolean;
}

function proofs(): Memory {
  const made = createProofs();
  return { keep: (key) => made.note(key, '1', FOR_EVER), knows: (key) => made.of(key, 0) !== null };
}

function reads(): Memory {
  const made = createRecentReads(() => FOR_EVER);
  return { keep: (key) => made.mark(key, 1, made.begin()), knows: (key) => made.number(key) > 0 };
}

function unproven(): Memory {
  const made = createProcessMemory({ now: () => 0 }).tokens.unproven;
  const token = new Secret('a token');
  return { keep: (key) => made.set(key, token), knows: (key) => made.get(key) !== undefined };
}

function unrecorded(): Memory {
  const made = createUnrecorded();
  return {
    keep: (key) => made.hold('1', `point:${key}`, FOR_EVER),
    knows: (key) => made.holds('1', `point:${key}`, 0),
  };
}

function answers(): Memory {
  const made = createCache();
  return {
    keep: (key) => void made.get(key, 0, FOR_EVER, async () => 1),
    knows: (key) => made.peek(key, 0, FOR_EVER) !== undefined,
  };
}

it.each<[string, () => Memory, number]>([
  ['tokens that legacy took', proofs, 20_000],
  ['reads of orders', reads, 20_000],
  ['tokens that nobody could judge', unproven, 1_000],
  ['units whose create was not written down', unrecorded, 10_000],
  ['answers that are kept', answers, 20_000],
])('%s: the newest entries are remembered, and never more than the capacity [F51]', (_what, open, capacity) => {
  const memory = open();
  for (let nth = 0; nth < MANY; nth++) memory.keep(`key ${nth}`);
  let known = 0;
  // From the oldest on, because a lookup counts as a use.
  for (let nth = 0; nth < MANY; nth++) if (memory.knows(`key ${nth}`)) known++;
  expect(known).toBeGreaterThan(0);
  expect(known).toBeLessThanOrEqual(capacity);
  expect([memory.knows(`key ${MANY - 1}`), memory.knows('key 0')]).toEqual([true, false]);
});

it('a read that began later than the clock now says counts as none [F47]', () => {
  const clock = { now: 10 };
  const reads = createRecentReads(() => clock.now);
  reads.mark('order', 10, reads.begin());
  expect(reads.last('order')).toBe(10);
  clock.now = 9;
  expect(reads.last('order')).toBe(0);
});
