/** The period of a report without a start, and what its certificate says of calls and sales that were deleted by age. */
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { languages, loadWords } from '../../../src/locales/words.ts';
import type { Ports } from '../../../src/ops/ports.ts';
import { completionLines } from '../../../src/ops/readiness/decommission.ts';
import { compareReports } from '../../../src/ops/report/diff.ts';
import { gatherReport, mismatchesOfAll, viewSums } from '../../../src/ops/report/gather.ts';
import { reportHtml } from '../../../src/ops/report/html.ts';
import { reportAskOf } from '../../../src/ops/report/period.ts';
import { writeGap } from '../../../src/store/sqlite/gap.ts';
import { portsAt, setMerchant } from '../../proxy/routing/lane-ports.ts';
import { newExchange } from '../../store/contract/evidence-kit.ts';
import {
  auditOf,
  DAY_MS,
  finished,
  type Harness,
  MERCHANT,
  NOON,
  newSale,
  TERMINAL,
} from '../../store/contract/harness.ts';
import { newFolder, openHarness, openStore } from '../../store/sqlite/kit.ts';
import { withMethods } from '../../store/with-methods.ts';

/** The first day of the migration; its last call to legacy is on the second. */
const BEGAN = NOON - 300 * DAY_MS;
let harness: Harness;
let ports: Ports;
beforeEach(async () => {
  harness = await openHarness();
  ports = portsAt(harness.store, () => NOON);
});
afterEach(() => harness.dispose());

const midnight = (at: number): number => at - (at % DAY_MS);
const iso = (at: number): string => new Date(at).toISOString();

/** A call to legacy, then a sale on orders each day of the list. */
async function trade(days: readonly number[]): Promise<void> {
  const { store } = harness;
  const made = (change: object) => newExchange({ operation: 'point.create_intent', ...change });
  await store.exchanges.recordExchanges([made({ at: BEGAN })]);
  for (const day of days) {
    const created_at = BEGAN + day * DAY_MS;
    await finished(store, { created_at });
    await store.exchanges.recordExchanges([made({ at: created_at + 5, lane: 'orders', stage: 'orders' })]);
  }
}

/** On orders, with the credential that Puente needs after a call. */
async function arrive(): Promise<void> {
  const { store } = harness;
  await setMerchant(store, MERCHANT, { stage: 'orders' });
  const merchant = await store.merchants.merchant(MERCHANT);
  if (merchant === null) throw new Error('the merchant was not saved');
  const sealed_credential = ports.vault.seal('APP_USR-configured', 'credential');
  await store.merchants.saveMerchant(
    { ...merchant, sealed_credential },
    merchant.revision,
    auditOf('merchant settings'),
  );
}

async function certified(asked: { since?: number; until?: number } = {}) {
  const ask = await reportAskOf(ports, { merchant: MERCHANT, ...asked });
  const report = await gatherReport(ports, ask, { assumptions: [], notice_agent: 'Puente' });
  const pages = languages.map((one) => reportHtml(report, loadWords()[one]).split('class="certificate"')[1]).join('\n');
  return { report, pages, page: reportHtml(report, loadWords().en), ...report.certificate };
}

it('is seven days; of a merchant on orders its whole migration, from the day of its first call or move', async () => {
  const usual = NOON + 1 - 7 * DAY_MS;
  const sinceOf = async (query: { merchant?: string; since?: number; until?: number }) => {
    return (await reportAskOf(ports, query)).since;
  };
  await trade([1, 2]);
  expect([await sinceOf({}), await sinceOf({ merchant: MERCHANT })]).toEqual([usual, usual]);
  const until = NOON + 9 * DAY_MS; // its last seven days are all to come
  await expect(sinceOf({ merchant: MERCHANT, until })).rejects.toMatchObject({
    said: [{ code: 'refusal.future_window' }],
  });
  for (const stage of ['canary', 'orders'] as const) await setMerchant(harness.store, MERCHANT, { stage });
  expect([await sinceOf({}), await sinceOf({ merchant: MERCHANT })]).toEqual([usual, midnight(BEGAN)]);
  expect(await sinceOf({ merchant: MERCHANT, since: NOON - 9 })).toBe(NOON - 9);
  expect(await sinceOf({ merchant: MERCHANT, until })).toBe(midnight(BEGAN));
  expect(await sinceOf({ merchant: MERCHANT, until: BEGAN - DAY_MS })).toBe(BEGAN - 8 * DAY_MS);
  // A move counts, too, where it is earlier than the first call.
  await harness.store.audit.appendAudit({ ...auditOf('stage'), subject: MERCHANT, at: BEGAN - 40 * DAY_MS });
  expect(await sinceOf({ merchant: MERCHANT })).toBe(midnight(BEGAN) - 40 * DAY_MS);
  await setMerchant(harness.store, MERCHANT, { kinds: { qr: { stage: 'shadow', share: 0 } } });
  expect(await sinceOf({ merchant: MERCHANT })).toBe(usual);
});

