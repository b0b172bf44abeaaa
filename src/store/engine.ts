/** The contract of both engines: prepared reads, units of writes, and their failures. */

import { PuenteError } from '../error.ts';
import { say } from '../locales/message.ts';
import type { Store } from '../ops/ports.ts';
import type { AuditEntry } from '../proxy/audit.ts';
import type { RestoredGap, Room } from '../proxy/records/upkeep.ts';
import type { Value } from './conditions.ts';
import type { WriteName } from './writes.ts';

export type { Value };

/** A prepared read; the embedded engine answers synchronously. */
export interface Read<Values extends Value[], Row> {
  /** The first row; undefined without one. */
  get(...values: Values): Promise<Row | undefined> | Row | undefined;
  /** Every row; an empty list without one. */
  all(...values: Values): Promise<Row[]> | Row[];
}

/** Makes prepared reads; the engine decides how they travel. */
export interface Reader {
  /** `sql` is SQLite's; another engine drops planner hints. @throws PuenteError store_failed from failed reads. */
  prepare<Values extends Value[], Row>(sql: string, kind?: ReadKind): Read<Values, Row>;
}

/** Reads due rows, each for one store only. @param select up to its last condition; the limit follows its values. */
export type HandOut = <Values extends Value[], Row>(
  what: 'link' | 'notice' | 'event',
  select: string,
  order: string,
) => (...values: [...Values, limit: number]) => Promise<Row[]> | Row[];

/** @param what null for rows that are not handed out. @param select `merchant_id = (SELECT ?)` and one more value. */
export type FirstOfEach = <Row>(
  what: 'notice' | null,
  select: string,
  order: string,
) => (ids: readonly string[], value: Value, each: number) => Promise<Row[]> | Row[];

/** `lookup`: a few rows by key. A network engine sends lookups together, and equal ones once, with frozen rows. */
export type ReadKind = 'lookup' | 'search';

/**
 * `done`: durable. `conflict`: a step changed another number of rows than it must. `constraint`: a rule of
 * the schema refused it.
 */
export type CommitResult = Extract<UnitResult, { kind: 'done' | 'conflict' | 'constraint' }>;

/** Commits units; each one wholly or not at all. */
export interface Writer {
  /** Resolves once durable. @throws PuenteError store_failed when it failed or can't be proved durable. */
  commit(unit: Unit): Promise<CommitResult>;
}

// Units of work and their outcomes.

/** One statement by its name; `changes` is the number of rows that it must change, if that matters. */
export interface Step {
  write: WriteName;
  values: Value[];
  changes?: number;
}

/** Names of locks that a unit holds alone, or shares with others. */
export interface Locks {
  alone?: string[];
  shared?: string[];
}

/** Committed wholly or not at all, independently of other units of its group. */
export interface Unit {
  steps: Step[];
  /** Names of locks, exclusive (`alone`) or shared; an engine with one writer ignores them. */
  locks?: Locks;
  /** Chained to the last audit line, several to each other, and written last in the same unit. */
  audit?: AuditEntry | readonly AuditEntry[];
  /** A conflict when the subject of the first `audit` has a line after this sequence. */
  newest_seen?: number;
  /** Empties the write-ahead log after the commit, unless a reader needs it. */
  checkpoint?: boolean;
}

/** `conflict`: a step changed another number of rows. `constraint`: a rule of the schema refused the unit. */
export type UnitResult =
  | { kind: 'done' }
  | { kind: 'conflict' }
  | { kind: 'constraint'; text: string }
  | { kind: Exclude<Failure, 'constraint' | 'gone'>; text: string };

// Failed writes and reads, and the domain error that an engine throws for them.

/**
 * `constraint`: the statement alone was refused. `full`: nothing was written; it recovers when space returns. `busy`:
 * another process holds the write lock. `gone`: the server could not be reached, did not answer in time, or takes no
 * writes; the unit may have been written. `fatal`: the disk or the file can't be trusted any more; the process must
 * stop (`docs/protocol.md` §3.3 a, §3.14). `failed`: anything else; nothing was written.
 */
