/** The report's sums equal the store's, by an independent reader: its own SQL, on the file and on PostgreSQL. */
import { randomUUID } from 'node:crypto';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Order } from '../../../src/contract/orders.ts';
import { refundStatuses } from '../../../src/contract/payments.ts';
import { say } from '../../../src/locales/message.ts';
import type { Store } from '../../../src/ops/ports.ts';
import { acceptDisagreement, noteMismatch } from '../../../src/ops/reconcile/mismatches.ts';
import { gatherReport } from '../../../src/ops/report/gather.ts';
import type { ReportAsk } from '../../../src/ops/report/period.ts';
import type { MoneyLine, Report, SaleQuery } from '../../../src/ops/report/report.ts';
import { salePages, unmatchedOf, wholeList } from '../../../src/ops/report/sales.ts';
import { legacySaleStates } from '../../../src/proxy/records/routing.ts';
import { merchantSettings } from '../../../src/proxy/routing/merchant.ts';
import { linkStates } from '../../../src/proxy/sales/link.ts';
import { portsAt, setMerchant } from '../../proxy/routing/lane-ports.ts';
import { newExchange } from '../../store/contract/evidence-kit.ts';
import {
  DAY_MS,
  MERCHANT,
  NOON,
  newLink,
  newRefund,
  newSale,
  OTHER_MERCHANT,
  orderId,
} from '../../store/contract/harness.ts';
import { openStore as openOnPostgres } from '../../store/postgres/kit.ts';
import { startServer } from '../../store/postgres/server.ts';
import { newFolder, openStore } from '../../store/sqlite/kit.ts';

/** 2^53 − 1: two of these are no exact double any more. */
const MOST = Number.MAX_SAFE_INTEGER;
const ASK = { merchant_id: null, since: NOON - DAY_MS, until: NOON + 1 };

/** Moves of a merchant, to the millisecond. */
const MOVED_AT = [NOON - 5_003, NOON - 2_501] as const;

interface Engine {
  store: Store;
  /** The rows of a query, past the product. */
  read(sql: string): Promise<Record<string, unknown>[]>;
  remove(): Promise<void>;
}

async function onFile(): Promise<Engine> {
  const folder = newFolder();
  const path = folder.file('puente.db');
  const store = await openStore(path);
  const file = new Database(path, { readonly: true });
  return {
    store,
    read: async (sql) => file.prepare(sql).safeIntegers().all() as Record<string, unknown>[], // any row
    async remove() {
      file.close();
      await store.close();
      folder.remove();
    },
  };
}

async function storeOnFile(): Promise<Store> {
  const { store, remove } = await onFile();
  onTestFinished(remove);
  return store;
}

async function onPostgres(): Promise<Engine> {
  const server = await startServer();
  const url = await server.database();
  const store = await openOnPostgres(url);
  return {
    store,
    read: (sql) => server.run(url, sql),
    async remove() {
      await store.close();
      await server.remove();
    },
  };
}

