/** The virtual clock: order of timers, both modes, and the end. */
import { expect, test } from 'vitest';
import { createClock } from '../../src/sandbox/clock.ts';

const START_MS = Date.parse('2026-11-21T10:00:00Z');

function manualClock() {
  const clock = createClock<() => void>(
    () => START_MS,
    (job) => job(),
  );
  clock.setMode('manual');
  return clock;
}

test('nothing fires after close', () => {
  const clock = manualClock();
  const fired: string[] = [];
  clock.schedule(20, () => fired.push('kept'));
  clock.advance(100);
  clock.schedule(10, () => fired.push('closed'));
  clock.close();
  clock.schedule(10, () => fired.push('after close'));
  clock.advance(1000);
  expect(fired).toEqual(['kept']);
});

test('timers fire in order of due time, then of scheduling, each at its own time', () => {
  const clock = manualClock();
  const fired: [string, number][] = [];
  const at = (name: string) => () => fired.push([name, clock.now() - START_MS]);
  clock.schedule(300, at('c'));
  clock.schedule(100, at('a'));
  clock.schedule(200, at('b1'));
  clock.schedule(200, at('b2'));
  clock.schedule(100, () => clock.schedule(50, at('from a timer')));
  clock.advance(250);
  expect(fired).toEqual([
    ['a', 100],
    ['from a timer', 150],
    ['b1', 200],
    ['b2', 200],
  ]);
  expect(clock.now()).toBe(START_MS + 250);
  expect(clock.nextDueAt()).toBe(START_MS + 300);
});

test('many timers come out sorted', () => {
  const clock = manualClock();
  const fired: number[] = [];
  for (let index = 0; index < 500; index++) {
    const delay_ms = (index * 7919) % 1009;
    clock.schedule(delay_ms, () => fired.push(delay_ms));
  }
  clock.advance(2000);
  expect(fired).toHaveLength(500);
  expect(fired).toEqual(fired.toSorted((one, other) => one - other));
});

test('real time moves with the machine and keeps what was advanced', () => {
  let real_ms = START_MS;
  const clock = createClock<() => void>(
    () => real_ms,
    (job) => job(),
  );
  clock.advance(60_000);
  real_ms += 5;
  expect(clock.now()).toBe(START_MS + 60_005);
  clock.setMode('manual');
  real_ms += 1000;
  expect(clock.now()).toBe(START_MS + 60_005);
  clock.setMode('real');
  real_ms += 1;
  expect(clock.now()).toBe(START_MS + 60_006);
  expect(clock.realNow()).toBe(real_ms);
  clock.reset();
  expect(clock.now()).toBe(real_ms);
  clock.close();
});

test('in real mode a timer fires by itself', async () => {
  const clock = createClock<() => void>(Date.now, (job) => job());
  await new Promise<void>((resolve) => void clock.schedule(1, resolve));
  clock.close();
});

test('restored, it is the time and has the timers it had', () => {
  const fired: string[] = [];
  const clock = manualClock();
  clock.schedule(50, () => fired.push('gone'));
  const job = (name: string) => () => void fired.push(name);
  clock.restore('manual', START_MS + 1000, [
    { due_at_ms: START_MS + 900, job: job('overdue') },
    { due_at_ms: START_MS + 1500, job: job('later') },
  ]);
  expect(clock.now()).toBe(START_MS + 1000);
  clock.advance(0);
  expect(fired).toEqual(['overdue']);
  clock.advance(500);
  expect(fired).toEqual(['overdue', 'later']);
  expect(clock.timers()).toEqual([]);
});
