/** A report on a real store: decisions and incidents by merchant, findings, stuck notices, and what was cut. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Order } from '../../../src/contract/orders.ts';
import { viewReceivers } from '../../../src/ops/notices.ts';
import type { Ports } from '../../../src/ops/ports.ts';
import { merchantReadiness } from '../../../src/ops/readiness/readiness.ts';
import { acceptDisagreement } from '../../../src/ops/reconcile/mismatches.ts';
import { compareReports, diffReports } from '../../../src/ops/report/diff.ts';
import { gatherReport } from '../../../src/ops/report/gather.ts';
import { askOf } from '../../../src/ops/report/period.ts';
import type { Report } from '../../../src/ops/report/report.ts';
import type { AuditEntry } from '../../../src/proxy/audit.ts';
import type { Attempt } from '../../../src/proxy/records/notices.ts';
import type { LinkChange } from '../../../src/proxy/sales/link.ts';
import { applyOrder } from '../../../src/proxy/sales/settle.ts';
import { portsAt, setMerchant } from '../../proxy/routing/lane-ports.ts';
import { newDifference, newExchange, newLoss } from '../../store/contract/evidence-kit.ts';
import {
  auditOf,
  DAY_MS,
  finished,
  type Harness,
  MERCHANT,
  MINUTE_MS,
  NOON,
  newNotice,
  OTHER_MERCHANT,
  opened,
  orderId,
} from '../../store/contract/harness.ts';
import { openHarness } from '../../store/sqlite/kit.ts';

const FACTS = {
  assumptions: [
    { name: 'merchants.declined', value: 'error', sentence: 'How a declined payment shows.', is_default: true },
    { name: 'merchants.voucher', value: 'refuse', sentence: 'What becomes of vouchers.', is_default: true },
  ],
  notice_agent: 'Puente',
};
let harness: Harness;
let ports: Ports;
let now = NOON;
beforeEach(async () => {
  now = NOON;
  harness = await openHarness();
  ports = portsAt(harness.store, () => now);
});
afterEach(() => harness.dispose());

const report = (merchant_id: string | null = null, since = NOON - DAY_MS, until = NOON + 1): Promise<Report> =>
  gatherReport(ports, { merchant_id, since, until }, FACTS);

const line = (at: number, who: string, subject: string, reason: string, detail = {}): AuditEntry => ({
  ...auditOf('act', detail),
  at,
  who,
  subject,
  reason,
});

describe('decisions and incidents', () => {
  it('are those of the period, newest first, of people and of Puente, whoever’s clock went back', async () => {
    const { store } = harness;
    const hours = [-30, -20, -10, -10.5, -1, 0, 2];
    for (const hour of hours) {
      await store.audit.appendAudit(
        line(NOON + hour * 60 * MINUTE_MS, hour === -1 ? 'puente' : 'ana', MERCHANT, `${hour}`),
      );
    }
    const found = await report(null, NOON - 20 * 60 * MINUTE_MS, NOON);
    expect(found.decisions.map(({ reason }) => reason)).toEqual(['-10.5', '-10', '-20']);
    expect(found.incidents.map(({ reason }) => reason)).toEqual(['-1']);
    expect((await report(null, NOON - 40 * 60 * MINUTE_MS, NOON - 25 * 60 * MINUTE_MS)).decisions).toHaveLength(1);
    expect((await report(null, NOON + 3 * 60 * MINUTE_MS, NOON + DAY_MS)).decisions).toEqual([]);
  });

  it('of one merchant are those about it, about its sales, and those that name it', async () => {
    const { store } = harness;
    const [own, other] = [await finished(store), await finished(store, { merchant_id: OTHER_MERCHANT })];
    await store.audit.appendAudit(line(NOON, 'ana', MERCHANT, 'its stage'));
    await store.audit.appendAudit(line(NOON, 'ana', OTHER_MERCHANT, 'another stage'));
    await store.audit.appendAudit(line(NOON, 'ana', own.legacy_id, 'its notice'));
    await store.audit.appendAudit(line(NOON, 'ana', other.legacy_id, 'another notice'));
    await store.audit.appendAudit(line(NOON, 'puente', own.legacy_id, 'its settlement', { merchant: MERCHANT }));
    await store.audit.appendAudit(
      line(NOON, 'puente', other.legacy_id, 'another settlement', { merchant: OTHER_MERCHANT }),
    );
    const found = await report(MERCHANT);
    expect(found.decisions.map(({ reason }) => reason)).toEqual(['its notice', 'its stage']);
    expect(found.incidents.map(({ reason }) => reason)).toEqual(['its settlement']);
  });

  it('hold no path of a notice URL, which the first builds wrote into the chain, and no list without an end', async () => {
    const notice_url = 'https://shop.example/hook-of-this-shop?key=77';
    const units_in = Array.from({ length: 25 }, (_, nth) => `point:terminal-${nth}`);
    const detail = { before: { notice_url: null }, after: { notice_url }, target: { units_in } };
    await harness.store.audit.appendAudit(line(NOON, 'ana', MERCHANT, 'its notices', detail));
    const [decision] = (await report(MERCHANT)).decisions;
    expect(decision?.after).toEqual({ notice_url: 'https://shop.example/…?…' });
    expect(decision?.before).toEqual({ notice_url: null });
    expect(decision?.evidence).toMatchObject({ target: { units_in: [...units_in.slice(0, 20), '5 more'] } });
  });

  it('between two periods are those from the end of the first on, also of the time between them', async () => {
    const days = [-20, -15, -10, -4, -1];
    for (const day of days)
      for (const who of ['ana', 'puente'])
        await harness.store.audit.appendAudit(line(NOON + day * DAY_MS, who, MERCHANT, `${day}`));
    const between = async (before_until: number, merchant: { merchant?: string } = { merchant: MERCHANT }) => {
      const windows = { since: NOON - 5 * DAY_MS, until: NOON - 2 * DAY_MS, before_until };
      const { decisions, incidents } = await compareReports(ports, { ...merchant, ...windows }, FACTS);
      expect(incidents.map(({ reason }) => reason)).toEqual(decisions.map(({ reason }) => reason));
      return decisions.map(({ reason }) => reason);
    };
    expect(await between(NOON - 16 * DAY_MS)).toEqual(['-4', '-10', '-15']);
    expect(await between(NOON - 16 * DAY_MS, {})).toEqual(['-4', '-10', '-15']);
    expect(await between(NOON - 16 * DAY_MS, { merchant: OTHER_MERCHANT })).toEqual([]);
    expect(await between(NOON - 5 * DAY_MS)).toEqual(['-4']);
    expect(await between(NOON - 3 * DAY_MS)).toEqual([]);
  });

  it('are cut to the newest, and how many are missing is said', async () => {
    const { store } = harness;
    const many = Array.from({ length: 5_003 }, (_, nth) => line(NOON - 6_000 + nth, 'ana', MERCHANT, `change ${nth}`));
    await Promise.all(many.map((one) => store.audit.appendAudit(one)));
    const found = await report();
    expect(found.decisions).toHaveLength(5_000);
    expect(found.left_out).toMatchObject({ differences: 0, incidents: 0, decisions: 3, findings: 0 });
    expect(found.decisions.map(({ reason }) => reason)).not.toContain('change 0');
    const between = (before_until: number) =>
      compareReports(ports, { merchant: MERCHANT, since: NOON - 500, until: NOON, before_until }, FACTS);
    const { decisions, left_out } = await between(NOON - DAY_MS);
    expect(decisions.map(({ reason }) => reason)).toEqual(found.decisions.map(({ reason }) => reason));
    expect(left_out).toBe(3);
    const later = await between(NOON - 3_000);
    expect([later.decisions.length, later.left_out]).toEqual([2_003, 0]);
    // A file that has lines of before the earlier one has all that was decided since.
    const head = (sequence: number) => ({ ...found, audit_head: { sequence, hash: '' } });
    expect([diffReports(head(0), found).left_out, diffReports(head(4), found).left_out]).toEqual([3, 0]);
  });
});

it('the fleet: everybody who is known or was proxied, with exact sums, and what stands in the way', async () => {
  const { store } = harness;
  await setMerchant(store, MERCHANT, { stage: 'shadow' });
  const loss = newLoss();
  const difference = newDifference();
  await store.exchanges.recordExchanges([
    newExchange({ at: NOON - DAY_MS - 1 }),
    newExchange({ lost: [loss], differences: [difference] }),
    newExchange({ lane: 'orders', outcome: 'fault', status: 500 }),
    newExchange({ merchant_id: '9', operation: null, kind: null }),
    newExchange({ merchant_id: '10', outcome: 'auth', status: 401 }),
    newExchange({ merchant_id: null, operation: null, kind: null }),
  ]);
  const found = await report();
  expect(found.exchanges.count).toBe(5);
  expect(found.merchants.map(({ merchant_id, calls, faults, losses }) => [merchant_id, calls, faults, losses])).toEqual(
    [
      [MERCHANT, 2, 1, 1],
      ['9', 1, 0, 0],
    ],
  );
  expect(found.merchants[0]).toMatchObject({ site: 'MLA', stage: 'shadow', verdict: 'blocked', open_differences: 1 });
  expect(found.verdicts).toEqual({ ready: 0, blocked: 1, inconclusive: 1 });
  expect(found.findings.map(({ merchant_id, code }) => [merchant_id, code])).toContainEqual([
    MERCHANT,
    'open_difference',
  ]);
  expect(found.findings).toHaveLength(found.merchants[0]?.blockers ?? 0);
  const own = await report(MERCHANT);
  expect(own.merchants).toEqual([found.merchants[0]]);
  expect(own.findings.map(({ code }) => code)).toEqual(own.readiness?.blockers.map(({ code }) => code));
  expect(own.losses).toMatchObject([{ path: loss.path, count: 0, would_be_count: 1 }]);
  expect(own.losses[0]?.advice).toContain(loss.path);
});

it('a till that sends thousands of fields that nobody knows does not make a report without end', async () => {
  const lost = (nth: number) =>
    Array.from({ length: 25 }, (_, field) => newLoss({ path: `body.x${nth}_${field}`, weight: 'other' }));
  await harness.store.exchanges.recordExchanges(
    Array.from({ length: 100 }, (_, nth) => newExchange({ lost: lost(nth) })),
  );
  const { losses } = await report();
  expect(losses).toHaveLength(2_001);
  expect(losses.reduce((sum, one) => sum + one.would_be_count, 0)).toBe(2_500);
  expect(losses.find(({ path }) => path === '(others)')?.would_be_count).toBe(500);
});

it('notices: sent, retried, and stuck by a refusal or by waiting', async () => {
  const { store } = harness;
  const attempt = (outcome: Attempt['outcome']): Attempt => ({
    at: NOON,
    duration_ms: 3,
    outcome,
    status: outcome === 'delivered' ? 200 : 500,
    detail: 'as it went',
    url: outcome === 'ours' ? null : 'https://pos.example/ipn',
  });
  const notice = async (made_at: number, outcomes: Attempt['outcome'][]) => {
    const link = await finished(store);
    await store.links.saveLink(link, {}, { notices: [newNotice(link, 'body', { created_at: made_at })] });
    for (const outcome of outcomes) {
      const one = (await store.notices.dueNotices(NOON, 100)).find(({ legacy_id }) => legacy_id === link.legacy_id);
      if (one === undefined) throw new Error('the notice is not due');
      const state = outcome === 'delivered' ? 'delivered' : 'pending';
      await store.notices.recordAttempt(one, attempt(outcome), { state, next_attempt_at: NOON });
    }
  };
  await notice(NOON - 60 * MINUTE_MS, ['delivered']);
  await notice(NOON - 60 * MINUTE_MS, ['theirs', 'delivered']);
  await notice(NOON - 60 * MINUTE_MS, ['theirs', 'theirs']);
  await notice(NOON - 60 * MINUTE_MS, ['ours']);
  await notice(NOON, []);
  await notice(NOON - 2 * DAY_MS, []);
  const { notices, receivers } = await report();
  const [point, ...more] = notices;
  expect(more).toEqual([]);
  expect(point).toEqual({ topic: 'point', made: 5, delivered: 2, retried: 2, pending: 3, stuck: 2, dead: 0 });
  // By receiver: both notices were acknowledged an hour after they were made.
  const of = { merchant_id: MERCHANT, last_delivered_at: new Date(NOON).toISOString() };
  const none = { delivered: 0, late: 0, refused: 0, held: 0, last_delivered_at: null, last_refused_at: null };
  expect(receivers).toEqual([
    {
      ...{ ...none, ...of, receiver: 'https://pos.example/ipn', delivered: 2, late: 2, refused: 3, success_rate: 40 },
      last_refused_at: new Date(NOON).toISOString(),
    },
    { ...none, merchant_id: MERCHANT, receiver: null, held: 1, success_rate: null },
  ]);
  // The same lines as those of `puente notices receivers`, of the fleet and of its only merchant.
  const asked = { since: NOON - DAY_MS, until: NOON + 1 };
  for (const query of [asked, { ...asked, merchant: [MERCHANT] }]) {
    const view = await viewReceivers(ports, query);
    expect(
      view.receivers.map(({ merchant: merchant_id, merchant_name: _name, url: receiver, ...one }) => ({
        merchant_id,
        receiver,
        ...one,
      })),
    ).toEqual(receivers);
  }
  expect((await report(MERCHANT)).receivers).toEqual(receivers);
  expect((await report(OTHER_MERCHANT)).receivers).toEqual([]);
});

it('a receiver that refused one attempt among thousands has no success of 100 %', async () => {
  const { store } = harness;
  const link = await finished(store);
  await store.links.saveLink(link, {}, { notices: [newNotice(link, 'body')] });
  const attempts = (outcome: string, count: number): Promise<void> =>
    harness.sql(`WITH RECURSIVE nth (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM nth WHERE n < ${count})
      INSERT INTO notice_attempts (notice_id, at, duration_ms, outcome, status, detail, url)
      SELECT id, ${NOON}, 3, '${outcome}', 200, '', 'https://pos.example/ipn' FROM notices, nth`);
  await attempts('delivered', 2_999);
  expect((await report()).receivers).toMatchObject([{ delivered: 2_999, refused: 0, success_rate: 100 }]);
  await attempts('theirs', 1);
  expect((await report()).receivers).toMatchObject([{ delivered: 2_999, refused: 1, success_rate: 99.9 }]);
});

it('notices are of the UTC day on which they were made, also where a slice of the count would hold two', async () => {
  const { store } = harness;
  const midnight = Math.floor(NOON / DAY_MS) * DAY_MS;
  for (const created_at of [midnight - 1, midnight, midnight + 1]) {
    const link = await finished(store);
    await store.links.saveLink(link, {}, { notices: [newNotice(link, 'body', { created_at })] });
  }
  const since = midnight - 30 * MINUTE_MS;
  const { notice_days } = await report(null, since);
  const line = { delivered: 0, dead: 0 };
  expect(notice_days).toEqual([
    { day: new Date(midnight - 1).toISOString().slice(0, 10), made: 1, pending: 1, stuck: 1, ...line },
    { day: new Date(midnight).toISOString().slice(0, 10), made: 2, pending: 2, stuck: 2, ...line },
  ]);
});

it('unmatched sales: what upstream does not know, what Puente did not, and what differs; open or repaired, with id and amount', async () => {
  const { store } = harness;
  await setMerchant(store, MERCHANT, {});
  const found = async (
    kind: 'missing' | 'orphan' | 'amount',
    change: LinkChange = {},
    order_id: string | null = null,
  ) => {
    const link = await finished(store);
    await store.links.saveLink(link, change);
    const entry = line(NOON - 1, 'puente', link.legacy_id, kind, { merchant: MERCHANT, unit: link.unit, order_id });
    await store.audit.appendAudit({ ...entry, action: `mismatch ${kind}` });
    return link.legacy_id;
  };
  const [missing, lost] = [await found('missing', { state: 'LOST' }), await finished(store)];
  const [orphan, adopted] = [
    await found('orphan', {}, orderId(1)),
    await found('orphan', { order_id: orderId(2) }, orderId(2)),
  ];
  const [differs, read] = [await found('amount'), await found('missing', { order_id: orderId(3) })];
  await store.links.saveLink(lost, { state: 'LOST' });
  const { unmatched } = await report(MERCHANT);
  expect(
    unmatched.map(({ id, state, known_to, kind, amount }) => [id, state, known_to, kind, amount]).toSorted(),
  ).toEqual(
    [
      [missing, 'open', 'puente', 'missing', '15.00'],
      [lost.legacy_id, 'open', 'puente', 'lost', '15.00'],
      [orphan, 'open', 'upstream', 'orphan', '15.00'],
      [differs, 'open', 'both', 'amount', '15.00'],
      [adopted, 'repaired', 'upstream', 'orphan', '15.00'],
      [read, 'repaired', 'puente', 'missing', '15.00'],
    ].toSorted(),
  );
  // The verdict counts those that are open, whatever their age, and sales that are lost.
  const told = async (repaired: boolean) => {
    const old = line(NOON - 30 * DAY_MS, 'puente', adopted, 'state', { merchant: MERCHANT, repaired });
    await store.audit.appendAudit({ ...old, action: 'mismatch state' });
  };
  const counted = async () => {
    const { unproven } = await merchantReadiness(ports, MERCHANT);
    return unproven
      .filter(({ code }) => code.startsWith('mismatch_'))
      .map(({ code, said }) => [code, said?.facts.count]);
  };
  const open = [
    ['mismatch_missing', 2],
    ['mismatch_orphan', 1],
    ['mismatch_amount', 1],
  ];
  expect(await counted()).toEqual(open);
  await told(false);
  expect(await counted()).toEqual([...open, ['mismatch_state', 1]]);
  await told(true);
  expect(await counted()).toEqual(open);
});

it('the verdict sees an open mismatch and a lost sale behind a thousand newer ones that somebody has accepted', async () => {
  const { store } = harness;
  const about = (subject: string, detail: object): AuditEntry =>
    line(NOON, 'ana', subject, 'x', { merchant: MERCHANT, ...detail });
  const counted = async () => {
    const { unproven, acknowledged } = await merchantReadiness(ports, MERCHANT);
    const kinds = unproven.flatMap(({ code, said }) =>
      code.startsWith('mismatch_') ? [[code, said?.facts.count]] : [],
    );
    return [kinds, acknowledged.length];
  };
  const lost = async (created_at: number) => {
    const link = await opened(store, { created_at, slot: null });
    await store.links.saveLink(link, { state: 'LOST' });
    return link.legacy_id;
  };
  await lost(NOON - DAY_MS);
  await store.audit.appendAudit({ ...about('an orphan', {}), action: 'mismatch orphan' });
  const accepted = { kinds: ['orphan', 'missing'], expected: Number.MAX_SAFE_INTEGER };
  await Promise.all(
    Array.from({ length: 1_001 }, async (_, nth) => {
      const id = await lost(NOON);
      await store.audit.appendAudit({ ...about(id, accepted), action: 'sale acknowledged' });
      await store.audit.appendAudit({ ...about(`orphan ${nth}`, {}), action: 'mismatch orphan' });
      await store.audit.appendAudit({ ...about(`orphan ${nth}`, accepted), action: 'sale acknowledged' });
    }),
  );
  const open = [
    ['mismatch_orphan', 1],
    ['mismatch_missing', 1],
  ];
  expect(await counted()).toEqual([open, 1_999]);
});

it('no certificate while a sale is unmatched or was approved twice', async () => {
  const { store } = harness;
  const whole = () => report(MERCHANT, NOON - 10 * DAY_MS);
  await setMerchant(store, MERCHANT, { stage: 'orders' });
  const call = {
    operation: 'point.read_intent',
    lane: 'orders',
    merchant_id: MERCHANT,
    at: NOON - 9 * DAY_MS,
  } as const;
  await store.exchanges.recordExchanges([newExchange(call)]);
  expect((await whole()).certificate).toMatchObject({ merchant_id: MERCHANT });
  const told = async (repaired: boolean) => {
    const { legacy_id } = await finished(store);
    const entry = line(NOON - 1, 'puente', legacy_id, 'stale', { merchant: MERCHANT, repaired });
    await store.audit.appendAudit({ ...entry, action: 'mismatch stale' });
    return (await whole()).certificate;
  };
  expect(await told(true)).not.toBeNull();
  const twice = await finished(store);
  const payments = ['PAY1', 'PAY2'].map((id) => ({ id, status: 'processed' }));
  const order = { ...twice.order, status: 'processed', transactions: { payments } } as Order;
  await store.links.saveLink(twice, { order });
  expect(await whole()).toMatchObject({
    ...{ approvals: [{ id: twice.legacy_id }], certificate: null, completion: { may_go: false } },
    ...{ readiness: { verdict: 'inconclusive' }, merchants: [{ verdict: 'inconclusive' }] },
  });
  await acceptDisagreement(ports, twice.legacy_id, { reason: 'refunded by hand', expected: 0 }, 'ana');
  expect(await whole()).toMatchObject({
    ...{ approvals: [{ state: 'acknowledged' }], readiness: { verdict: 'ready' } },
    certificate: { acknowledged: [{ id: twice.legacy_id, amount: '15.00', who: 'ana', kinds: ['approvals'] }] },
  });
  await store.links.saveLink((await store.links.link(twice.legacy_id)) ?? twice, { order: twice.order });
  expect(await told(true)).not.toBeNull();
  expect(await told(false)).toBeNull();
  // The verdict fits the list of the report: its till sees a state that the order has left.
  expect(await whole()).toMatchObject({
    readiness: { verdict: 'inconclusive', unproven: [{ code: 'mismatch_stale' }] },
    completion: { may_go: false, why: expect.stringContaining('the order has moved on') },
    unmatched: [{ kind: 'stale', state: 'open' }, { state: 'repaired' }, { state: 'repaired' }],
  });
});

it('a sale that is not over is a finding of report, line and verdict once it has two approved payments', async () => {
  const { store } = harness;
  await setMerchant(store, MERCHANT, { stage: 'orders' });
  const live = await opened(store);
  const seen = async (...ids: string[]) => {
    const payments = ids.map((id) => ({ id, status: 'processed' }));
    const current = (await store.links.link(live.legacy_id)) ?? live;
    const last_updated_date = `2026-01-05T12:00:0${ids.length}.000Z`;
    const order = { id: orderId(5), status: 'in_review', last_updated_date, transactions: { payments } } as Order;
    expect(await applyOrder(ports, current, order)).toMatchObject({ state: 'LIVE', order });
    const { approvals, readiness } = await report(MERCHANT);
    const codes = (readiness?.unproven ?? []).map(({ code }) => code);
    const lines = await store.audit.auditsOf({ subject: live.legacy_id, action: 'mismatch approvals' }, 9);
    return [approvals.map(({ id }) => id), codes.includes('mismatch_approvals'), lines.length];
  };
  expect(await seen('PAY1')).toEqual([[], false, 0]);
  expect(await seen('PAY1', 'PAY2')).toEqual([[live.legacy_id], true, 1]);
});

it('the assumptions of a merchant’s report are its own settings where it has some', async () => {
  await setMerchant(harness.store, MERCHANT, { declined: 'finished' });
  const values = ({ assumptions }: Report) => assumptions.map(({ value }) => value);
  expect(values(await report())).toEqual(['error', 'refuse']);
  const own = await report(MERCHANT);
  expect(values(own)).toEqual(['finished (of this merchant)', 'refuse']);
  expect(own.assumptions.map(({ is_default }) => is_default)).toEqual([false, true]);
});

it('a period without calls is an honest report, and one without an instant is refused', async () => {
  const found = await report(MERCHANT, NOON - 5, NOON - 4);
  expect(found).toMatchObject({ exchanges: { count: 0 }, traffic: [], notices: [], decisions: [] });
  expect(found.readiness?.verdict).toBe('inconclusive');
  const empty = { since: NOON, until: NOON };
  expect(() => askOf(ports, empty)).toThrow(expect.objectContaining({ code: 'bad_request' }));
});

it('stops when nobody waits for it any more', async () => {
  const gone = new AbortController();
  gone.abort();
  const ask = { merchant_id: null, since: NOON - 1, until: NOON };
  await expect(gatherReport(ports, ask, FACTS, gone.signal)).rejects.toMatchObject({ name: 'AbortError' });
});
