/** What the main thread's end of the writer does between two groups; the writer is a stand-in that answers when it is told to. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type Failpoint, noFailpoint } from '../../../src/core/failpoint.ts';
import type { FromWriter, ToWriter } from '../../../src/store/sqlite/messages.ts';
import { type Committer, WriteQueue } from '../../../src/store/sqlite/queue.ts';
import type { Unit } from '../../../src/store/unit.ts';

function stand(failpoint: Failpoint = noFailpoint) {
  const posted: ToWriter[] = [];
  let ear: Parameters<Committer['listen']>[0] | null = null;
  const committer: Committer = {
    post: (message) => void posted.push(message),
    heap: () => null,
    listen: (given) => {
      ear = given;
    },
  };
  const fatal: Error[] = [];
  const queue = new WriteQueue(committer, (error) => void fatal.push(error), failpoint);
  const sizes = () => posted.map((message) => (message.kind === 'group' ? message.units.length : message.kind));
  const answer = (count: number): void => {
    const message: FromWriter = {
      kind: 'results',
      results: Array.from({ length: count }, () => ({ kind: 'done' })),
    };
    ear?.message(message);
  };
  return { queue, sizes, answer, fatal, ear: () => ear };
}

const UNIT: Unit = { steps: [] };

it('the next group is with the writer before those who waited for the one before go on', async () => {
  const { queue, sizes, answer } = stand();
  const seen: (number | string)[][] = [];
  const first = queue.commit(UNIT).then(() => seen.push(sizes()));
  await turn();
  const next = [queue.commit(UNIT), queue.commit(UNIT)];
  await turn();
  expect(sizes(), 'one group at a time').toEqual([1]);
  answer(1);
  await first;
  expect(seen).toEqual([[1, 2]]);
  answer(2);
  expect(await Promise.all(next)).toMatchObject([{ kind: 'done' }, { kind: 'done' }]);
});

it('what those who waited commit then waits for its turn', async () => {
  const { queue, sizes, answer } = stand();
  const chain = queue.commit(UNIT).then(() => queue.commit(UNIT));
  await turn();
  answer(1);
  await turn();
  await turn();
  expect(sizes()).toEqual([1, 1]);
  answer(1);
  await chain;
});

it('those who waited go on also when the next group can not be posted', async () => {
  let posts = 0;
  const { queue, answer } = stand(() => {
    posts += 1;
    if (posts === 2) throw new Error('a defect');
  });
  const first = queue.commit(UNIT);
  await turn();
  void queue.commit(UNIT);
  expect(() => answer(1)).toThrow('a defect');
  expect(await first).toMatchObject({ kind: 'done' });
});

it('a writer that ends leaves nobody waiting, neither for the group it has nor for the next', async () => {
  const { queue, fatal, ear } = stand();
  const first = queue.commit(UNIT);
  await turn();
  const next = queue.commit(UNIT);
  ear()?.ended();
  await expect(first).rejects.toMatchObject({ code: 'store_failed' });
  await expect(next).rejects.toMatchObject({ code: 'store_failed' });
  expect(fatal).toHaveLength(1);
});
