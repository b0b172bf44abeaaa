/**
 * What a disk may hold after a power loss (`docs/protocol.md` P1, §5.4). The row of every delivered answer was synced, so it is
 * there; behind it, writes are missing, torn or garbage.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { MIGRATIONS_DIRECTORY, prepareFile } from '../../src/store/sqlite/file.ts';
import { readFile } from '../engines/keeping.ts';
import type { Child } from './child.ts';
import type { Random } from './random.ts';
import type { Stand } from './stand.ts';
import type { Till } from './till.ts';
import { endOfCommits, type LogEnd } from './wal.ts';

export interface Mark {
  /** Legacy ids whose answer was delivered to tills so far. */
  delivered: string[];
  begun: number;
  /** The log up to here holds the row of every delivered answer. */
  end: LogEnd;
  /** mtime of the main file, nanoseconds. */
  written_at: bigint;
}

export interface Disk {
  file: Buffer;
  log: Buffer;
  /** Moments since which the log only grew and the main file was not written, oldest first. */
  marks: Mark[];
}

/** The smallest unit that a disk writes whole. */
const SECTOR_BYTES = 512;
/** The most that an image holds behind a mark; the rest is missing. */
const TAIL_BYTES = 256 * 1024;
/** Beyond this, SIGSTOP has failed. */
const STOP_LIMIT_MS = 10_000;

/** While the server runs: reads the ids of delivered answers before the log. */
export function markNow(stand: Stand, till: Till): Mark {
  const written_at = lastWrite(stand);
  const delivered = till.creates.flatMap(({ legacy_id }) => legacy_id ?? []);
  return { delivered, begun: till.sales.length, end: endOfCommits(readLog(stand)), written_at };
}

/** Stops the server in the middle of its work and copies its disk. The server stays stopped. */
export async function takeDisk(stand: Stand, child: Child, marks: Mark[]): Promise<Disk> {
  child.process.kill('SIGSTOP');
  await untilStopped(child.pid);
  const log = readLog(stand);
  const { salts } = endOfCommits(log);
  const written_at = lastWrite(stand);
  const usable = marks.filter((mark) => mark.end.salts === salts && mark.written_at === written_at);
  return { file: readFileSync(stand.database), log, marks: usable };
}

function lastWrite(stand: Stand): bigint {
  return statSync(stand.database, { bigint: true }).mtimeNs;
}

function readLog(stand: Stand): Buffer {
  return readFileSync(`${stand.database}-wal`);
}

/** Waits for all threads: the main thread does not write. */
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

/** The log as the next start may find it: cut, torn or garbled at or after `from`. */
export function tornLog({ log }: Disk, from: number, random: Random): Buffer {
  const behind = Math.min(log.length - from, TAIL_BYTES) + random.between(0, 2) * SECTOR_BYTES;
  const length = from + behind;
  const cut = random.between(from, length);
  const written = log.subarray(0, length);
  const whole = Buffer.concat([written, noise(length - written.length, random)]);
  const kind = random.pick(['cut', 'zeros', 'garbage', 'flips', 'sectors']);
  if (kind === 'cut') return whole.subarray(0, cut);
  if (kind === 'zeros') whole.fill(0, cut);
  if (kind === 'garbage') noise(length - cut, random).copy(whole, cut);
  if (kind === 'flips') flip(whole, from, random);
  if (kind === 'sectors') dropSectors(whole, from, random);
  return whole;
}

function flip(log: Buffer, from: number, random: Random): void {
  for (let left = random.between(1, 64); left > 0 && from < log.length; left--) {
    const place = random.between(from, log.length - 1);
    log[place] = (log[place] ?? 0) ^ random.between(1, 255);
  }
}

function dropSectors(log: Buffer, from: number, random: Random): void {
  for (let sector = Math.ceil(from / SECTOR_BYTES) * SECTOR_BYTES; sector < log.length; sector += SECTOR_BYTES)
    if (random.chance(0.5)) log.fill(0, sector, Math.min(sector + SECTOR_BYTES, log.length));
}

/** Old content of a disk: one random block, repeated. */
function noise(length: number, random: Random): Buffer {
  const block = Buffer.from(Array.from({ length: 1_021 }, () => random.between(0, 255)));
  return Buffer.alloc(length, block);
}

export interface Reopened {
  /** The error of Puente's start on this file; null when it starts. */
  refusal: string | null;
  /** Legacy ids of the stored sales that have an order. */
  kept: Set<string>;
}

export interface Images {
  /** Opens an image as a start does, and reads its sales. */
  reopen(log: Buffer): Reopened;
  remove(): void;
}

export function imagesOf({ file }: Disk): Images {
  const folder = mkdtempSync(join(tmpdir(), 'puente-power-loss-'));
  const path = join(folder, 'puente.db');
  return {
    reopen(log) {
      putDisk(path, file, log);
      try {
        prepareFile({ path, create: false, now: Date.now, migrations_directory: MIGRATIONS_DIRECTORY });
        return { refusal: null, kept: readFile(path, keptIn) };
      } catch (error) {
        return { refusal: String(error), kept: new Set() };
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function keptIn(database: Parameters<Parameters<typeof readFile>[1]>[0]): Set<string> {
  const delivered = database.prepare<[], string>(
    `SELECT legacy_id FROM links WHERE order_id IS NOT NULL AND client_answer = 'maybe'`,
  );
  return new Set(delivered.pluck().all());
}

/** Replaces the server's files by those left by the loss; shared memory does not survive it. */
export function putDisk(path: string, file: Buffer, log: Buffer): void {
  rmSync(`${path}-shm`, { force: true });
  writeFileSync(path, file);
  writeFileSync(`${path}-wal`, log);
}
