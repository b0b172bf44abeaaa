/** Tests of the soak's judges: a true history and steady samples pass, and each planted lie and leak is found. */
import { describe, expect, it } from 'vitest';
import { isBroken, type Measure, type Sample, trendOf } from '../../scripts/soak/flat.ts';
import type { BookedOrder, History, LinkFacts, SaleFacts } from '../../scripts/soak/history.ts';
import { judge } from '../../scripts/soak/judge.ts';
import { fewFailed } from '../../scripts/soak/run.ts';
import { MEASURES } from '../../scripts/soak/samples.ts';

const SHOP = '700100200';
const MIB = 2 ** 20;

/** Three sales on orders (paid at the terminal; by dynamic code, partly refunded; removed) and one on legacy. */
function truth(): History {
  const links = [
    link('intent-1', 'point', 'T-1', 'FINISHED', { amount_minor: 2_500, payment_id: '11' }),
    link('code-2', 'qr', 'Q-2', 'partially_reverted', { amount_minor: 1_000, payment_id: '12', merchant_order_id: 22 }),
    link('till-3', 'qr', 'Q-3', 'expired', { amount_minor: 700, merchant_order_id: 23, slot: 'qr:SUC001POS001' }),
  ];
  return {
    sales: [
      sale('point', 'T-1', 2_500, { ids: ['intent-1'], statuses: [0, 200] }),
      sale('dynamic', 'Q-2', 1_000),
      sale('static', 'Q-3', 700),
      sale('static', 'Q-4', 900),
    ],
    reads: [
      { subject: 'intent-1', state: 'OPEN', began: 1, ended: 2 },
      { subject: 'intent-1', state: 'FINISHED', began: 3, ended: 4 },
      // Overlaps the read before, so it may return an older state.
      { subject: 'intent-1', state: 'ON_TERMINAL', began: 3.5, ended: 5 },
    ],
    refunds: [{ payment_id: '12', told_minor: 100, open: 0 }],
    canceled: [],
    told: ['point intent-1 FINISHED', 'payment 12 ', 'merchant_order 22 closed', 'merchant_order 23 expired'],
    books: {
      orders: [
        order(1, 'T-1', 'processed', { amount_minor: 2_500, payment_id: '11' }),
        order(2, 'Q-2', 'processed', { amount_minor: 1_000, payment_id: '12', refunded_minor: 100 }),
        order(3, 'Q-3', 'canceled', { amount_minor: 700, detail: 'canceled_by_api' }),
      ],
      taken: ['ORD1 order.processed'],
      tries: [
        ['key intent-1', 2],
        ['key code-2', 1],
        ['key till-3', 1],
      ],
      calls: 20,
      faults: {},
    },
    database: {
      read_at: 1_000_000,
      links,
      proxied: [{ merchant_id: SHOP, legacy_id: null, client_reference: 'Q-4' }],
      events: [{ event: 'ORD1 order.processed', state: 'done' }],
      waiting: [],
      reported: [],
    },
    last_reads: [
      { legacy_id: 'intent-1', status: 200, state: 'FINISHED' },
      { legacy_id: 'code-2', status: 200, state: 'partially_reverted' },
    ],
    probes: [{ unit: `${SHOP} SUC001POS001`, status: 204 }],
    unsettled: [],
    house: [],
  };
}

function link(
  legacy_id: string,
  family: LinkFacts['family'],
  reference: string,
  legacy_state: string,
  rest: Partial<LinkFacts>,
): LinkFacts {
  return {
    legacy_id,
    merchant_id: SHOP,
    family,
    unit: 'SUC001POS001',
    slot: null,
    reference_sent: reference,
    client_reference: reference,
    idempotency_key: `key ${legacy_id}`,
    amount_minor: 0,
    state: 'DONE',
    client_answer: 'maybe',
    order_id: `ORD${legacy_id.at(-1)}`,
    payment_id: null,
    merchant_order_id: null,
    legacy_state,
    expires_at: 900_000,
    updated_at: 900_000,
    ...rest,
  };
}

function sale(
  kind: SaleFacts['kind'],
  reference: string,
  amount_minor: number,
  rest: Partial<SaleFacts> = {},
): SaleFacts {
  return { merchant: SHOP, kind, reference, amount_minor, statuses: [204], ids: [], ...rest };
}

function order(number: number, reference: string, status: string, rest: Partial<BookedOrder>): BookedOrder {
  const id = `ORD${number}`;
  const facts = { amount_minor: 0, detail: null, payment_id: null, refunded_minor: 0 };
  return { id, merchant: SHOP, reference, status, ...facts, ...rest };
}

/** The element of a list that a lie changes. */
function at<Item>(items: Item[], index: number): Item {
  const found = items[index];
  if (found === undefined) throw new Error(`there is no element ${index}`);
  return found;
}

