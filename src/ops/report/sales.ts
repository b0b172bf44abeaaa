/** The money of a report: sales and refunds of a period by outcome, their sums, and the rows that each sum consists of. */

import { say } from '../../locales/message.ts';
import { decimalOfMinor } from '../../mapping/values.ts';
import { yieldToEventLoop } from '../../proxy/concurrency.ts';
import type { Outcome } from '../../proxy/evidence/exchange.ts';
import { asLastRead, hasResult } from '../../proxy/payments/made-refunds.ts';
import type { Refund } from '../../proxy/records/refunds.ts';
import type { LegacySale } from '../../proxy/records/routing.ts';
import { minorOf } from '../../proxy/routing/legacy-ledger.ts';
import type { Link } from '../../proxy/sales/link.ts';
import { approvalsOf, isApprovedOnce } from '../../proxy/sales/order-transition.ts';
import { iso } from '../fields.ts';
import type { CreatedPage, FamilyRefund, Ports } from '../ports.ts';
import { type AcceptedDisagreement, acceptanceFor, fateOf, hasItsOrder } from '../reconcile/mismatches.ts';
import { NOT_REFUNDED, refundOfLegacySale, refundOfLink, refundOutcome, refundsOfAll } from '../refunded.ts';
import { stateOfLegacySale, stateOfLink } from '../sale-state.ts';
import { knownMerchants, merchantOf } from '../seen.ts';
import { listOf, MOST_LINES, openFirst } from './cut-list.ts';
import { decisionLines, type FoundMismatch, type Move } from './decisions.ts';
import type { ReportAsk } from './period.ts';
import { type Line, type MoneyLine, outcomesOfMoney, type Report, type SaleQuery } from './report.ts';
import type { Tally } from './tally.ts';

/** Rows per page: so few that payments between two pages are not delayed. */
const PAGE = 200;

interface Money extends Pick<Report, 'sums' | 'move_sums'> {
  /** Paid sales without exactly one approved payment, open ones with several, and other unpaid ones with any. */
  approvals: Line<'approvals'>[];
  /** The open ones of each merchant, also where the list of all is full. */
  judged: Line<'approvals'>[];
  /** Sales whose order upstream has not shown: lost, or still in doubt. */
  unconfirmed: MoneyLine[];
  left_out: Record<'move_sums' | 'approvals' | 'unconfirmed', number>;
}

/** @param moves of all merchants: each splits the sums of its merchant. */
export async function moneyOf(
  ports: Ports,
  ask: ReportAsk,
  moves: readonly Move[],
  tally: Tally,
  signal: AbortSignal | null,
): Promise<Money> {
  const sums = newSums();
  const by_move = new Map<string, { move: Omit<Line<'move_sums'>, keyof Line<'sums'>>; sums: Sums }>();
  const approvals = openFirst<Line<'approvals'>>(ask);
  const unconfirmed = openFirst<MoneyLine>(ask);
  const bounds = Map.groupBy(moves, ({ merchant_id }) => merchant_id);
  for await (const page of salePages(ports, ask, signal)) {
    for (const line of page) {
      sums.add(line);
      const own = bounds.get(line.merchant_id);
      if (own !== undefined) spanOf(by_move, ask, own, line).add(line);
      if (isUnconfirmed(ports, line)) unconfirmed.add(line, (await acceptanceFor(ports, line.id, 'missing')) === null);
    }
    for (const line of await approvalLines(ports, page.filter(isNotApprovedOnce)))
      approvals.add(line, line.state === 'open');
  }
  addCalls(ports, sums, tally);
  const in_order = [...by_move.values()].toSorted(({ move: a }, { move: b }) =>
    compare(`${a.merchant_id} ${a.since}`, `${b.merchant_id} ${b.since}`),
  );
  const [found, in_doubt] = [approvals.cut(), unconfirmed.cut()];
  const spans = in_order.flatMap(({ move, sums: own }) => own.lines().map((sum) => ({ ...move, ...sum })));
  return {
    sums: sums.lines(),
    move_sums: spans.slice(0, MOST_LINES),
    approvals: found.lines,
    judged: approvals.open,
    unconfirmed: in_doubt.lines,
    left_out: {
      move_sums: Math.max(0, spans.length - MOST_LINES),
      approvals: found.left_out,
      unconfirmed: in_doubt.left_out,
    },
  };
}

