/** Records of the store's own condition: disk, backups, retention, erasure. */

import { z } from 'zod';
/**
 * `low`: new sales are refused before the disk is full. `full`: only sales under way are written, in their reserve
 * (`test/faults/README.md` F44, F45).
 */
export const roomLevels = ['enough', 'low', 'full'] as const;
export type RoomLevel = (typeof roomLevels)[number];

/** The room on the disk, in bytes, as it was last measured. */
export interface Room {
  level: RoomLevel;
  /** Free bytes of the file's disk; null for a store that uses none. */
  free_bytes: number | null;
  /** The write-ahead log. */
  log_bytes: number;
  /** The log is over its limit and could not be emptied, because of a very long read (F62). */
  is_log_large: boolean;
}

/** A restored file lacks the writes since `from`; it was restored at `until`. Epoch ms. */
export interface RestoredGap {
  from: number;
  until: number;
}

/** What `puente doctor` shows of the store. */
export interface StoreCondition {
  engine: string;
  /** For display. */
  location: string;
  instance_id: string;
  schema: number;
  /** The newest schema of this build. */
  newest_schema: number;
  file_bytes: number;
  /** Bytes of the file that are free for new rows. */
  spare_bytes: number;
  room: Room;
  /** Null for a file that was never restored. */
  gap: RestoredGap | null;
  /** Epoch ms. */
  created_at: number;
}

/** The file beside a backup, `<file>.json`. */
export const backupManifest = z.strictObject({
  /** File name in the backup directory. */
  file: z.string(),
  /** RFC 3339, the start of the copy: everything committed before is in it. */
  made_at: z.iso.datetime(),
  instance_id: z.string(),
  schema: z.int(),
  bytes: z.int(),
  /** Of the whole file, lower-case hex. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  heads: z.strictObject({
    audit_sequence: z.int(),
    audit_hash: z.string(),
    event_sequence: z.int(),
    exchange_sequence: z.int(),
    links: z.int(),
    /** Epoch ms of the newest change of a link; null without links. */
    newest_link_at: z.int().nullable(),
  }),
});
export type BackupManifest = z.infer<typeof backupManifest>;

/** The progress of a running backup. */
export interface BackupNews {
  step: 'copying' | 'checking';
  /** Written so far. */
  bytes: number;
  /** Estimated total. */
  of_bytes: number;
}

/** A merchant's rows in the store; or, after an erase, the deleted ones. */
export interface Holdings {
  links: number;
  refunds: number;
  notices: number;
  legacy_sales: number;
  exchanges: number;
  events: number;
  tokens: number;
  sums: number;
  proposals: number;
  /** Bulk moves that name it; they stay, without its id and details. */
  bulk_moves: number;
}

/** A merchant's work that is not terminal. */
export interface OpenWork {
  links: number;
  refunds: number;
  legacy_sales: number;
  notices: number;
  proposals: number;
  /** Running bulk moves that have not reached it. */
  bulk_moves: number;
}

/** Epoch ms; older terminal rows are deleted. */
export interface RetentionLimits {
  links_before: number;
  notices_before: number;
  events_before: number;
  sums_before: number;
  /** Sealed tokens that were last used before are blanked. */
  tokens_before: number;
}

export type RetentionKind = 'links' | 'notices' | 'events' | 'sums' | 'tokens';

/** A thread's own JavaScript heap, in bytes. */
export interface Heap {
  used_bytes: number;
  total_bytes: number;
}
