/** Links without a waiting call: finished, settled, checked less often, or given up (`docs/protocol.md` §3.7, §3.8). */
import { beforeEach, describe, expect, it } from 'vitest';
import { PuenteError } from '../../src/error.ts';
import { encoded, say } from '../../src/locales/message.ts';
import type { Store } from '../../src/ops/ports.ts';
import type { Link } from '../../src/proxy/sales/link.ts';
import { isGivenUp, lookAfter } from '../../src/proxy/sales/recover.ts';
import { readOrder, refreshLink } from '../../src/proxy/sales/refresh.ts';
import { releaseHeld } from '../../src/proxy/sales/settle.ts';
import type { Upstream, UpstreamOutcome } from '../../src/proxy/upstream/upstream.ts';
import { setMerchant } from '../proxy/routing/lane-ports.ts';
import { MERCHANT, NOON, newLink, orderId } from '../store/contract/harness.ts';
import { withMethods } from '../store/with-methods.ts';
import { answered, BROKEN, createStand, creates, orderOf, PAID, refusal, TOKEN, textOf, withCreate } from './stand.ts';

const stand = createStand();
beforeEach(() => stand.reset());

const LOST_AFTER_MS = 300_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const MISSING = refusal(404, 'order_not_found');
const HERE = answered(200, orderOf());
const HERE_WAITING = answered(200, orderOf({ status: 'action_required' }, 2));
const UNREACHABLE: UpstreamOutcome = { kind: 'not_sent', cause: 'ECONNREFUSED' };

async function looked(link: Link, ports = stand.ports): Promise<Link> {
  await lookAfter(ports, link);
  return stand.stored(link);
}

/** Passes the check that processes its events once more. */
async function heardOut(link: Link): Promise<Link> {
  expect(await looked(link)).toMatchObject({ state: 'IN_DOUBT', next_check_at: stand.now + 30_000 });
  stand.now += 30_000;
  return looked(link);
}

/** A create that is due, in the state that a crash leaves. */
const due = (change: Partial<Link> = {}): Promise<Link> => stand.link({ next_check_at: NOON, ...change });

/** A live order that is due; no till was answered with it unless `change` says so. */
async function live(change: Partial<Link> = {}, order: Record<string, unknown> = {}): Promise<Link> {
  const link = await stand.link();
  const facts = { ...orderOf(order), transactions: { payments: [] } } as unknown as Link['order']; // as parsed
  return stand.store.links.saveLink(link, {
    state: 'LIVE',
    order_id: orderId(1),
    order: facts,
    order_version: '2026-01-05T12:00:00.000000000Z',
    next_check_at: NOON,
    sealed_body: null,
    ...change,
  });
}

/** The same after 1 ms; a read that began in the current millisecond would suffice. */
const later = (outcome: UpstreamOutcome) => () => {
  stand.now++;
  return outcome;
};

async function forgetToken(): Promise<void> {
  await stand.store.merchants.forgetToken(stand.ports.vault.fingerprint(TOKEN));
}

describe('a link is looked after', () => {
  it.each([
    ['never', null, false],
    ['later', NOON + 1, false],
    ['now', NOON, true],
    ['since long', NOON - 1, true],
  ])('when it is due: %s', async (_when, next_check_at, expected) => {
    const link = await due({ next_check_at });
    stand.answers = [creates()];
    await lookAfter(stand.ports, link);
    expect(stand.asked.length > 0).toBe(expected);
  });

  it('as it is stored now, not as it was when somebody saw it', async () => {
    const link = await due();
    await stand.store.links.saveLink(link, { next_check_at: null });
    await lookAfter(stand.ports, link);
    expect(stand.asked).toEqual([]);
  });

  it('one that the store has lost makes no call, and its loss is told', async () => {
    await expect(lookAfter(stand.ports, newLink({ state: 'DONE', next_check_at: NOON }))).rejects.toThrow();
    expect(stand.asked).toEqual([]);
  });

  it('one that is over is left alone from then on', async () => {
    const link = await due();
    const over = await stand.store.links.saveLink(link, { state: 'DONE', next_check_at: NOON });
    expect(await looked(over)).toMatchObject({ state: 'DONE', next_check_at: null });
    expect(stand.asked).toEqual([]);
  });

  it('a failure is told, and it waits for its next turn', async () => {
    const link = await due();
    stand.answers = [
      () => {
        throw new Error('a defect');
      },
    ];
    await expect(lookAfter(stand.ports, link)).rejects.toThrow('a defect');
    expect((await stand.stored(link)).next_check_at).toBe(NOON + 30_000);
  });
});

