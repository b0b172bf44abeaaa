/** The main thread's end of the writer between two groups; the writer is a stand-in that answers on request. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type Failpoint, noFailpoint } from '../../../src/proxy/process-memory.ts';
import type { Unit } from '../../../src/store/engine.ts';
import type { FromWriter } from '../../../src/store/sqlite/group-commit.ts';
import { type Committer, WriteQueue } from '../../../src/store/sqlite/group-commit.ts';

function stand(failpoint: Failpoint = noFailpoint, core: Committer['core'] = 'shared') {
  const posted: number[] = [];
  let ear: Parameters<Committer['listen']>[0] | null = null;
  const committer: Committer = {
    core,
    post: (units) => void posted.push(units.length),
    close: () => undefined,
    heap: () => null,
    listen: (given) => {
      ear = given;
    },
  };
  const fatal: Error[] = [];
  const queue = new WriteQueue(committer, (error) => void fatal.push(error), failpoint);
  const sizes = () => [...posted];
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
  const seen: number[][] = [];
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

it('a small group gathers for three turns while units come in groups', async () => {
  const { queue, sizes, answer } = stand();
  const first = [queue.commit(UNIT), queue.commit(UNIT)];
  await turn();
  expect(sizes(), 'the first group of all waits for nobody').toEqual([2]);
  const next = [queue.commit(UNIT)];
  answer(2);
  await Promise.all(first);
  expect(sizes()).toEqual([2]);
  await turn();
  next.push(queue.commit(UNIT));
  await turn();
  next.push(queue.commit(UNIT));
  expect(sizes()).toEqual([2]);
  await turn();
  expect(sizes()).toEqual([2, 3]);
  answer(3);
  await Promise.all(next);
});

it('a small group waits for nobody where the writer has a core of its own', async () => {
  const { queue, sizes, answer } = stand(noFailpoint, 'own');
  const commit = (count: number) => Array.from({ length: count }, () => queue.commit(UNIT));
  const first = commit(2);
  await turn();
  const small = commit(15);
  answer(2);
  await Promise.all(first);
  expect(sizes(), 'those who waited go on first').toEqual([2]);
  await turn();
  expect(sizes()).toEqual([2, 15]);
  const large = commit(16);
  answer(15);
  expect(sizes(), 'enough has gathered meanwhile').toEqual([2, 15, 16]);
  await Promise.all(small);
  answer(16);
  await Promise.all(large);
});

it('a group of one less than enough still gathers', async () => {
  const { queue, sizes, answer } = stand();
  const commit = (count: number) => Array.from({ length: count }, () => queue.commit(UNIT));
  const first = commit(2);
  await turn();
  const waiting = commit(31);
  answer(2);
  await Promise.all(first);
  await turn();
  await turn();
  expect(sizes()).toEqual([2]);
  await turn();
  expect(sizes()).toEqual([2, 31]);
  answer(31);
  await Promise.all(waiting);
});

it('a group that is large enough gathers no longer, also when the one before was posted just now', async () => {
  const { queue, sizes, answer } = stand();
  const commit = (count: number) => Array.from({ length: count }, () => queue.commit(UNIT));
  const first = commit(2);
  await turn();
  const waiting = commit(32);
  answer(2);
  expect(sizes(), 'enough has gathered meanwhile').toEqual([2, 32]);
  await Promise.all(first);
  answer(32);
  await Promise.all(waiting);
  const fresh = commit(32);
  await turn();
  expect(sizes(), 'enough came in one turn').toEqual([2, 32, 32]);
  answer(32);
  await Promise.all(fresh);
});

it('units that come one by one wait for no others', async () => {
  const { queue, sizes, answer } = stand();
  const first = [queue.commit(UNIT), queue.commit(UNIT)];
  await turn();
  answer(2);
  await Promise.all(first);
  const alone = queue.commit(UNIT);
  await turn();
  await turn();
  await turn();
  answer(1);
  await alone;
  const next = queue.commit(UNIT);
  await turn();
  expect(sizes()).toEqual([2, 1, 1]);
  answer(1);
  await next;
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