const CURRENCY = `CASE merchants.site WHEN 'MLA' THEN 'ARS' WHEN 'MLC' THEN 'CLP' ELSE 'XXX' END`;
/** Tills at terminals write minor units, which the ledger keeps as hundredths. */
const MINOR_OF_LEGACY = `CASE WHEN family = 'point' OR merchants.site IS NULL OR merchants.site <> 'MLC' THEN 100 ELSE 1 END`;
/** One column of text for each sum: who counts what, how often, without an amount, and the sum in minor units. */
const INDEPENDENT = (status: string, shown: string, toMinor: (amount: string) => string) => `
  SELECT what || ' ' || lane || ' ' || family || ' ' || currency || ' ' || outcome AS sum, count(*) AS count,
    count(*) - count(minor) AS without_amount, sum(minor) AS minor
  FROM (
    SELECT 'sale' AS what, 'orders' AS lane, links.family, ${CURRENCY} AS currency, amount_minor AS minor,
      CASE state WHEN 'SENDING' THEN 'in_doubt' WHEN 'IN_DOUBT' THEN 'in_doubt' WHEN 'LIVE' THEN 'open'
        WHEN 'LOST' THEN 'lost' WHEN 'REJECTED' THEN 'refused' WHEN 'NOT_SENT' THEN 'refused' ELSE
        CASE ${status} WHEN 'processed' THEN 'paid' WHEN 'refunded' THEN 'paid' WHEN 'canceled' THEN 'canceled'
          WHEN 'expired' THEN 'expired' WHEN 'failed' THEN 'declined' ELSE 'not_known' END END AS outcome
    FROM links LEFT JOIN merchants ON merchants.id = links.merchant_id WHERE links.created_at BETWEEN ${ASK.since} AND ${NOON}
    UNION ALL
    SELECT 'refund', 'orders', links.family, ${CURRENCY}, coalesce(refunds.refunded_minor, refunds.amount_minor),
      CASE refunds.state WHEN 'DONE' THEN
        CASE coalesce(CASE WHEN coalesce(refunds.upstream_status, '') NOT IN ('processed', 'failed') THEN ${shown} END,
          refunds.upstream_status, 'processed') WHEN 'processed' THEN 'refunded'
          WHEN 'failed' THEN 'refused' ELSE 'open' END
        WHEN 'REFUSED' THEN 'refused' WHEN 'NOT_SENT' THEN 'refused'
        ELSE 'in_doubt' END
    FROM refunds JOIN links ON links.legacy_id = refunds.legacy_id
    LEFT JOIN merchants ON merchants.id = refunds.merchant_id
    WHERE refunds.created_at BETWEEN ${ASK.since} AND ${NOON}
    UNION ALL
    SELECT work, 'legacy', family, ${CURRENCY}, ${toMinor(`CASE WHEN amount IS NULL THEN NULL ELSE amount END`)},
      CASE state WHEN 'REFUSED' THEN 'refused' WHEN 'SENDING' THEN 'in_doubt' WHEN 'IN_DOUBT' THEN 'in_doubt'
        WHEN 'OPEN' THEN CASE WHEN slot IS NOT NULL AND ends_at > ${NOON} THEN 'open' ELSE 'not_known' END ELSE
        CASE end_state WHEN 'CANCELED' THEN 'canceled' WHEN 'ERROR' THEN 'declined' WHEN 'ABANDONED' THEN 'expired'
          WHEN 'paid' THEN 'paid' WHEN 'approved' THEN 'refunded' WHEN 'rejected' THEN 'refused' WHEN 'in_process' THEN 'open'
          ELSE 'not_known' END END
    FROM legacy_sales LEFT JOIN merchants ON merchants.id = legacy_sales.merchant_id
    WHERE unproven_token IS NULL AND legacy_sales.created_at BETWEEN ${ASK.since} AND ${NOON}
  ) AS rows_of_all GROUP BY what, lane, family, currency, outcome`;

const ENGINES = [
  [
    'the file',
    onFile,
    INDEPENDENT(
      `order_json ->> 'status'`,
      `order_json ->> '$.transactions.refunds[0].status'`,
      (amount) => `CAST(round(${amount} * ${MINOR_OF_LEGACY}) AS INTEGER)`,
    ),
  ],
  [
    'PostgreSQL',
    onPostgres,
    INDEPENDENT(
      `order_json::json ->> 'status'`,
      `order_json::json #>> '{transactions,refunds,0,status}'`,
      (amount) => `(${amount})::numeric * ${MINOR_OF_LEGACY}`,
    ),
  ],
] as const;