it('a certificate names its period, which has the first sale, and that nothing of it was deleted', async () => {
  await trade([1, 2]);
  await arrive();
  const { report, pages, ...certificate } = await certified();
  expect(certificate).toMatchObject({ period: report.period, began_on: iso(BEGAN).slice(0, 10), deleted_before: null });
  expect(report.period).toEqual({ since: iso(midnight(BEGAN)), until: iso(NOON + 1) });
  expect([report.exchanges.count, report.sums.reduce((sum, { count }) => sum + count, 0)]).toEqual([3, 2]);
  for (const text of ['covers', 'abarca del', 'abrange de']) expect(pages).toContain(text);
  expect(pages).not.toContain('deleted by age');
});

it.each([
  ['begins later', { since: BEGAN }],
  ['ended a day ago', { until: NOON - DAY_MS }],
])('a report of a period that %s has no certificate, and says which period one needs', async (_what, asked) => {
  await trade([1, 2]);
  await arrive();
  const { report, page } = await certified(asked);
  expect(report.completion).toMatchObject({ may_go: true });
  expect(report).toMatchObject({ certificate: null, certificate_since: iso(midnight(BEGAN)) });
  expect(page).toContain('A certificate of completion needs the whole migration');
  expect((await certified()).report).toMatchObject({ certificate: {}, certificate_since: null });
});

it.each([
  ['that called it once', TERMINAL],
  ['that never called it', 'PAX_A910__2'],
  ['that was never seen', null],
])(
  'no certificate stands beside a sale that is open on legacy: one of a unit %s began meanwhile',
  async (_what, unit) => {
    const { store } = harness;
    await trade([1, 2]);
    const on_orders = { at: BEGAN, lane: 'orders', stage: 'orders', unit: `point:${unit}` } as const;
    if (unit !== null) await store.exchanges.recordExchanges([newExchange(on_orders)]);
    await arrive();
    const sale = newSale({ unit: unit ?? 'PAX_A910__9', state: 'OPEN', legacy_id: 'intent-1' });
    ports = {
      ...ports,
      store: withMethods(store, {
        // Between the verdict and what follows from it.
        async readinessDays(filter) {
          await store.legacy_sales.openLegacySale(sale);
          return store.evidence.readinessDays(filter);
        },
      }),
    };
    const { report, page } = await certified();
    expect(report).toMatchObject({
      readiness: { verdict: 'ready' },
      completion: { may_go: false, why_said: { code: 'legacy_open' }, open_on_legacy: 1 },
      certificate: null,
    });
    const kept = report.completion?.units.filter(({ may_go }) => !may_go);
    expect(kept).toMatchObject(unit === null ? [] : [{ unit: `point:${unit}` }]);
    expect(page).not.toContain('Certificate of completion');
  },
);

it('a sale approved twice long ago stands in the way in every report and file, whatever its period', async () => {
  await trade([1, 100]);
  const [link] = await harness.store.history.linksMade({
    ...{ merchant_id: MERCHANT, since: 0, until: NOON, after: null, limit: 1 },
  });
  const payments = ['PAY1', 'PAY2'].map((id) => ({ id, status: 'processed', amount: '15.00' }));
  const order = { id: 'ORD01HRYFWNYRE1MR1E60MW000001', status: 'processed', transactions: { payments } };
  // As an earlier version stored it: no line of the audit says so.
  await harness.sql(
    `UPDATE links SET revision = revision + 1, order_json = '${JSON.stringify(order)}' WHERE legacy_id = '${link?.legacy_id}'`,
  );
  await arrive();
  const signal = new AbortController().signal;
  for (const asked of [{}, { since: NOON - DAY_MS }, { until: NOON - 250 * DAY_MS }]) {
    const { report } = await certified(asked);
    expect(report).toMatchObject({ completion: { may_go: false }, certificate: null });
    expect(report.readiness?.unproven).toMatchObject([{ code: 'mismatch_approvals' }]);
  }
  for (const merchant of [MERCHANT, null])
    for await (const lines of completionLines(ports, merchant, 'completion', mismatchesOfAll(ports, signal), signal))
      expect(lines).toMatchObject([{ merchant_id: MERCHANT, may_go: false }]);
});