describe('a create without an outcome', () => {
  it('is sent again with its own bytes, once, and told to nobody', async () => {
    const link = await due();
    stand.restart();
    stand.answers = [creates(), BROKEN];
    const after = await looked(link);
    expect(after).toMatchObject({ state: 'LIVE', client_answer: 'none', order_id: orderId(1) });
    expect(textOf(stand.asked[0]?.body)).toBe('{"external_reference":"sale-1"}');
    expect(stand.log.filter((line) => line.startsWith('info'))).toEqual([
      `info create completed {"legacy_id":"${link.legacy_id}","action":"created"}`,
    ]);
  });

  it('has the usual time for it', async () => {
    await looked(await due());
    expect(stand.asked.map(({ timeout_ms }) => timeout_ms)).toEqual([4_000]);
  });

  it.each<[string, Partial<Link>]>([
    ['its bytes may not be sent any more', { first_sent_at: NOON - 900_000 }],
    ['it has no bytes', { sealed_body: null }],
  ])('waits, in doubt, when %s', async (_why, change) => {
    const after = await looked(await due(change));
    expect(after).toMatchObject({ state: 'IN_DOUBT', next_check_at: NOON + 30_000 });
    expect(stand.asked).toEqual([]);
  });

  it('waits, in doubt, when nobody’s token is known', async () => {
    await forgetToken();
    expect(await looked(await due())).toMatchObject({ state: 'IN_DOUBT', next_check_at: NOON + 30_000 });
    const doubt = await stand.store.links.saveLink(await stand.link({ unit: 'PAX_2' }), {
      state: 'IN_DOUBT',
      next_check_at: NOON,
    });
    expect(await looked(doubt)).toMatchObject({ state: 'IN_DOUBT', next_check_at: NOON + 30_000 });
    expect(stand.asked).toEqual([]);
  });

  it('is given up when no payment can come any more, and not before', async () => {
    const link = await due({ expires_at: NOON - LOST_AFTER_MS, sealed_body: null });
    expect(await looked(link)).toMatchObject({ state: 'IN_DOUBT' });
    expect(stand.counts).toEqual([]);
    stand.now += 30_001;
    expect(await heardOut(link)).toMatchObject({
      state: 'LOST',
      legacy_state: 'ABANDONED',
      legacy_state_at: stand.now,
      sealed_body: null,
      next_check_at: null,
    });
    expect(stand.counts).toEqual(['lost_links']);
    expect(stand.log).toContain(
      `error order never resolved: reported as lost {"legacy_id":"${link.legacy_id}","merchant":"${MERCHANT}"}`,
    );
    const [line] = await stand.store.audit.audits(1);
    expect(line).toMatchObject({
      at: stand.now,
      who: 'puente',
      action: 'settle',
      subject: link.legacy_id,
      reason: encoded(say('settled.lost', {})),
      detail: { merchant: MERCHANT, unit: link.unit, order_id: null, state: 'IN_DOUBT' },
    });
  });

  it.each<[string, number, number, number]>([
    ['what was left of its life', 10 * MINUTE_MS, 6 * MINUTE_MS, 9 * MINUTE_MS],
    ['a moment', 2 * MINUTE_MS + 1, 7 * MINUTE_MS, 1],
    ['no longer than most orders live, however long it was asked to', 365 * DAY_MS, 215 * DAY_MS, 20 * MINUTE_MS],
  ])('whose deadline passed without a read holds its unit for %s [F47]', async (_what, late_ms, over_ms, held_ms) => {
    let link = await due({ next_check_at: NOON - late_ms, expires_at: NOON - over_ms, sealed_body: null });
    const until = NOON + held_ms;
    while (stand.now < until) {
      expect(await looked(link)).toMatchObject({ state: 'IN_DOUBT', expires_at: until - LOST_AFTER_MS });
      link = await stand.store.links.saveLink(await stand.stored(link), { next_check_at: stand.now });
      stand.now = Math.min(stand.now + MINUTE_MS, until);
    }
    expect((await looked(link)).state, 'to its last moment').toBe('IN_DOUBT');
    stand.now += 30_001;
    expect((await heardOut(link)).state).toBe('LOST');
  });

  it.each<[string, number, number]>([
    ['looked in time', 2 * MINUTE_MS, LOST_AFTER_MS + 1],
    ['should have looked when it was over already', 3 * MINUTE_MS, LOST_AFTER_MS + 3 * MINUTE_MS],
  ])('is not held any longer where somebody %s', async (_why, late_ms, over_ms) => {
    const link = await due({ next_check_at: NOON - late_ms, expires_at: NOON - over_ms, sealed_body: null });
    expect((await heardOut(link)).state).toBe('LOST');
  });

  it('applies the events of its reference once more before it is given up [F28]', async () => {
    const link = await due({ expires_at: NOON - LOST_AFTER_MS - 1, sealed_body: null });
    for (const reference of [link.reference_sent, 'somebody-elses']) {
      const event = { order_id: orderId(1), reference, user_id: MERCHANT, action: 'order.processed' };
      await stand.store.events.receiveEvent({ ...event, received_at: NOON, verified: false });
    }
    for (const { sequence } of await stand.store.events.dueEvents(NOON, 10))
      await stand.store.events.saveEvent(sequence, { state: 'parked' });
    await looked(link);
    expect(await stand.store.events.dueEvents(stand.now, 10)).toMatchObject([{ reference: link.reference_sent }]);
  });

  it('of a QR sale is given up as expired', async () => {
    const link = await due({ family: 'qr', unit: 'TILL1', expires_at: NOON - LOST_AFTER_MS - 1, merchant_order_id: 1 });
    expect(await heardOut(link)).toMatchObject({ state: 'LOST', legacy_state: 'expired' });
  });
});