/** Only legacy was called for it, so it has no row. */
const WITHOUT_ROW = '700100299';
const merchant_id = fc.constantFrom(MERCHANT, OTHER_MERCHANT, WITHOUT_ROW);
const family = fc.constantFrom('point' as const, 'qr' as const);
/** Also just outside of the period, and around each move. */
const around = MOVED_AT.flatMap((at) => [at - 1, at]);
const created_at = fc.constantFrom(ASK.since - 1, ASK.since, ...around, NOON - 1, NOON, NOON + 1);
const amount_minor = fc.oneof(fc.integer({ min: 1, max: 9_999_999 }), fc.constant(MOST));
const statuses = ['processed', 'refunded', 'canceled', 'expired', 'failed', 'created', 'resting'];
const onOrders = fc.record({
  ...{ merchant_id, family, created_at, amount_minor },
  state: fc.constantFrom(...linkStates),
  status: fc.constantFrom(null, ...statuses),
  approvals: fc.integer({ min: 0, max: 2 }),
  refund: fc.constantFrom(null, 'SENDING', 'IN_DOUBT', 'DONE', 'REFUSED', 'NOT_SENT'),
  refunded_minor: fc.option(amount_minor),
  upstream_status: fc.constantFrom(null, 'processed', 'processing', 'failed', 'resting'),
  /** Of the refund, in the order as last read. */
  shown: fc.constantFrom(null, 'processed', 'processing', 'failed'),
});
const onLegacy = fc.record({
  ...{ merchant_id, family, created_at },
  state: fc.constantFrom(...legacySaleStates),
  end_state: fc.constantFrom(null, 'FINISHED', 'CANCELED', 'ERROR', 'ABANDONED', 'CONFIRMATION_REQUIRED', 'paid'),
  holds_unit: fc.boolean(),
  ends_at: fc.constantFrom(NOON - 1, NOON, NOON + 1),
  work: fc.constantFrom('sale' as const, 'refund' as const),
  // Whole, because Chile's money has no decimals; of Point with two implied ones.
  amount: fc.option(fc.integer({ min: 1, max: 99_999 }).map((whole) => `${whole}.00`)),
  unproven_token: fc.constantFrom(null, null, null, 'of somebody'),
});
/** Refunds of payments, as they are written when legacy has answered. */
const refundsOnLegacy = fc.record({
  ...{ merchant_id, created_at },
  family: fc.constant('payments' as const),
  work: fc.constant('refund' as const),
  state: fc.constantFrom('IN_DOUBT' as const, 'REFUSED' as const, 'ENDED' as const),
  end_state: fc.constantFrom(null, ...refundStatuses),
  holds_unit: fc.constant(false),
  amount: fc.option(fc.integer({ min: 1, max: 99_999 }).map(String)),
  unproven_token: fc.constantFrom(null, null, null, 'of somebody'),
});
const histories = fc.record({
  orders: fc.array(onOrders, { minLength: 5, maxLength: 25 }),
  legacy: fc.array(fc.oneof(onLegacy, refundsOnLegacy), { maxLength: 20 }),
});

let written = 0;
async function write(
  store: Store,
  { orders, legacy }: typeof histories extends fc.Arbitrary<infer Drawn> ? Drawn : never,
) {
  for (const { state, status, approvals, refund, refunded_minor, upstream_status, shown, ...change } of orders) {
    const nth = ++written;
    const payments = Array.from({ length: approvals }, () => ({ status: 'processed' }));
    const upstream_id = `REF${nth}`;
    const refunds = shown === null ? [] : [{ id: upstream_id, status: shown }];
    const order: Order | null =
      status === null ? null : { id: orderId(nth), status, transactions: { payments, refunds } };
    const own = { ...change, slot: null, unit: `UNIT${nth}`, merchant_order_id: change.family === 'qr' ? nth : null };
    const { link } = await store.links.openLink(newLink(own), () => ({ kind: 'open' }));
    await store.links.saveLink(link, { state, order, order_id: order?.id ?? null });
    if (refund === null) continue;
    const at = { created_at: change.created_at, number: nth };
    const row = newRefund(link, { ...at, amount_minor: nth % 2 === 0 ? null : 250 });
    await store.refunds.openRefund(row, () => 'open');
    const ended = { upstream_id, refunded_minor, upstream_status };
    await store.refunds.saveRefund(row, { ...ended, state: refund as typeof row.state }); // one of its states
  }
  for (const { end_state, holds_unit, ...change } of legacy) {
    const slot = holds_unit ? `unit ${++written}` : null;
    const row = newSale({ ...change, slot, id: randomUUID(), end_state });
    await store.legacy_sales.openLegacySale(row);
  }
}

const keyOf = ({
  what,
  lane,
  family: of,
  currency,
  outcome,
}: Pick<MoneyLine, 'what' | 'lane' | 'family' | 'currency' | 'outcome'>) =>
  [what, lane, of, currency, outcome].join(' ');
type Sums = Record<string, [count: number, without_amount: number, minor: string | null]>;

function sumsOf(lines: Report['sums']): Sums {
  return Object.fromEntries(lines.map((line) => [keyOf(line), [line.count, line.without_amount, line.amount_minor]]));
}

function added(lines: readonly MoneyLine[]): Sums {
  const groups = [...Map.groupBy(lines, keyOf)];
  return Object.fromEntries(
    groups.map(([key, own]) => {
      const minor = own.reduce((sum, { amount_minor: one }) => sum + BigInt(one ?? 0), 0n);
      const without = own.filter(({ amount }) => amount === null).length;
      return [key, [own.length, without, without === own.length ? null : String(minor)]];
    }),
  );
}

