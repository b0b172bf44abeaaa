/** A clock that remembers its furthest reading (`test/faults/README.md` F47). */
import { expect, it } from 'vitest';
import { rememberingClock } from '../../src/proxy/clock.ts';

const sleep = async (): Promise<void> => undefined;

it('the clock reports how far ahead it ran since the last call, also when it was set back meanwhile [F47]', () => {
  let wall = 1_000;
  const clock = rememberingClock({ now: () => wall, sleep, monotonic: () => 400 });
  expect(clock.furthest?.()).toBe(Number.NEGATIVE_INFINITY);
  for (wall of [1_000, 5_000, 2_000]) expect(clock.now()).toBe(wall);
  expect(clock.furthest?.()).toBe(4_600);
  clock.now();
  expect(clock.furthest?.()).toBe(1_600);
});

it('is left as it is where there is no clock that nobody can set', () => {
  const clock = { now: () => 1, sleep };
  expect(rememberingClock(clock)).toBe(clock);
});
