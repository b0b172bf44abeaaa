/** Small pure functions: times, references, ids, the retry budget and the mutex. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { durationMs } from '../../../src/contract/duration.ts';
import { createKeyedMutex } from '../../../src/proxy/concurrency.ts';
import { uuidV7 } from '../../../src/proxy/ids.ts';
import { createRecentReads, createRetryBudget } from '../../../src/proxy/process-memory.ts';
import { comparableInstant, instantMs } from '../../../src/proxy/sales/link.ts';
import { derivedReference, fitsUpstream } from '../../../src/proxy/sales/new-link.ts';
import { sumOf } from '../../../src/proxy/sales/order-transition.ts';

describe('instants', () => {
  it.each([
    undefined,
    '',
    'yesterday',
    '2026-03-01',
    '2026-03-01T12:00:00',
    '2026-13-01T12:00:00Z',
    '2026-03-01T12:00:00.1234567890Z',
    '1772366400',
    'x2026-01-05T12:00:05Z',
    '2026-01-05T12:00:05Zx',
  ])('%s can not be compared', (text) => {
    expect(comparableInstant(text)).toBeNull();
  });

  it.each([
    ['2026-03-01T12:00:00Z', '2026-03-01T12:00:00.000000000Z'],
    ['2026-03-01T12:00:00.5z', '2026-03-01T12:00:00.500000000Z'],
    ['2026-03-01T12:00:00.123456789Z', '2026-03-01T12:00:00.123456789Z'],
    ['2026-03-01T09:00:00.000-03:00', '2026-03-01T12:00:00.000000000Z'],
    ['2026-03-01T09:00:00-0300', '2026-03-01T12:00:00.000000000Z'],
    ['2026-02-28 23:30:00-03:00', '2026-03-01T02:30:00.000000000Z'],
  ])('%s is %s', (text, instant) => {
    expect(comparableInstant(text)).toBe(instant);
  });

  it('compare as text as they do in time', () => {
    const moment = fc.integer({ min: 0, max: 4_000_000_000_000 });
    fc.assert(
      fc.property(moment, moment, (one, other) => {
        const [first, second] = [one, other].map((ms) => comparableInstant(new Date(ms).toISOString()) ?? '');
        expect(Math.sign((first ?? '') < (second ?? '') ? -1 : Number(first !== second))).toBe(Math.sign(one - other));
        expect(instantMs(first ?? '')).toBe(one);
      }),
    );
  });

  it.each([
    ['PT30S', 30_000],
    ['PT15M', 900_000],
    ['PT3H', 10_800_000],
    ['PT1H2M3S', 3_723_000],
    ['P1D', 86_400_000],
    ['P2W', 1_209_600_000],
    ['P1DT1H', 90_000_000],
    ['PT0.5M', 30_000],
    ['PT0,05H', 180_000],
    ['P0000-00-00T00:15:00', 900_000],
    ['P00000000T001500', 900_000],
    // From 28 January 2026: 31 days until 28 February.
    ['P1M', 2_678_400_000],
    ['P0.5M', 1_339_200_000],
    ['P1Y', 31_536_000_000],
    ['PT', null],
    ['P', null],
    ['P1', null],
    ['PT1.5H30M', null],
    ['P0000-00-00T00:61:00', null],
    ['P999999999Y', null],
    ['15', null],
    ['', null],
    ['PT10H', 36_000_000],
    ['xPT30S', null],
    ['PT30Sx', null],
    [undefined, null],
  ])('the duration %s is %s ms', (text, ms) => {
    expect(durationMs(text, Date.UTC(2026, 0, 28))).toBe(ms);
  });
});

describe('references', () => {
  it.each(['', 'Pedido 002', 'señal', 'a'.repeat(65), 'a.b', 'a/b', 'a\n', 'día-1', '💳'])(
    '%j does not fit',
    (text) => {
      expect(fitsUpstream(text)).toBe(false);
    },
  );

  it.each(['a', 'sale-77', '1_2_0f', 'A'.repeat(64)])('%j fits', (text) => {
    expect(fitsUpstream(text)).toBe(true);
  });

  it('a derived one is plain, short, and one of its link', () => {
    const id = uuidV7(Date.now());
    expect(derivedReference(id)).toMatch(/^pnt[0-9a-f]{32}$/);
    expect(fitsUpstream(derivedReference(id))).toBe(true);
  });
});

it('a refund of an order without an amount adds nothing to their sum', () => {
  expect(sumOf([{ id: 'REF1', amount: '1.50' }, { id: 'REF2' }], 2)).toBe(150);
});

describe('ids', () => {
  it('are lower-case UUIDs of version 7 that sort by time', () => {
    const time = fc.integer({ min: 0, max: 2 ** 48 - 1 });
    fc.assert(
      fc.property(time, time, (one, other) => {
        const first = uuidV7(one);
        expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        if (one < other) expect(first < uuidV7(other)).toBe(true);
      }),
    );
  });
});

describe('the retry budget', () => {
  it('runs out, and ten first attempts earn one retry back', () => {
    const budget = createRetryBudget();
    let spent = 0;
    while (budget.spend()) spent++;
    expect(spent).toBe(20);
    for (let first = 0; first < 9; first++) budget.earn();
    expect(budget.spend()).toBe(false);
    budget.earn();
    budget.earn();
    expect(budget.spend()).toBe(true);
    expect(budget.spend()).toBe(false);
  });

  it('does not pile up in quiet times', () => {
    const budget = createRetryBudget();
    for (let first = 0; first < 10_000; first++) budget.earn();
    let spent = 0;
    while (budget.spend()) spent++;
    expect(spent).toBe(20);
  });
});

describe('one thing at a time', () => {
  it('runs work of one key in order, after failures too, and other keys beside it', async () => {
    const serial = createKeyedMutex();
    const log: string[] = [];
    const gate = Promise.withResolvers<void>();
    const first = serial.run('a', async () => {
      log.push('a1 in');
      await gate.promise;
      log.push('a1 out');
      throw new Error('a1 failed');
    });
    const second = serial.run('a', async () => log.push('a2'));
    await serial.run('b', async () => log.push('b1'));
    expect(log).toEqual(['a1 in', 'b1']);
    expect(serial.busy('a')).toBe(true);
    gate.resolve();
    await expect(first).rejects.toThrow('a1 failed');
    await second;
    expect(log).toEqual(['a1 in', 'b1', 'a1 out', 'a2']);
    await new Promise((resolve) => setImmediate(resolve));
    expect(serial.busy('a'), 'a key nobody works on is forgotten').toBe(false);
  });
});

describe('recent reads', () => {
  it('keep the newest when there are too many', () => {
    const reads = createRecentReads(() => Number.POSITIVE_INFINITY);
    reads.mark('first', 1, reads.begin());
    for (let order = 0; order < 20_000; order++) reads.mark(`order ${order}`, 2, reads.begin());
    expect(reads.last('first')).toBe(0);
    expect(reads.last('order 19999')).toBe(2);
    expect(reads.last('never')).toBe(0);
  });
});