function isNotApprovedOnce({ approvals, outcome }: MoneyLine): boolean {
  return !isApprovedOnce(approvals, outcome === 'open' || outcome === 'paid' ? outcome : 'not_paid');
}

/** Until the repeat window ends, a create in doubt is still being resolved, as reconciliation judges it. */
function isUnconfirmed({ clock, settings }: Ports, { what, lane, outcome, at }: MoneyLine): boolean {
  if (what !== 'sale' || lane !== 'orders') return false;
  const may_be_repeated = clock.now() < Date.parse(at) + settings.create.replay_window_ms;
  return outcome === 'lost' || (outcome === 'in_doubt' && !may_be_repeated);
}

/** Every sale and refund of the period by merchant: links and refunds of orders, then the ledger of legacy. */
export async function* salePages(
  ports: Ports,
  ask: ReportAsk,
  signal: AbortSignal | null,
  only: SaleQuery = {},
): AsyncGenerator<MoneyLine[]> {
  const { store, tables, clock } = ports;
  const { merchant_id, ...period } = ask;
  // A merchant whose calls went to legacy alone has sales without a row of its own.
  const known = merchant_id === null ? await knownMerchants(ports) : [await merchantOf(ports, merchant_id)];
  const wanted = Object.entries(only) as [keyof SaleQuery, string][]; // the query's own fields
  for (const { id, site } of known) {
    const money = tables.site(site);
    const of = { merchant_id: id, ...period };
    const pages = [
      pagesOf(
        of,
        async (page) => {
          const links = await store.history.linksMade(page);
          const refunds = await refundsOfAll(ports, links);
          return links.map((link) => ({ ...link, refunds: refunds.get(link.legacy_id) ?? [] }));
        },
        ofLink(money),
        ({ legacy_id }) => legacy_id,
      ),
      pagesOf(
        of,
        async (page) => {
          const order = async ({ legacy_id }: Refund) => (await store.links.link(legacy_id))?.order ?? null;
          const refunds = await store.refunds.refundsMade(page);
          return Promise.all(
            refunds.map(async (one) => (hasResult(one.upstream_status) ? one : asLastRead(one, await order(one)))),
          );
        },
        ofRefund(money),
        (refund) => refund.id,
      ),
      pagesOf(
        of,
        (page) => store.legacy_sales.legacySalesMade(page),
        ofLegacy(money, clock.now()),
        (sale) => sale.id,
      ),
    ];
    for (const one of pages)
      for await (const page of one) {
        signal?.throwIfAborted();
        yield page.filter((line) => wanted.every(([name, value]) => line[name] === value));
      }
  }
}

async function* pagesOf<Row extends { created_at: number }>(
  period: Pick<CreatedPage, 'merchant_id' | 'since' | 'until'>,
  read: (page: CreatedPage) => Promise<Row[]>,
  lineOf: (row: Row) => MoneyLine | null,
  idOf: (row: Row) => string,
): AsyncGenerator<MoneyLine[]> {
  let after: CreatedPage['after'] = null;
  for (;;) {
    const rows: Row[] = await read({ ...period, after, limit: PAGE });
    yield rows.map(lineOf).filter((line) => line !== null);
    // Also after the only page of a merchant: thousands of small merchants are read one after the other.
    await yieldToEventLoop();
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = { created_at: last.created_at, id: idOf(last) };
  }
}

// One row as a line of money. Nothing is guessed: what no answer or event has shown is `not_known` (`../sale-state.ts`).

interface Site {
  currency: string;
  exponent: number;
}

