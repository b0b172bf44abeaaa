/** The queue in front of the connection pool: the order of service, and calls that have left. */
import { expect, it } from 'vitest';
import { createSlots, type SlotKind, type TimeLimit } from '../../../src/proxy/upstream/client.ts';

function limitOf(): TimeLimit & { end(): void } {
  let is_over = false;
  let tell = (): void => undefined;
  return {
    isTimedOut: () => is_over,
    onTimeout(next) {
      tell = next;
    },
    end() {
      is_over = true;
      tell();
    },
  };
}

const patient = limitOf();

it('serves in the order of coming, payments first, and never one that has left', async () => {
  const slots = createSlots(4);
  for (let count = 0; count < 4; count++) expect(await slots.take('write', patient)).toBe(true);
  const served: string[] = [];
  const wait = async (name: string, kind: SlotKind, limit = patient): Promise<void> => {
    served.push((await slots.take(kind, limit)) ? name : `${name} left`);
  };
  const gone = limitOf();
  const all = [
    wait('read', 'read'),
    wait('first', 'write'),
    wait('second', 'write', gone),
    wait('third', 'write'),
    wait('for a payment', 'payment_read'),
  ];
  gone.end();
  for (let count = 0; count < 4; count++) {
    slots.give('write');
    await Promise.resolve();
  }
  await Promise.all(all);
  expect(served).toEqual(['second left', 'first', 'third', 'for a payment', 'read']);
});

it('gives a slot back after tens of thousands have left, as if they had never come', async () => {
  const slots = createSlots(2);
  await slots.take('write', patient);
  await slots.take('write', patient);
  const left: (boolean | Promise<boolean>)[] = [];
  for (let count = 0; count < 40_000; count++) {
    const own = limitOf();
    left.push(slots.take('write', own));
    own.end();
  }
  const last = slots.take('write', patient);
  slots.give('write');
  expect(await last).toBe(true);
  expect(new Set(await Promise.all(left))).toEqual(new Set([false]));
  const over = limitOf();
  over.end();
  expect(await slots.take('write', over)).toBe(false);
});
