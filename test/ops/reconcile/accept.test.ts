/** A sale that nobody can repair is accepted by a person: it blocks nothing, is named, and opens again when something else differs. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Order } from '../../../src/contract/orders.ts';
import { encoded, say } from '../../../src/locales/message.ts';
import type { Ports } from '../../../src/ops/ports.ts';
import { merchantReadiness } from '../../../src/ops/readiness/readiness.ts';
import {
  acceptDisagreement,
  disagreementsOf,
  noteAgreement,
  noteMismatch,
  standingMismatches,
} from '../../../src/ops/reconcile/mismatches.ts';
import { gatherReport } from '../../../src/ops/report/gather.ts';
import type { MoneyLine } from '../../../src/ops/report/report.ts';
import { unmatchedOf } from '../../../src/ops/report/sales.ts';
import type { AuditLine } from '../../../src/proxy/audit.ts';
import type { Link } from '../../../src/proxy/sales/link.ts';
import { type Mismatch, type MismatchKind, mismatchKinds } from '../../../src/proxy/sales/orphans.ts';
import { applyOrder } from '../../../src/proxy/sales/settle.ts';
import { portsAt, setMerchant } from '../../proxy/routing/lane-ports.ts';
import { DAY_MS, finished, type Harness, MERCHANT, NOON, opened, orderId } from '../../store/contract/harness.ts';
import { openHarness } from '../../store/sqlite/kit.ts';

let harness: Harness;
let ports: Ports;
let sale: Link;
let now: number;
beforeEach(async () => {
  harness = await openHarness();
  now = NOON;
  ports = portsAt(harness.store, () => now);
  await setMerchant(harness.store, MERCHANT, {});
  sale = await finished(harness.store);
});
afterEach(() => harness.dispose());

async function accept(id = sale.legacy_id, who = 'ana', expected?: number) {
  const [newest] = await harness.store.audit.auditsOf({ subject: id }, 1);
  return acceptDisagreement(
    ports,
    id,
    { reason: 'refunded in cash', expected: expected ?? newest?.sequence ?? 0 },
    who,
  );
}

/** What a comparison reports: each sum is a disagreement of its own. */
const differs = (order_minor: number, kind: MismatchKind = 'amount'): Mismatch => ({
  ...{ kind, merchant_id: MERCHANT, unit: sale.unit, legacy_id: sale.legacy_id, order_id: sale.order_id },
  ...{ what: say('mismatch.amount', { link_minor: 1500, order_minor }), repair: 'none' },
});
const linesOf = (kind: MismatchKind) => harness.store.audit.auditsOf({ action: `mismatch ${kind}` }, 99);

const ASK = { merchant_id: MERCHANT, since: NOON - DAY_MS, until: NOON + 1 };
const made = () => gatherReport(ports, ASK, { assumptions: [], notice_agent: 'Puente' });

/** A line of the money that upstream never showed. */
const lostLine = (id: string): MoneyLine => ({
  ...{ at: new Date(NOON).toISOString(), merchant_id: MERCHANT, what: 'sale', lane: 'orders', family: 'point' },
  ...{ currency: 'ARS', outcome: 'lost', unit: sale.unit, id, order_id: null, approvals: null },
  ...{ amount_minor: '1500', amount: '15.00', refund: null, refunded: null },
});
/** What a process that has just started writes again: what it remembered is gone. */
async function repeat(lines: readonly AuditLine[], kind: MismatchKind): Promise<void> {
  for (const { sequence: _sequence, hash: _hash, ...again } of lines.toReversed())
    await harness.store.audit.appendAudit({ ...again, action: `mismatch ${kind}` });
}

/** Kinds that hold the verdict back, and who accepted what. */
async function judged() {
  const { unproven, acknowledged: accepted } = await merchantReadiness(ports, MERCHANT);
  const kinds = unproven.flatMap(({ code }) => (code.startsWith('mismatch_') ? [code.slice('mismatch_'.length)] : []));
  return [kinds, accepted.map(({ id, who }) => [id, who])];
}
const OPEN = (...kinds: MismatchKind[]) => [kinds, []];
const named = (who = 'ana') => [[], [[sale.legacy_id, who]]];