describe.each(ENGINES)('sums of sales and refunds on %s', (_name, open, sql) => {
  let engine: Engine | null = null;
  afterAll(() => engine?.remove());

  it('equal those of an independent reader, and are made of the sales that open them', async () => {
    engine = await open();
    const { store, read } = engine;
    const sealed = { sealed_notice_url: null, sealed_notice_secret: null, sealed_credential: null };
    const made = { at: NOON - 9_000, who: 'ana', action: 'merchant settings', reason: 'new', detail: {} } as const;
    for (const [id, site] of [
      [MERCHANT, 'MLA'],
      [OTHER_MERCHANT, 'MLC'],
    ] as const)
      await store.merchants.saveMerchant({ id, site, settings: merchantSettings.parse({}), ...sealed }, 0, {
        ...made,
        subject: id,
      });
    const detail = { before: { stage: 'legacy' }, after: { stage: 'orders' } };
    for (const at of MOVED_AT)
      await store.audit.appendAudit({ ...made, action: 'stage', subject: MERCHANT, at, detail });
    await store.exchanges.recordExchanges([
      newExchange({ operation: 'point.read_intent', lane: 'legacy', merchant_id: WITHOUT_ROW }),
    ]);
    const ports = portsAt(store, () => NOON);
    const spans_seen = new Set<string>();
    await fc.assert(
      // Each history is added to the ones before it: the sums grow beyond what a double holds.
      fc.asyncProperty(histories, async (history) => {
        await write(store, history);
        const report = await gatherReport(ports, ASK, { assumptions: [], notice_agent: 'Puente' });
        const independent = (await read(sql)).map(({ sum, count, without_amount, minor }) => {
          const sum_minor = minor === null ? null : String(minor).replace(/\.0*$/, '');
          return [String(sum), [Number(count), Number(without_amount), sum_minor]];
        });
        expect(sumsOf(report.sums)).toEqual(Object.fromEntries(independent));
        const salesOf = async (ask: ReportAsk, query: SaleQuery = {}): Promise<MoneyLine[]> => {
          const found: MoneyLine[] = [];
          for await (const page of salePages(ports, ask, null, query)) found.push(...page);
          return found;
        };
        const queryOf = ({ what, lane, family: of, currency, outcome }: Report['sums'][number]) => {
          return { what, lane, family: of, currency: String(currency), outcome };
        };
        const opened = await salesOf(ASK);
        expect(added(opened)).toEqual(sumsOf(report.sums));
        for (const line of report.sums) expect(added(await salesOf(ASK, queryOf(line)))).toEqual(sumsOf([line]));
        // A sum between moves is opened by its merchant and its span.
        for (const [since, lines] of Map.groupBy(report.move_sums, (line) => line.since)) {
          spans_seen.add(since);
          const [line] = lines as [Report['move_sums'][number]]; // a group has one at least
          const ask = { merchant_id: line.merchant_id, since: Date.parse(since), until: Date.parse(line.until) };
          expect(added(await salesOf(ask))).toEqual(sumsOf(lines));
          expect(added(await salesOf(ask, queryOf(line)))).toEqual(sumsOf([line]));
        }
        // Before and after each move: each sale is in exactly one of its merchant's spans.
        const own = opened.filter((one) => one.merchant_id === MERCHANT);
        for (const since of [ASK.since, ...MOVED_AT]) {
          const until = MOVED_AT.find((at) => at > since) ?? ASK.until;
          const within = own.filter(({ at }) => Date.parse(at) >= since && Date.parse(at) < until);
          const lines = report.move_sums.filter((line) => Date.parse(line.since) === since);
          expect(sumsOf(lines)).toEqual(added(within));
        }
        // Approvals: one for a paid sale, at most one for an open one, none for any other.
        const right = (outcome: string) => (outcome === 'paid' ? [1] : outcome === 'open' ? [0, 1] : [0]);
        const wrong = opened.filter(
          ({ approvals, outcome }) => approvals !== null && !right(outcome).includes(approvals),
        );
        const open = { state: 'open', acknowledged_by: null, acknowledged_at: null, acknowledged_why: null };
        expect(report.approvals).toEqual(wrong.map((one) => ({ ...one, ...open })));
      }),
      { numRuns: 5, endOnFailure: true },
    );
    expect(spans_seen.size).toBe(MOVED_AT.length + 1);
    const huge = (await read(sql)).filter(
      ({ minor }) => BigInt(String(minor ?? 0).replace(/\.0*$/, '')) > BigInt(MOST),
    );
    expect(huge.length).toBeGreaterThan(0);
  });
});

