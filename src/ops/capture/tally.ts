/** What a capture says of calls without looking into them: how many of each operation, how answered, for which unit. */
import { OTHERS } from '../../mapping/tables.ts';

/** Names of unknown endpoints and units: with more, memory would grow with the file. The rest counts as `(others)`. */
const MOST_NAMES = 10_000;

export interface CalledOperation {
  operation: string;
  calls: number;
  /** Of these the ones in an access log, of whose fields only those in the path are known. */
  logged: number;
  /** Calls by status; status null is a call without an answer. */
  statuses: { status: number | null; calls: number }[];
  /** Epoch ms. */
  first_at: number;
  last_at: number;
}

export interface CalledUnit {
  /** `point:` and the terminal, or `qr:` and the point of sale; `(others)` beyond 10,000. */
  unit: string;
  calls: number;
  /** Calls that make a sale. */
  creates: number;
}

interface Called {
  merchant_id: string;
  operation: string;
  unit: string | null;
  status: number | null;
  /** Epoch ms. */
  at: number;
  is_create: boolean;
  is_logged: boolean;
}

/** Memory is bounded: further names are counted under `(others)`. */
export function createTally() {
  const operations = new Map<string, Map<string, Omit<CalledOperation, 'statuses'> & { statuses: Counts }>>();
  const units = new Map<string, Map<string, CalledUnit>>();
  const names = new Set<string>();
  return {
    /** The name, or `(others)` once there are too many. */
    known(name: string): string {
      if (names.size < MOST_NAMES) names.add(name);
      return names.has(name) ? name : OTHERS;
    },
    add({ merchant_id, operation, unit, status, at, is_create, is_logged }: Called): void {
      const of = within(operations, merchant_id);
      const nothing = { operation, calls: 0, logged: 0, statuses: new Map(), first_at: at, last_at: at };
      const found = of.get(operation) ?? nothing;
      of.set(operation, found);
      found.calls++;
      if (is_logged) found.logged++;
      found.statuses.set(status, (found.statuses.get(status) ?? 0) + 1);
      found.first_at = Math.min(found.first_at, at);
      found.last_at = Math.max(found.last_at, at);
      if (unit === null) return;
      const seen = within(units, merchant_id);
      const counted = seen.get(unit) ?? { unit, calls: 0, creates: 0 };
      seen.set(unit, counted);
      counted.calls++;
      if (is_create) counted.creates++;
    },
    /** Most called first. */
    operations(merchant_id: string): CalledOperation[] {
      const found = [...(operations.get(merchant_id)?.values() ?? [])].map(({ statuses, ...rest }) => ({
        ...rest,
        statuses: [...statuses].map(([status, calls]) => ({ status, calls })).sort(byCalls),
      }));
      return found.sort(byCalls);
    },
    units: (merchant_id: string): CalledUnit[] => [...(units.get(merchant_id)?.values() ?? [])].sort(byCalls),
  };
}

type Counts = Map<number | null, number>;

function within<Value>(all: Map<string, Map<string, Value>>, merchant_id: string): Map<string, Value> {
  const found = all.get(merchant_id) ?? new Map<string, Value>();
  all.set(merchant_id, found);
  return found;
}

function byCalls(one: { calls: number }, other: { calls: number }): number {
  return other.calls - one.calls;
}