it('is refused for what is not known, agrees, or is still being resolved', async () => {
  await expect(accept('nothing')).rejects.toMatchObject({
    code: 'not_found',
    message: /^No sale nothing is stored/,
  });
  await expect(accept()).rejects.toMatchObject({ code: 'refused', message: /^Nothing is open about sale/ });
  // What a person is shown before says it, too.
  const seen = async () => (await disagreementsOf(ports, sale.legacy_id)).in_the_way;
  expect(await seen()).toMatch(/^Nothing is open about sale .* There is nothing to accept\.$/);
  for (const state of ['SENDING', 'IN_DOUBT'] as const) {
    sale = await harness.store.links.saveLink(sale, { state });
    await expect(accept()).rejects.toMatchObject({
      code: 'refused',
      message: /is in doubt, and Puente still searches/,
    });
  }
  sale = await harness.store.links.saveLink(sale, { state: 'LIVE' });
  await noteMismatch(ports, differs(1501));
  await expect(accept()).rejects.toMatchObject({
    code: 'refused',
    message: /is open at upstream, and may still be/,
  });
  expect(await harness.store.audit.auditsOf({ action: 'sale acknowledged' }, 9)).toEqual([]);
});

it('is reported once by two processes that find it at once', async () => {
  await Promise.all([1, 2].map(() => noteMismatch(ports, differs(1501))));
  expect(await linesOf('amount')).toHaveLength(1);
});

it('is reported again while it is open when upstream says something else, and a person sees both', async () => {
  for (const sum of [1501, 1502, 1501]) await noteMismatch(ports, differs(sum));
  expect(await linesOf('amount')).toHaveLength(2);
  const { disagreements } = await disagreementsOf(ports, sale.legacy_id);
  expect(disagreements.map(({ what }) => what)).toEqual([
    expect.stringContaining('the order says 1502'),
    expect.stringContaining('the order says 1501'),
  ]);
  expect((await disagreementsOf(ports, sale.legacy_id)).in_the_way).toBeNull();
  expect(await accept()).toMatchObject({ kinds: ['amount'] });
  expect((await disagreementsOf(ports, sale.legacy_id)).in_the_way).toContain('was accepted by ana');
  for (const sum of [1501, 1502]) await noteMismatch(ports, differs(sum));
  expect(await judged()).toEqual(named());
});

it('says nothing of a loss that came after it', async () => {
  await noteMismatch(ports, differs(1501));
  await accept();
  await harness.store.links.saveLink(sale, { state: 'LOST' });
  expect(await judged()).toEqual(OPEN('missing'));
  const found = await unmatchedOf(ports, ASK, [], [lostLine(sale.legacy_id)]);
  expect(found.lines).toMatchObject([{ id: sale.legacy_id, state: 'open', acknowledged_by: null }]);
  expect(await accept(sale.legacy_id, 'ben')).toMatchObject({ kinds: ['missing', 'amount'] });
  expect(await judged()).toEqual(named('ben'));
});

it('names a lost sale in the verdict and the report, with amount, name, time and reason', async () => {
  await harness.store.links.saveLink(sale, { state: 'LOST' });
  expect(await judged()).toEqual(OPEN('missing'));
  const at = new Date(NOON).toISOString();
  expect(await accept()).toMatchObject({
    ...{ id: sale.legacy_id, kinds: ['missing'], currency: 'ARS', amount: '15.00', who: 'ana', at },
    what: `${sale.legacy_id}, 15.00 ARS: ana accepted at ${at} that it does not agree with upstream (the order is missing), because: refunded in cash`,
  });
  expect(await judged()).toEqual(named());
  await expect(accept(sale.legacy_id, 'ben')).rejects.toMatchObject({ message: /was accepted by ana at/ });
  const { unmatched, decisions } = await made();
  expect(unmatched).toMatchObject([
    { id: sale.legacy_id, state: 'acknowledged', acknowledged_by: 'ana', acknowledged_at: at, amount: '15.00' },
  ]);
  expect(decisions[0]).toMatchObject({ action: 'sale acknowledged', who: 'ana', subject: sale.legacy_id });
});