const lies: [invariant: string, lie: string, tell: (history: History) => void][] = [
  ['I1', 'a sale whose answer was delivered has no row', ({ database }) => void database.links.splice(1, 1)],
  ['I1', 'a row leads to no order', ({ database }) => Object.assign(at(database.links, 0), { order_id: null })],
  [
    'I1',
    'a row leads to an order of another sale',
    ({ books }) => Object.assign(at(books.orders, 0), { reference: 'X' }),
  ],
  [
    'I1',
    'a dynamic sale was taken away by nobody',
    ({ books }) => Object.assign(at(books.orders, 1), { status: 'canceled', detail: 'canceled_by_api' }),
  ],
  ['I2', 'a row has two orders', ({ books }) => void books.orders.push(order(9, 'Q-2', 'created', {}))],
  [
    'I2',
    'two rows share a key',
    ({ database }) => Object.assign(at(database.links, 1), { idempotency_key: 'key till-3' }),
  ],
  ['I2', 'a key was sent that no row has', ({ books }) => void books.tries.push(['key of nobody', 1])],
  [
    'I2',
    'a sale was paid twice',
    ({ books, database }) => {
      books.orders.push(order(5, 'R-5', 'processed', { payment_id: '15' }));
      database.links.push(link('code-5', 'qr', 'R-5', 'paid', { client_reference: 'Q-2' }));
    },
  ],
  ['I3', 'an order has no row', ({ books }) => void books.orders.push(order(9, 'X-9', 'created', {}))],
  [
    'I3',
    'a paid order whose till was told an error is in no report',
    ({ database }) => Object.assign(at(database.links, 1), { client_answer: 'error' }),
  ],
  ['I4', 'a row is live', ({ database }) => Object.assign(at(database.links, 1), { state: 'LIVE' })],
  [
    'I4',
    'a row is in doubt although its order exists',
    ({ database }) => Object.assign(at(database.links, 1), { state: 'IN_DOUBT', client_answer: 'error' }),
  ],
  [
    'I4',
    'a row is in doubt for longer than it takes to give it up',
    (history) => {
      doubt(history);
      history.database.read_at += 500_000;
    },
  ],
  ['I4', 'a lost row is in no report', ({ database }) => Object.assign(at(database.links, 2), { state: 'LOST' })],
  ['I4', 'a notice waits', ({ database }) => void database.waiting.push('1 notices')],
  ['I4', 'recovery was late', ({ unsettled }) => void unsettled.push('1 events')],
  ['I5', 'a webhook that was taken is lost', ({ books }) => void books.taken.push('ORD2 order.processed')],
  ['I5', 'an event is left', ({ database }) => Object.assign(at(database.events, 0), { state: 'pending' })],
  ['I6', 'an intent was never told', ({ told }) => void told.splice(0, 1)],
  ['I6', 'a payment was never told', ({ told }) => void told.splice(1, 1)],
  ['I6', 'the end of a merchant order was never told', ({ told }) => void told.splice(3, 1)],
  ['I6', 'another state was told', ({ told }) => void told.splice(0, 1, 'point intent-1 CANCELED')],
  ['I6', 'an end was told that never was', ({ told }) => void told.push('point intent-1 CANCELED')],
  [
    'I7',
    'a read went back',
    ({ reads }) => void reads.push({ subject: 'intent-1', state: 'OPEN', began: 6, ended: 7 }),
  ],
  [
    'I7',
    'an end turned into another',
    ({ reads }) => {
      reads.push({ subject: 'merchant_order:22', state: 'paid', began: 1, ended: 2 });
      reads.push({ subject: 'merchant_order:22', state: 'expired', began: 3, ended: 4 });
    },
  ],
  [
    'I8',
    'a row says what its order does not',
    ({ database }) => Object.assign(at(database.links, 0), { legacy_state: 'OPEN' }),
  ],
  ['I8', 'the last read says so', ({ last_reads }) => Object.assign(at(last_reads, 1), { state: 'paid' })],
  [
    'I8',
    'the last read finds nothing',
    ({ last_reads }) => Object.assign(at(last_reads, 0), { status: 404, state: undefined }),
  ],
  [
    'I11',
    'legacy took a sale that has an order too',
    ({ books }) => void books.orders.push(order(4, 'Q-4', 'created', {})),
  ],
  ['I12', 'an order costs a cent more', ({ books }) => void at(books.orders, 0).amount_minor++],
  ['I12', 'a row costs what its till never asked', ({ sales }) => Object.assign(at(sales, 1), { amount_minor: 999 })],
  ['I12', 'more was refunded than anybody was told', ({ books }) => void at(books.orders, 1).refunded_minor++],
  [
    'I12',
    'less was refunded than a till was told, with another refund open',
    ({ refunds }) => Object.assign(at(refunds, 0), { told_minor: 101, open: 1 }),
  ],
  ['I13', 'a counter takes no new sale', ({ probes }) => Object.assign(at(probes, 0), { status: 409 })],
  [
    'I13',
    'two live rows hold a counter',
    ({ database }) => {
      for (const one of database.links.slice(1)) Object.assign(one, { state: 'LIVE', slot: 'qr:SUC001POS001' });
    },
  ],
  ['I15', 'a create was sent four times', ({ books }) => Object.assign(at(books.tries, 1), { 1: 4 })],
  ['I15', 'every create was sent twice', ({ books, database }) => many(books, database)],
  ['house', 'the file is damaged', ({ house }) => void house.push('the file is damaged')],
];

