/** A queue that anybody may leave. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createQueue } from '../../src/proxy/keyed-mutex.ts';

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
