/** The sums of a batch of exchanges, made in memory so that each sum is written once per batch. */
import { DAY_MS } from '../contract/duration.ts';
import { OTHERS } from '../mapping/tables.ts';
import { isRefusalOfRequest } from '../proxy/evidence/exchange.ts';
import type { CoverageCell, LossSeen, RecordedExchange } from '../proxy/records/evidence.ts';
import type { Step, Value } from './engine.ts';
import { LONGEST_UNIT, type NameKeeper } from './names.ts';
import type { WriteName } from './writes.ts';

interface Attributed extends RecordedExchange {
  merchant_id: string;
  operation: string;
  kind: NonNullable<RecordedExchange['kind']>;
}

/** The steps that add a batch to all sums; a sum without a change has none. */
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
  const sums = newSums();
  for (const { merchant_id, at, operation, kind, lane, outcome } of batch)
    sums.add([merchant_id, Math.floor(at / DAY_MS), operation, kind, lane, outcome], at);
  return sums.rows(({ count }) => [count]);
}

function unitsOf(batch: Attributed[], names: NameKeeper): Value[][] {
  const sums = newSums<{ last_lane: string; legacy_at: number; legacy_operation: string }>();
  for (const { merchant_id, unit, at, lane, operation } of batch) {
    if (unit === null) continue;
    const slot = unit.length <= LONGEST_UNIT ? names('unit', [merchant_id], unit) : OTHERS;
    const sum = sums.add([merchant_id, slot], at);
    if (at === sum.last_at) sum.last_lane = lane;
    if (lane === 'legacy' && at >= (sum.legacy_at ?? 0))
      Object.assign(sum, { legacy_at: at, legacy_operation: operation });
  }
  return sums.rows(({ first_at, last_at, count, last_lane, legacy_at = null, legacy_operation = null }) => {
    return [first_at, last_at, count, last_lane, legacy_at, legacy_operation];
  });
}

/** A call that lost a field twice counts once; as would-be when only its shadow translation lost it. */
function lossesOf(batch: Attributed[], names: NameKeeper): Value[][] {
  const sums = newSums<Shown & Pick<LossSeen, 'why' | 'weight'> & { would_be: number }>();
  for (const exchange of batch) {
    const { merchant_id, at, lost } = exchange;
    const named = lost.map((loss) =>
      loss.unknown === true
        ? { ...loss, path: names('lost', [merchant_id], loss.path, `${loss.operation} ${loss.path}`) }
        : loss,
    );
    // A loss of a real translation replaces the same loss of a shadow translation.
    const ordered = named.toSorted((one, other) => Number(other.would_be) - Number(one.would_be));
    for (const loss of onceEach(ordered, ({ operation, table, path }) => [operation, table, path])) {
      const { operation, table, path, why, weight } = loss;
      const sum = sums.add([merchant_id, operation, table, path], at);
      const would_be = (sum.would_be ?? 0) + Number(loss.would_be);
      Object.assign(sum, { why, weight, would_be, ...shownBy(exchange) });
    }
  }
  return sums.rows(({ why, weight, count, would_be, first_at, last_at, sample, tables_revision }) => {
    return [why, weight, count, would_be, first_at, last_at, sample, tables_revision];
  });
}

/** A field that is both equal and different in one call, as in a list of items, counts as different. */
function coverageOf(batch: Attributed[], names: NameKeeper): Value[][] {
  const sums = newSums<{ equal: number }>();
  for (const { merchant_id, cells, times, last_at } of sharersOf(batch)) {
    const named = cells.map((cell) =>
      cell.unknown === true
        ? { ...cell, field: names('field', [merchant_id], cell.field, `${cell.operation} ${cell.field}`) }
        : cell,
    );
    const ordered = named.toSorted((one, other) => Number(isEqual(other)) - Number(isEqual(one)));
    for (const cell of onceEach(ordered, ({ operation, field }) => [operation, field])) {
      const sum = sums.add([merchant_id, cell.operation, cell.field], last_at, times);
      sum.equal = (sum.equal ?? 0) + (isEqual(cell) ? times : 0);
    }
  }
  return sums.rows(({ equal, count, last_at }) => [equal, count - equal, last_at]);
}