export type Failure = 'constraint' | 'full' | 'busy' | 'gone' | 'fatal' | 'failed';

/** A store_failed with the kind of failure as a fact. @param text of the engine, without values of a row. */
export function storeFailed(failure: Failure, text: string, cause?: unknown): PuenteError {
  return new PuenteError('store_failed', say('store.failed', { failure, detail: text }), { facts: { failure }, cause });
}

// Reads with optional filters: one prepared statement for every set of filters.

/** A condition and its value; undefined leaves the condition out. */
export type Condition = [sql: string, value: Value | undefined];

/** The WHERE of the conditions that have a value, `true` when none has. */
export function whereOf(conditions: Condition[]): { where: string; values: Value[] } {
  const named = conditions.filter((one): one is [string, Value] => one[1] !== undefined);
  return { where: named.map(([sql]) => sql).join(' AND ') || 'true', values: named.map(([, value]) => value) };
}

/** Each set of filters has its own index. `sql` gets the WHERE, whose values come before `more`. */
export function filteredReads(reader: Reader) {
  const prepared = new Map<string, Read<Value[], unknown>>();
  return async <Row>(conditions: Condition[], sql: (where: string) => string, ...more: Value[]): Promise<Row[]> => {
    const { where, values } = whereOf(conditions);
    const text = sql(where);
    const known = prepared.get(text) ?? reader.prepare<Value[], unknown>(text);
    prepared.set(text, known);
    return (await known.all(...values, ...more)) as Row[]; // the caller names the columns of its own SELECT
  };
}

/** A list as one parameter, for `IN (SELECT value FROM json_each(?))`. */
export function listOf(values: readonly string[] | undefined): string | undefined {
  return values === undefined ? undefined : JSON.stringify(values);
}

// The methods of a store, and helpers for the methods that differ between the engines.

type Ports = Omit<Store, 'healthy' | 'close'>;
type All<Port> = (Port extends unknown ? (port: Port) => void : never) extends (port: infer Both) => void
  ? Both
  : never;

/** The methods of all ports in one object, as an engine implements them. */
export type StoreMethods = All<Ports[keyof Ports]>;

/** The upkeep that each engine has its own way of doing. */
export type Upkeep = Omit<Store['upkeep'], 'counts' | 'pullForward' | 'newestMoment'>;

/** Facts of an installation from the rows of `meta`; they do not change while its store is open. */
export function factsIn(meta: ReadonlyMap<string, string>) {
  const from = Number(meta.get('restored_from') ?? Number.NaN);
  const until = Number(meta.get('restored_at') ?? Number.NaN);
  const gap: RestoredGap | null = Number.isNaN(from) || Number.isNaN(until) ? null : { from, until };
  return { instance_id: meta.get('instance_id') ?? '', created_at: Number(meta.get('created_at') ?? 0), gap };
}

/** Of a store whose disk is not watched. */
export const unwatchedRoom = (): Room => ({ level: 'enough', free_bytes: null, log_bytes: 0, is_log_large: false });

/**
 * The state of a store for operators. @param parts.location shown to them, so without a password. `parts.sizes` is
 * called for every answer.
 */
export function conditionMethods(parts: {
  engine: string;
  location: string;
  facts: ReturnType<typeof factsIn>;
  newest_schema: number;
  room: () => Room;
  sizes: () => Promise<{ schema: number; file_bytes: number; spare_bytes: number }>;
}): Pick<Upkeep, 'room' | 'restoredGap' | 'condition'> {
  const { engine, location, facts, newest_schema, room, sizes } = parts;
  return {
    room,
    restoredGap: () => facts.gap,
    condition: async () => ({ engine, location, newest_schema, ...facts, ...(await sizes()), room: room() }),
  };
}

/** For a store that makes no backups: `backup` @throws PuenteError refused, with this message; both lists are empty. */
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

/** One object of methods as all ports. */
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
    incidents: methods,
    audit: methods,
    exchanges: methods,
    evidence: methods,
    upkeep: methods,
    healthy: methods.healthy,
    close: methods.close,
  };
}
