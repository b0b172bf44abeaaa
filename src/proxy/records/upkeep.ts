/**
 * `enough`; `low`: new sales are refused before the disk is full; `full`: the reserve for sales under way is being used,
 * so that nothing but them is written (`test/faults/README.md` F44, F45).
 */
export const roomLevels = ['enough', 'low', 'full'] as const;
export type RoomLevel = (typeof roomLevels)[number];

export interface Room {
  level: RoomLevel;
  /** Free bytes where the file lies; null for a store that takes no room. */
  free_bytes: number | null;
  /** The write-ahead log. */
  log_bytes: number;
  /** The log is over its limit and could not be emptied: something reads the file for very long (F62). */
  is_log_large: boolean;
}

/** A restored file lacks what was written from `from` on; `until` is when it was restored. Epoch ms. */
export interface RestoredGap {
  from: number;
  until: number;
}

export interface StoreCondition {
  engine: string;
  /** Shown to people: where the data lies. */
  location: string;
  instance_id: string;
  schema: number;
  /** The newest schema that this build knows. */
  newest_schema: number;
  file_bytes: number;
  /** Of the file, free for new rows. */
  spare_bytes: number;
  room: Room;
  /** Null for a file that was never restored. */
  gap: RestoredGap | null;
  /** Epoch ms. */
  created_at: number;
}

/** How far the tables of a backup go: what is newer is not in it. */
export interface BackupHeads {
  audit_sequence: number;
  audit_hash: string;
  event_sequence: number;
  exchange_sequence: number;
  links: number;
  /** Epoch ms of the newest change of a link; null without links. */
  newest_link_at: number | null;
}

/** What stands beside a backup, in `<file>.json`. */
export interface BackupManifest {
  /** File name in the backup directory. */
  file: string;
  /** RFC 3339, when the copy began: what was committed before is in it. */
  made_at: string;
  instance_id: string;
  schema: number;
  bytes: number;
  /** Of the whole file, lower-case hex. */
  sha256: string;
  heads: BackupHeads;
}

export interface BackupNews {
  step: 'copying' | 'checking';
  /** Written so far. */
  bytes: number;
  /** About how many there will be. */
  of_bytes: number;
}

/** What a merchant has in the store, in rows; or, after an erase, what is gone. */
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
  /** Those that name it: they stay, without its id and what was said of it. */
  bulk_moves: number;
}

/** Work of a merchant that is not over. */
export interface OpenWork {
  links: number;
  refunds: number;
  legacy_sales: number;
  notices: number;
  proposals: number;
  /** Running ones in which its turn is still to come. */
  bulk_moves: number;
}

/** Epoch ms; what is older and over goes. */
export interface RetentionLimits {
  links_before: number;
  notices_before: number;
  events_before: number;
  sums_before: number;
  /** Sealed tokens seen last before are blanked. */
  tokens_before: number;
}

export type RetentionKind = 'links' | 'notices' | 'events' | 'sums' | 'tokens';

/** A thread's own JavaScript heap, in bytes. */
export interface Heap {
  used_bytes: number;
  total_bytes: number;
}
