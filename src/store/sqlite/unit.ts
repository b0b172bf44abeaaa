/** Units of work and what the writer answers: the messages between the main thread and the writer thread. */
import type { KeyObject } from 'node:crypto';
import type { AuditEntry } from '../../core/store.ts';
import type { WriteName } from './writes.ts';

export type Value = string | number | null | Uint8Array;

/** One statement, named so that its text does not travel; `changes` is how many rows it must change, if that matters. */
export interface Step {
  write: WriteName;
  values: Value[];
  changes?: number;
}

/** Wholly done or not at all, whatever the other units of its group do. */
export interface Unit {
  steps: Step[];
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
  | { kind: 'full' | 'busy' | 'fatal' | 'failed'; text: string };

export interface WriterSetup {
  path: string;
  opened_at: number;
  /** Upper limit of the file in pages; 0 leaves SQLite's own. */
  max_pages: number;
  /** As the store's own; a key travels to a thread as it is, and has no text there either. */
  cover_key?: KeyObject;
}

export type ToWriter = { kind: 'group'; units: Unit[] } | { kind: 'close' };
export type FromWriter =
  | { kind: 'ready' }
  | { kind: 'refused'; message: string }
  | { kind: 'results'; results: UnitResult[] }
  | { kind: 'fatal'; text: string }
  | { kind: 'closed' };
