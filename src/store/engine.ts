/** What a store's methods are made of, whatever keeps the rows: prepared reads, and units of writes. */
import type { Unit, UnitResult, Value } from './unit.ts';

/** A prepared read of rows of one form; an engine that is asked in this process answers at once. */
export interface Read<Values extends Value[], Row> {
  get(...values: Values): Promise<Row | undefined> | Row | undefined;
  all(...values: Values): Promise<Row[]> | Row[];
}

export interface Reader {
  /**
   * `Row` is what the SELECT lists. The statement is in SQLite's words, of which an engine may leave out the hints to the
   * planner. @throws PuenteError store_failed from each read that could not be done.
   */
  prepare<Values extends Value[], Row>(sql: string, kind?: ReadKind): Read<Values, Row>;
}

/**
 * `lookup`: a few rows by a key, which change nothing and which calls of tills ask for all the time. An engine over a network
 * may ask for many of them at once, and answer the same question once, with rows that nobody can change.
 */
export type ReadKind = 'lookup' | 'search';

/** What a unit can come to when the store itself is well. */
export type CommitResult = Extract<UnitResult, { kind: 'done' | 'conflict' | 'constraint' }>;

export interface Writer {
  /**
   * Resolves once the commit is durable: `done`, or a clean refusal of this unit alone.
   * @throws PuenteError store_failed when it could not be written or its durability can't be proved.
   */
  commit(unit: Unit): Promise<CommitResult>;
}