/** Of the orders lane, by its order as last read: what tills see depends on a setting (`merchants.declined`). */
function ofLink({ currency, exponent }: Site) {
  return ({ refunds, ...link }: Link & { refunds: readonly Refund[] }): MoneyLine => {
    const { merchant_id, family, lane, unit, legacy_id, order_id, amount_minor } = link;
    const outcome = stateOfLink(link);
    const by = { what: 'sale', lane, family, currency, outcome } as const;
    const approvals = approvalsOf(link);
    const at = iso(link.created_at);
    const names = { unit, id: legacy_id, order_id, approvals };
    return {
      at,
      merchant_id,
      ...by,
      ...names,
      ...amountOf(amount_minor, exponent),
      ...refundOfLink(link, refunds, exponent),
    };
  };
}

function ofRefund({ currency, exponent }: Site) {
  return (refund: FamilyRefund): MoneyLine => {
    const { merchant_id, family, id, upstream_id, amount_minor, refunded_minor } = refund;
    const outcome = refundOutcome(refund);
    const by = { what: 'refund', lane: 'orders', family, currency, outcome } as const;
    const known = refunded_minor ?? amount_minor;
    const names = { unit: null, id, order_id: upstream_id, approvals: null };
    return { at: iso(refund.created_at), merchant_id, ...by, ...names, ...amountOf(known, exponent), ...NOT_REFUNDED };
  };
}

/** Null for a create by a token that is not proven to be the merchant's: it may be invented. */
function ofLegacy({ currency, exponent }: Site, now: number) {
  return (sale: LegacySale): MoneyLine | null => {
    const { merchant_id, family, work: what, unit, id, legacy_id } = sale;
    if (sale.unproven_token !== null) return null;
    const outcome = family === 'payments' ? outcomeOfLegacyRefund(sale) : stateOfLegacySale(sale, now);
    const by = { what, lane: 'legacy', family, currency, outcome } as const;
    const names = { id: legacy_id ?? id, approvals: null };
    const places = family === 'payments' ? { unit: null, order_id: unit } : { unit, order_id: null };
    return {
      at: iso(sale.created_at),
      merchant_id,
      ...by,
      ...places,
      ...names,
      ...amountOf(minorOf(sale, exponent), exponent),
      ...refundOfLegacySale(sale, exponent),
    };
  };
}

/** By its answer, or by what a later read or repeat showed. */
function outcomeOfLegacyRefund({ state, end_state }: LegacySale): MoneyLine['outcome'] {
  if (state === 'IN_DOUBT') return 'in_doubt';
  if (state === 'REFUSED' || end_state === 'rejected') return 'refused';
  return end_state === 'approved' ? 'refunded' : end_state === 'in_process' ? 'open' : 'not_known';
}

function amountOf(minor: number | null, exponent: number): Pick<MoneyLine, 'amount_minor' | 'amount'> {
  if (minor === null) return { amount_minor: null, amount: null };
  return { amount_minor: String(minor), amount: decimalOfMinor(BigInt(minor), exponent) };
}

// Sales that Puente and upstream do not both know, or know differently, and sales that were not approved once.

/** What a report lists of them: open ones first. */
export async function unmatchedOf(
  ports: Ports,
  ask: ReportAsk,
  found: readonly FoundMismatch[],
  unconfirmed: readonly MoneyLine[],
): Promise<{ lines: Line<'unmatched'>[]; left_out: number }> {
  const all: Line<'unmatched'>[] = [];
  for await (const line of unmatchedLines(ports, found, [unconfirmed])) all.push(line);
  const rank = ({ state }: Line<'unmatched'>): number => ['open', 'acknowledged', 'repaired'].indexOf(state);
  const list = listOf<Line<'unmatched'>>(ask);
  for (const line of all.toSorted((a, b) => rank(a) - rank(b) || compare(a.found_at, b.found_at))) list.add(line);
  return { lines: list.lines, left_out: list.left_out() };
}

/** Every line of a list that a report cuts, in pages. */
export async function* wholeList(
  ports: Ports,
  ask: ReportAsk,
  part: 'approvals' | 'unmatched',
  signal: AbortSignal | null,
): AsyncGenerator<Line<typeof part>[]> {
  if (part === 'approvals') yield* approvalPages(ports, ask, signal);
  else {
    const { mismatches } = await decisionLines(ports, ask, signal);
    const unconfirmed = wantedPages(ports, ask, signal, (line) => isUnconfirmed(ports, line));
    for await (const line of unmatchedLines(ports, mismatches, unconfirmed)) yield [line];
  }
}