it('an old sale that is still kept does not hide that age may have deleted others', async () => {
  await trade([1, 100]);
  await arrive();
  const { settings } = ports;
  const old = NOON - 200 * DAY_MS;
  for (const [limits, deleted_before] of [
    [{ retention: { ...settings.retention, links_ms: 200 * DAY_MS } }, iso(old)],
    [{ evidence: { kept_ms: 200 * DAY_MS } }, iso(old)],
    // Within the first day, too.
    [{ evidence: { kept_ms: NOON - BEGAN - 1 } }, iso(BEGAN + 1)],
    [{ evidence: { kept_ms: NOON - midnight(BEGAN) } }, null],
  ] as const) {
    ports = { ...ports, settings: { ...settings, ...limits } };
    expect(await certified()).toMatchObject({ deleted_before });
  }
});

it.each([
  ['calls, with the sales on legacy', BEGAN + DAY_MS, 0, BEGAN + DAY_MS + 5],
  ['sales on orders', 0, 1, BEGAN + 100 * DAY_MS],
  ['all calls', NOON, 0, NOON + 1],
])('a certificate says what age has deleted of its beginning: %s', async (_what, calls_before, sales, gap) => {
  const { store } = harness;
  await trade([1, 100]);
  await arrive();
  await store.exchanges.tidyExchanges(calls_before, 0, 100);
  const never = { notices_before: 0, events_before: 0, sums_before: 0, tokens_before: 0 };
  const limits = { ...never, links_before: sales === 0 ? 0 : Date.now() + DAY_MS };
  expect(await store.upkeep.tidyOld(limits, 1)).toMatchObject({ links: sales });
  const { pages, report, ...certificate } = await certified();
  expect(report.period.since).toBe(iso(midnight(BEGAN)));
  expect(certificate).toMatchObject({ began_on: iso(BEGAN).slice(0, 10), deleted_before: iso(gap) });
  for (const text of ['deleted by age', 'por antigüedad', 'por idade']) expect(pages).toContain(text);
});

it.each([
  ['of its merchant', MERCHANT, []],
  // Its line has what a person wrote, which is for operators.
  ['of the fleet', null, ['restored']],
])('a report %s says what a restored backup took of its period', async (_whose, merchant_id, incidents) => {
  const folder = newFolder();
  const [from, until] = [NOON - 2 * DAY_MS, NOON - DAY_MS];
  await (await openStore(folder.file('puente.db'))).close();
  const database = new Database(folder.file('puente.db'));
  const detail = { backup: 'puente-1.db' };
  writeGap(database, { from, until, action: 'restored', reason: 'disk failed', detail });
  database.close();
  const store = await openStore(folder.file('puente.db'), { create: false });
  const restored = portsAt(store, () => NOON);
  const facts = { assumptions: [], notice_agent: 'Puente' };
  const saidOf = async (since: number, before: number) => {
    const report = await gatherReport(restored, { merchant_id, since, until: before }, facts);
    const page = languages.map((one) => reportHtml(report, loadWords()[one]).split('</header>')[0]).join('\n');
    const is_whole = page.includes('Nothing was left out.');
    return { lost: report.lost_between, incidents: report.incidents.map(({ action }) => action), is_whole, page };
  };
  const { page, ...found } = await saidOf(NOON - 3 * DAY_MS, NOON + 1);
  const lost = { since: iso(from), until: iso(until) };
  expect(found).toEqual({ lost, incidents, is_whole: false });
  for (const text of [
    'was lost by a restored backup',
    'copia de seguridad restaurada',
    'cópia de segurança restaurada',
  ])
    expect(page).toContain(text);
  expect(await saidOf(until, NOON + 1)).toMatchObject({ lost });
  for (const [since, before] of [
    [until + 1, NOON + 1],
    [from - DAY_MS, from],
  ] as const)
    expect(await saidOf(since, before)).toMatchObject({ lost: null, is_whole: true });
  await store.close();
  folder.remove();
});

