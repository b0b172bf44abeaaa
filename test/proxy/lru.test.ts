/** Cached answers: one call for all concurrent readers, none older than allowed, no cached failure. */
import { describe, expect, it } from 'vitest';
import { createCache } from '../../src/proxy/concurrency.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const FRESH_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A source that counts its calls, and answers on request. */
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

describe('a cache', () => {
  it('is asked once for all that come while the answer is on its way', async () => {
    const cache = createCache();
    const { ask, call, calls } = source();
    const all = Array.from({ length: 10 }, (_, index) => cache.get('key', NOW + index, FRESH_MS, ask));
    call(0).resolve('answer');
    expect(await Promise.all(all)).toEqual(Array(10).fill('answer'));
    expect(calls()).toBe(1);
  });

  it('keeps an answer until it is too old, counted from when it was asked', async () => {
    const cache = createCache();
    const { ask, call, calls } = source();
    const get = (now: number) => cache.get('key', now, FRESH_MS, ask);
    const first = get(NOW);
    call(0).resolve('old');
    expect(await first).toBe('old');
    expect(await get(NOW + FRESH_MS - 1)).toBe('old');
    const second = get(NOW + FRESH_MS);
    call(1).resolve('new');
    expect([await second, await get(NOW + FRESH_MS + 1)]).toEqual(['new', 'new']);
    expect(calls()).toBe(2);
  });

  it('asks again after the clock was set back, because nobody knows how old the answer is', async () => {
    const cache = createCache();
    const { ask, call, calls } = source();
    const first = cache.get('key', NOW, FRESH_MS, ask);
    call(0).resolve('from the future');
    await first;
    const second = cache.get('key', NOW - 1, FRESH_MS, ask);
    call(1).resolve('now');
    expect(await second).toBe('now');
    expect(calls()).toBe(2);
  });

  it('keeps keys apart', async () => {
    const cache = createCache();
    expect(await cache.get('one', NOW, FRESH_MS, async () => 1)).toBe(1);
    expect(await cache.get('other', NOW, FRESH_MS, async () => 2)).toBe(2);
    expect(await cache.get('one', NOW, FRESH_MS, async () => 3)).toBe(1);
  });

  it('keeps nothing when nothing may be kept', async () => {
    const cache = createCache();
    expect(await cache.get('key', NOW, 0, async () => 1)).toBe(1);
    expect(await cache.get('key', NOW, 0, async () => 2)).toBe(2);
  });

  it('keeps no failure: those who waited share it, the next one asks again', async () => {
    const cache = createCache();
    const { ask, call } = source();
    const failed = [cache.get('key', NOW, FRESH_MS, ask), cache.get('key', NOW, FRESH_MS, ask)];
    call(0).reject(new Error('no answer'));
    for (const one of await Promise.allSettled(failed)) expect(one.status).toBe('rejected');
    const again = cache.get('key', NOW, FRESH_MS, ask);
    call(1).resolve('answer');
    expect(await again).toBe('answer');
  });

  it('keeps no answer that its asker would not keep', async () => {
    const cache = createCache();
    const keep = (answer: string) => answer !== 'busy';
    expect(await cache.get('key', NOW, FRESH_MS, async () => 'busy', keep)).toBe('busy');
    expect(await cache.get('key', NOW, FRESH_MS, async () => 'found', keep)).toBe('found');
    expect(await cache.get('key', NOW, FRESH_MS, async () => 'busy', keep)).toBe('found');
  });

  it('keeps an answer for less time where its asker says so', async () => {
    const cache = createCache();
    const keep = (answer: string) => (answer === 'busy' ? FRESH_MS / 2 : true);
    expect(await cache.get('key', NOW, FRESH_MS, async () => 'busy', keep)).toBe('busy');
    expect(await cache.get('key', NOW + FRESH_MS / 2 - 1, FRESH_MS, async () => 'too soon', keep)).toBe('busy');
    expect(await cache.get('key', NOW + FRESH_MS / 2, FRESH_MS, async () => 'found', keep)).toBe('found');
    expect(await cache.get('key', NOW + FRESH_MS, FRESH_MS, async () => 'never asked', keep)).toBe('found');
  });

  it('is not emptied by a slow failure of an older call', async () => {
    const cache = createCache();
    const { ask, call } = source();
    const slow = cache.get('key', NOW, FRESH_MS, ask);
    const next = cache.get('key', NOW + FRESH_MS, FRESH_MS, ask);
    call(1).resolve('new');
    expect(await next).toBe('new');
    call(0).reject(new Error('too late'));
    await expect(slow).rejects.toThrow('too late');
    expect(await cache.get('key', NOW + FRESH_MS, FRESH_MS, async () => 'never asked')).toBe('new');
  });

  it('forgets the oldest when it is full, and only costs a call', async () => {
    const cache = createCache();
    for (let index = 0; index <= 20_000; index++) await cache.get(`key ${index}`, NOW, FRESH_MS, async () => index);
    expect(await cache.get('key 20000', NOW, FRESH_MS, async () => 'again')).toBe(20_000);
    expect(await cache.get('key 10000', NOW, FRESH_MS, async () => 'again')).toBe(10_000);
    expect(await cache.get('key 0', NOW, FRESH_MS, async () => 'again')).toBe('again');
  });

  it('keeps a long answer beside brief ones, and a brief one for its whole minute', async () => {
    const cache = createCache();
    const get = (key: string, now: number, fresh_ms: number) =>
      cache.get(key, now, fresh_ms, async () => `${key} ${now}`);
    await get('place', NOW, HOUR_MS);
    await get('search', NOW + 59_000, MINUTE_MS);
    for (let second = 60; second < 119; second++) await get(`other ${second}`, NOW + second * 1_000, MINUTE_MS);
    expect(await get('search', NOW + 118_999, MINUTE_MS)).toBe(`search ${NOW + 59_000}`);
    expect(await get('place', NOW + 118_999, HOUR_MS)).toBe(`place ${NOW}`);
    // The answer of the latest call for a key is used for all its readers.
    expect(await get('place', NOW + 118_999, 1)).toBe(`place ${NOW + 118_999}`);
    expect(await get('place', NOW + 119_000, HOUR_MS)).toBe(`place ${NOW + 118_999}`);
    // An entry with a later date than now is not used.
    expect(await get('search', NOW - HOUR_MS, MINUTE_MS)).toBe(`search ${NOW - HOUR_MS}`);
  });
});
