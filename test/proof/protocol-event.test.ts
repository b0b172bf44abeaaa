/** An event is matched, read, adopted, parked, retried or dropped, and never trusted (`docs/protocol.md` §3.11). */
import { beforeEach, describe, expect, it } from 'vitest';
import { PuenteError } from '../../src/error.ts';
import type { Store } from '../../src/ops/ports.ts';
import type { InboxEvent, NewEvent } from '../../src/proxy/records/notices.ts';
import { handleEvent } from '../../src/proxy/sales/events.ts';
import type { Link, LinkState } from '../../src/proxy/sales/link.ts';
import { derivedReference } from '../../src/proxy/sales/new-link.ts';
import { lookAtLink } from '../../src/proxy/sales/refresh.ts';
import { applyOrder } from '../../src/proxy/sales/settle.ts';
import { PARKED_FOR_MS } from '../../src/proxy/store.ts';
import type { StoreMethods } from '../../src/store/engine.ts';
import { MERCHANT, NOON, newEvent, orderId } from '../store/contract/harness.ts';
import { withMethods } from '../store/with-methods.ts';
import {
  type Answer,
  answered,
  BROKEN,
  createStand,
  newDraft,
  orderOf,
  PAID,
  REFERENCE,
  refusal,
  TOKEN,
} from './stand.ts';

const stand = createStand();
let saved: object[];

/** The store, which also records the stored changes of events, and those that are in the commit of a sale. */
function watched(parts: Partial<StoreMethods> = {}): void {
  const saveEvent: Store['events']['saveEvent'] = async (sequence, change) => {
    saved.push(change);
    await stand.store.events.saveEvent(sequence, change);
  };
  const saveLink: Store['links']['saveLink'] = async (link, change, extra) => {
    const next = await stand.store.links.saveLink(link, change, extra);
    if (extra?.event !== undefined) saved.push({ state: 'done', attempts: extra.event.attempts + 1, with: next.state });
    return next;
  };
  stand.restart({ store: withMethods(stand.store, { saveEvent, saveLink, ...parts }) });
}

beforeEach(async () => {
  await stand.reset();
  saved = [];
  watched();
});

async function received(change: Partial<NewEvent> = {}): Promise<InboxEvent> {
  const sent = newEvent({ received_at: stand.now, reference: REFERENCE, action: 'order.updated', ...change });
  await stand.store.events.receiveEvent(sent);
  const event = (await stand.store.events.dueEvents(Number.MAX_SAFE_INTEGER, 100)).at(-1);
  if (event === undefined) throw new Error('nothing was received');
  return event;
}

async function handled(change: Partial<NewEvent> = {}): Promise<object[]> {
  await handleEvent(stand.ports, await received(change));
  return saved;
}

async function live(change: Partial<Link> = {}): Promise<Link> {
  const link = await stand.link();
  const order = orderOf() as unknown as Link['order']; // as parsed
  return stand.store.links.saveLink(link, {
    state: 'LIVE',
    order_id: orderId(1),
    order,
    order_version: '2026-01-05T12:00:00.000000000Z',
    client_answer: 'maybe',
    ...change,
  });
}

const reads =
  (change: Record<string, unknown> = {}): Answer =>
  () => {
    stand.now++;
    return answered(200, orderOf(change, 9));
  };

const DONE = { state: 'done', attempts: 1 };
/** In the commit of the sale, which is in this state then. */
const doneWith = (state: LinkState) => ({ ...DONE, with: state });
const PARKED = { state: 'parked', attempts: 1 };
const soon = () => ({ state: 'pending', attempts: 1, next_attempt_at: stand.now + 2_000 });