describe('an order that was released so that its terminal can take a new sale', () => {
  const waiting = { status: 'action_required' };

  /** Shown as CONFIRMATION_REQUIRED, and due for its next check. */
  async function released(): Promise<Link> {
    const held = await live({ client_answer: 'maybe', expires_at: NOON + 900_000 }, waiting);
    const link = await releaseHeld(stand.ports, held);
    expect(link).toMatchObject({ state: 'DONE', legacy_state: 'CONFIRMATION_REQUIRED' });
    stand.now = link.next_check_at ?? 0;
    expect(stand.now).toBeGreaterThan(NOON);
    return link;
  }

  it('is looked at, and its payment at the terminal is seen', async () => {
    const link = await released();
    stand.answers = [answered(200, orderOf(PAID, 90))];
    expect(await looked(link)).toMatchObject({ legacy_state: 'FINISHED', next_check_at: null });
  });

  it('is looked at again and again, also when nobody’s token is known, until no payment can come any more', async () => {
    const link = await released();
    stand.answers = Array.from({ length: 99 }, () => answered(200, orderOf(waiting, 2)));
    const again = await looked(link);
    expect(again.next_check_at).toBeGreaterThan(stand.now);
    await forgetToken();
    stand.now = again.next_check_at ?? 0;
    expect((await looked(again)).next_check_at).toBeGreaterThan(stand.now);
    stand.now = again.expires_at + 3 * DAY_MS - 1;
    expect(await looked(again)).toMatchObject({ next_check_at: stand.now + MINUTE_MS });
    stand.now += MINUTE_MS;
    expect(await looked(again)).toMatchObject({ legacy_state: 'CONFIRMATION_REQUIRED', next_check_at: null });
  });

  it('is read ever less often until its time limit, whatever the wall clock says [F47]', async () => {
    const link = await released();
    let tick_ms = 5_000;
    const ports = { ...stand.ports, clock: { ...stand.ports.clock, monotonic: () => tick_ms } };
    stand.now += DAY_MS;
    const waits: (number | null)[] = [];
    for (const later_ms of [0, 4 * MINUTE_MS, 11 * MINUTE_MS - 1, 1]) {
      tick_ms += later_ms;
      stand.answers = [answered(200, orderOf(waiting, 2))];
      await stand.store.links.saveLink(await stand.stored(link), { next_check_at: stand.now });
      const { next_check_at } = await looked(link, ports);
      waits.push(next_check_at === null ? null : next_check_at - stand.now);
    }
    expect(waits).toEqual([5_000, MINUTE_MS, MINUTE_MS, null]);
  });

  it('is looked at until its time is over, however long that is', async () => {
    const link = await released();
    await stand.store.links.saveLink(link, { expires_at: stand.now + 3 * HOUR_MS });
    for (const later_ms of [0, 2 * HOUR_MS]) {
      stand.now += later_ms;
      stand.answers = [answered(200, orderOf(waiting, 2))];
      await stand.store.links.saveLink(await stand.stored(link), { next_check_at: stand.now });
      expect((await looked(link)).next_check_at).not.toBeNull();
    }
  });

  it.each([
    ['gives no answer', UNREACHABLE],
    ['answers that it does not know the order', MISSING],
    ['answers that the token is none', refusal(401, 'unauthorized')],
    ['refuses to say', refusal(403, 'forbidden')],
  ])('is looked at while upstream %s, for three days at most, and then once more', async (_what, answer) => {
    const link = await released();
    const waits: (number | null)[] = [];
    const look = async (later_ms: number, given: UpstreamOutcome): Promise<void> => {
      stand.now += later_ms;
      stand.answers = [given];
      await stand.store.links.saveLink(await stand.stored(link), { next_check_at: stand.now });
      const { next_check_at } = await looked(link);
      waits.push(next_check_at === null ? null : next_check_at - stand.now);
    };
    await look(DAY_MS, answer);
    await look(20 * MINUTE_MS, answer);
    await look(1, HERE_WAITING);
    await look(1, answer);
    await look(3 * DAY_MS, answer);
    expect(waits).toEqual([5_000, MINUTE_MS, null, MINUTE_MS, null]);
  });

  it('is not looked at any more when it was paid while upstream gave no answer', async () => {
    const link = await released();
    const at = { next_check_at: stand.now };
    await looked(await stand.store.links.saveLink(await stand.stored(link), at));
    stand.now += DAY_MS;
    const orders: Upstream = {
      send: async () => {
        await stand.store.links.saveLink(await stand.stored(link), { legacy_state: 'FINISHED', next_check_at: null });
        return UNREACHABLE;
      },
    };
    const due = await stand.store.links.saveLink(await stand.stored(link), { next_check_at: stand.now });
    expect(await looked(due, { ...stand.ports, upstreams: { ...stand.ports.upstreams, orders } })).toMatchObject({
      next_check_at: null,
    });
  });
});

