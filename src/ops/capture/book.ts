/** The evidence of a file, in memory: the same sums as the store keeps, of exchanges that were recorded nowhere. */

import {
  type CoverageCell,
  type CoverageRow,
  type DifferenceGroup,
  type DifferenceSeen,
  type ExchangeFilter,
  type LedgerRow,
  type LossSeen,
  lossWeights,
  type RecordedExchange,
  type StoredExchange,
  type Traffic,
  type UnknownRow,
  type VerdictRow,
} from '../../proxy/records/evidence.ts';
import { DAY_MS } from '../fields.ts';
import type { EvidenceReader } from '../ports.ts';
import { createGroups, type Group, type Groups, mergedBy, onceEach } from './changes.ts';

export interface Book extends EvidenceReader {
  /** Adds an exchange to all sums. */
  record(exchange: RecordedExchange): void;
  /** Whose exchanges were recorded, in the order of their ids. */
  merchantIds(): string[];
}

/** What is counted; each with the merchant in front, as the keys have it. */
export interface Sums {
  traffic: Groups<Omit<Traffic, 'calls'>>;
  units: Groups<{ merchant_id: string; slot: string; last_lane: Traffic['lane'] }>;
  losses: Groups<Omit<LossSeen, 'unknown'> & { merchant_id: string }>;
  cells: Groups<CoverageCell & { merchant_id: string }>;
  differences: Groups<DifferenceSeen & { merchant_id: string }>;
  unknowns: Groups<Pick<UnknownRow, 'merchant_id' | 'what' | 'name'>>;
  verdicts: Groups<Omit<VerdictRow, 'count' | 'last_at' | 'sample'>>;
  /** Of each merchant; '' for calls of no known merchant. */
  newest: Map<string, StoredExchange>;
}

/** An empty book. It grows with what is different in a file, not with the file. */
export function createBook(): Book {
  const sums: Sums = {
    traffic: createGroups(),
    units: createGroups(),
    losses: createGroups(),
    cells: createGroups(),
    differences: createGroups(),
    unknowns: createGroups(),
    verdicts: createGroups(),
    newest: new Map(),
  };
  let sequence = 0;
  return {
    ...readerOf(sums),
    record(recorded) {
      sequence++;
      add(sums, recorded, sequence);
    },
    merchantIds: () => [...sums.newest.keys()].filter((id) => id !== '').sort(),
  };
}

/** An exchange of a known merchant and operation; others are in the sum of unknown things alone, as in the store. */
interface Attributed extends RecordedExchange {
  merchant_id: string;
  operation: string;
  kind: NonNullable<RecordedExchange['kind']>;
}

function isAttributed(exchange: RecordedExchange): exchange is Attributed {
  return exchange.merchant_id !== null && exchange.operation !== null && exchange.kind !== null;
}

function add(sums: Sums, recorded: RecordedExchange, sequence: number): void {
  const { cells: _cells, differences, compared: _compared, ...kept } = recorded;
  const shown = { ...kept, sequence, signatures: [...new Set(differences.map(({ signature }) => signature))] };
  const merchant_id = recorded.merchant_id ?? '';
  const before = sums.newest.get(merchant_id);
  if (before === undefined || before.at <= shown.at) sums.newest.set(merchant_id, shown);
  for (const { what, name } of recorded.unknown)
    sums.unknowns.add([merchant_id, what, name], { merchant_id, what, name }, shown);
  if (isAttributed(recorded)) addFindings(sums, recorded, shown);
}

function addFindings(sums: Sums, exchange: Attributed, shown: StoredExchange): void {
  const { merchant_id, at, operation, kind, lane, outcome, unit, shadow } = exchange;
  const day = Math.floor(at / DAY_MS);
  const calls = { merchant_id, day, operation, kind, lane, outcome };
  sums.traffic.add([merchant_id, day, operation, lane, outcome], calls, shown);
  if (unit !== null) sums.units.add([merchant_id, unit], { merchant_id, slot: unit, last_lane: lane }, shown);
  for (const loss of lostOnce(exchange.lost)) {
    const { unknown: _unknown, ...facts } = loss;
    const key = [merchant_id, loss.operation, loss.table, loss.path, Number(loss.would_be)];
    sums.losses.add(key, { ...facts, merchant_id }, shown);
  }
  for (const cell of cellsOnce(exchange.cells))
    sums.cells.add([merchant_id, cell.operation, cell.field, cell.outcome], { ...cell, merchant_id }, shown);
  for (const one of onceEach(exchange.differences, ({ signature }) => signature))
    sums.differences.add([merchant_id, one.signature], { ...one, merchant_id }, shown);
  if (shadow === null) return;
  const { verdict, code, error, detail } = shadow;
  const key = [merchant_id, operation, verdict, code ?? '', error ?? '', detail ?? ''];
  sums.verdicts.add(key, { merchant_id, operation, verdict, code, error, detail }, shown);
}

