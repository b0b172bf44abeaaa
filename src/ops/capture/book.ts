/** The evidence of a file, in memory: the same sums as the store keeps, of exchanges that were recorded nowhere. */
import type {
  CoverageCell,
  DifferenceSeen,
  EvidenceReader,
  LossSeen,
  RecordedExchange,
  StoredExchange,
  Traffic,
  UnknownRow,
  VerdictRow,
} from '../../proxy/records/evidence.ts';
import { readerOf } from './book-reader.ts';
import { createGroups, type Groups, onceEach } from './groups.ts';

export interface Book extends EvidenceReader {
  /** Adds an exchange to all sums. */
  record(exchange: RecordedExchange): void;
  /** Whose exchanges were recorded, in the order of their ids. */
  merchants(): string[];
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
  /** Of each merchant; '' is nobody. */
  newest: Map<string, StoredExchange>;
}

const DAY_MS = 24 * 60 * 60_000;

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
    merchants: () => [...sums.newest.keys()].filter((id) => id !== '').sort(),
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