describe('a live order', () => {
  const TOLD = { client_answer: 'maybe' } as const;

  it('waits for a token', async () => {
    await forgetToken();
    expect(await looked(await live(TOLD))).toMatchObject({ state: 'LIVE', next_check_at: NOON + 30_000 });
  });

  it('that is over without an event is counted', async () => {
    stand.answers = [answered(200, orderOf(PAID, 5))];
    expect(await looked(await live(TOLD))).toMatchObject({ state: 'DONE', legacy_state: 'FINISHED' });
    expect(stand.counts).toEqual(['silent_orders']);
  });

  it('that is read and still open is looked at again', async () => {
    stand.answers = [answered(200, orderOf())];
    expect(await looked(await live(TOLD))).toMatchObject({ state: 'LIVE', next_check_at: expect.any(Number) });
    expect(stand.asked).toHaveLength(1);
  });

  /** Due for a check, and expired by the wall clock. */
  const over = (): Promise<Link> => live({ ...TOLD, expires_at: NOON - LOST_AFTER_MS - 1 });

  /** The link after each check, each with a delay and an answer. */
  async function afterLooks(link: Link, looks: [number, UpstreamOutcome][], ports = stand.ports): Promise<Link[]> {
    const seen: Link[] = [];
    for (const [later_ms, answer] of looks) {
      stand.now += later_ms;
      stand.answers = [answer];
      await stand.store.links.saveLink(await stand.stored(link), { next_check_at: stand.now });
      seen.push(await looked(link, ports));
    }
    return seen;
  }

  it('that upstream does not know is looked at again like any other', async () => {
    const link = await over();
    stand.answers = [MISSING];
    const seen = await looked(link);
    expect(seen).toMatchObject({ state: 'LIVE', next_check_at: NOON + 5_000 });
    expect(stand.asked.map(({ name }) => name)).toEqual(['get']);
  });

  it('is given up when no read has found it within the time limit [F28]', async () => {
    const seen = await afterLooks(await over(), [
      [0, MISSING],
      [10 * MINUTE_MS, MISSING],
      [10 * MINUTE_MS - 1, MISSING],
      [1, MISSING],
    ]);
    expect(seen.map(({ state }) => state)).toEqual(['LIVE', 'LIVE', 'LIVE', 'LOST']);
  });

  it('is given up as soon as its time is over when no read has found it for long before', async () => {
    const seen = await afterLooks(await live({ ...TOLD, expires_at: NOON + 30 * MINUTE_MS }), [
      ...Array.from({ length: 3 }, (): [number, UpstreamOutcome] => [10 * MINUTE_MS, MISSING]),
      [LOST_AFTER_MS, MISSING],
      [1, MISSING],
    ]);
    expect(seen.map(({ state }) => state)).toEqual(['LIVE', 'LIVE', 'LIVE', 'LIVE', 'LOST']);
  });

  it('that upstream does not know is not given up because the wall clock jumped [F47]', async () => {
    const clock = { ...stand.ports.clock, monotonic: () => 5_000 };
    const looks: [number, UpstreamOutcome][] = [
      [0, MISSING],
      [24 * 3_600_000, MISSING],
    ];
    const seen = await afterLooks(await over(), looks, { ...stand.ports, clock });
    expect(seen.map(({ state }) => state)).toEqual(['LIVE', 'LIVE']);
  });

  it('of a QR sale that is given up is told as expired', async () => {
    const merchant_order_id = 8_000_000_000_000_001;
    const { order } = await live();
    const link = await stand.link({ family: 'qr', unit: 'TILL1', slot: null, merchant_order_id, order_id: orderId(2) });
    await stand.store.links.saveLink(link, { ...TOLD, state: 'LIVE', order, expires_at: NOON - LOST_AFTER_MS - 1 });
    const seen = await afterLooks(link, [
      [0, MISSING],
      [10 * MINUTE_MS, MISSING],
      [10 * MINUTE_MS, MISSING],
    ]);
    expect(seen.map(({ state }) => state)).toEqual(['LIVE', 'LIVE', 'LOST']);
    const told = await stand.store.notices.dueNotices(stand.now, 10);
    expect(told.map(({ topic, subject }) => `${topic} ${subject}`)).toEqual([`merchant_order ${merchant_order_id}`]);
  });

  it('that upstream knows again meanwhile is given up by nobody, also when a till has read it', async () => {
    const link = await over();
    await afterLooks(link, [[0, MISSING]]);
    stand.answers = [answered(200, orderOf())];
    await refreshLink(stand.ports, await stand.stored(link), TOKEN, { force: true });
    const seen = await afterLooks(link, [
      [10 * MINUTE_MS, MISSING],
      [10 * MINUTE_MS, MISSING],
      [MINUTE_MS, answered(200, orderOf())],
      [MINUTE_MS, MISSING],
      [10 * MINUTE_MS, MISSING],
    ]);
    expect(new Set(seen.map(({ state }) => state))).toEqual(new Set(['LIVE']));
  });

  it('that upstream did not know for one read before an outage, and one after it, is not given up by the outage', async () => {
    const seen = await afterLooks(await over(), [
      [0, MISSING],
      [10 * MINUTE_MS, UNREACHABLE],
      [10 * MINUTE_MS, UNREACHABLE],
      [0, MISSING],
    ]);
    expect(seen.map(({ state }) => state)).toEqual(['LIVE', 'LIVE', 'LIVE', 'LIVE']);
  });

  it('that a till’s read has found at the last moment is not given up', async () => {
    const link = await over();
    await afterLooks(link, [
      [0, MISSING],
      [10 * MINUTE_MS, MISSING],
    ]);
    stand.asked.length = 0;
    // Between the read of the check and its write of LOST.
    const store: Store = withMethods(stand.store, {
      merchant: async (id) => {
        if (stand.asked.length === 1) {
          stand.answers = [answered(200, orderOf({ status: 'at_terminal' }, 5))];
          await refreshLink(stand.ports, await stand.stored(link), TOKEN, { force: true });
        }
        return stand.store.merchants.merchant(id);
      },
    });
    const [seen] = await afterLooks(link, [[10 * MINUTE_MS, MISSING]], { ...stand.ports, store });
    expect(stand.asked).toHaveLength(2);
    expect(seen).toMatchObject({ state: 'LIVE', legacy_state: 'ON_TERMINAL' });
  });

  it('that can not be read is not given up, nor are its looks counted', async () => {
    const seen = await afterLooks(await over(), [
      [0, UNREACHABLE],
      [20 * MINUTE_MS, MISSING],
    ]);
    expect(seen.map(({ state }) => state)).toEqual(['LIVE', 'LIVE']);
    expect(stand.counts).toEqual([]);
  });

  it('that nobody was told of is given up, too, and no longer canceled then', async () => {
    const link = await over();
    await stand.store.links.saveLink(link, { client_answer: 'error' });
    await afterLooks(link, [
      [0, MISSING],
      [10 * MINUTE_MS, MISSING],
    ]);
    stand.asked.length = 0;
    const [seen] = await afterLooks(link, [[10 * MINUTE_MS, MISSING]]);
    expect(seen?.state).toBe('LOST');
    expect(stand.asked.map(({ name }) => name)).toEqual(['get']);
  });

  it.each<[string, UpstreamOutcome, number, number]>([
    ['over, that can not be found is looked at again in a minute', MISSING, LOST_AFTER_MS, MINUTE_MS],
    ['over, that is there is looked at again after a tenth of its life', HERE, LOST_AFTER_MS, HOUR_MS + 30_000],
    ['not over, that can not be found is looked at again after a tenth of its life', MISSING, -HOUR_MS, 0.9 * HOUR_MS],
  ])('of a QR %s', async (_what, answer, over_ms, later_ms) => {
    const { order } = await live();
    const link = await stand.link({
      family: 'qr',
      unit: 'TILL1',
      slot: null,
      merchant_order_id: 1,
      order_id: orderId(2),
    });
    await stand.store.links.saveLink(link, { ...TOLD, state: 'LIVE', order, expires_at: NOON + 10 * HOUR_MS });
    stand.now += 10 * HOUR_MS + over_ms;
    const [seen] = await afterLooks(link, [[0, answer]]);
    expect(seen?.next_check_at).toBe(stand.now + later_ms);
  });

  it('counts as missing from the first read of its order that did not find it, whoever read it, and from no other time', async () => {
    const other = await live();
    const { order } = await stand.store.links.saveLink(other, { state: 'DONE', next_check_at: null });
    const doubt = await due({ expires_at: NOON - LOST_AFTER_MS - 1, sealed_body: null });
    await looked(doubt);
    await stand.store.links.saveLink(await stand.stored(doubt), {
      ...TOLD,
      state: 'LIVE',
      order,
      order_id: orderId(2),
    });
    const [seen] = await afterLooks(doubt, [[20 * MINUTE_MS, MISSING]]);
    expect(seen?.state).toBe('LIVE');
    stand.now += 10 * MINUTE_MS;
    stand.answers = [answered(200, orderOf({ id: orderId(2) }))];
    await readOrder(stand.ports, TOKEN, orderId(2));
    const [after] = await afterLooks(doubt, [[10 * MINUTE_MS, MISSING]]);
    expect(after?.state).toBe('LIVE');
  });

  it('without an id is no order that could be missing', async () => {
    const link = await live({ ...TOLD, order_id: null, expires_at: NOON - LOST_AFTER_MS - 1 });
    expect(await looked(link)).toMatchObject({ state: 'LIVE' });
    expect(stand.asked).toEqual([]);
    expect(isGivenUp(stand.ports, link)).toBe(false);
  });
});

