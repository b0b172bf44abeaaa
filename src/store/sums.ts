/** The sums of a batch of exchanges, made in memory so that each sum is written once a batch. */
import type { CoverageCell, LossSeen, RecordedExchange } from '../proxy/records/evidence.ts';
import type { Step, Value } from './engine.ts';
import type { NameKeeper } from './names.ts';
import type { WriteName } from './writes.ts';

const DAY_MS = 24 * 60 * 60_000;

/** An exchange of a known merchant and operation. */
interface Attributed extends RecordedExchange {
  merchant_id: string;
  operation: string;
  kind: NonNullable<RecordedExchange['kind']>;
}

/** The steps that add a batch to all sums; sums that it does not touch have none. */
export function sumSteps(batch: readonly RecordedExchange[], names: NameKeeper): Step[] {
  const attributed = batch.filter(
    (exchange): exchange is Attributed =>
      exchange.merchant_id !== null && exchange.operation !== null && exchange.kind !== null,
  );
  const sums: [WriteName, Value[][]][] = [
    ['add_traffic', trafficOf(attributed)],
    ['add_units', unitsOf(attributed, names)],
    ['add_losses', lossesOf(attributed, names)],
    ['add_coverage', coverageOf(attributed, names)],
    ['add_differences', differencesOf(attributed)],
    ['add_unknowns', unknownsOf(batch, names)],
    ['add_verdicts', verdictsOf(attributed, names)],
  ];
  return sums.filter(([, rows]) => rows.length > 0).map(([write, rows]) => ({ write, values: [JSON.stringify(rows)] }));
}

function trafficOf(batch: Attributed[]): Value[][] {
  const sums = newSums<{ calls: number }>();
  for (const { merchant_id, at, operation, kind, lane, outcome } of batch) {
    const key = [merchant_id, Math.floor(at / DAY_MS), operation, kind, lane, outcome];
    sums.of(key, () => ({ calls: 0 })).calls += 1;
  }
  return sums.rows(({ calls }) => [calls]);
}

function unitsOf(batch: Attributed[], names: NameKeeper): Value[][] {
  const sums = newSums<Span & { calls: number; last_lane: string }>();
  for (const { merchant_id, unit, at, lane } of batch) {
    if (unit === null) continue;
    const sum = sums.of([merchant_id, names.unit(merchant_id, unit)], () => ({
      ...spanFrom(at),
      calls: 0,
      last_lane: lane,
    }));
    if (at >= sum.last_at) sum.last_lane = lane;
    widen(sum, at);
    sum.calls += 1;
  }
  return sums.rows(({ first_at, last_at, calls, last_lane }) => [first_at, last_at, calls, last_lane]);
}

/** A call that lost a field twice counts once; as would-be when only its shadow translation lost it. */
function lossesOf(batch: Attributed[], names: NameKeeper): Value[][] {
  const sums = newSums<Span & { why: string; weight: string; count: number; would_be: number; shown: Shown }>();
  for (const exchange of batch) {
    const { merchant_id, at, lost } = exchange;
    const named = lost.map((loss) =>
      loss.unknown === true ? { ...loss, path: names.lost(merchant_id, loss.operation, loss.path) } : loss,
    );
    for (const loss of onceEach(realLast(named), ({ operation, table, path }) => [operation, table, path])) {
      const { operation, table, path, why, weight } = loss;
      const shown = shownBy(exchange);
      const start = () => ({ ...spanFrom(at), why, weight, count: 0, would_be: 0, shown });
      const sum = sums.of([merchant_id, operation, table, path], start);
      widen(sum, at);
      Object.assign(sum, { why, weight, shown, count: sum.count + 1 });
      if (loss.would_be) sum.would_be += 1;
    }
  }
  return sums.rows((sum) => {
    const { why, weight, count, would_be, first_at, last_at, shown } = sum;
    return [why, weight, count, would_be, first_at, last_at, shown.sample, shown.tables_revision];
  });
}

/** A loss of a real translation replaces the same loss of a shadow translation. */
function realLast(lost: readonly LossSeen[]): LossSeen[] {
  return [...lost.filter((loss) => loss.would_be), ...lost.filter((loss) => !loss.would_be)];
}

/** A field that a call shows both ways, as in a list of items, counts as different. */
function coverageOf(batch: Attributed[], names: NameKeeper): Value[][] {
  const sums = newSums<{ equal: number; different: number; last_at: number }>();
  for (const { merchant_id, cells, times, last_at } of sharersOf(batch)) {
    const named = cells.map((cell) =>
      cell.unknown === true ? { ...cell, field: names.field(merchant_id, cell.operation, cell.field) } : cell,
    );
    for (const { operation, field, outcome } of onceEach(differentLast(named), (cell) => [
      cell.operation,
      cell.field,
    ])) {
      const sum = sums.of([merchant_id, operation, field], () => ({ equal: 0, different: 0, last_at }));
      sum[outcome] += times;
      sum.last_at = Math.max(sum.last_at, last_at);
    }
  }
  return sums.rows(({ equal, different, last_at }) => [equal, different, last_at]);
}

