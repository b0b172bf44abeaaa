/** Facts of the machine and the versions, without which figures say nothing. */
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, fsyncSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, cpus, platform, release, totalmem } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { percentile } from './statistics.ts';

export interface Machine {
  node: string;
  system: string;
  cpu: string;
  cores: number;
  memory_gib: number;
  /** Median time of one durable 4 KiB write in the databases' directory: the cost of a commit. */
  fsync_ms: number;
  versions: Record<string, string>;
}

/** Number of writes, enough for a median. */
const FSYNCS = 50;

export function machineFacts(directory: string): Machine {
  return {
    node: process.version,
    system: `${platform()} ${release()}`,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memory_gib: Math.round(totalmem() / 2 ** 30),
    fsync_ms: measureFsync(directory),
    versions: Object.fromEntries(
      ['express', 'http-proxy-middleware', 'undici', 'better-sqlite3'].map((name) => [name, versionOf(name)]),
    ),
  };
}

export const TASKSET = 'taskset';

export function canPin(): boolean {
  return availableParallelism() > 1 && spawnSync(TASKSET, ['-c', '1', 'true']).status === 0;
}

/** Processor time of a process in seconds, all threads; null where the system does not report it. */
export function cpuSeconds(pid: number): number | null {
  return ticksOf(pid, OWN_TICKS);
}

/** The same with its children, including ended ones. */
export function familyCpuSeconds(pid: number): number | null {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
    return children.reduce((sum, child) => sum + (cpuSeconds(child) ?? 0), ticksOf(pid, ALL_TICKS) ?? Number.NaN);
  } catch {
    return null;
  }
}

function ticksOf(pid: number, which: readonly number[]): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Fields after the name in brackets, which may hold spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return which.reduce((sum, field) => sum + Number(fields[field]), 0) / TICKS_PER_SECOND;
  } catch {
    return null;
  }
}

/** utime and stime, fields 14 and 15 of the whole line; the next two are those of ended children. */
const OWN_TICKS = [11, 12];
const ALL_TICKS = [11, 12, 13, 14];

/** Processor time is counted in ticks of 10 ms: at most one tick in this time counts as idle. */
const QUIET_FOR_MS = 150;
const QUIET_S = 0.0101;
/** A process that never becomes idle is reported, and measured as it is. */
const QUIET_LIMIT_MS = 8000;

/**
 * Waits until a process is idle, so that deferred work does not burden the next contestant. @returns the wait in ms.
 */
export async function untilQuiet(pid: number): Promise<number> {
  const started = performance.now();
  for (let last = cpuSeconds(pid); last !== null && performance.now() - started < QUIET_LIMIT_MS; ) {
    await pause(QUIET_FOR_MS);
    const now = cpuSeconds(pid);
    if (now === null || now - last <= QUIET_S) break;
    last = now;
  }
  return performance.now() - started;
}

/** Pids of a process's children, from `/proc`. */
export function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .map(Number);
}

/** Null for a process that has ended. */
export function parentOf(pid: string): number | null {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return null; // ended meanwhile
  }
}

/** Resident memory of a process now, MB; null where the system does not report it. */
export function residentMb(pid: number): number | null {
  try {
    const kb = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kb === undefined ? null : Number(kb) / 1024;
  } catch {
    return null;
  }
}

const hidden = new Set<string>();

/** Makes `findProgram` treat the program as not installed. */
export function hideProgram(name: string): void {
  hidden.add(name);
}

/** Path of an installed program; null if there is none. Servers are often in /usr/sbin, which is not in every PATH. */
export function findProgram(name: string): string | null {
  if (hidden.has(name)) return null;
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}

/** Fixed for user space on every architecture that Linux still supports. */
const TICKS_PER_SECOND = 100;

/** Median ms of one durable 4 KiB write in the directory. */
export function measureFsync(directory: string): number {
  const path = join(directory, 'fsync-probe');
  const file = openSync(path, 'w');
  const times_ms: number[] = [];
  const page = Buffer.alloc(4096, 1);
  for (let count = 0; count < FSYNCS; count++) {
    writeSync(file, page);
    const started = performance.now();
    fsyncSync(file);
    times_ms.push(performance.now() - started);
  }
  closeSync(file);
  rmSync(path);
  times_ms.sort((first, second) => first - second);
  return percentile(times_ms, 0.5);
}

/** Reads the package's own file, which its `exports` may hide from `require`. */
function versionOf(name: string): string {
  const paths = createRequire(import.meta.url).resolve.paths(name) ?? [];
  for (const path of paths) {
    try {
      return JSON.parse(readFileSync(join(path, name, 'package.json'), 'utf8')).version;
    } catch {
      // not in this folder
    }
  }
  return 'unknown';
}