describe('a live order that nobody was told of', () => {
  const SETTLED_MS = 9_000 + 30_000;

  it.each([
    [SETTLED_MS - 1, []],
    [SETTLED_MS, ['cancel']],
  ])('is taken away after %d ms', async (after_ms, calls) => {
    const link = await live();
    stand.now += after_ms;
    stand.answers = [answered(200, orderOf()), answered(200, orderOf({ status: 'canceled' }, 50))];
    const after = await looked(link);
    expect(stand.asked.map(({ name }) => name)).toEqual(['get', ...calls]);
    expect(after.legacy_state).toBe(calls.length === 0 ? 'OPEN' : 'CANCELED');
  });

  it('is taken away with a key of its own, written down first, and told in the audit', async () => {
    const link = await live();
    stand.now += SETTLED_MS;
    stand.answers = [
      answered(200, orderOf()),
      async () => {
        expect((await stand.stored(link)).cancel).toBe('sent');
        return answered(200, orderOf({ status: 'canceled' }, 50));
      },
    ];
    await looked(link);
    expect(stand.asked[1]).toMatchObject({
      method: 'POST',
      path: `/v1/orders/${orderId(1)}/cancel`,
      timeout_ms: 4_000,
      headers: {},
      idempotency_key: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(stand.points).toEqual([
      'order.applied',
      'cancel.marked',
      'cancel.sent',
      'notices.committed',
      'order.applied',
    ]);
    expect(stand.counts).toEqual(['settlements unacknowledged_order_canceled']);
    expect(await stand.store.audit.audits(1)).toMatchObject([{ reason: encoded(say('settled.canceled', {})) }]);
  });

  it.each([
    ['stays when somebody is at the terminal', { status: 'at_terminal' }, {}],
    ['stays when it was told meanwhile', {}, { client_answer: 'maybe' as const }],
  ])('%s', async (_why, order, change) => {
    const link = await live(change);
    stand.now += SETTLED_MS;
    stand.answers = [answered(200, orderOf(order, 5))];
    expect(await looked(link)).toMatchObject({ state: 'LIVE', cancel: null });
    expect(stand.asked).toHaveLength(1);
  });

  it.each([
    ['for the first time', null],
    ['again', 'sent' as const],
  ])('stays when a retry at another process was answered with it while it was looked at %s', async (_when, cancel) => {
    const link = await live({ cancel });
    stand.now += SETTLED_MS;
    const claimed = async (): Promise<UpstreamOutcome> => {
      await stand.store.links.saveLink(await stand.stored(link), {
        client_answer: 'maybe',
        acknowledged_at: stand.now,
      });
      return answered(200, orderOf());
    };
    stand.answers = [claimed];
    expect(await looked(link)).toMatchObject({ state: 'LIVE', client_answer: 'maybe', cancel });
    expect(stand.asked.map(({ name }) => name)).toEqual(['get']);
    expect((await stand.stored(link)).next_check_at).toBeGreaterThan(stand.now);
  });

  it('is read when the cancel says nothing, and looked at again when it is still open', async () => {
    const link = await live();
    stand.now += SETTLED_MS;
    stand.answers = [answered(200, orderOf()), later(BROKEN), answered(200, orderOf({}, 6))];
    expect(await looked(link)).toMatchObject({ state: 'LIVE', cancel: 'sent', next_check_at: expect.any(Number) });
    expect(stand.asked.map(({ name }) => name)).toEqual(['get', 'cancel', 'get']);
    expect((await stand.stored(link)).next_check_at).toBeGreaterThan(stand.now);
  });

  it('that can not be taken away is told in the audit, once', async () => {
    const link = await live();
    stand.now += SETTLED_MS;
    const locked = (): UpstreamOutcome[] => [
      answered(200, orderOf()),
      refusal(409, 'order_locked'),
      answered(200, orderOf()),
    ];
    stand.answers = locked();
    const seen = await looked(link);
    stand.now = seen.next_check_at ?? 0;
    stand.answers = locked();
    expect(await looked(seen)).toMatchObject({ state: 'LIVE' });
    expect(stand.asked.map(({ name }) => name)).toEqual(['get', 'cancel', 'get', 'get', 'cancel', 'get']);
    expect((await stand.store.audit.audits(9)).map(({ reason }) => reason)).toEqual([
      encoded(say('settled.not_canceled', {})),
      'set up',
    ]);
  });

  it('is over when the read after the cancel says so', async () => {
    const link = await live();
    stand.now += SETTLED_MS;
    stand.answers = [answered(200, orderOf()), later(BROKEN), answered(200, orderOf({ status: 'canceled' }, 60))];
    expect(await looked(link)).toMatchObject({ state: 'DONE', next_check_at: null });
  });

  it('is taken for told where the setting says so', async () => {
    const link = await live();
    stand.now += SETTLED_MS;
    stand.answers = [answered(200, orderOf())];
    const ports = withCreate(stand.ports, { unclaimed: 'adopt' });
    expect(await looked(link, ports)).toMatchObject({ state: 'LIVE', client_answer: 'maybe' });
    expect(stand.counts).toEqual(['settlements unacknowledged_order_adopted']);
    expect(await stand.store.audit.audits(1)).toMatchObject([{ reason: encoded(say('settled.adopted', {})) }]);
  });

  it('and that was paid is told in the audit, once', async () => {
    const link = await live();
    stand.answers = [answered(200, orderOf(PAID, 5))];
    await looked(link);
    expect(stand.counts).toEqual(['settlements paid_but_unacknowledged', 'silent_orders']);
    expect(await stand.store.audit.audits(1)).toMatchObject([
      { reason: encoded(say('settled.paid', {})), subject: link.legacy_id },
    ]);
  });
});

describe('a failing store', () => {
  it('is told, whatever was to be done', async () => {
    const link = await due();
    const saveLink = () => Promise.reject(new PuenteError('store_failed', 'the disk is gone'));
    stand.restart({ store: withMethods(stand.store, { saveLink }) });
    stand.answers = [creates()];
    await expect(lookAfter(stand.ports, link)).rejects.toThrow('the disk is gone');
  });

  it('of a merchant whose credential is configured, that one is used', async () => {
    await forgetToken();
    await setMerchant(stand.store, MERCHANT, {});
    const merchant = await stand.store.merchants.merchant(MERCHANT);
    if (merchant === null) throw new Error('the merchant is gone');
    const sealed_credential = stand.ports.vault.seal('APP_USR-configured', 'credential');
    const line = {
      at: NOON,
      who: 'ana',
      action: 'merchant settings' as const,
      subject: MERCHANT,
      reason: 'set up',
      detail: {},
    };
    await stand.store.merchants.saveMerchant({ ...merchant, sealed_credential }, merchant.revision, line);
    stand.answers = [creates()];
    await looked(await due());
    expect(stand.asked[0]?.token.reveal()).toBe('APP_USR-configured');
  });
});