it('names a sale that was approved twice, from the read that shows it on', async () => {
  const approved = (count: number): Order => {
    const payments = Array.from({ length: count }, (_, nth) => ({ id: `PAY${nth}`, status: 'processed' }));
    return { id: orderId(8), status: 'processed', transactions: { payments } };
  };
  // As an earlier version stored it: no line says so, and the report says it of its own rows.
  await harness.store.links.saveLink(sale, { order: approved(2) });
  expect(await judged()).toEqual(OPEN());
  const found = { id: sale.legacy_id, approvals: 2 };
  const twice = { code: 'mismatch_approvals' };
  expect(await made()).toMatchObject({
    ...{ approvals: [{ ...found, state: 'open', acknowledged_by: null }], unmatched: [] },
    ...{ readiness: { unproven: expect.arrayContaining([expect.objectContaining(twice)]) }, certificate: null },
  });
  expect(await accept()).toMatchObject({ kinds: ['approvals'], amount: '15.00' });
  const accepted = [{ ...found, state: 'acknowledged', acknowledged_by: 'ana', acknowledged_why: 'refunded in cash' }];
  expect(await made()).toMatchObject({ approvals: accepted, unmatched: [], readiness: { acknowledged: [{}] } });
  // Another one, live until upstream shows both payments: one line, which stands until it is accepted.
  const live = await opened(harness.store, { unit: 'PAX_A910__2' });
  for (const _again of [1, 2]) {
    const current = (await harness.store.links.link(live.legacy_id)) ?? live;
    await applyOrder(ports, current, { ...approved(2), id: orderId(9) });
  }
  expect(await linesOf('approvals')).toMatchObject([{ subject: live.legacy_id }]);
  expect((await judged())[0]).toEqual(['approvals']);
  await accept(live.legacy_id);
  expect(await judged()).toEqual([[], expect.arrayContaining([[live.legacy_id, 'ana']])]);
});

it('names an order that has no sale here by its own id, with the amount that upstream says', async () => {
  const order_id = orderId(7);
  await noteMismatch(ports, { ...differs(1, 'orphan'), legacy_id: null, order_id, amount_minor: 1234 });
  expect(await judged()).toEqual(OPEN('orphan'));
  expect(await accept(order_id)).toMatchObject({ id: order_id, merchant_id: MERCHANT, amount: '12.34' });
  expect(await judged()).toEqual([[], [[order_id, 'ana']]]);
});

it('stays accepted while upstream repeats itself, after a restart too', async () => {
  await noteMismatch(ports, differs(1501));
  expect(await judged()).toEqual(OPEN('amount'));
  await accept();
  expect(await judged()).toEqual(named());
  await noteMismatch(ports, differs(1501));
  const lines = await linesOf('amount');
  expect(lines).toHaveLength(1);
  await repeat(lines, 'amount');
  expect(await judged()).toEqual(named());
  await expect(accept()).rejects.toMatchObject({ message: /was accepted by ana at/ });
});

it('stays accepted where two contradictions of one kind are repeated after a restart', async () => {
  const action = 'mismatch contradiction' as const;
  const detail = { merchant: MERCHANT, unit: sale.unit, order_id: sale.order_id };
  const line = (reason: string) => ({ at: NOON, who: 'puente', action, subject: sale.legacy_id, reason, detail });
  const [merchant, reference] = [say('contradiction.merchant', {}), say('contradiction.reference', {})].map(encoded);
  for (const reason of [merchant, reference]) await harness.store.audit.appendAudit(line(reason ?? ''));
  await accept();
  expect(await judged()).toEqual(named());
  const lines = await linesOf('contradiction');
  await repeat(lines, 'contradiction');
  expect(await judged()).toEqual(named());
  // A third is news, whichever is repeated after it.
  await harness.store.audit.appendAudit(line(encoded(say('contradiction.paid', { sale_minor: 1500, paid_minor: 1 }))));
  await repeat(lines, 'contradiction');
  expect(await judged()).toEqual(OPEN('contradiction'));
});

it('covers what its person saw, and is refused once something else was found', async () => {
  await noteMismatch(ports, differs(1501));
  const seen = await disagreementsOf(ports, sale.legacy_id);
  expect(seen).toMatchObject({ amount: '15.00', currency: 'ARS', disagreements: [{ kind: 'amount' }] });
  await noteMismatch(ports, differs(1501, 'state'));
  for (const expected of [seen.newest, seen.newest + 9])
    await expect(accept(sale.legacy_id, 'ana', expected)).rejects.toMatchObject({ code: 'conflict' });
  expect(await judged()).toEqual(OPEN('amount', 'state'));
  const { newest, disagreements } = await disagreementsOf(ports, sale.legacy_id);
  expect(disagreements.map(({ kind, is_acknowledged }) => [kind, is_acknowledged])).toEqual([
    ['amount', false],
    ['state', false],
  ]);
  expect(await accept(sale.legacy_id, 'ana', newest)).toMatchObject({
    kinds: ['amount', 'state'],
    what: expect.stringContaining('15.00 ARS: ana accepted'),
  });
  expect(await judged()).toEqual(named());
});

