/** Watches free space on the disk; keeps a reserve for sales under way (`test/faults/README.md` F44, F45, F62). */
import { existsSync, statSync, unlinkSync } from 'node:fs';
import { open, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Room, RoomLevel } from '../../proxy/records/upkeep.ts';

/** A disk fills by megabytes a second at most; the reserve below `low_bytes` lasts for many of these. */
const CHECK_EVERY_MS = 1_000;
/** The reserve is written in pieces, so that it delays no other write. */
const PIECE_BYTES = 1024 * 1024;

export interface DiskSettings {
  /** Below this free space, new sales are refused. */
  low_bytes: number;
  /** Size of the reserve file; 0 for none. */
  ballast_bytes: number;
  /** A larger write-ahead log is emptied by force, and reported when that does not help. */
  log_limit_bytes: number;
  /** Free bytes on the disk of the file; passed by tests only. */
  free_bytes?: () => Promise<number>;
  /** The start has taken the reserve (`makeRoomToStart`). */
  is_reserve_taken?: boolean;
}

/** The reserve: a file that is deleted when the disk is full. */
function ballastPath(path: string): string {
  return `${path}.ballast`;
}

/** Deletes the reserve. @returns false when there is none. */
export function releaseBallast(path: string): boolean {
  try {
    unlinkSync(ballastPath(path));
    return true;
  } catch {
    return false;
  }
}

/** What a start writes, and more: to read back the log of a killed process it makes an index, up to half a MiB. */
const START_BYTES = 2 * 1024 * 1024;

/**
 * Frees the reserve of a disk that has no room for a start: a process that can't start proxies nothing to legacy either.
 * @returns the settings for `watchDisk`, which counts the disk as full from then on.
 */
export async function makeRoomToStart(path: string, settings: DiskSettings): Promise<DiskSettings> {
  const free = await freeBytes(path, settings);
  const is_reserve_taken = free !== null && free < START_BYTES && releaseBallast(path);
  return { ...settings, is_reserve_taken };
}

/** Looks every second. @param emptyLog unless a reader needs it. @param onChange on a new `level` or `is_log_large`. */
export async function watchDisk(
  path: string,
  settings: DiskSettings,
  emptyLog: () => Promise<void>,
  onChange: (room: Room) => void = () => undefined,
) {
  const had_ballast = settings.is_reserve_taken ?? false;
  const state: Measured = { level: 'enough', free_bytes: null, log_bytes: 0, is_log_large: false, had_ballast };
  let stopped = false;
  const look = async (): Promise<void> => {
    const before = { ...state };
    state.had_ballast ||= existsSync(ballastPath(path));
    state.free_bytes = await freeBytes(path, settings);
    state.level = levelOf(path, state, settings);
    await watchLog(path, state, settings, emptyLog);
    if (state.level !== before.level || state.is_log_large !== before.is_log_large) onChange(roomOf(state));
  };
  await look();
  // The reserve is written while the doors open; `stop` waits for it.
  let working: Promise<void> = stockUp(path, state, settings);
  const timer = setInterval(() => {
    const round = async (): Promise<void> => {
      await look();
      if (!stopped) await stockUp(path, state, settings);
    };
    working = working.then(round).catch(() => undefined);
  }, CHECK_EVERY_MS).unref();
  return {
    room: (): Room => roomOf(state),
    async stop(): Promise<void> {
      stopped = true;
      clearInterval(timer);
      await working.catch(() => undefined);
    },
  };
}

interface Measured extends Room {
  /** The reserve existed once: its absence means that it is in use. */
  had_ballast: boolean;
}

/** The level rises only when there is room for the reserve too, so that it does not oscillate. */
function levelOf(path: string, reading: Measured, { low_bytes, ballast_bytes }: DiskSettings): RoomLevel {
  const { free_bytes, level, had_ballast } = reading;
  if (free_bytes === null) return level;
  const is_spent = had_ballast && !existsSync(ballastPath(path));
  if (free_bytes >= low_bytes + (is_spent || level !== 'enough' ? ballast_bytes : 0)) return 'enough';
  return is_spent || level === 'full' ? 'full' : 'low';
}

async function watchLog(path: string, reading: Measured, settings: DiskSettings, emptyLog: () => Promise<void>) {
  const { log_limit_bytes } = settings;
  reading.log_bytes = logBytes(path);
  if (reading.log_bytes > log_limit_bytes) {
    await emptyLog();
    reading.log_bytes = logBytes(path);
  }
  reading.is_log_large = reading.log_bytes > log_limit_bytes;
}

/** Writes the reserve under another name first: half a reserve must not look like a whole one. Never throws. */
async function stockUp(path: string, reading: Measured, { low_bytes, ballast_bytes }: DiskSettings): Promise<void> {
  const file = ballastPath(path);
  const unfinished = `${file}.unfinished`;
  if (ballast_bytes === 0 || reading.level !== 'enough' || existsSync(file)) return;
  if (reading.free_bytes === null || reading.free_bytes < low_bytes + ballast_bytes) return;
  try {
    const handle = await open(unfinished, 'w', 0o600);
    try {
      // Not zeros, which some file systems do not store.
      const piece = Buffer.alloc(PIECE_BYTES, 'puente keeps this room for sales under way. ');
      for (let left = ballast_bytes; left > 0; left -= PIECE_BYTES)
        await handle.write(piece, 0, Math.min(left, PIECE_BYTES));
    } finally {
      await handle.close();
    }
    await rename(unfinished, file);
    reading.had_ballast = true;
  } catch {
    await rm(unfinished, { force: true }).catch(() => undefined);
  }
}

/** Null when unknown. On the disk of the database a copy must leave the space that new sales need (`low_bytes`). */
export async function roomForCopy(directory: string, path: string, settings: DiskSettings): Promise<number | null> {
  const [there, here] = await Promise.all([stat(directory), stat(dirname(path))]);
  if (there.dev !== here.dev) return freeIn(directory);
  const free = await freeBytes(path, settings);
  return free === null ? null : free - settings.low_bytes;
}

async function freeBytes(path: string, { free_bytes }: DiskSettings): Promise<number | null> {
  return free_bytes === undefined ? freeIn(dirname(path)) : free_bytes();
}

async function freeIn(directory: string): Promise<number | null> {
  const facts = await statfs(directory).catch(() => null);
  return facts === null ? null : facts.bavail * facts.bsize;
}

function logBytes(path: string): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

function roomOf({ had_ballast: _, ...room }: Measured): Room {
  return room;
}
