/** The loop over due work: bounded, never two runs at once, fair by owner on request, awake while work is left. */
import { afterEach, expect, it } from 'vitest';
import type { Log } from '../../src/proxy/log.ts';
import { type Loop, type LoopPlan, startLoop } from '../../src/proxy/loop.ts';
import { eventually } from '../kit.ts';

interface Item {
  id: number;
  owner: string;
}

const lines: string[] = [];
const note = (message: string): void => void lines.push(message);
const log: Log = { debug: note, info: note, warn: note, error: note };
let loop: Loop;
afterEach(() => loop.stop());

/** Items are due until they are handled; `poll_ms` is so long that only a wake-up explains progress. */
function start(items: Item[], plan: Partial<LoopPlan<Item>> = {}): { handled: number[]; most: () => number } {
  const due = new Map(items.map((item) => [item.id, item]));
  const handled: number[] = [];
  let now = 0;
  let most = 0;
  loop = startLoop<Item>({
    name: 'the loop',
    poll_ms: 600_000,
    concurrency: 4,
    take: async (limit) => [...due.values()].slice(0, limit),
    key: (item) => String(item.id),
    log,
    async handle(item) {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setTimeout(resolve, 5));
      due.delete(item.id);
      handled.push(item.id);
      now--;
    },
    ...plan,
  });
  return { handled, most: () => most };
}

const items = (count: number, owner: string, first = 0): Item[] =>
  Array.from({ length: count }, (_, index) => ({ id: first + index, owner }));

it('drains a backlog without waiting for the next poll, within its concurrency, each item once', async () => {
  const { handled, most } = start(items(40, 'one'));
  await eventually(
    async () => handled.length,
    (count) => count === 40,
  );
  expect(new Set(handled).size).toBe(40);
  expect(most()).toBe(4);
});

it('leaves items alone that may not start, and takes them when they may', async () => {
  let open = false;
  const { handled } = start(items(3, 'one'), { mayStart: (item) => open || item.id === 0 });
  await eventually(
    async () => handled.length,
    (count) => count === 1,
  );
  expect(handled).toEqual([0]);
  open = true;
  loop.wake();
  await eventually(
    async () => handled.length,
    (count) => count === 3,
  );
});

it('says what failed and goes on', async () => {
  const { handled } = start(items(1, 'one'), {
    handle: async (item) => {
      if (lines.length === 0) throw new Error('no luck');
      handled.push(item.id);
    },
  });
  await eventually(
    async () => lines,
    (said) => said.includes('the loop failed'),
  );
  loop.wake();
  await eventually(
    async () => handled.length,
    (count) => count >= 1,
  );
});
