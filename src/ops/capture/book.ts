/** The evidence of a capture, in memory: the same sums as in the store, of exchanges that no store has. */
import { isRefusalOfRequest } from '../../proxy/evidence/exchange.ts';
import {
  type CoverageCell,
  type DifferenceSeen,
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

export type Book = ReturnType<typeof createBook>;

/** The book grows with the distinct groups of a capture, not with its size. */
export function createBook() {
  const sums = emptySums();
  let sequence = 0;
  return {
    ...readerOf(sums),
    record(recorded: RecordedExchange): void {
      sequence++;
      add(sums, recorded, sequence);
    },
    /** Merchants with exchanges, sorted by id. */
    merchantIds: () => [...sums.newest.keys()].filter((id) => id !== '').sort(),
  };
}

interface Owned {
  merchant_id: string;
}
type Sums = ReturnType<typeof emptySums>;

function emptySums() {
  return {
    traffic: createGroups<Omit<Traffic, 'calls'>>(),
    units: createGroups<Owned & { slot: string; last_lane: Traffic['lane'] }>(),
    losses: createGroups<Owned & Omit<LossSeen, 'unknown' | 'would_be'>>(),
    cells: createGroups<Owned & Pick<CoverageCell, 'operation' | 'field'>>(),
    differences: createGroups<Owned & DifferenceSeen>(),
    unknowns: createGroups<Pick<UnknownRow, 'merchant_id' | 'what' | 'name'>>(),
    verdicts: createGroups<Omit<VerdictRow, 'count' | 'refused_on_legacy' | 'last_at' | 'sample'>>(),
    /** The newest exchange of each merchant; '' is the unknown merchant. */
    newest: new Map<string, StoredExchange>(),
  };
}

/** Calls with one key; `facts` and `shown` are those of the newest. */
interface Group<Facts> {
  facts: Facts;
  count: number;
  kinds: Map<string, number>;
  first_at: number;
  last_at: number;
  shown: StoredExchange;
}
type Groups<Facts> = ReturnType<typeof createGroups<Facts>>;

function createGroups<Facts>() {
  const groups = new Map<string, Group<Facts>>();
  return {
    add(key: readonly (string | number | null)[], facts: Facts, shown: StoredExchange, kind = ''): void {
      const name = JSON.stringify(key);
      const { at } = shown;
      const group = groups.get(name) ?? { facts, count: 0, kinds: new Map(), first_at: at, last_at: at, shown };
      groups.set(name, group);
      group.count++;
      group.kinds.set(kind, (group.kinds.get(kind) ?? 0) + 1);
      group.first_at = Math.min(group.first_at, at);
      if (at >= group.last_at) Object.assign(group, { facts, shown, last_at: at });
    },
    all: () => [...groups.values()],
  };
}

/** Without a known merchant and operation, an exchange counts in `unknowns` only, as in the store. */
function add(sums: Sums, recorded: RecordedExchange, sequence: number): void {
  const { cells, differences, compared: _compared, ...exchange } = recorded;
  const shown = { ...exchange, sequence, signatures: [...new Set(differences.map(({ signature }) => signature))] };
  const { at, operation, kind, lane, outcome, unit, shadow } = exchange;
  const merchant_id = exchange.merchant_id ?? '';
  const before = sums.newest.get(merchant_id);
  if (before === undefined || before.at <= at) sums.newest.set(merchant_id, shown);
  for (const { what, name } of exchange.unknown)
    sums.unknowns.add([merchant_id, what, name], { merchant_id, what, name }, shown);
  if (merchant_id === '' || operation === null || kind === null) return;
  const day = Math.floor(at / DAY_MS);
  const calls = { merchant_id, day, operation, kind, lane, outcome };
  sums.traffic.add([merchant_id, day, operation, lane, outcome], calls, shown);
  if (unit !== null) sums.units.add([merchant_id, unit], { merchant_id, slot: unit, last_lane: lane }, shown);
  for (const { would_be, unknown: _unknown, ...loss } of lostOnce(exchange.lost)) {
    const key = [merchant_id, loss.operation, loss.table, loss.path];
    sums.losses.add(key, { ...loss, merchant_id }, shown, would_be ? ON_PAPER : '');
  }
  for (const cell of cellsOnce(cells))
    sums.cells.add([merchant_id, cell.operation, cell.field], { ...cell, merchant_id }, shown, cell.outcome);
  for (const { older: _, ...one } of onceEach(differences, ({ signature }) => signature))
    sums.differences.add([merchant_id, one.signature], { ...one, merchant_id }, shown);
  if (shadow === null) return;
  const { verdict, code, error, detail } = shadow;
  const key = [merchant_id, operation, verdict, code, error, detail];
  const on_legacy = isRefusalOfRequest(exchange.status) ? REFUSED : '';
  sums.verdicts.add(key, { merchant_id, operation, verdict, code, error, detail }, shown, on_legacy);
}

const ON_PAPER = 'on paper';
const REFUSED = 'refused';

/** Each lost field counts once per call; a real loss replaces one on paper. */
function lostOnce(lost: readonly LossSeen[]): LossSeen[] {
  const ranked = [...lost].sort((one, other) => Number(other.would_be) - Number(one.would_be));
  return onceEach(ranked, ({ operation, table, path }) => `${operation} ${table} ${path}`);
}

/** A field that is both equal and different in one call, as in a list of items, counts as different. */
function cellsOnce(cells: readonly CoverageCell[]): CoverageCell[] {
  const rank = ({ outcome }: CoverageCell): number => Number(outcome === 'different');
  const ranked = [...cells].sort((one, other) => rank(one) - rank(other));
  return onceEach(ranked, ({ operation, field }) => `${operation} ${field}`);
}

/** Keeps the last item of each key. */
function onceEach<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] {
  return [...new Map(items.map((item) => [keyOf(item), item])).values()];
}