/** Calls of one merchant that share one list of cells (`proxy/evidence/evaluation.ts`). */
interface Sharers extends Pick<Attributed, 'merchant_id' | 'cells'> {
  times: number;
  last_at: number;
}

function sharersOf(batch: Attributed[]): Sharers[] {
  const found = new Map<CoverageCell[], Map<string, Sharers>>();
  for (const { merchant_id, at, cells } of batch) {
    if (cells.length === 0) continue;
    const of_merchants = found.get(cells) ?? new Map<string, Sharers>();
    found.set(cells, of_merchants);
    const known = of_merchants.get(merchant_id);
    if (known === undefined) of_merchants.set(merchant_id, { merchant_id, cells, times: 1, last_at: at });
    else {
      known.times += 1;
      known.last_at = Math.max(known.last_at, at);
    }
  }
  return [...found.values()].flatMap((of_merchants) => [...of_merchants.values()]);
}

function differentLast(cells: readonly CoverageCell[]): CoverageCell[] {
  return [...cells.filter((cell) => cell.outcome === 'equal'), ...cells.filter((cell) => cell.outcome === 'different')];
}

function differencesOf(batch: Attributed[]): Value[][] {
  const sums = newSums<Span & { facts: string[]; count: number; shown: Shown }>();
  for (const exchange of batch) {
    const { merchant_id, at, differences } = exchange;
    for (const difference of onceEach(differences, ({ signature }) => [signature])) {
      const { signature, operation, what, path, legacy, orders } = difference;
      const now = { facts: [operation, what, path, legacy, orders], shown: shownBy(exchange) };
      const sum = sums.of([merchant_id, signature], () => ({ ...spanFrom(at), ...now, count: 0 }));
      widen(sum, at);
      Object.assign(sum, now, { count: sum.count + 1 });
    }
  }
  return sums.rows(({ facts, count, first_at, last_at, shown }) => {
    return [...facts, count, first_at, last_at, shown.sample, shown.tables_revision];
  });
}

/** Every hit counts; the merchant is '' for a call without one. */
function unknownsOf(batch: readonly RecordedExchange[], names: NameKeeper): Value[][] {
  const sums = newSums<Span & { count: number }>();
  for (const { merchant_id, at, unknown } of batch) {
    const whose = merchant_id ?? '';
    for (const { what, name } of unknown) {
      const key = [whose, what, names.unknown(whose, what, name)];
      const sum = sums.of(key, () => ({ ...spanFrom(at), count: 0 }));
      widen(sum, at);
      sum.count += 1;
    }
  }
  return sums.rows(({ count, first_at, last_at }) => [count, first_at, last_at]);
}

function verdictsOf(batch: Attributed[], names: NameKeeper): Value[][] {
  const sums = newSums<{ count: number; last_at: number; sample: string }>();
  for (const { id, merchant_id, operation, at, shadow } of batch) {
    if (shadow === null) continue;
    const { verdict, code, error } = shadow;
    const detail = shadow.detail === null ? '' : names.detail(merchant_id, operation, shadow.detail);
    const key = [merchant_id, operation, verdict, code ?? '', error ?? '', detail];
    const sum = sums.of(key, () => ({ count: 0, last_at: at, sample: id }));
    Object.assign(sum, { count: sum.count + 1, last_at: Math.max(sum.last_at, at), sample: id });
  }
  return sums.rows(({ count, last_at, sample }) => [count, last_at, sample]);
}

// The arithmetic of sums: keyed sums of one batch, the span of their times, and the exchange that shows one.

/** Sums by key; a row is the key's parts and what the sum lists after them. */
interface Sums<Sum> {
  of(key: Value[], start: () => Sum): Sum;
  rows(values: (sum: Sum) => Value[]): Value[][];
}

function newSums<Sum>(): Sums<Sum> {
  const sums = new Map<string, { key: Value[]; sum: Sum }>();
  return {
    of(written, start) {
      // As it is stored: names that differ only in a half of a surrogate pair are one.
      const key = written.map((part) => (typeof part === 'string' ? part.toWellFormed() : part));
      const name = JSON.stringify(key);
      const known = sums.get(name);
      if (known !== undefined) return known.sum;
      const sum = start();
      sums.set(name, { key, sum });
      return sum;
    },
    rows: (values) => [...sums.values()].map(({ key, sum }) => [...key, ...values(sum)]),
  };
}

/** Epoch ms of the first and the last call. */
interface Span {
  first_at: number;
  last_at: number;
}

function spanFrom(at: number): Span {
  return { first_at: at, last_at: at };
}

function widen(span: Span, at: number): void {
  span.first_at = Math.min(span.first_at, at);
  span.last_at = Math.max(span.last_at, at);
}

/** The exchange that shows a finding, and the tables it was found with. */
interface Shown {
  sample: string;
  tables_revision: string;
}

function shownBy(exchange: RecordedExchange): Shown {
  return { sample: exchange.id, tables_revision: exchange.tables_revision };
}

/** The last item of each key. */
function onceEach<Item>(items: readonly Item[], keyOf: (item: Item) => string[]): Item[] {
  return [...new Map(items.map((item) => [JSON.stringify(keyOf(item)), item])).values()];
}
