/**
 * Power loss (`docs/protocol.md` P1, §5.4): what a disk may hold when the current fails. All that was acknowledged was
 * synced, so it is there; behind it, writes are missing, torn or garbage.
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

/** A moment of a server at work. */
export interface Mark {
  /** Acknowledged to tills until then. */
  acknowledged: string[];
  /** Sales begun until then. */
  begun: number;
  /** The log up to here holds all that was acknowledged. */
  end: LogEnd;
  /** When the main file was written last. */
  written_at: bigint;
}

/** The disk of a server that stands still. */
export interface Disk {
  file: Buffer;
  log: Buffer;
  /** Moments since which the log has only grown and the main file was not written, the oldest first. */
  marks: Mark[];
}

/** A disk sector, the least that is written whole. */
const SECTOR_BYTES = 512;
/** Of what lies behind a mark, an image has so much at most; the rest is missing. */
const TAIL_BYTES = 256 * 1024;
/** Beyond this a process that was asked to stand still is broken. */
const STOP_LIMIT_MS = 10_000;

/** While the server runs: what is acknowledged is read first, and the log after it. */
export function markNow(stand: Stand, till: Till): Mark {
  const written_at = lastWrite(stand);
  const acknowledged = till.creates.flatMap(({ legacy_id }) => legacy_id ?? []);
  return { acknowledged, begun: till.sales.length, end: endOfCommits(readLog(stand)), written_at };
}

/** Stops the server in the middle of its work and takes its disk. The server stays stopped. */
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

/** Sectors reach the disk in any order, or never. */
function dropSectors(log: Buffer, from: number, random: Random): void {
  for (let sector = Math.ceil(from / SECTOR_BYTES) * SECTOR_BYTES; sector < log.length; sector += SECTOR_BYTES)
    if (random.chance(0.5)) log.fill(0, sector, Math.min(sector + SECTOR_BYTES, log.length));
}

/** Old content of a disk: noise, the same block again and again from a place that differs. */
function noise(length: number, random: Random): Buffer {
  const block = Buffer.from(Array.from({ length: 1_021 }, () => random.between(0, 255)));
  return Buffer.alloc(length, block);
}

export interface Reopened {
  /** What Puente's own start says against the file; null when it takes it. */
  refusal: string | null;
  /** Sales that are there, with their order. */
  kept: Set<string>;
}

export interface Images {
  /** Opens an image as a start does, and reads what it has kept. */
  reopen(log: Buffer): Reopened;
  remove(): void;
}

/** A folder in which one image of a disk lies after the other. */
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
  const acknowledged = database.prepare<[], string>(
    `SELECT legacy_id FROM links WHERE order_id IS NOT NULL AND client_answer = 'maybe'`,
  );
  return new Set(acknowledged.pluck().all());
}

/** Puts what the loss left in the place of the server's files; its shared memory is gone with the power. */
export function putDisk(path: string, file: Buffer, log: Buffer): void {
  rmSync(`${path}-shm`, { force: true });
  writeFileSync(path, file);
  writeFileSync(`${path}-wal`, log);
}