it('is written once where two processes accept the same disagreement', async () => {
  await noteMismatch(ports, differs(1501));
  const { newest } = await disagreementsOf(ports, sale.legacy_id);
  const other = portsAt(harness.store, () => now);
  const asked = [ports, other].map((one, nth) =>
    acceptDisagreement(one, sale.legacy_id, { reason: 'refunded in cash', expected: newest }, `person ${nth}`),
  );
  const ends = await Promise.allSettled(asked);
  expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect(await harness.store.audit.auditsOf({ action: 'sale acknowledged' }, 9)).toHaveLength(1);
});

it('is repaired in the report of the day before, once both agree', async () => {
  await noteMismatch(ports, differs(1501));
  const stateThen = async () => (await made()).unmatched.map(({ state }) => state);
  expect(await stateThen()).toEqual(['open']);
  now = NOON + DAY_MS;
  await noteMismatch(ports, { ...differs(1501), what: say('mismatch.agrees', {}) }, true);
  await noteMismatch(ports, differs(1502));
  expect(await stateThen()).toEqual(['repaired']);
});

it('leaves room for payments between pages of lost sales', async () => {
  let turns = 0;
  let is_over = false;
  const count = (): void => {
    turns++;
    if (!is_over) setImmediate(count);
  };
  setImmediate(count);
  const lost = Array.from({ length: 1_000 }, (_, nth) => lostLine(`lost ${nth}`));
  // Answers without a turn of the event loop, so that only pauses of the list itself are counted.
  const audit = { ...ports.store.audit, auditsOf: async () => [] };
  const { lines } = await unmatchedOf({ ...ports, store: { ...ports.store, audit } }, ASK, [], lost);
  is_over = true;
  expect(lines).toHaveLength(1_000);
  expect(turns).toBeGreaterThanOrEqual(5);
});

it.each([
  ['another sum', async () => noteMismatch(ports, differs(1502)), 'amount'],
  ['another kind', async () => noteMismatch(ports, differs(1501, 'state')), 'state'],
  [
    'the same after both agreed',
    async () => {
      await noteMismatch(ports, { ...differs(1501), what: say('mismatch.agrees', {}) }, true);
      await noteMismatch(ports, differs(1501));
    },
    'amount',
  ],
] as const)('is open again when something new differs: %s', async (_what, differAgain, kind) => {
  await noteMismatch(ports, differs(1501));
  await accept();
  await differAgain();
  expect(await judged()).toEqual(OPEN(kind));
  await accept(sale.legacy_id, 'ben');
  expect(await judged()).toEqual(named('ben'));
});

it('is not taken back by an order that agrees, while a payment of it differs', async () => {
  await noteMismatch(ports, { ...differs(1, 'contradiction'), what: say('contradiction.refund', {}) });
  const [line] = await linesOf('contradiction');
  if (line === undefined) throw new Error('no line');
  // Found by another read while the first stands.
  await repeat([{ ...line, reason: encoded(say('contradiction.unit', {})) }], 'contradiction');
  await noteMismatch(ports, differs(1501));
  await noteAgreement(ports, sale);
  expect(await judged()).toEqual(OPEN('contradiction'));
});

it('is gone from the verdict once both agree', async () => {
  await noteMismatch(ports, differs(1501));
  await accept();
  await noteMismatch(ports, { ...differs(1501), what: say('mismatch.agrees', {}) }, true);
  expect(await judged()).toEqual(OPEN());
});

/** What stands by all lines of the trail at once. */
async function standingByAll() {
  const lines = await harness.store.audit.audits(10_000); // newest first
  const accepted = Map.groupBy(
    lines.filter(({ action }) => action === 'sale acknowledged'),
    ({ subject }) => subject,
  );
  return mismatchKinds.flatMap((kind) => {
    const of_kind = lines.filter(({ action }) => action === `mismatch ${kind}`);
    return [...Map.groupBy(of_kind, ({ subject }) => subject)].flatMap(([subject, own]) => {
      const repair = own.findIndex(({ detail }) => detail.repaired === true);
      const since = repair === -1 ? own : own.slice(0, repair);
      const [last] = since;
      if (last === undefined) return [];
      const firsts = [...Map.groupBy(since, ({ reason }) => reason).values()].map((all) => all.at(-1)?.sequence ?? 0);
      const detail = accepted.get(subject)?.[0]?.detail;
      const covers = (detail?.kinds as string[] | undefined)?.includes(kind) === true;
      const is_accepted = covers && Number(detail?.expected) >= Math.max(...firsts);
      const { merchant, order_id, unit } = last.detail;
      return [{ kind, subject, merchant_id: merchant, order_id, unit, is_accepted }];
    });
  });
}