async function* wantedPages(
  ports: Ports,
  ask: ReportAsk,
  signal: AbortSignal | null,
  isWanted: (line: MoneyLine) => boolean,
): AsyncGenerator<MoneyLine[]> {
  for await (const page of salePages(ports, ask, signal)) yield page.filter(isWanted);
}

/** Every line of `approvals`, page by page. */
export async function* approvalPages(
  ports: Ports,
  ask: ReportAsk,
  signal: AbortSignal | null,
): AsyncGenerator<Line<'approvals'>[]> {
  for await (const page of wantedPages(ports, ask, signal, isNotApprovedOnce)) yield await approvalLines(ports, page);
}

/** With the person who has accepted each. */
async function approvalLines(ports: Ports, sales: readonly MoneyLine[]): Promise<Line<'approvals'>[]> {
  const lines: Line<'approvals'>[] = [];
  for (const [index, line] of sales.entries()) {
    if (index % PAGE === PAGE - 1) await yieldToEventLoop();
    const accepted = await acceptanceFor(ports, line.id, 'approvals');
    lines.push({ ...line, state: accepted === null ? 'open' : 'acknowledged', ...namesOf(accepted) });
  }
  return lines;
}

/** @param found by reconciliation and reads, ascending. @param unconfirmed pages of sales that upstream never showed. */
async function* unmatchedLines(
  ports: Ports,
  found: readonly FoundMismatch[],
  unconfirmed: AsyncIterable<readonly MoneyLine[]> | Iterable<readonly MoneyLine[]>,
): AsyncGenerator<Line<'unmatched'>> {
  const { store, tables } = ports;
  const sites = new Map((await store.merchants.merchants()).map(({ id, site }) => [id, site]));
  // The last report of a kind and sale counts. Approvals are no disagreement with upstream, and a list of their own.
  const unmatched = found.filter(({ kind }) => kind !== 'approvals');
  const last = new Map(unmatched.map((one) => [`${one.kind} ${one.subject}`, one]));
  for (const [index, one] of [...last.values()].entries()) {
    if (index % PAGE === PAGE - 1) await yieldToEventLoop();
    const { kind, subject, merchant_id, order_id, unit, at, reason, said } = one;
    const link = await store.links.link(subject);
    const fate = one.is_repaired || hasItsOrder(one, link) ? 'repaired' : await fateOf(ports, one);
    const accepted = fate === 'repaired' ? null : fate;
    const { currency, exponent } = tables.site(sites.get(merchant_id) ?? null);
    yield {
      known_to: kind === 'orphan' ? 'upstream' : kind === 'missing' ? 'puente' : 'both',
      state: fate === 'repaired' ? fate : fate === null ? 'open' : 'acknowledged',
      ...{ kind, found_at: at, merchant_id, unit, id: subject, order_id, currency },
      ...amountOf(link?.amount_minor ?? one.amount_minor, exponent),
      ...{ what: reason, said, ...namesOf(accepted) },
    };
  }
  for await (const page of unconfirmed)
    for (const [index, one] of page.entries()) {
      if (index % PAGE === PAGE - 1) await yieldToEventLoop();
      const { outcome, at, merchant_id, unit, id, order_id, currency, amount_minor, amount } = one;
      if (last.has(`missing ${id}`)) continue;
      const kind = outcome === 'lost' ? 'lost' : 'in_doubt';
      const { text: what, said } = say(`unmatched.${kind}`, {});
      const of = { kind, found_at: at, merchant_id, unit, id, order_id, currency: currency ?? '' } as const;
      const accepted = await acceptanceFor(ports, id, 'missing');
      const state = accepted === null ? 'open' : 'acknowledged';
      yield { known_to: 'puente', state, ...of, amount_minor, amount, what, said, ...namesOf(accepted) };
    }
}

