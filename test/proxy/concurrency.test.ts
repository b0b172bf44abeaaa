/** Work in flight in one process: the queue, the drain, and batches per event-loop tick. */
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { batchPerTick, createDrain, createInFlightCount, createQueue } from '../../src/proxy/concurrency.ts';

it('keeps the order of coming, whoever leaves when', () => {
  const moves = fc.array(fc.oneof(fc.constant('join' as const), fc.nat({ max: 30 })), { maxLength: 60 });
  fc.assert(
    fc.property(moves, (steps) => {
      const queue = createQueue<number>();
      const places: ReturnType<typeof queue.join>[] = [];
      const model: number[] = [];
      for (const step of steps) {
        if (step === 'join') {
          model.push(places.length);
          places.push(queue.join(places.length));
        } else {
          const place = places[step % Math.max(1, places.length)];
          if (place === undefined) continue;
          queue.leave(place); // some leave twice
          if (model.includes(place.value)) model.splice(model.indexOf(place.value), 1);
        }
        expect(queue.first()).toBe(model[0] ?? null);
      }
      const left: (number | null)[] = [];
      for (let value = queue.first(); value !== null; value = queue.first()) {
        left.push(value);
        const place = places[value];
        if (place !== undefined) queue.leave(place);
      }
      expect(left).toEqual(model);
    }),
  );
});

it('lets tens of thousands leave from its middle, and keeps none of them', () => {
  const queue = createQueue<number>();
  const stays = queue.join(-1);
  const places = Array.from({ length: 50_000 }, (_, index) => queue.join(index));
  for (const place of places) queue.leave(place);
  expect([stays.after, stays.before]).toEqual([null, null]);
  expect(places.every(({ before, after }) => before === null && after === null)).toBe(true);
  queue.leave(stays);
  expect(queue.first()).toBeNull();
});

it('waits for what had begun when it was asked, in whatever order it ends, and for nothing later', async () => {
  const drain = createDrain();
  await drain.settled(); // no work has begun
  drain.done(99); // a ticket of no drain
  const [first, second] = [drain.begin(), drain.begin()];
  const over: string[] = [];
  void drain.settled().then(() => over.push('early'));
  const third = drain.begin();
  void drain.settled().then(() => over.push('late'));
  const fourth = drain.begin();
  expect(drain.open()).toBe(4);
  drain.done(third);
  drain.done(second);
  await turn();
  expect(over).toEqual([]);
  drain.done(first);
  await turn();
  expect(over.sort()).toEqual(['early', 'late']);
  expect(drain.open()).toBe(1);
  drain.done(fourth);
  await drain.settled();
});

it('begins what came in one turn at its end, in order, and goes on side by side', async () => {
  const seen: string[] = [];
  const begin = batchPerTick<string>(async (name) => {
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
  const begin = batchPerTick<number>((count) => {
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
  const begin = batchPerTick<number>(async (count) => {
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

it('counts work in flight, failed or not, and waits until less of it runs', async () => {
  const count = createInFlightCount();
  const { promise, resolve } = Promise.withResolvers<void>();
  const failing = count.run(() => promise.then(() => Promise.reject(new Error('no'))));
  const working = count.run(() => promise);
  expect(count.running()).toBe(2);
  const below = count.below(1);
  resolve();
  await expect(failing).rejects.toThrow('no');
  await working;
  await below;
  expect(count.running()).toBe(0);
});
