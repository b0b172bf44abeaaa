/** What both engines implement: prepared reads, units of writes, and their failures. */

import { PuenteError } from '../error.ts';
import { say } from '../locales/message.ts';
import type {
  AuditStore,
  EventStore,
  EvidenceStore,
  ExchangeStore,
  HistoryStore,
  LegacySaleStore,
  MoveStore,
  NoticeStore,
  RefundStore,
  Store,
  UpkeepStore,
} from '../ops/ports.ts';
import type { AuditEntry } from '../proxy/audit.ts';
import type { OpenCount } from '../proxy/records/routing.ts';
import type { RestoredGap } from '../proxy/records/upkeep.ts';
import type { LinkStore, MerchantStore } from '../proxy/store.ts';
import { HOLDING, LIVE, type Value, type WriteName } from './writes.ts';

export type { Value };

/** A prepared read of rows of one form; the embedded engine answers synchronously. */
export interface Read<Values extends Value[], Row> {
  get(...values: Values): Promise<Row | undefined> | Row | undefined;
  all(...values: Values): Promise<Row[]> | Row[];
}

export interface Reader {
  /**
   * `Row` is what the SELECT lists. The statement is in SQLite's SQL; another engine leaves out the hints to the planner. @throws PuenteError store_failed from each read that could not be done.
   */
  prepare<Values extends Value[], Row>(sql: string, kind?: ReadKind): Read<Values, Row>;
}

/**
 * Prepares a read of due rows, each handed to one store only where several share them.
 * @param select in SQLite's SQL, up to its last condition; the limit follows its values.
 */
export type HandOut = <Values extends Value[], Row>(
  what: 'link' | 'notice' | 'event',
  select: string,
  order: string,
) => (...values: [...Values, limit: number]) => Promise<Row[]> | Row[];

/**
 * `lookup`: a few rows by a key, which calls of tills need all the time. An engine over a network may send many of them at once,
 * and equal ones once, with frozen rows.
 */
export type ReadKind = 'lookup' | 'search';

/** The outcomes of a unit when the store itself is well. */
export type CommitResult = Extract<UnitResult, { kind: 'done' | 'conflict' | 'constraint' }>;

export interface Writer {
  /**
   * Resolves once the commit is durable: `done`, or a clean refusal of this unit alone.
   * @throws PuenteError store_failed when it could not be written or its durability can't be proved.
   */
  commit(unit: Unit): Promise<CommitResult>;
}

// Units of work and their outcomes.

/** One statement by its name; `changes` is how many rows it must change, if that matters. */
export interface Step {
  write: WriteName;
  values: Value[];
  changes?: number;
}

export interface Locks {
  alone?: string[];
  shared?: string[];
}

/** Committed wholly or not at all, independent of other units of the same group. */
export interface Unit {
  steps: Step[];
  /** Names that it needs alone, or shares with others that share them; an engine with one writer ignores them. */
  locks?: Locks;
  /** Chained and written last, in the same unit. */
  audit?: AuditEntry;
  /** After its commit the write-ahead log is emptied, unless a reader needs it. */
  checkpoint?: boolean;
}

/** `conflict`: a step changed another number of rows. `constraint`: a rule of the schema refused it. */
export type UnitResult =
  | { kind: 'done' }
  | { kind: 'conflict' }
  | { kind: 'constraint'; text: string }
  | { kind: Exclude<Failure, 'constraint' | 'gone'>; text: string };

// Failed writes and reads, and the domain error that an engine throws for them.

/**
 * `constraint`: the statement alone was refused. `full`: nothing was written; it recovers when space returns. `busy`: another
 * process holds the write lock. `gone`: the server could not be reached, did not answer in time, or takes no writes; the unit
 * may have been written. `fatal`: the disk or the file can't be trusted any more; the process must stop (`docs/protocol.md`
 * §3.3 a, §3.14). `failed`: anything else; nothing was written.
 */
export type Failure = 'constraint' | 'full' | 'busy' | 'gone' | 'fatal' | 'failed';

/** A write or read that could not be done, as PuenteError store_failed. */
export function storeFailed(failure: Failure, text: string, cause?: unknown): PuenteError {
  return new PuenteError('store_failed', say('store.failed', { failure, detail: text }), { facts: { failure }, cause });
}

// Reads with optional filters: one prepared statement for every set of filters.

/** A condition and its value; undefined leaves it out. */
export type Condition = [sql: string, value: Value | undefined];

/** The WHERE of the conditions that have a value, `true` when none has. */
export function whereOf(conditions: Condition[]): { where: string; values: Value[] } {
  const named = conditions.filter((one): one is [string, Value] => one[1] !== undefined);
  return { where: named.map(([sql]) => sql).join(' AND ') || 'true', values: named.map(([, value]) => value) };
}