/** A create whose first attempt was spoiled and whose repeats are refused: no order, and its slot stays blocked. */
function doubt({ books, database, probes, sales, told }: History): void {
  Object.assign(at(database.links, 2), { state: 'IN_DOUBT', client_answer: 'error', order_id: null, slot: 'qr:1' });
  Object.assign(at(sales, 2), { statuses: [504] });
  Object.assign(at(probes, 0), { status: 409 });
  books.orders.splice(2, 1);
  told.splice(3, 1);
}

function many(books: History['books'], database: History['database']): void {
  for (let number = 100; number < 300; number++) {
    books.tries.push([`key many-${number}`, 2]);
    database.links.push(link(`many-${number}`, 'qr', `M-${number}`, 'expired', { state: 'REJECTED', order_id: null }));
  }
}

function broken(history: History): string[] {
  return judge(history).flatMap(({ invariant, violations }) => (violations.length > 0 ? [invariant] : []));
}

describe('the judge of histories', () => {
  it('finds nothing in a true history', () => {
    expect(judge(truth()).flatMap(({ violations }) => violations)).toEqual([]);
  });

  it('lets a create be in doubt that the upstream refuses, and the counter be held by it, until it is given up', () => {
    const history = truth();
    doubt(history);
    expect(judge(history).flatMap(({ violations }) => violations)).toEqual([]);
  });

  it.each(lies)('finds by %s that %s', (invariant, _lie, tell) => {
    const history = truth();
    tell(history);
    expect(broken(history)).toContain(invariant);
  });
});

/** Second at which the caches of a run are full. */
const WARM_S = 100;

/** One sample every two seconds; memory is a sawtooth that a collection resets every minute. */
function samplesOf(minutes: number, value: (at_s: number) => number): Sample[] {
  return Array.from({ length: minutes * 30 }, (_, index) => {
    const at_s = (index + 1) * 2;
    return {
      at_s,
      is_collected: at_s % 60 === 0,
      is_warm: at_s >= WARM_S,
      is_at_rest: false,
      values: { heap: value(at_s) },
    };
  });
}

const saw = (at_s: number): number => (60 + (at_s % 60)) * MIB;
/** Reproducible noise, like that of a machine with other work. */
const uneven = (at_s: number): number => Math.sin(at_s * 12.9898) * 2;
const measureOf = (judgement: Measure['judgement']): Measure => ({
  name: 'heap',
  value: 'heap',
  unit: { size: 1, word: '' },
  judgement,
});
const floor = measureOf({ by: 'floor', per_hour: MIB, noise: 6 * MIB, once_warm: true });
const level = measureOf({ by: 'level', per_hour: 1, noise: 12, once_warm: false });
const most = measureOf({ by: 'most', limit: 64 });
const typical = measureOf({ by: 'typical', limit: 20 });
const verdict = (measure: Measure, samples: Sample[]): string => trendOf(measure, samples).verdict;
/** A leak of so many MiB an hour. */
const leak = (at_s: number, mib: number): number => (at_s / 3600) * mib * MIB;
/** The slow saw of what is bounded in two halves. */
const slow = (at_s: number): number => saw(at_s) + ((at_s % 700) / 700) * 26 * MIB;

