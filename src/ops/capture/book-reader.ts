/** What can be read of a book, in the same orders as the store answers. */
import type {
  CoverageRow,
  DifferenceGroup,
  EvidenceReader,
  ExchangeFilter,
  LedgerRow,
  StoredExchange,
  Traffic,
} from '../../proxy/records/evidence.ts';
import type { Sums } from './book.ts';
import { type Group, mergedBy } from './groups.ts';

/**
 * Exchanges are the newest of each merchant and those that show a group: a file can be larger than the memory, and it is
 * at hand for whoever wants the others.
 */
export function readerOf(sums: Sums): EvidenceReader {
  return {
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
      // Nobody has explained or accepted anything of a file.
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
    exchanges: async (filter, after, limit) =>
      kept(sums)
        .filter((one) => passes(one, filter, after))
        .slice(0, limit),
  };
}

function own<Facts extends { merchant_id: string }>(
  groups: Group<Facts>[],
  merchant_id: string | undefined,
): Group<Facts>[] {
  return groups.filter(({ facts }) => merchant_id === undefined || facts.merchant_id === merchant_id);
}

const WEIGHTS = ['money', 'identity', 'other'];

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
  return sorted(rows, (row) => [WEIGHTS.indexOf(row.weight), -row.count, row.merchant_id, row.operation, row.path]);
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
