/**
 * Power loss (`reliability.md` P1, §5.4): what a disk may hold when the current fails. All that was acknowledged was
 * synced, so it is there; behind it, writes are missing, torn or garbage.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { MIGRATIONS_DIRECTORY, prepareFile } from '../../src/store/sqlite/file.ts';
import { readDatabase } from './books.ts';
import type { Child } from './child.ts';
import type { Random } from './random.ts';
import type { Stand } from './stand.ts';
import type { Till } from './till.ts';
import { endOfCommits, type LogEnd } from './wal.ts';

/** The disk of a server that stands still. */
export interface Disk {
  file: Buffer;
  log: Buffer;
  /** Acknowledged to a till before the moment of `synced`. */
  acknowledged: string[];
  /** The log up to here holds all that was acknowledged. */
  synced: LogEnd;
}

/** A disk sector, the least that is written whole. */
const SECTOR_BYTES = 512;
/** Beyond this a process that was told to stand still is broken. */
const STOP_LIMIT_MS = 10_000;

/** What the disk holds at this moment, while the server runs: only for a moment when nothing is under way. */
export function readDisk(stand: Stand): { file: Buffer; end: LogEnd } {
  return { file: readFileSync(stand.database), end: endOfCommits(readLog(stand)) };
}

/**
 * Stops the server in the middle of its sales and takes its disk. The server stays stopped.
 * Null when the log was begun again in between, so that nothing can be said of its length.
 */
export async function takeDisk(stand: Stand, till: Till, child: Child, random: Random): Promise<Disk | null> {
  const acknowledged = till.creates.flatMap(({ legacy_id }) => legacy_id ?? []);
  const synced = endOfCommits(readLog(stand));
  await pause(random.between(0, 25));
  child.process.kill('SIGSTOP');
  await untilStopped(child.pid);
  const log = readLog(stand);
  if (endOfCommits(log).salts !== synced.salts) return null;
  return { file: readFileSync(stand.database), log, acknowledged, synced };
}

function readLog(stand: Stand): Buffer {
  return readFileSync(`${stand.database}-wal`);
}

/** All threads: the one that writes is not the first. */
async function untilStopped(pid: number): Promise<void> {
  const limit = Date.now() + STOP_LIMIT_MS;
  const threads = `/proc/${pid}/task`;
  const isStopped = (thread: string): boolean => {
    const [, state = ''] = /\) (\w)/.exec(readFileSync(join(threads, thread, 'stat'), 'utf8')) ?? [];
    return state === 'T';
  };
  while (!readdirSync(threads).every(isStopped)) {
    if (Date.now() > limit) throw new Error('the server did not stand still');
    await pause(1);
  }
}

/** The log as it may be found after the loss: cut, torn or garbled somewhere at or after `from`. */
export function tornLog({ log }: Disk, from: number, random: Random): Buffer {
  const length = Math.max(log.length, from) + random.between(0, 2) * SECTOR_BYTES;
  const cut = random.between(from, length);
  const whole = Buffer.concat([log, garbage(length - log.length, random)]);
  const kind = random.pick(['cut', 'zeros', 'garbage', 'flips', 'sectors']);
  if (kind === 'cut') return whole.subarray(0, cut);
  if (kind === 'zeros') return Buffer.concat([whole.subarray(0, cut), Buffer.alloc(length - cut)]);
  if (kind === 'garbage') return Buffer.concat([whole.subarray(0, cut), garbage(length - cut, random)]);
  if (kind === 'flips') {
    for (let flip = 0; flip < random.between(1, 64) && from < length; flip++) {
      const place = random.between(from, length - 1);
      whole[place] = (whole[place] ?? 0) ^ random.between(1, 255);
    }
    return whole;
  }
  // Sectors reach the disk in any order, or never.
  for (let sector = Math.ceil(from / SECTOR_BYTES) * SECTOR_BYTES; sector < length; sector += SECTOR_BYTES)
    if (random.chance(0.5)) whole.fill(0, sector, Math.min(sector + SECTOR_BYTES, length));
  return whole;
}

function garbage(length: number, random: Random): Buffer {
  return Buffer.from(Array.from({ length }, () => random.between(0, 255)));
}

export interface Reopened {
  /** What Puente's own start says against the file; null when it takes it. */
  refusal: string | null;
  /** Acknowledged, and not there or without an order. */
  lost: string[];
}

/** Opens an image as a start does, and looks for what was acknowledged. */
export function reopen(disk: Disk, log: Buffer): Reopened {
  const folder = mkdtempSync(join(tmpdir(), 'puente-power-loss-'));
  const path = join(folder, 'puente.db');
  try {
    writeFileSync(path, disk.file);
    writeFileSync(`${path}-wal`, log);
    prepareFile({ path, create: false, now: Date.now, migrations_directory: MIGRATIONS_DIRECTORY });
    const kept = readDatabase(path, (database) =>
      database
        .prepare<[], string>(`SELECT legacy_id FROM links WHERE order_id IS NOT NULL AND client_answer = 'maybe'`)
        .pluck()
        .all(),
    );
    const known = new Set(kept);
    return { refusal: null, lost: disk.acknowledged.filter((id) => !known.has(id)) };
  } catch (error) {
    return { refusal: String(error), lost: [] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Puts what the loss left in the place of the server's files; its shared memory is gone with the power. */
export function restoreDisk(stand: Stand, disk: Disk, log: Buffer): void {
  rmSync(`${stand.database}-shm`, { force: true });
  writeFileSync(stand.database, disk.file);
  writeFileSync(`${stand.database}-wal`, log);
}