it.each([1, 2])('what stands is read on from the last call, as all lines at once say it (seed %i)', async (seed) => {
  let state = seed * 7_919;
  const random = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  const any = <One>(all: readonly One[]): One => all[Math.floor(random() * all.length)] as One;
  const other = portsAt(harness.store, () => now);
  let read = 0;
  const auditsAfter: typeof other.store.audit.auditsAfter = async (after, limit) => {
    const lines = await harness.store.audit.auditsAfter(after, limit);
    if (limit > 1) read += lines.length; // one by itself shows whether the last one is still there
    return lines;
  };
  const counted = { ...other, store: { ...other.store, audit: { ...other.store.audit, auditsAfter } } };
  let written = (await harness.store.audit.audits(9)).length;
  for (let round = 0; round < 12; round++) {
    const count = Math.floor(random() * 60) + (round === 5 ? 450 : 0);
    const lines = Array.from({ length: count }, (): Promise<void> => {
      const subject = any(['sale 1', 'sale 2', 'sale 3', 'sale 4', 'sale 5']);
      const common = { at: NOON, who: 'puente', subject, reason: `sentence ${any([1, 2, 3])}` };
      const kind = any(mismatchKinds);
      const detail = { merchant: MERCHANT, unit: any(['a', 'b']), order_id: any([null, orderId(1)]) };
      const kinds = mismatchKinds.filter(() => random() < 0.7);
      const acceptance = { merchant: MERCHANT, kinds, expected: ++written - any([1, 1, 9]) };
      return harness.store.audit.appendAudit(
        random() < 0.15
          ? { ...common, action: 'sale acknowledged', detail: acceptance }
          : { ...common, action: `mismatch ${kind}`, detail: { ...detail, repaired: random() < 0.3 } },
      );
    });
    await Promise.all(lines);
    const expected = await standingByAll();
    const [one, same] = await Promise.all([1, 2].map(() => standingMismatches(counted)));
    expect(one?.mismatches).toEqual(expected);
    expect(same).toEqual(one);
    const newest = await harness.store.audit.auditsOf({ action: 'sale acknowledged' }, 999);
    expect([...(one?.accepted.values() ?? [])].map(({ sequence }) => sequence).toSorted((a, b) => b - a)).toEqual(
      newest
        .filter((line, nth) => newest.findIndex(({ subject }) => subject === line.subject) === nth)
        .map(({ sequence }) => sequence),
    );
    expect(read, 'each line is read once').toBe(written);
  }
  const kept = counted.memory.disagreements.standing.values();
  expect(kept, 'what was repaired is not kept').toHaveLength((await standingByAll()).length);
  expect((await standingByAll()).length).toBeGreaterThan(0);
});

it('reads what stands in pages between which payments have their turn', async () => {
  for (let nth = 0; nth < 5; nth++)
    await Promise.all(
      Array.from({ length: 200 }, (_, sale) =>
        harness.store.audit.appendAudit({
          ...{ at: NOON, who: 'puente', subject: `sale ${sale}`, reason: 'stale', action: 'mismatch stale' },
          detail: { merchant: MERCHANT, repaired: nth % 2 === 1 },
        }),
      ),
    );
  // Answers without a turn of the event loop, so that only pauses of the reading itself are counted.
  const lines = (await harness.store.audit.audits(2_000)).toReversed();
  const audit = {
    ...ports.store.audit,
    auditsAfter: async (from: number, size: number) => lines.slice(from, from + size),
  };
  let turns = 0;
  let is_over = false;
  const count = (): void => {
    turns++;
    if (!is_over) setImmediate(count);
  };
  setImmediate(count);
  const { mismatches } = await standingMismatches({ ...ports, store: { ...ports.store, audit } });
  is_over = true;
  expect(mismatches).toHaveLength(200);
  expect(turns).toBeGreaterThanOrEqual(5);
});