it('other work runs between two merchants, and between the pages of unmatched sales', async () => {
  const engine = await onFile();
  let ticks = 0;
  let tick = setImmediate(function again() {
    ticks++;
    tick = setImmediate(again);
  });
  try {
    const { store } = engine;
    const many = 40;
    for (let nth = 0; nth < many; nth++) await setMerchant(store, `${700_200_000 + nth}`, {});
    const ports = portsAt(store, () => NOON);
    // The list of merchants is read before the first page.
    const pages = salePages(ports, ASK, null);
    await pages.next();
    ticks = 0;
    for await (const page of pages) expect(page).toEqual([]);
    expect(ticks).toBeGreaterThanOrEqual(many);
    const of = {
      kind: 'amount',
      merchant_id: MERCHANT,
      sequence: 1,
      order_id: null,
      unit: null,
      amount_minor: null,
      is_repaired: false,
    } as const;
    const told = { at: new Date(NOON).toISOString(), reason: 'differs', said: null };
    const found = Array.from({ length: 1_000 }, () => ({ ...of, ...told, subject: randomUUID() }));
    ticks = 0;
    await unmatchedOf(ports, ASK, found, []);
    expect(ticks).toBeGreaterThanOrEqual(4);
  } finally {
    clearImmediate(tick);
    await engine.remove();
  }
});

it('no merchant fills the lists of a fleet: what is left out is counted', async () => {
  const store = await storeOnFile();
  const order = (nth: number): Order => ({ id: orderId(nth), status: 'processed', transactions: { payments: [] } });
  let nth = 700_000;
  for (const [merchant_id, sales] of [
    [MERCHANT, 103],
    [OTHER_MERCHANT, 2],
  ] as const) {
    await setMerchant(store, merchant_id, {});
    for (let sale = 0; sale < sales; sale++) {
      const { link } = await store.links.openLink(newLink({ merchant_id, slot: null }), () => ({ kind: 'open' }));
      const found = order(++nth);
      await store.links.saveLink(link, { state: 'DONE', order: found, order_id: found.id });
      const { link: lost } = await store.links.openLink(newLink({ merchant_id, slot: null }), () => ({
        kind: 'open',
      }));
      await store.links.saveLink(lost, { state: 'LOST' });
    }
  }
  const ports = portsAt(store, () => NOON);
  const facts = { assumptions: [], notice_agent: 'Puente' };
  const fleet = await gatherReport(ports, ASK, facts);
  for (const list of ['approvals', 'unmatched'] as const) {
    expect(fleet[list].filter(({ merchant_id }) => merchant_id === OTHER_MERCHANT)).toHaveLength(2);
    expect([fleet[list].length, fleet.left_out[list]]).toEqual([102, 3]);
  }
  // Accepted ones are cut first: an open one behind a hundred of them is shown, and judged.
  const all: string[] = [];
  for await (const page of wholeList(ports, { ...ASK, merchant_id: MERCHANT }, 'approvals', null))
    all.push(...page.map(({ id }) => id));
  const last = all.pop();
  for (const id of all) await acceptDisagreement(ports, id, { reason: 'refunded by hand', expected: 0 }, 'ana');
  const shown = (await gatherReport(ports, ASK, facts)).approvals.filter(({ merchant_id }) => merchant_id === MERCHANT);
  expect([shown.length, shown[0]]).toMatchObject([100, { id: last, state: 'open' }]);
  const one = await gatherReport(ports, { ...ASK, merchant_id: MERCHANT }, facts);
  expect([one.approvals.length, one.unmatched.length, one.left_out.approvals]).toEqual([103, 103, 0]);
  // What comparisons found is cut by merchant, too; the file of a list has all.
  const about = { legacy_id: null, unit: null, kind: 'orphan', repair: 'none' } as const;
  for (const merchant_id of [...Array.from({ length: 101 }, () => MERCHANT), OTHER_MERCHANT]) {
    const found = { ...about, merchant_id, order_id: orderId(++nth), amount_minor: 1234 };
    await noteMismatch(ports, { ...found, what: say('mismatch.restored', { order_status: 'processed' }) });
  }
  const { unmatched, left_out } = await gatherReport(ports, ASK, facts);
  const orphans = unmatched.filter(({ merchant_id, kind }) => merchant_id === OTHER_MERCHANT && kind === 'orphan');
  expect(orphans).toMatchObject([{ amount: '12.34', currency: 'ARS' }]);
  expect([unmatched.length, left_out.unmatched]).toEqual([103, 104]);
  for (const [part, count] of [
    ['approvals', 105],
    ['unmatched', 207],
  ] as const) {
    let lines = 0;
    for await (const page of wholeList(ports, ASK, part, null)) lines += page.length;
    expect([part, lines]).toEqual([part, count]);
  }
});