/**
 * Every set of filters has its own statement, so that each can use the index that suits it.
 * @returns a read; `sql` gets the WHERE, whose values stand before `more`.
 */
export function filteredReads(reader: Reader) {
  const prepared = new Map<string, Read<Value[], unknown>>();
  return async <Row>(conditions: Condition[], sql: (where: string) => string, ...more: Value[]): Promise<Row[]> => {
    const { where, values } = whereOf(conditions);
    const text = sql(where);
    const known = prepared.get(text) ?? reader.prepare<Value[], unknown>(text);
    prepared.set(text, known);
    return (await known.all(...values, ...more)) as Row[]; // the caller names what its own SELECT lists
  };
}

/** A list as one parameter, for `IN (SELECT value FROM json_each(?))`. */
export function listOf(values: readonly string[] | undefined): string | undefined {
  return values === undefined ? undefined : JSON.stringify(values);
}

// Counts for metrics.

/** Each part reads an index of open rows, of which there are few. */
export const OPEN_COUNTS = `SELECT merchant_id, count(*) FILTER (WHERE what = 'orders') AS orders,
    count(*) FILTER (WHERE what = 'legacy') AS legacy, count(*) FILTER (WHERE state = 'IN_DOUBT') AS in_doubt,
    count(*) FILTER (WHERE what = 'notice') AS notices_pending
  FROM (SELECT merchant_id, 'orders' AS what, state FROM links WHERE ${LIVE}
    UNION ALL SELECT merchant_id, 'legacy', state FROM legacy_sales
      WHERE slot IS NOT NULL AND ${HOLDING} AND ends_at > (SELECT ?)
    UNION ALL SELECT merchant_id, 'notice', state FROM notices WHERE state = 'pending') AS open
  GROUP BY merchant_id ORDER BY merchant_id`;

export function countMethods(reader: Reader): Pick<StoreMethods, 'counts' | 'openCounts'> {
  const links = reader.prepare<[], { state: string; links: number }>(
    'SELECT state, sum(links) AS links FROM link_counts GROUP BY state',
  );
  const backlog = reader.prepare<[], { notices_pending: number; events_waiting: number }>(
    `SELECT (SELECT count(*) FROM notices WHERE state = 'pending') AS notices_pending,
       (SELECT count(*) FROM events WHERE state = 'pending') + (SELECT count(*) FROM events WHERE state = 'parked')
       AS events_waiting`,
  );
  const open = reader.prepare<[number], OpenCount>(OPEN_COUNTS);
  return {
    counts: async () => ({
      links: Object.fromEntries((await links.all()).map((row) => [row.state, row.links])),
      ...((await backlog.get()) ?? { notices_pending: 0, events_waiting: 0 }),
    }),
    openCounts: async (now) => await open.all(now),
  };
}

/** Every method of the ports of a store. */
export type StoreMethods = MerchantStore &
  LinkStore &
  HistoryStore &
  RefundStore &
  EventStore &
  NoticeStore &
  LegacySaleStore &
  MoveStore &
  AuditStore &
  ExchangeStore &
  EvidenceStore &
  UpkeepStore;

/** Upkeep that differs between the engines. */
export type Upkeep = Omit<UpkeepStore, 'counts' | 'pullForward' | 'newestMoment'>;

/** Facts of an installation from the rows of `meta`; they do not change while its store is open. */
export function factsIn(meta: ReadonlyMap<string, string>) {
  const from = Number(meta.get('restored_from') ?? Number.NaN);
  const until = Number(meta.get('restored_at') ?? Number.NaN);
  const gap: RestoredGap | null = Number.isNaN(from) || Number.isNaN(until) ? null : { from, until };
  return { instance_id: meta.get('instance_id') ?? '', created_at: Number(meta.get('created_at') ?? 0), gap };
}

/** Of a store that makes no backups itself. */
export function noBackups(refused: ReturnType<typeof say>): Pick<Upkeep, 'backup' | 'backups' | 'trimBackups'> {
  return {
    // biome-ignore lint/correctness/useYield: there is nothing to report before it is refused
    async *backup() {
      throw new PuenteError('refused', refused);
    },
    backups: async () => [],
    trimBackups: async () => [],
  };
}

/** The ports of a store, of one object with all of its methods. */
export function portsOf(methods: StoreMethods & Pick<Store, 'healthy' | 'close'>): Store {
  return {
    merchants: methods,
    links: methods,
    history: methods,
    refunds: methods,
    events: methods,
    notices: methods,
    legacy_sales: methods,
    moves: methods,
    audit: methods,
    exchanges: methods,
    evidence: methods,
    upkeep: methods,
    healthy: methods.healthy,
    close: methods.close,
  };
}