function isEqual({ outcome }: CoverageCell): boolean {
  return outcome === 'equal';
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
    const { times, last_at } = of_merchants.get(merchant_id) ?? { times: 0, last_at: at };
    of_merchants.set(merchant_id, { merchant_id, cells, times: times + 1, last_at: Math.max(last_at, at) });
  }
  return [...found.values()].flatMap((of_merchants) => [...of_merchants.values()]);
}

function differencesOf(batch: Attributed[]): Value[][] {
  const sums = newSums<Shown & { facts: string[] }>();
  for (const exchange of batch) {
    const { merchant_id, at, differences } = exchange;
    for (const difference of onceEach(differences, ({ signature }) => [signature])) {
      const { signature, operation, what, path, legacy, orders, current_signature = signature } = difference;
      const sum = sums.add([merchant_id, signature], at);
      Object.assign(sum, { facts: [operation, what, path, legacy, orders, current_signature], ...shownBy(exchange) });
    }
  }
  return sums.rows(({ facts, count, first_at, last_at, sample, tables_revision }) => {
    return [...facts, count, first_at, last_at, sample, tables_revision];
  });
}

/** Every occurrence counts; the merchant is '' for a call without one. */
function unknownsOf(batch: readonly RecordedExchange[], names: NameKeeper): Value[][] {
  const sums = newSums();
  for (const { merchant_id, at, unknown } of batch) {
    const whose = merchant_id ?? '';
    for (const { what, name } of unknown) sums.add([whose, what, names('unknown', [whose, what], name)], at);
  }
  return sums.rows(({ count, first_at, last_at }) => [count, first_at, last_at]);
}

function verdictsOf(batch: Attributed[], names: NameKeeper): Value[][] {
  const sums = newSums<Pick<Shown, 'sample'> & { refused_on_legacy: number }>();
  for (const { id, merchant_id, operation, at, status, shadow } of batch) {
    if (shadow === null) continue;
    const { verdict, code, error } = shadow;
    const detail = shadow.detail === null ? '' : names('detail', [merchant_id, operation], shadow.detail);
    const sum = sums.add([merchant_id, operation, verdict, code ?? '', error ?? '', detail], at);
    sum.sample = id;
    sum.refused_on_legacy = (sum.refused_on_legacy ?? 0) + Number(isRefusalOfRequest(status));
  }
  return sums.rows(({ count, last_at, sample, refused_on_legacy }) => [count, last_at, sample, refused_on_legacy]);
}

// Keyed sums of one batch, with the span of their times.

/** The times are epoch ms of the first and the last call. */
interface Counted {
  count: number;
  first_at: number;
  last_at: number;
}

/** Sums by key. `More` is what the caller adds to a sum, missing until then. */
function newSums<More = unknown>() {
  const sums = new Map<string, { key: Value[]; sum: Counted & Partial<More> }>();
  return {
    add(written: Value[], at: number, times = 1) {
      // As it is stored: names that differ only in a lone surrogate are equal.
      const key = written.map((part) => (typeof part === 'string' ? part.toWellFormed() : part));
      const name = JSON.stringify(key);
      const begun = { key, sum: { count: 0, first_at: at, last_at: at } as Counted & Partial<More> }; // all of `More` is optional
      const { sum } = sums.get(name) ?? begun;
      if (sum === begun.sum) sums.set(name, begun);
      sum.count += times;
      sum.first_at = Math.min(sum.first_at, at);
      sum.last_at = Math.max(sum.last_at, at);
      return sum;
    },
    rows: (values: (sum: Counted & More) => Value[]): Value[][] =>
      [...sums.values()].map(({ key, sum }) => [...key, ...values(sum as Counted & More)]), // complete by now
  };
}

/** The exchange that shows a finding, and the tables that found it. */
interface Shown {
  sample: string;
  tables_revision: string;
}

function shownBy({ id, tables_revision }: RecordedExchange): Shown {
  return { sample: id, tables_revision };
}

/** The last item of each key. */
function onceEach<Item>(items: readonly Item[], keyOf: (item: Item) => string[]): Item[] {
  return [...new Map(items.map((item) => [JSON.stringify(keyOf(item)), item])).values()];
}