/** A call that lost a field twice counts once for it; what was really lost stands for what was lost on paper too. */
function lostOnce(lost: readonly LossSeen[]): LossSeen[] {
  const ranked = [...lost].sort((one, other) => Number(other.would_be) - Number(one.would_be));
  return onceEach(ranked, ({ operation, table, path }) => `${operation} ${table} ${path}`);
}

/** A field that a call shows both ways, as in a list of items, counts as different. */
function cellsOnce(cells: readonly CoverageCell[]): CoverageCell[] {
  const rank = ({ outcome }: CoverageCell): number => Number(outcome === 'different');
  return onceEach(
    [...cells].sort((one, other) => rank(one) - rank(other)),
    ({ operation, field }) => `${operation} ${field}`,
  );
}

// What can be read of a book, in the same orders as the store answers.

/**
 * Exchanges are the newest of each merchant and those that show a group: a file can be larger than the memory, and the
 * others can be read in it.
 */
export function readerOf(sums: Sums): EvidenceReader {
  const evidence: EvidenceReader['evidence'] = {
    async traffic({ merchant_id, since_day = Number.NEGATIVE_INFINITY, until_day = Number.POSITIVE_INFINITY }) {
      const rows = own(sums.traffic.all(), merchant_id).map(
        ({ facts, count }): Traffic => ({ ...facts, calls: count }),
      );
      const key = (row: Traffic) => [row.merchant_id, row.day, row.operation, row.lane, row.outcome];
      return sorted(rows, key).filter(({ day }) => day >= since_day && day < until_day);
    },
    async units(merchant_id) {
      const rows = own(sums.units.all(), merchant_id);
      const seen = rows.map(({ facts, count, first_at, last_at }) => ({ ...facts, first_at, last_at, calls: count }));
      return sorted(seen, ({ slot }) => [slot]);
    },
    ledger: async (merchant_id) => ledgerOf(sums, merchant_id),
    coverage: async (merchant_id) => coverageOf(sums, merchant_id),
    async differences({ merchant_id, states }) {
      const rows = own(sums.differences.all(), merchant_id).map(differenceOf);
      // Differences of a file are neither explained nor accepted.
      const open = states === undefined || states.includes('new') ? rows : [];
      return sorted(open, (row) => [-row.last_at, row.merchant_id, row.signature]);
    },
    async unknowns(merchant_id) {
      const rows = own(sums.unknowns.all(), merchant_id);
      const seen = rows.map(({ facts, count, first_at, last_at }) => ({ ...facts, count, first_at, last_at }));
      return sorted(seen, (row) => [-row.count, row.merchant_id, row.what, row.name]);
    },
    async verdicts(merchant_id) {
      const rows = own(sums.verdicts.all(), merchant_id);
      const seen = rows.map(({ facts, count, last_at, shown }) => ({ ...facts, count, last_at, sample: shown.id }));
      return sorted(seen, (row) => [
        row.merchant_id,
        row.operation,
        -row.count,
        row.verdict,
        row.code ?? '',
        row.detail ?? '',
      ]);
    },
  };
  return {
    evidence,
    exchanges: {
      exchanges: async (filter, after, limit) =>
        kept(sums)
          .filter((one) => passes(one, filter, after))
          .slice(0, limit),
    },
  };
}

function own<Facts extends { merchant_id: string }>(
  groups: Group<Facts>[],
  merchant_id: string | undefined,
): Group<Facts>[] {
  return groups.filter(({ facts }) => merchant_id === undefined || facts.merchant_id === merchant_id);
}