it('refunds in doubt, and creates that are still being repeated, are no unmatched sales', async () => {
  const store = await storeOnFile();
  await setMerchant(store, MERCHANT, {});
  const ports = portsAt(store, () => NOON);
  const window_ms = ports.settings.create.replay_window_ms;
  const doubt = async (created_at: number) => {
    const { link } = await store.links.openLink(newLink({ slot: null, created_at }), () => ({ kind: 'open' }));
    return store.links.saveLink(link, { state: 'IN_DOUBT' });
  };
  const old = await doubt(NOON - window_ms);
  await doubt(NOON - window_ms + 1);
  await store.refunds.openRefund(newRefund(old, { created_at: NOON - window_ms }), () => 'open');
  const { unmatched } = await gatherReport(ports, ASK, { assumptions: [], notice_agent: 'Puente' });
  expect(unmatched.map(({ id, kind }) => [id, kind])).toEqual([[old.legacy_id, 'in_doubt']]);
});

it('one sum is opened by its own fields, and refunds on legacy without a row are counted without an amount', async () => {
  const store = await storeOnFile();
  await setMerchant(store, MERCHANT, {});
  const operation = 'payments.create_refund';
  const call = { operation, lane: 'legacy' as const, merchant_id: MERCHANT };
  await store.exchanges.recordExchanges([
    newExchange(call),
    newExchange({ ...call, outcome: 'fault', status: 502 }),
    newExchange({ ...call, operation: 'payments.refund_collection' }),
    newExchange({ ...call, legacy_id: '77' }),
    newExchange({ ...call, legacy_id: '77' }),
    newExchange({ ...call, legacy_id: '78' }),
  ]);
  for (const [legacy_id, end_state] of [
    ['77', 'approved'],
    ['78', 'in_process'],
  ] as const) {
    const of = { work: 'refund', family: 'payments', slot: null, unit: '1234' } as const;
    const row = newSale({ ...of, legacy_id, state: 'ENDED', amount: '5', end_state });
    await store.legacy_sales.openLegacySale(row);
    // Its token may be invented: no report has it before the merchant's own shows it.
    const doubt = {
      legacy_id: `doubt ${legacy_id}`,
      state: 'IN_DOUBT',
      amount: '5',
      unproven_token: 'of anybody',
    } as const;
    await store.legacy_sales.openLegacySale(newSale({ ...of, ...doubt }));
  }
  for (const state of ['LOST', 'REJECTED'] as const) {
    const { link } = await store.links.openLink(newLink({ slot: null }), () => ({ kind: 'open' }));
    await store.links.saveLink(link, { state });
  }
  const ports = portsAt(store, () => NOON);
  const { sums } = await gatherReport(ports, ASK, { assumptions: [], notice_agent: 'Puente' });
  expect(sumsOf(sums)).toEqual({
    'sale orders point ARS refused': [1, 0, '1500'],
    'sale orders point ARS lost': [1, 0, '1500'],
    'refund legacy payments ARS refunded': [1, 0, '500'],
    'refund legacy payments ARS open': [1, 0, '500'],
    'refund legacy payments  refunded': [2, 2, null],
    'refund legacy payments  in_doubt': [1, 1, null],
  });
  const opened: MoneyLine[] = [];
  for await (const page of salePages(ports, ASK, null, { outcome: 'lost', lane: 'orders' })) opened.push(...page);
  expect(opened).toMatchObject([{ outcome: 'lost', amount: '15.00', what: 'sale' }]);
});
