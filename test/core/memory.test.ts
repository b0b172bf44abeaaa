/** Answers kept for a moment: one call for all who ask at once, none of them older than they may be, no failure kept. */
import { describe, expect, it } from 'vitest';
import { createMemory } from '../../src/core/memory.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const FRESH_MS = 1_000;

/** Something to ask that counts, and answers when it is told to. */
function source() {
  const waiting: PromiseWithResolvers<string>[] = [];
  return {
    ask: () => {
      const one = Promise.withResolvers<string>();
      waiting.push(one);
      return one.promise;
    },
    /** The n-th call, from 0. */
    call: (index: number) => waiting[index] as PromiseWithResolvers<string>, // a test names calls it has made
    calls: () => waiting.length,
  };
}

describe('a memory', () => {
  it('is asked once for all that come while the answer is on its way', async () => {
    const memory = createMemory();
    const { ask, call, calls } = source();
    const all = Array.from({ length: 10 }, (_, index) => memory.recall('key', NOW + index, FRESH_MS, ask));
    call(0).resolve('answer');
    expect(await Promise.all(all)).toEqual(Array(10).fill('answer'));
    expect(calls()).toBe(1);
  });

  it('keeps an answer until it is too old, counted from when it was asked', async () => {
    const memory = createMemory();
    const { ask, call, calls } = source();
    const recall = (now: number) => memory.recall('key', now, FRESH_MS, ask);
    const first = recall(NOW);
    call(0).resolve('old');
    expect(await first).toBe('old');
    expect(await recall(NOW + FRESH_MS - 1)).toBe('old');
    const second = recall(NOW + FRESH_MS);
    call(1).resolve('new');
    expect([await second, await recall(NOW + FRESH_MS + 1)]).toEqual(['new', 'new']);
    expect(calls()).toBe(2);
  });

  it('asks again after the clock was set back, because nobody knows how old the answer is', async () => {
    const memory = createMemory();
    const { ask, call, calls } = source();
    const first = memory.recall('key', NOW, FRESH_MS, ask);
    call(0).resolve('from the future');
    await first;
    const second = memory.recall('key', NOW - 1, FRESH_MS, ask);
    call(1).resolve('now');
    expect(await second).toBe('now');
    expect(calls()).toBe(2);
  });

  it('keeps keys apart', async () => {
    const memory = createMemory();
    expect(await memory.recall('one', NOW, FRESH_MS, async () => 1)).toBe(1);
    expect(await memory.recall('other', NOW, FRESH_MS, async () => 2)).toBe(2);
    expect(await memory.recall('one', NOW, FRESH_MS, async () => 3)).toBe(1);
  });

  it('keeps nothing when nothing may be kept', async () => {
    const memory = createMemory();
    expect(await memory.recall('key', NOW, 0, async () => 1)).toBe(1);
    expect(await memory.recall('key', NOW, 0, async () => 2)).toBe(2);
  });

  it('keeps no failure: those who waited share it, the next one asks again', async () => {
    const memory = createMemory();
    const { ask, call } = source();
    const failed = [memory.recall('key', NOW, FRESH_MS, ask), memory.recall('key', NOW, FRESH_MS, ask)];
    call(0).reject(new Error('no answer'));
    for (const one of await Promise.allSettled(failed)) expect(one.status).toBe('rejected');
    const again = memory.recall('key', NOW, FRESH_MS, ask);
    call(1).resolve('answer');
    expect(await again).toBe('answer');
  });

  it('keeps no answer that its asker would not keep', async () => {
    const memory = createMemory();
    const keep = (answer: string) => answer !== 'busy';
    expect(await memory.recall('key', NOW, FRESH_MS, async () => 'busy', keep)).toBe('busy');
    expect(await memory.recall('key', NOW, FRESH_MS, async () => 'found', keep)).toBe('found');
    expect(await memory.recall('key', NOW, FRESH_MS, async () => 'busy', keep)).toBe('found');
  });

  it('is not emptied by a slow failure of an older call', async () => {
    const memory = createMemory();
    const { ask, call } = source();
    const slow = memory.recall('key', NOW, FRESH_MS, ask);
    const next = memory.recall('key', NOW + FRESH_MS, FRESH_MS, ask);
    call(1).resolve('new');
    expect(await next).toBe('new');
    call(0).reject(new Error('too late'));
    await expect(slow).rejects.toThrow('too late');
    expect(await memory.recall('key', NOW + FRESH_MS, FRESH_MS, async () => 'never asked')).toBe('new');
  });

  it('forgets the oldest when it is full, and only costs a call', async () => {
    const memory = createMemory();
    for (let index = 0; index <= 20_000; index++) await memory.recall(`key ${index}`, NOW, FRESH_MS, async () => index);
    expect(await memory.recall('key 20000', NOW, FRESH_MS, async () => 'again')).toBe(20_000);
    expect(await memory.recall('key 1', NOW, FRESH_MS, async () => 'again')).toBe(1);
    expect(await memory.recall('key 0', NOW, FRESH_MS, async () => 'again')).toBe('again');
  });
});