function ledgerOf(sums: Sums, merchant_id: string | undefined): LedgerRow[] {
  const groups = mergedBy(own(sums.losses.all(), merchant_id), (one) =>
    JSON.stringify([one.merchant_id, one.operation, one.table, one.path]),
  );
  const rows = groups.map((same): LedgerRow => {
    const newest = newestOf(same);
    const { would_be: _would_be, ...facts } = newest.facts;
    const on_paper = same.filter(({ facts: { would_be } }) => would_be);
    return { ...facts, ...spanOf(same), would_be_count: countOf(on_paper), ...shownBy(newest) };
  });
  return sorted(rows, (row) => [lossWeights.indexOf(row.weight), -row.count, row.merchant_id, row.operation, row.path]);
}

function coverageOf(sums: Sums, merchant_id: string | undefined): CoverageRow[] {
  const groups = mergedBy(own(sums.cells.all(), merchant_id), (one) =>
    JSON.stringify([one.merchant_id, one.operation, one.field]),
  );
  const rows = groups.map((same): CoverageRow => {
    const { merchant_id: whose, operation, field } = newestOf(same).facts;
    const of = (outcome: string): number => countOf(same.filter(({ facts }) => facts.outcome === outcome));
    const { last_at } = spanOf(same);
    return { merchant_id: whose, operation, field, equal: of('equal'), different: of('different'), last_at };
  });
  return sorted(rows, (row) => [row.merchant_id, row.operation, row.field]);
}

function differenceOf(group: Group<ReturnType<Sums['differences']['all']>[number]['facts']>): DifferenceGroup {
  const decided = { state: 'new', accepted_until: null, note: '', who: null, revision: 1 } as const;
  const { facts, count, first_at, last_at } = group;
  return { ...facts, ...decided, count, first_at, last_at, ...shownBy(group) };
}

function kept(sums: Sums): StoredExchange[] {
  const groups = [sums.traffic, sums.units, sums.losses, sums.cells, sums.differences, sums.unknowns, sums.verdicts];
  const shown = groups.flatMap((one) => one.all().map((group) => group.shown));
  const all = new Map([...sums.newest.values(), ...shown].map((one) => [one.sequence, one]));
  return [...all.values()].sort((one, other) => one.sequence - other.sequence);
}

function passes(one: StoredExchange, filter: ExchangeFilter, after: number): boolean {
  const { merchant_id, since, until, legacy_id, operation, lane, captured } = filter;
  return (
    one.sequence > after &&
    (merchant_id === undefined || one.merchant_id === merchant_id) &&
    (since === undefined || one.at >= since) &&
    (until === undefined || one.at < until) &&
    (legacy_id === undefined || one.legacy_id === legacy_id) &&
    (operation === undefined || one.operation === operation) &&
    (lane === undefined || one.lane === lane) &&
    (captured !== true || one.messages !== null)
  );
}

function newestOf<Facts>(groups: readonly Group<Facts>[]): Group<Facts> {
  return groups.reduce((newest, one) => (one.last_at > newest.last_at ? one : newest));
}

function countOf(groups: readonly Group<unknown>[]): number {
  return groups.reduce((sum, { count }) => sum + count, 0);
}

function spanOf(groups: readonly Group<unknown>[]): { count: number; first_at: number; last_at: number } {
  const first_at = groups.reduce((first, one) => Math.min(first, one.first_at), Number.POSITIVE_INFINITY);
  return { count: countOf(groups), first_at, last_at: groups.reduce((last, one) => Math.max(last, one.last_at), 0) };
}

function shownBy({ shown }: Group<unknown>): { sample: string; tables_revision: string } {
  return { sample: shown.id, tables_revision: shown.tables_revision };
}

/** Ascending by the parts of a key; numbers as numbers. */
function sorted<Row>(rows: readonly Row[], keyOf: (row: Row) => (string | number)[]): Row[] {
  return [...rows].sort((one, other) => {
    const left = keyOf(one);
    const right = keyOf(other);
    for (const [index, part] of left.entries()) {
      const against = right[index] ?? '';
      if (part !== against) return part < against ? -1 : 1;
    }
    return 0;
  });
}
