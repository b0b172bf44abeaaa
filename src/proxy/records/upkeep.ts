/** What keeps a store in order: its room on the disk, its condition, backups, what is old, and what is to be forgotten. */
import type { AuditEntry } from '../audit.ts';

/**
 * `enough`; `low`: new sales are refused before the disk is full; `full`: the reserve for sales under way is being used,
 * so that nothing but them is written (`reliability.md` F44, F45).
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

export interface UpkeepStore {
  room(): Room;
  /** Of the thread that writes, as it was when this was asked last; null before the first answer, and without such a thread. */
  writerHeap(): Heap | null;
  condition(): Promise<StoreCondition>;
  /** Reads the whole file. @returns `ok`, or what is wrong with it. */
  integrity(): Promise<string>;
  /** Null unless the file was restored from a backup. */
  restoredGap(): RestoredGap | null;

  /**
   * Makes a checked copy while the work goes on, and tells how far it is; one at a time. Whoever stops reading ends it.
   * @throws PuenteError conflict while another one runs, store_failed when it could not be made: then nothing is left of it.
   */
  backup(): AsyncGenerator<BackupNews, BackupManifest, undefined>;
  /** Those of the backup directory that are whole, newest first; at the end those whose time is still to come. */
  backups(): Promise<BackupManifest[]>;
  /** Deletes all but the newest `keep`. @returns the files deleted. */
  trimBackups(keep: number): Promise<string[]>;

  /** Deletes or blanks at most `limit` rows of each kind (of `sums`: of each table) that are old and over. Never a live row, never an audit line. */
  tidyOld(limits: RetentionLimits, limit: number): Promise<Record<RetentionKind, number>>;

  holdings(merchant_id: string): Promise<Holdings>;
  openWork(merchant_id: string): Promise<OpenWork>;
  /**
   * Deletes everything of a merchant but its audit lines, in steps, and at last the merchant with `audit`; then the bytes
   * are gone from the file and its log.
   * @throws PuenteError conflict when work began meanwhile: what is deleted stays so, and it can be done again.
   */
  eraseMerchant(merchant_id: string, audit: (gone: Holdings) => AuditEntry): Promise<Holdings>;
}
