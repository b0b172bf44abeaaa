/** The queue before the pool: who is served next, and who has left. */
import { expect, it } from 'vitest';
import { createSlots, type SlotKind } from '../../src/outbound/slots.ts';

const patient = new AbortController().signal;

it('serves in the order of coming, payments first, and never one that has left', async () => {
  const slots = createSlots(4);
  for (let count = 0; count < 4; count++) expect(await slots.take('write', patient)).toBe(true);
  const served: string[] = [];
  const wait = (name: string, kind: SlotKind, signal = patient): Promise<void> =>
    slots.take(kind, signal).then((taken) => void served.push(taken ? name : `${name} left`));
  const gone = new AbortController();
  const all = [
    wait('read', 'read'),
    wait('first', 'write'),
    wait('second', 'write', gone.signal),
    wait('third', 'write'),
    wait('for a payment', 'payment_read'),
  ];
  gone.abort();
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
  const left: Promise<boolean>[] = [];
  for (let count = 0; count < 40_000; count++) {
    const own = new AbortController();
    left.push(slots.take('write', own.signal));
    own.abort();
  }
  const last = slots.take('write', patient);
  slots.give('write');
  expect(await last).toBe(true);
  expect(new Set(await Promise.all(left))).toEqual(new Set([false]));
  expect(await slots.take('write', AbortSignal.abort())).toBe(false);
});
