/** What was handed over before a moment: waited for, while more keeps coming. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createRounds } from '../../src/proxy/keyed-mutex.ts';

it('waits for what had begun when it was asked, in whatever order it ends, and for nothing later', async () => {
  const rounds = createRounds();
  await rounds.settled(); // nothing has begun
  const [first, second] = [rounds.begin(), rounds.begin()];
  const over: string[] = [];
  void rounds.settled().then(() => over.push('early'));
  const third = rounds.begin();
  void rounds.settled().then(() => over.push('late'));
  const fourth = rounds.begin();
  expect(rounds.open()).toBe(4);
  rounds.done(third);
  rounds.done(second);
  await turn();
  expect(over).toEqual([]);
  rounds.done(first);
  await turn();
  expect(over.sort()).toEqual(['early', 'late']);
  expect(rounds.open()).toBe(1);
  rounds.done(fourth);
  await rounds.settled();
});