it('a report, its sums and a comparison say from when on calls or sales of their period may have been deleted', async () => {
  await harness.sql(`UPDATE meta SET value = '${BEGAN}' WHERE name = 'created_at'`);
  ports = portsAt(await harness.reopen(), () => NOON);
  await trade([1, 100]);
  const facts = { assumptions: [], notice_agent: 'Puente' };
  const { signal } = new AbortController();
  const saidOf = async (merchant: { merchant?: string }, from = BEGAN) => {
    const report = await gatherReport(
      ports,
      { merchant_id: merchant.merchant ?? null, since: from, until: NOON + 1 },
      facts,
    );
    const sums = await viewSums(ports, { ...merchant, since: from, until: NOON + 1 }, signal);
    const { a, b } = await compareReports(ports, { ...merchant, since: NOON - DAY_MS, before_since: from }, facts);
    expect([sums.deleted_before, a.deleted_before]).toEqual([report.deleted_before, report.deleted_before]);
    expect(b.deleted_before).toBe(null);
    const pages = languages.map((one) => reportHtml(report, loadWords()[one]));
    return { at: report.deleted_before, pages: pages.map((page) => page.split('</header>')[0]).join('\n') };
  };
  const whole = { at: null, pages: expect.stringContaining('Nothing was left out.') };
  for (const merchant of [{}, { merchant: MERCHANT }]) expect(await saidOf(merchant)).toEqual(whole);
  // By age the calls of the first half are deleted, and the sales on legacy with them.
  const cut = NOON - 200 * DAY_MS;
  ports = {
    ...ports,
    settings: { ...ports.settings, evidence: { ...ports.settings.evidence, kept_ms: 200 * DAY_MS } },
  };
  await harness.store.exchanges.tidyExchanges(cut, 0, 100);
  for (const [merchant, gap] of [
    [{}, cut],
    // From its oldest call that is still kept.
    [{ merchant: MERCHANT }, cut + 5],
  ] as const) {
    const { at, pages } = await saidOf(merchant);
    expect(at).toBe(iso(gap));
    expect(pages).not.toContain('Nothing was left out.');
    for (const text of ['deleted by age', 'por antigüedad', 'por idade']) expect(pages).toContain(text);
    expect(await saidOf(merchant, cut + DAY_MS)).toEqual(whole);
  }
});

it.each([
  [
    'after a pause',
    { kept_ms: 30 * DAY_MS },
    [{ at: NOON - 90 * DAY_MS }, { at: NOON - 2 * DAY_MS }],
    { calls_before: NOON - 30 * DAY_MS },
  ],
  [
    'on legacy that tried orders once',
    {},
    [
      { at: NOON - 450 * DAY_MS, lane: 'orders', stage: 'orders' } as const,
      ...[9, 8, 7, 6, 5, 4, 3, 2, 1].map((day) => ({ at: NOON - day * DAY_MS })),
    ],
    { calls_before: NOON - 400 * DAY_MS },
  ],
])(
  'what was deleted from before a period is not missing in the report of a merchant %s',
  async (_who, kept, calls, { calls_before }) => {
    const { store } = harness;
    const { settings } = ports;
    ports = { ...ports, settings: { ...settings, evidence: { ...settings.evidence, ...kept } } };
    const made = calls.map((call) => newExchange({ operation: 'point.create_intent', ...call }));
    await store.exchanges.recordExchanges(made);
    await store.exchanges.tidyExchanges(calls_before, 0, 100);
    const read: unknown[] = [];
    const watched = withMethods(store, {
      async traffic(filter) {
        read.push(...(await store.evidence.traffic(filter)));
        return store.evidence.traffic(filter);
      },
    });
    const { signal } = new AbortController();
    const sumsOf = async (days: number) => {
      const query = { merchant: MERCHANT, since: NOON - days * DAY_MS, until: NOON + 1 };
      return (await viewSums({ ...ports, store: watched }, query, signal)).deleted_before;
    };
    expect(await sumsOf(7)).toBe(null);
    // Of the days of the period alone.
    expect(read).toHaveLength(calls.filter(({ at }) => at >= NOON - 7 * DAY_MS).length);
    expect((await certified()).report.deleted_before).toBe(null);
    // In a period that has them they are.
    expect(await sumsOf(500)).not.toBe(null);
    // Where the sums of a period are deleted, too, nothing says that it had no calls.
    const none = { notices_before: 0, events_before: 0, links_before: 0, tokens_before: 0 };
    await store.upkeep.tidyOld({ ...none, sums_before: NOON }, 100);
    await store.exchanges.tidyExchanges(NOON, 0, 100);
    const { retention } = settings;
    ports = { ...ports, settings: { ...ports.settings, retention: { ...retention, sums_ms: DAY_MS } } };
    expect(await sumsOf(7)).not.toBe(null);
  },
);