function namesOf(accepted: AcceptedDisagreement | null) {
  const { who = null, at = null, reason = null } = accepted ?? {};
  return { acknowledged_by: who, acknowledged_at: at, acknowledged_why: reason };
}

// Sums, exact in minor units.

type Sums = ReturnType<typeof newSums>;
type Summed = Pick<MoneyLine, 'what' | 'lane' | 'family' | 'currency' | 'outcome' | 'amount_minor' | 'amount'>;

function newSums() {
  const sums = new Map<
    string,
    { line: Omit<Line<'sums'>, 'amount_minor' | 'amount'>; minor: bigint; exponent: number }
  >();
  return {
    add({ what, lane, family, currency, outcome, amount_minor, amount }: Summed, times = 1): void {
      const by = { what, lane, family, currency, outcome };
      const key = Object.values(by).join(' ');
      const sum = sums.get(key) ?? { line: { ...by, count: 0, without_amount: 0 }, minor: 0n, exponent: 0 };
      sums.set(key, sum);
      sum.line.count += times;
      if (amount_minor === null || amount === null) sum.line.without_amount += times;
      else {
        sum.minor += BigInt(amount_minor);
        sum.exponent = amount.includes('.') ? amount.length - amount.indexOf('.') - 1 : 0;
      }
    },
    /** Sales before refunds, legacy before orders, and outcomes in their order. */
    lines: (): Line<'sums'>[] =>
      [...sums.values()]
        .map(({ line, minor, exponent }) => {
          if (line.count === line.without_amount) return { ...line, amount_minor: null, amount: null };
          return { ...line, amount_minor: String(minor), amount: decimalOfMinor(minor, exponent) };
        })
        .toSorted((a, b) => compare(rankOf(a), rankOf(b))),
  };
}

function rankOf({ what, lane, family, currency, outcome }: Line<'sums'>): string {
  const place = String(outcomesOfMoney.indexOf(outcome)).padStart(2, '0');
  return [what === 'sale' ? 0 : 1, lane, currency, family, place].join(' ');
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** The sums between two moves of a merchant; the first span begins with the period. */
function spanOf(
  spans: Map<string, { move: Omit<Line<'move_sums'>, keyof Line<'sums'>>; sums: Sums }>,
  { since, until }: ReportAsk,
  moves: readonly Move[],
  { merchant_id, at }: MoneyLine,
): Sums {
  const made_at = Date.parse(at);
  const nth = moves.findLastIndex((move) => move.at <= made_at);
  const found = spans.get(`${merchant_id} ${nth}`);
  if (found !== undefined) return found.sums;
  const [move, next] = [moves[nth], moves[nth + 1]];
  const span = {
    merchant_id,
    since: iso(move?.at ?? since),
    until: iso(next?.at ?? until),
    line: move?.sequence ?? null,
    before: move?.before ?? null,
    after: move?.after ?? null,
  };
  const sums = newSums();
  spans.set(`${merchant_id} ${nth}`, { move: span, sums });
  return sums;
}

const REFUND_STORIES = ['create_refund', 'refund_collection'];
const CALL_OUTCOMES = {
  ok: 'refunded',
  business: 'refused',
  auth: 'refused',
  fault: 'in_doubt',
} as const satisfies Record<Outcome, MoneyLine['outcome']>;

/**
 * Refunds on legacy without a row: those of the oldest clients, of tokens that are not proven, and of older builds. Only
 * their calls are known.
 */
function addCalls({ tables }: Ports, sums: Sums, { without_row }: Tally): void {
  const of = { what: 'refund', lane: 'legacy', family: 'payments', currency: null } as const;
  for (const { name } of tables.operations.filter((one) => REFUND_STORIES.includes(one.story)))
    for (const [of_call, outcome] of Object.entries(CALL_OUTCOMES)) {
      const calls = without_row.get(`${name} ${of_call}`) ?? 0;
      if (calls > 0) sums.add({ ...of, outcome, amount_minor: null, amount: null }, calls);
    }
}
