/** The period of a report without a start, and what its certificate says of calls and sales that were deleted by age. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { languages, loadWords } from '../../../src/locales/words.ts';
import type { Ports } from '../../../src/ops/ports.ts';
import { gatherReport } from '../../../src/ops/report/gather.ts';
import { reportHtml } from '../../../src/ops/report/html.ts';
import { reportAskOf } from '../../../src/ops/report/period.ts';
import { portsAt, setMerchant } from '../../proxy/routing/lane-ports.ts';
import { newExchange } from '../../store/contract/evidence-kit.ts';
import { auditOf, DAY_MS, finished, type Harness, MERCHANT, NOON } from '../../store/contract/harness.ts';
import { openHarness } from '../../store/sqlite/kit.ts';

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

async function certified(asked: { since?: number } = {}) {
  const ask = await reportAskOf(ports, { merchant: MERCHANT, ...asked });
  const report = await gatherReport(ports, ask, { assumptions: [], notice_agent: 'Puente' });
  const pages = languages.map((one) => reportHtml(report, loadWords()[one]).split('class="certificate"')[1]).join('\n');
  return { report, pages, ...report.certificate };
}

it('is seven days; of a merchant on orders its whole migration, from the day of its first call or move', async () => {
  const usual = NOON + 1 - 7 * DAY_MS;
  const sinceOf = async (query: { merchant?: string; since?: number; until?: number }) => {
    return (await reportAskOf(ports, query)).since;
  };
  await trade([1, 2]);
  expect([await sinceOf({}), await sinceOf({ merchant: MERCHANT })]).toEqual([usual, usual]);
  for (const stage of ['canary', 'orders'] as const) await setMerchant(harness.store, MERCHANT, { stage });
  expect([await sinceOf({}), await sinceOf({ merchant: MERCHANT })]).toEqual([usual, midnight(BEGAN)]);
  expect(await sinceOf({ merchant: MERCHANT, since: NOON - 9 })).toBe(NOON - 9);
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
  const short = await certified({ since: NOON - DAY_MS });
  expect(short).toMatchObject({
    period: { since: iso(NOON - DAY_MS) },
    began_on: iso(BEGAN).slice(0, 10),
    deleted_before: null,
  });
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
  // Of a period that begins later nothing is missing.
  if (gap < NOON) expect(await certified({ since: BEGAN + 100 * DAY_MS })).toMatchObject({ deleted_before: null });
});