// Reading a book, in the same orders as the store.

/** Differences of a capture are not judged. */
const UNDECIDED = { state: 'new', accepted_until: null, note: '', who: null, revision: 1 } as const;

/** `exchanges` has only the newest of each merchant and of each group: a capture can be larger than memory. */
function readerOf(sums: Sums): EvidenceReader {
  const exchanges: EvidenceReader['exchanges']['exchanges'] = async (filter, after, limit) => {
    const { merchant_id, since = Number.NEGATIVE_INFINITY, lane, outcome } = filter;
    const { newest, ...groups } = sums;
    const shown = Object.values(groups).flatMap((one) => one.all().map((group) => group.shown));
    const all = new Map([...newest.values(), ...shown].map((one) => [one.sequence, one]));
    return [...all.values()]
      .filter((one) => one.sequence > after && one.at >= since)
      .filter((one) => merchant_id === undefined || one.merchant_id === merchant_id)
      .filter((one) => (lane ?? one.lane) === one.lane && (outcome ?? one.outcome) === one.outcome)
      .sort((one, other) => one.sequence - other.sequence)
      .slice(0, limit);
  };
  return {
    evidence: {
      async traffic({ merchant_id, since_day = Number.NEGATIVE_INFINITY, until_day = Number.POSITIVE_INFINITY }) {
        const rows = own(sums.traffic, merchant_id).map(({ facts, count }) => ({ ...facts, calls: count }));
        const order = (row: Traffic) => [row.merchant_id, row.day, row.operation, row.lane, row.outcome];
        return sorted(rows, order).filter(({ day }) => day >= since_day && day < until_day);
      },
      async units(merchant_id) {
        const rows = own(sums.units, merchant_id).map(({ facts, count, ...group }) => {
          return { ...facts, ...spanOf(group), calls: count, legacy_at: null, legacy_operation: null };
        });
        return sorted(rows, ({ slot }) => [slot]);
      },
      async ledger(merchant_id) {
        const rows = own(sums.losses, merchant_id).map(({ facts, count, kinds, ...group }) => {
          return { ...facts, ...spanOf(group), count, would_be_count: kinds.get(ON_PAPER) ?? 0, ...shownBy(group) };
        });
        const weight = (row: (typeof rows)[number]): number => lossWeights.indexOf(row.weight);
        return sorted(rows, (row) => [weight(row), -row.count, row.merchant_id, row.operation, row.path]);
      },
      async coverage(merchant_id) {
        const rows = own(sums.cells, merchant_id).map(
          ({ facts: { merchant_id: id, operation, field }, kinds, last_at }) => {
            const of = (outcome: CoverageCell['outcome']): number => kinds.get(outcome) ?? 0;
            return { merchant_id: id, operation, field, equal: of('equal'), different: of('different'), last_at };
          },
        );
        return sorted(rows, (row) => [row.merchant_id, row.operation, row.field]);
      },
      async differences({ merchant_id, states }) {
        if (states?.includes('new') === false) return [];
        const rows = own(sums.differences, merchant_id).map(({ facts, count, ...group }) => {
          return { ...facts, ...UNDECIDED, ...spanOf(group), count, ...shownBy(group) };
        });
        return sorted(rows, (row) => [-row.last_at, row.merchant_id, row.signature]);
      },
      async unknowns(merchant_id) {
        const rows = own(sums.unknowns, merchant_id).map(({ facts, count, ...group }) => {
          return { ...facts, count, ...spanOf(group) };
        });
        return sorted(rows, (row) => [-row.count, row.merchant_id, row.what, row.name]);
      },
      async verdicts(merchant_id) {
        const rows = own(sums.verdicts, merchant_id).map(({ facts, count, kinds, last_at, shown }) => {
          return { ...facts, count, refused_on_legacy: kinds.get(REFUSED) ?? 0, last_at, sample: shown.id };
        });
        const order = ({ code, detail, ...row }: VerdictRow) => {
          return [row.merchant_id, row.operation, -row.count, row.verdict, code ?? '', detail ?? ''];
        };
        return sorted(rows, order);
      },
    },
    exchanges: { exchanges, calls: exchanges },
  };
}

function own<Facts extends Owned>(groups: Groups<Facts>, merchant_id: string | undefined): Group<Facts>[] {
  return groups.all().filter(({ facts }) => merchant_id === undefined || facts.merchant_id === merchant_id);
}

function spanOf({ first_at, last_at }: Pick<Group<unknown>, 'first_at' | 'last_at'>) {
  return { first_at, last_at };
}

function shownBy({ shown }: Pick<Group<unknown>, 'shown'>): { sample: string; tables_revision: string } {
  return { sample: shown.id, tables_revision: shown.tables_revision };
}

/** Ascending by the parts of the key; numbers compare as numbers. */
function sorted<Row>(rows: readonly Row[], keyOf: (row: Row) => (string | number)[]): Row[] {
  return [...rows].sort((one, other) => {
    const right = keyOf(other);
    const [left, against] = keyOf(one)
      .map((part, index) => [part, right[index] ?? ''] as const)
      .find(([part, beside]) => part !== beside) ?? [0, 0];
    return left === against ? 0 : left < against ? -1 : 1;
  });
}