describe('the judge of slopes', () => {
  it.each<[what: string, Measure, minutes: number, value: (at_s: number) => number, verdict: string]>([
    ['a saw whose floor stays', floor, 60, saw, 'flat'],
    ['a slow saw whose floor stays', floor, 60, slow, 'flat'],
    ['a leak under the slow saw', floor, 60, (at_s) => slow(at_s) + leak(at_s, 15), 'rises'],
    ['a smaller leak in a longer run', floor, 240, (at_s) => saw(at_s) + leak(at_s, 3), 'rises'],
    ['memory that fills up in the warm-up', floor, 60, (at_s) => saw(at_s) + Math.min(at_s, 1_100) * 0.1 * MIB, 'flat'],
    ['one odd value', floor, 60, (at_s) => (at_s === 3_540 ? 500 * MIB : saw(at_s)), 'flat'],
    ['a level that only comes and goes', level, 3, (at_s) => 50 + uneven(at_s), 'flat'],
    ['a level that creeps up', level, 3, (at_s) => 50 + uneven(at_s) + at_s / 5, 'rises'],
    ['a level that creeps up slowly', level, 60, (at_s) => 50 + uneven(at_s) + at_s / 120, 'rises'],
    ['a delay that is rare', typical, 60, (at_s) => (at_s % 100 < 40 ? 200 : 12), 'within'],
    ['a delay that is the rule', typical, 60, (at_s) => (at_s % 100 < 60 ? 200 : 12), 'too high'],
    ['a limit that is just held', most, 3, () => 64, 'within'],
    ['a limit broken once, even in the warm-up', most, 3, (at_s) => (at_s === 4 ? 65 : 10), 'too high'],
    ['a limit of what was never seen', most, 3, () => Number.NaN, 'too high'],
  ])('finds %s', (_what, measure, minutes, value, expected) => {
    expect(verdict(measure, samplesOf(minutes, value))).toBe(expected);
  });

  it('finds a leak under the saw, with its slope', () => {
    const found = trendOf(
      floor,
      samplesOf(60, (at_s) => saw(at_s) + leak(at_s, 15)),
    );
    expect(found.verdict).toBe('rises');
    expect(isBroken(found, 60)).toBe(true);
    expect((found.slope_per_hour ?? 0) / MIB).toBeCloseTo(15, 1);
  });

  it('says what a run can tell', () => {
    const hour = trendOf(
      floor,
      samplesOf(60, (at_s) => saw(at_s) + leak(at_s, 3)),
    );
    expect(hour.verdict).toBe('flat');
    expect(hour.resolution_per_hour).toBeGreaterThan(3 * MIB);
  });

  it('says when a run is too short for a slope', () => {
    const short = trendOf(floor, samplesOf(3, saw));
    expect(short.verdict).toBe('too short');
    expect(isBroken(short, 3)).toBe(false);
    const cold = samplesOf(60, saw).map((sample) => ({ ...sample, is_warm: sample.at_s > 3_500 }));
    expect(verdict(floor, cold)).toBe('too short');
  });

  it('lets no long run pass that could not judge', () => {
    const cold = samplesOf(60, saw).map((sample) => ({ ...sample, is_warm: false }));
    expect(isBroken(trendOf(floor, cold), 60)).toBe(true);
    expect(isBroken(trendOf(floor, cold), 59)).toBe(false);
  });

  it('finds descriptors that are left over, and takes nothing for left over that a busy machine had under way', () => {
    const rest = measureOf({ by: 'rest', noise: 6 });
    const busier = samplesOf(60, (at_s) => 50 + at_s / 100);
    const left = (heap: number): string => {
      const at_rest = { at_s: 4_000, is_collected: false, is_warm: true, is_at_rest: true, values: { heap } };
      return verdict(rest, [...busier, at_rest]);
    };
    expect([40, 56, 57].map(left)).toEqual(['flat', 'flat', 'rises']);
    const unseen = trendOf(rest, busier);
    expect([unseen.verdict, isBroken(unseen, 60)]).toEqual(['too short', true]);
  });

  it('judges memory, descriptors, timers, the write-ahead log and the event loop', () => {
    const judged = MEASURES.filter(({ judgement }) => judgement.by !== 'told').map(({ value }) => value);
    const memory = ['kept', 'writer', 'native', 'descriptors', 'timers', 'resources', 'rss', 'wal'];
    expect([...new Set(judged)]).toEqual([...memory, 'loop p99']);
  });
});

describe('the judge of answers', () => {
  const told = (status: number, count: number) =>
    Array.from({ length: count }, (_, number) => sale('point', `T-${number}`, 100, { statuses: [status] }));
  const ruled = (sales: SaleFacts[], statuses: Record<number, number>) => {
    const counts = Object.entries(statuses).map(([status, count]) => [Number(status), count] as const);
    const calls = counts.reduce((sum, [, count]) => sum + count, 0);
    return fewFailed({ statuses: new Map(counts), calls }, { sales }).violations;
  };

  it('lets a few failures pass', () => {
    expect(ruled([...told(200, 90), ...told(504, 10)], { 200: 990, 504: 10 })).toEqual([]);
  });

  it('finds a server that refuses everything', () => {
    expect(ruled(told(503, 100), { 503: 100 })).toEqual(['of 100 sales 0 were taken', 'of 100 calls 100 failed']);
  });

  it('finds calls that fail more often than the service, whatever becomes of sales', () => {
    expect(ruled(told(200, 100), { 200: 970, 0: 30 })).toEqual(['of 1000 calls 30 failed']);
  });
});
