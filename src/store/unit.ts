/** Units of work and what they come to. */
import type { AuditEntry } from '../proxy/store.ts';
import type { Failure } from './failure.ts';
import type { WriteName } from './writes.ts';

export type Value = string | number | null | Uint8Array;

/** One statement, named so that its text does not travel; `changes` is how many rows it must change, if that matters. */
export interface Step {
  write: WriteName;
  values: Value[];
  changes?: number;
}

export interface Locks {
  alone?: string[];
  shared?: string[];
}

/** Wholly done or not at all, whatever else is committed beside it. */
export interface Unit {
  steps: Step[];
  /** What it must have to itself, or share with others that only share it; nothing to do for an engine with one writer. */
  locks?: Locks;
  /** Chained and written last, inside the same unit. */
  audit?: AuditEntry;
  /** After its commit the write-ahead log is emptied, unless somebody reads it. */
  checkpoint?: boolean;
}

/** `conflict`: a step changed another number of rows. `constraint`: a rule of the schema refused it. */
export type UnitResult =
  | { kind: 'done' }
  | { kind: 'conflict' }
  | { kind: 'constraint'; text: string }
  | { kind: Exclude<Failure, 'constraint' | 'gone'>; text: string };