describe('an event of an order', () => {
  it('makes it be read, with the credential of its merchant, and is done', async () => {
    const link = await live();
    stand.answers = [reads(PAID)];
    expect(await handled({ action: 'order.canceled' })).toEqual([doneWith('DONE')]);
    expect(stand.asked).toMatchObject([{ name: 'get', path: `/v1/orders/${orderId(1)}` }]);
    expect(stand.asked[0]?.token.reveal()).toBe(TOKEN.reveal());
    // The state in the event is ignored.
    expect(await stand.stored(link)).toMatchObject({ state: 'DONE', legacy_state: 'FINISHED' });
    expect(stand.counts).toContain('events done');
  });

  it.each<[string, Partial<NewEvent>]>([
    ['that names no merchant', { user_id: null }],
    ['that names no reference', { reference: null }],
    ['that names another reference', { reference: 'other' }],
    ['that names no order, only the reference that was sent', { order_id: null }],
    ['of the same reference and another id', { order_id: orderId(2) }],
  ])('%s: the order of the link is read', async (_which, change) => {
    await live();
    stand.answers = [reads()];
    expect(await handled(change)).toEqual([doneWith('LIVE')]);
    expect(stand.asked.map(({ path }) => path)).toEqual([`/v1/orders/${orderId(1)}`]);
  });

  it.each<[string, Partial<NewEvent>]>([
    ['that names another merchant', { user_id: '700100201' }],
    ['by its reference with another merchant', { order_id: null, user_id: '700100201' }],
    ['by its reference without a merchant', { order_id: null, user_id: null }],
    ['without order and reference', { order_id: null, reference: null }],
    ['nobody knows', { order_id: orderId(5), reference: 'other' }],
  ])('%s is parked, without an upstream call [F108]', async (_which, change) => {
    await live();
    expect(await handled(change)).toEqual([PARKED]);
    expect(stand.asked).toEqual([]);
    expect(stand.counts).toEqual(['events parked']);
  });

  it('that changes nothing is done by itself', async () => {
    await live();
    stand.answers = [reads({ last_updated_date: '2026-01-05T12:00:00.000Z' })];
    expect(await handled()).toEqual([DONE]);
    expect(stand.asked).toHaveLength(1);
  });

  it('whose change is not stored is not done: it is tried again, and changes the sale once', async () => {
    const link = await live();
    let fails = true;
    watched({
      saveLink: async (...parts) => {
        if (fails) throw new PuenteError('store_failed', 'the disk is full');
        return stand.store.links.saveLink(...parts);
      },
    });
    stand.answers = [reads(PAID), reads(PAID)];
    const event = await received();
    await expect(handleEvent(stand.ports, event)).rejects.toMatchObject({ code: 'store_failed' });
    expect(saved).toEqual([soon()]);
    fails = false;
    stand.now += 2_000;
    expect(await stand.store.events.dueEvents(stand.now, 10)).toMatchObject([
      { sequence: event.sequence, attempts: 1 },
    ]);
    await handleEvent(stand.ports, { ...event, attempts: 1 });
    expect(await stand.stored(link)).toMatchObject({ state: 'DONE', revision: link.revision + 1 });
    expect(await stand.store.events.dueEvents(Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
  });

  it('whose sale another process has changed meanwhile is done with what it changes then', async () => {
    const link = await live();
    stand.answers = [
      async () => {
        await stand.store.links.saveLink(link, { known_by: 'till' });
        stand.now++;
        return answered(200, orderOf(PAID, 9));
      },
    ];
    expect(await handled()).toEqual([doneWith('DONE')]);
    expect(await stand.stored(link)).toMatchObject({ known_by: 'till', revision: link.revision + 2 });
  });

  it('whose sale another process has moved to the same order meanwhile is done by itself', async () => {
    const link = await live();
    const order = orderOf(PAID, 9) as unknown as NonNullable<Link['order']>; // as parsed
    stand.answers = [
      async () => {
        stand.now++;
        await applyOrder(stand.ports, link, order);
        return answered(200, order);
      },
    ];
    expect(await handled()).toEqual([DONE]);
    expect(await stand.stored(link)).toMatchObject({ state: 'DONE', revision: link.revision + 1 });
  });

  it('that was read after the event had come needs no other read', async () => {
    await live();
    stand.ports.memory.sales.reads.mark(orderId(1), NOON, stand.ports.memory.sales.reads.begin());
    const event = await received({ received_at: NOON - 1 });
    await handleEvent(stand.ports, event);
    expect([saved, stand.asked]).toEqual([[DONE], []]);
  });

  it('that was read as the event came is read again', async () => {
    await live();
    stand.ports.memory.sales.reads.mark(orderId(1), NOON, stand.ports.memory.sales.reads.begin());
    stand.now = NOON + 1;
    stand.answers = [reads()];
    await handleEvent(stand.ports, await received({ received_at: NOON }));
    expect([saved, stand.asked.length]).toEqual([[doneWith('LIVE')], 1]);
  });

  it.each<[string, Partial<NewEvent>, Partial<Link>]>([
    ['an unsigned event of an open order', { verified: false }, {}],
    ['a signed event of an order that is over', {}, { state: 'DONE', legacy_state: 'FINISHED' }],
  ])('%s waits for its turn: one read a second [F109]', async (_which, change, of) => {
    await live(of);
    stand.ports.memory.sales.reads.mark(orderId(1), NOON, stand.ports.memory.sales.reads.begin());
    stand.now = NOON + 999;
    expect(await handled({ received_at: NOON, ...change })).toEqual([{ next_attempt_at: NOON + 1_000 }]);
    expect(stand.asked).toEqual([]);
    stand.now = NOON + 1_000;
    stand.answers = [reads()];
    await handleEvent(stand.ports, await received({ received_at: NOON, ...change }));
    expect([saved.at(-1), stand.asked.length]).toEqual([of.state === 'DONE' ? DONE : doneWith('LIVE'), 1]);
  });

  it('that can not be read is tried later, and its stored state stands', async () => {
    const link = await live();
    stand.answers = [BROKEN];
    expect(await handled()).toEqual([soon()]);
    expect(await stand.stored(link)).toMatchObject({ state: 'LIVE', revision: link.revision });
  });

  it('whose merchant has left no credential is tried later', async () => {
    await live();
    await stand.store.merchants.forgetToken(stand.ports.vault.fingerprint(TOKEN));
    expect(await handled()).toEqual([soon()]);
    expect(stand.asked).toEqual([]);
  });
});

describe('an event that its order does not show', () => {
  const tries = (attempts: number) => ({ state: 'pending', attempts, next_attempt_at: expect.any(Number) });
  const REFUNDED = { ...PAID, status: 'refunded', status_detail: 'refunded' };
  const paid = () =>
    live({
      ...{ state: 'DONE', legacy_state: 'FINISHED' },
      order: orderOf(PAID) as unknown as Link['order'], // as parsed
    });
  /** Handles the event once more, a minute later. */
  const again = async (event: InboxEvent, attempts: number): Promise<void> => {
    stand.now += 60_000;
    await handleEvent(stand.ports, { ...event, attempts });
  };

  it.each(['order.processed', 'processed', 'order.canceled', 'order.expired', 'order.failed'])(
    '(%s of an open one) is read again, because a read may lag [F27]',
    async (action) => {
      const link = await live();
      const event = await received({ action });
      stand.answers = [reads(), reads(PAID)];
      await handleEvent(stand.ports, event);
      expect(saved.at(-1)).toEqual(tries(1));
      await again(event, 1);
      expect(saved.at(-1)).toEqual({ ...doneWith('DONE'), attempts: 2 });
      expect(await stand.stored(link)).toMatchObject({ legacy_state: 'FINISHED' });
    },
  );

  it('(a refund of a paid one) is read again, too [F27]', async () => {
    const link = await paid();
    const event = await received({ action: 'order.refunded' });
    stand.answers = [reads(PAID), reads(REFUNDED)];
    await handleEvent(stand.ports, event);
    expect(saved.at(-1)).toEqual(tries(1));
    await again(event, 1);
    expect(saved.at(-1)).toEqual({ ...doneWith('DONE'), attempts: 2 });
    expect((await stand.stored(link)).order?.status).toBe('refunded');
  });

  it.each<[string, Record<string, unknown>]>([
    ['order.processed', PAID],
    ['order.canceled', PAID],
    ['order.refunded', REFUNDED],
    ['order.refunded', { ...PAID, transactions: { ...PAID.transactions, refunds: [{ id: 'REF1', amount: '1.00' }] } }],
  ])('(%s) is done as soon as it shows it', async (action, order) => {
    await live();
    stand.answers = [reads(order)];
    expect(await handled({ action })).toEqual([doneWith('DONE')]);
  });

  it('is done after three more reads, signed or not: it may be forged', async () => {
    await live();
    for (const verified of [true, false]) {
      const event = await received({ action: 'order.processed', verified });
      for (const attempts of [0, 1, 2]) {
        stand.answers = [reads()];
        await again(event, attempts);
        expect(saved.at(-1)).toEqual(tries(attempts + 1));
      }
      stand.answers = [reads()];
      await again(event, 3);
      expect(Object(saved.at(-1))).toMatchObject({ state: 'done', attempts: 4 });
    }
  });

  it('and is not signed is read again for one of them at a time', async () => {
    await live();
    const [first, second] = [
      await received({ action: 'order.processed', verified: false }),
      await received({ action: 'payment.processed', verified: false }),
    ];
    stand.answers = [reads(), reads(), reads(), reads(PAID), reads()];
    await handleEvent(stand.ports, first);
    await again(second, 0);
    expect(saved.map((change) => Object(change).state)).toEqual(['done', 'pending', 'done']);
    // Another report has a place of its own: a refund may follow while the payment is still not shown.
    await again(await received({ action: 'order.expired', verified: false }), 0);
    expect(Object(saved.at(-1)).state).toBe('pending');
    await again(first, 1);
    expect(Object(saved.at(-1)).state).toBe('done');
  });

  const partly = (...amounts: number[]) => ({
    ...PAID,
    transactions: {
      payments: [
        { ...PAID.transactions.payments[0], refunded_amount: String(amounts.reduce((sum, one) => sum + one)) },
      ],
      refunds: amounts.map((amount, of) => ({ id: `REF${of}`, amount: String(amount), status: 'processed' })),
    },
  });
  const minutesAgo = (minutes: number) => NOON - minutes * 60_000;

  it.each<[string, Record<string, unknown>, number]>([
    ['order.refunded', partly(1), 0],
    // Nothing says which action reports a part that is refunded.
    ['order.processed', PAID, minutesAgo(10)],
    ['order.processed', partly(1), minutesAgo(10)],
  ])(
    '(%s of a sale that shows one already) is read again until one more is refunded [F27]',
    async (action, order, at) => {
      const ended = { state: 'DONE', legacy_state: 'FINISHED', legacy_state_at: at } as const;
      const link = await live({ ...ended, order: orderOf(order, 1) as unknown as Link['order'] }); // as parsed
      const event = await received({ action });
      stand.answers = [reads(order), reads(partly(1, 2))];
      await handleEvent(stand.ports, event);
      expect(saved.at(-1)).toEqual(tries(1));
      await again(event, 1);
      expect(saved.at(-1)).toEqual({ ...doneWith('DONE'), attempts: 2 });
      expect((await stand.stored(link)).order?.transactions?.refunds).toHaveLength(2);
      // The next one is compared with what is shown now.
      stand.answers = [reads(partly(1, 2))];
      await again(await received({ action }), 0);
      expect(saved.at(-1)).toEqual(tries(1));
    },
  );

  it('is read again until the sale shows both of two refunds, whose events came at once [F27]', async () => {
    const link = await paid();
    const [first, second] = [
      await received({ action: 'order.refunded' }),
      await received({ action: 'order.refunded' }),
    ];
    stand.answers = [reads(PAID), reads(partly(1)), reads(partly(1)), reads(partly(1, 2))];
    await handleEvent(stand.ports, first);
    await again(second, 0);
    expect(saved.map((change) => Object(change).state)).toEqual(['done', 'pending', 'done']);
    await again(first, 1);
    expect(saved.at(-1)).toEqual(tries(2));
    await again(first, 2);
    expect(saved.at(-1)).toMatchObject({ state: 'done' });
    expect((await stand.stored(link)).order?.transactions?.refunds).toHaveLength(2);
  });

  it('leaves its place to another one after ten minutes, wherever it ended', async () => {
    await paid();
    const [first, second, third] = [
      await received({ action: 'order.refunded' }),
      await received({ action: 'payment.refunded' }),
      await received({ action: 'refunded' }),
    ];
    stand.answers = [reads(PAID), reads(PAID), reads(PAID)];
    await handleEvent(stand.ports, first);
    await again(second, 0);
    expect(saved.at(-1)).toMatchObject({ state: 'done' });
    stand.now += 10 * 60_000;
    await again(third, 0);
    expect(saved.at(-1)).toEqual(tries(1));
  });

  it.each<[string, Partial<Link>, Record<string, unknown>]>([
    ['paid now', { legacy_state: 'FINISHED', legacy_state_at: minutesAgo(1) + 1 }, PAID],
    ['refunded', { legacy_state: 'FINISHED', legacy_state_at: minutesAgo(10) }, REFUNDED],
    ['open, as far as was known,', { state: 'LIVE', legacy_state: 'OPEN' }, {}],
  ])('(order.processed of a sale that is %s) is done by one read', async (_how, shown, order) => {
    await live({ state: 'DONE', ...shown, order: orderOf(order, 1) as unknown as Link['order'] }); // as parsed
    const at = new Date(minutesAgo(9)).toISOString();
    stand.answers = [reads(order === REFUNDED ? REFUNDED : { ...PAID, last_updated_date: at })];
    expect(await handled({ action: 'order.processed' })).toMatchObject([{ state: 'done', attempts: 1 }]);
  });

  /** Handles what is due each second, for a quarter of a minute, after 40 such events have come at once. */
  async function flooded(change: Partial<NewEvent>, each_second: () => void = () => undefined): Promise<void> {
    for (let one = 0; one < 40; one++)
      await stand.store.events.receiveEvent(newEvent({ received_at: stand.now, reference: `${one}`, ...change }));
    stand.now++;
    for (const end = stand.now + 20_000; stand.now < end; stand.now += 1_000) {
      each_second();
      for (const event of await stand.store.events.dueEvents(stand.now, 100)) await handleEvent(stand.ports, event);
    }
  }
  const unfinished = () => stand.store.events.dueEvents(Number.MAX_SAFE_INTEGER, 100);

  it.each([true, false])('is read again for one of many of a finished sale, signed: %s [F109]', async (verified) => {
    await paid();
    stand.answers = Array.from({ length: 200 }, () => reads(PAID));
    await flooded({ action: 'order.refunded', verified });
    expect(await unfinished()).toEqual([]);
    expect(stand.asked.length).toBeLessThanOrEqual(5);
    expect(saved.length).toBeLessThanOrEqual(40 + 5);
  });

  it.each([true, false])('ends also while its till reads the open sale each second, signed: %s', async (verified) => {
    await live();
    stand.answers = Array.from({ length: 200 }, () => reads());
    const { reads: recent } = stand.ports.memory.sales;
    await flooded({ action: 'order.processed', verified }, () => recent.mark(orderId(1), stand.now, recent.begin()));
    expect(await unfinished()).toEqual([]);
    expect(stand.asked.length).toBeLessThanOrEqual(5);
    expect(saved.length).toBeLessThanOrEqual(40 + 5);
  });

  it.each(['order.updated', 'order.processed'])(
    'is looked for in the sale as its read has stored it: %s',
    async (action) => {
      await live();
      const read: string[] = [];
      const link: Store['links']['link'] = (legacy_id) => {
        read.push(legacy_id);
        return stand.store.links.link(legacy_id);
      };
      watched({ link });
      stand.answers = [reads(PAID)];
      expect(await handled({ action })).toEqual([doneWith('DONE')]);
      expect(read).toHaveLength(1);
    },
  );

  it('and is done because of the read of a till leaves its place to the next', async () => {
    const link = await live();
    const first = await received({ action: 'order.processed', verified: false });
    stand.answers = [reads(), reads(PAID)];
    await handleEvent(stand.ports, first);
    stand.now += 1_500;
    await lookAtLink(stand.ports, await stand.stored(link), TOKEN, { force: true });
    await again(first, 1);
    expect(Object(saved.at(-1))).toMatchObject({ state: 'done' });
    stand.answers = [reads(PAID)];
    await again(await received({ action: 'order.refunded', verified: false }), 0);
    expect(saved.at(-1)).toEqual(tries(1));
  });
});

describe('an event that is tried later', () => {
  it.each([
    [0, 2_000],
    [1, 4_000],
    [4, 32_000],
    [5, 60_000],
    [500, 60_000],
  ])('after %d attempts is after %d ms', async (attempts, pause_ms) => {
    await live();
    await handleEvent(stand.ports, { ...(await received()), attempts });
    expect(saved).toEqual([{ state: 'pending', attempts: attempts + 1, next_attempt_at: NOON + pause_ms }]);
  });

  it('for three days expires', async () => {
    await live();
    await handled({ received_at: NOON - PARKED_FOR_MS + 1 });
    expect(saved).toEqual([soon()]);
    const old = { ...(await received()), received_at: NOON - PARKED_FOR_MS };
    await handleEvent(stand.ports, { ...old, attempts: 59 });
    expect(saved.at(-1)).toMatchObject({ state: 'pending', attempts: 60 }); // a clock may have jumped
    await handleEvent(stand.ports, { ...old, attempts: 60 });
    expect(saved.at(-1)).toEqual({ state: 'expired', attempts: 61 });
    expect(stand.counts).toContain('events expired');
    expect(stand.log).toContainEqual(
      `warn an event matched no order until it expired {"action":"order.updated","order_id":"${orderId(1)}"}`,
    );
  });

  it.each<[string, Partial<NewEvent>, string]>([
    ['of an order that nobody knows', { order_id: orderId(9), reference: null }, orderId(9)],
    ['that names no order', { order_id: null, reference: 'unknown' }, 'none'],
  ])('%s expires when it is found after its time', async (_which, change, order_id) => {
    await handled({ received_at: NOON - PARKED_FOR_MS, ...change });
    expect(saved).toEqual([{ state: 'expired', attempts: 1 }]);
    expect(stand.log).toEqual([
      `warn an event matched no order until it expired {"action":"order.updated","order_id":"${order_id}"}`,
    ]);
  });

  it('tells what became of it, and which sale it was about', async () => {
    const link = await live();
    const draft = newDraft();
    stand.answers = [BROKEN, reads()];
    const event = await received();
    const end = (): Promise<string> => stand.within(draft, () => handleEvent(stand.ports, event));
    expect(await end()).toBe('later');
    expect(draft.legacy_id).toBe(link.legacy_id);
    expect(await end()).toBe('done');
    expect(await handleEvent(stand.ports, await received({ order_id: orderId(9), reference: null }))).toBe('parked');
  });

  it('because of a defect is told, and leaves the others their turn', async () => {
    watched({ linkByOrder: () => Promise.reject(new TypeError('a defect')) });
    await expect(handled()).rejects.toThrow('a defect');
    expect(saved).toEqual([soon()]);
  });
});

describe('an event that is parked', () => {
  it('expires when it is three days old', async () => {
    expect(await handled({ received_at: NOON - PARKED_FOR_MS })).toEqual([{ state: 'expired', attempts: 1 }]);
    expect(stand.log).toHaveLength(1);
    await handled({ received_at: NOON - PARKED_FOR_MS + 1 });
    expect(saved.at(-1)).toEqual(PARKED);
    expect(stand.log).toHaveLength(1);
  });

  it('while its create settles is called again at once', async () => {
    const link = await live();
    let looks = 0;
    watched({ linkByOrder: async () => (looks++ === 0 ? null : link), linkByReference: async () => null });
    expect(await handled()).toEqual([PARKED, { state: 'pending', next_attempt_at: NOON }]);
  });
});

describe('an event ahead of the answer to its create', () => {
  /** A create without an order id, as after a crash or a lost answer. */
  const open = async (state: LinkState, change: Partial<Link> = {}): Promise<Link> =>
    stand.store.links.saveLink(await stand.link(), { state, ...change });

  it.each<LinkState>(['SENDING', 'IN_DOUBT', 'LOST'])(
    'whose link is %s: the order is adopted [F107]',
    async (state) => {
      const link = await open(state);
      stand.answers = [reads()];
      expect(await handled()).toEqual([doneWith('LIVE')]);
      expect(await stand.stored(link)).toMatchObject({ state: 'LIVE', order_id: orderId(1) });
      expect(stand.counts).toContain('settlements adopted_by_event');
    },
  );

  it('whose order another process has adopted meanwhile is done by itself, and adopts nothing', async () => {
    const link = await open('SENDING');
    const order = orderOf({}, 9) as unknown as NonNullable<Link['order']>; // as parsed
    stand.answers = [
      async () => {
        await applyOrder(stand.ports, link, order);
        return answered(200, order);
      },
    ];
    expect(await handled()).toEqual([DONE]);
    expect(await stand.stored(link)).toMatchObject({ order_id: orderId(1), revision: link.revision + 1 });
    expect(stand.counts).not.toContain('settlements adopted_by_event');
  });

  it.each<LinkState>(['REJECTED', 'NOT_SENT', 'DONE'])(
    'whose link is %s, or became so as the event waited: the order is not ours',
    async (state) => {
      const link = await open(state);
      expect(await handled()).toEqual([PARKED]);
      watched({ linkByReference: async () => ({ ...link, state: 'SENDING' }) });
      await handleEvent(stand.ports, await received());
      expect(saved.at(-1)).toEqual(PARKED);
      expect([stand.asked, (await stand.stored(link)).order_id]).toEqual([[], null]);
    },
  );

  it.each<[string, Record<string, unknown>]>([
    ['another reference', { external_reference: 'other' }],
    ['another terminal', { config: { point: { terminal_id: 'PAX_OTHER' } } }],
    ['another till', { config: { qr: { external_pos_id: 'TILL9' } } }],
    ['another amount', { transactions: { payments: [{ id: 'PAY1', amount: '99.00' }] } }],
  ])('with %s is not ours', async (_what, change) => {
    const link = await open('SENDING');
    stand.answers = [reads(change)];
    await handled();
    expect(saved[0]).toEqual(PARKED);
    expect(await stand.stored(link)).toMatchObject({ state: 'SENDING', order_id: null });
    expect(stand.counts).not.toContain('settlements adopted_by_event');
  });

  it('with its own terminal or till is ours', async () => {
    const point = await open('SENDING');
    stand.answers = [reads({ config: { point: { terminal_id: point.unit } } })];
    await handled();
    expect(await stand.stored(point)).toMatchObject({ state: 'LIVE' });
    const qr = await stand.link({
      family: 'qr',
      unit: 'TILL1',
      reference_sent: 'sale-2',
      legacy_state: 'payment_required',
    });
    const config = { qr: { external_pos_id: 'TILL1' } };
    stand.answers = [
      () => answered(200, orderOf({ id: orderId(2), external_reference: 'sale-2', type: 'qr', config }, 9)),
    ];
    await handled({ order_id: orderId(2), reference: 'sale-2' });
    expect(await stand.stored(qr)).toMatchObject({ state: 'LIVE', order_id: orderId(2) });
  });

  it.each([true, false])(
    'whose order upstream does not know is tried a few times more, signed: %s [F28]',
    async (verified) => {
      await open('SENDING');
      const event = await received({ verified });
      stand.answers = [refusal(404, 'order_not_found'), refusal(404, 'order_not_found')];
      await handleEvent(stand.ports, { ...event, attempts: 9 });
      expect(saved.at(-1)).toMatchObject({ state: 'pending', attempts: 10 });
      await handleEvent(stand.ports, { ...event, attempts: 10 });
      expect(saved).toContainEqual({ state: 'parked', attempts: 11 });
    },
  );

  it('that nothing signs is tried more for one event of a create in doubt alone, the others wait for its end', async () => {
    await open('SENDING');
    const [first, second] = [
      await received({ verified: false }),
      await received({ verified: false, order_id: orderId(7) }),
    ];
    stand.answers = Array.from({ length: 3 }, () => refusal(404, 'order_not_found'));
    for (const event of [first, second, { ...first, attempts: 1 }]) {
      stand.now += 2_000;
      await handleEvent(stand.ports, event);
    }
    expect(saved.map((change) => Object(change).state)).toEqual(['pending', 'parked', 'pending']);
  });

  it('that nothing signs is parked when its create was given up', async () => {
    await open('LOST');
    stand.answers = [refusal(404, 'order_not_found')];
    expect((await handled({ verified: false }))[0]).toEqual(PARKED);
  });

  it('whose order can not be read is tried later', async () => {
    const link = await open('SENDING');
    stand.answers = [BROKEN];
    expect(await handled()).toEqual([soon()]);
    expect(await stand.stored(link)).toMatchObject({ state: 'SENDING' });
  });

  it('that names no order is tried later', async () => {
    await open('SENDING');
    expect(await handled({ order_id: null })).toEqual([soon()]);
    expect(stand.asked).toEqual([]);
  });

  it.each(['ORD', '../users/me', 'ORDER01'])('that names %s, which is no order, asks nothing', async (order_id) => {
    await open('SENDING');
    expect((await handled({ order_id }))[0]).toEqual(PARKED);
    expect(stand.asked).toEqual([]);
  });

  it('is read also when the order was read before for somebody else', async () => {
    await open('SENDING');
    stand.ports.memory.sales.reads.mark(orderId(1), NOON + 1, stand.ports.memory.sales.reads.begin());
    stand.now = NOON + 2_000;
    stand.answers = [reads()];
    expect(await handled({ received_at: NOON })).toEqual([doneWith('LIVE')]);
    expect(stand.counts).toContain('settlements adopted_by_event');
  });

  it('waits for the create that is under way, and follows what it settled', async () => {
    const link = await open('SENDING');
    let finish = (): void => undefined;
    const creating = stand.ports.memory.mutex.run(link.legacy_id, async () => {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      const order = orderOf() as unknown as Link['order']; // as parsed
      await stand.store.links.saveLink(link, { state: 'LIVE', order_id: orderId(1), order, client_answer: 'maybe' });
    });
    stand.answers = [reads(PAID)];
    const handling = handled();
    await new Promise((turn) => setImmediate(turn));
    expect(stand.asked).toEqual([]);
    finish();
    await Promise.all([creating, handling]);
    expect(saved).toEqual([doneWith('DONE')]);
    expect(await stand.stored(link)).toMatchObject({ state: 'DONE' });
    expect(stand.counts).not.toContain('settlements adopted_by_event');
  });

  it('whose create ended with another order is not ours', async () => {
    const link = await open('SENDING');
    const creating = stand.ports.memory.mutex.run(link.legacy_id, () =>
      stand.store.links.saveLink(link, { state: 'LIVE', order_id: orderId(7), client_answer: 'maybe' }),
    );
    const event = await received();
    watched({ linkByOrder: async () => null, linkByReference: async () => link });
    const running = stand.ports.memory.mutex.run(link.legacy_id, () => creating);
    await handleEvent(stand.ports, event);
    await running;
    expect(saved[0]).toEqual(PARKED);
    expect(stand.asked).toEqual([]);
  });

  it('whose link has gone meanwhile is followed as it was seen', async () => {
    const link = await open('SENDING');
    watched({ link: async () => null });
    stand.answers = [reads()];
    expect(await handled()).toEqual([doneWith('LIVE')]);
    expect(await stand.stored(link)).toMatchObject({ state: 'LIVE', order_id: orderId(1) });
  });
});

describe('an event of a sale that a restored file lacks', () => {
  const LOST = '019b8e07-4600-7000-8000-00000000abcd'; // its id has the time of noon
  const reference = derivedReference(LOST);
  const gap = () => ({ from: NOON - 60_000, until: NOON + 60_000 }) as ReturnType<Store['upkeep']['restoredGap']>;

  it('creates its link again [F60]', async () => {
    watched({ restoredGap: gap });
    const config = { point: { terminal_id: 'PAX_LOST' } };
    stand.answers = [reads({ external_reference: reference, config })];
    expect(await handled({ reference })).toEqual([DONE]);
    expect(await stand.store.links.link(LOST)).toMatchObject({
      merchant_id: MERCHANT,
      unit: 'PAX_LOST',
      order_id: orderId(1),
    });
  });

  it('is parked where the order is not that sale', async () => {
    watched({ restoredGap: gap });
    stand.answers = [reads({ external_reference: 'other' })];
    expect(await handled({ reference })).toEqual([PARKED]);
    expect(await stand.store.links.link(LOST)).toBeNull();
  });
});
