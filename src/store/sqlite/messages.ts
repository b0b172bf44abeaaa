/** The messages between the main thread and the writer thread. */
import type { KeyObject } from 'node:crypto';
import type { UnitResult } from '../unit.ts';
import type { Packed } from './packed.ts';

export interface WriterSetup {
  path: string;
  opened_at: number;
  /** Upper limit of the file in pages; 0 leaves SQLite's own. */
  max_pages: number;
  /** As the store's own; a key travels to a thread as it is, and has no text there either. */
  cover_key?: KeyObject;
}

export type ToWriter = { kind: 'group'; units: Packed } | { kind: 'close' };
export type FromWriter =
  | { kind: 'ready' }
  | { kind: 'refused'; message: string }
  | { kind: 'results'; results: UnitResult[] }
  | { kind: 'fatal'; text: string }
  | { kind: 'closed' };
