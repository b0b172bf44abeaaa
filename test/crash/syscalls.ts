/** Makes system calls of the real server fail (`docs/protocol.md` §5.4) with strace, without a change of the code. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Build } from './child.ts';

export interface Fault {
  call: string;
  error: string;
  /** Counts calls on the database's files from 1, in each thread. */
  nth: number;
  /** All calls from there on fail, not only one. */
  forever: boolean;
}

interface Kind {
  call: string;
  error: string;
  /** Of 60 faults. */
  share: number;
  /** About the number of such calls in a start and its sales. */
  most: number;
}

const KINDS: readonly Kind[] = [
  { call: 'fsync', error: 'EIO', share: 11, most: 60 },
  { call: 'pwrite64', error: 'EIO', share: 12, most: 300 },
  { call: 'pwrite64', error: 'ENOSPC', share: 10, most: 300 },
  { call: 'pread64', error: 'EIO', share: 5, most: 120 },
  { call: 'ftruncate', error: 'EIO', share: 4, most: 6 },
  { call: 'openat', error: 'EMFILE', share: 6, most: 12 },
  { call: 'openat', error: 'EACCES', share: 3, most: 12 },
  { call: 'fcntl', error: 'ENOLCK', share: 5, most: 60 },
  { call: 'mmap', error: 'ENOMEM', share: 2, most: 4 },
  { call: 'unlink', error: 'EIO', share: 2, most: 4 },
];
/** Of the first start only, which renames the new file into place. */
const FIRST_KINDS: readonly Kind[] = [
  { call: 'rename', error: 'EIO', share: 1, most: 1 },
  { call: 'fsync', error: 'EIO', share: 3, most: 12 },
  { call: 'pwrite64', error: 'ENOSPC', share: 3, most: 40 },
  { call: 'openat', error: 'EMFILE', share: 3, most: 12 },
];
const SHARES = 60;

export function faultsOf(count: number, kinds = KINDS): Fault[] {
  return kinds.flatMap(({ call, error, share, most }) => {
    const shares = Math.max(1, Math.round((share * count) / SHARES));
    return Array.from({ length: shares }, (_, index) => ({
      call,
      error,
      nth: 1 + Math.floor(most * (index / shares) ** 2),
      forever: index % 2 === 1,
    }));
  });
}

/** At least one of each kind, and at most the shares. */
export function firstFaultsOf(count: number): Fault[] {
  return faultsOf(Math.min(count, SHARES), FIRST_KINDS);
}

/** Null where strace works; otherwise the reason. */
export function straceMissing(): string | null {
  const { error, status, stderr } = spawnSync('strace', ['-f', '-o', '/dev/null', 'true'], { encoding: 'utf8' });
  if (error !== undefined) return `strace can't be run: ${error.message}`;
  return status === 0 ? null : `strace can't trace here: ${stderr.trim().split('\n')[0]}`;
}

const FILES = ['puente.db', 'puente.db-wal', 'puente.db-shm', 'puente.db.lock', 'puente.db.unfinished'];

/** Runs a build whose calls on the files of `data_dir` fail as in `fault`; strace writes these calls to `log`. */
export function underStrace(build: Build, data_dir: string, fault: Fault, log: string): Build {
  const { call, error, nth, forever } = fault;
  const paths = [data_dir, ...FILES.map((name) => join(data_dir, name))].flatMap((path) => ['-P', path]);
  const inject = `inject=${call}:error=${error}:when=${nth}${forever ? '+' : ''}`;
  // `-D`: the server stays a child of this process, with strace beside it.
  const wrapper = [
    'strace',
    '-D',
    '-f',
    '--seccomp-bpf',
    '-qqq',
    '-o',
    log,
    '-e',
    `trace=${call}`,
    ...paths,
    '-e',
    inject,
  ];
  return { ...build, wrapper };
}

export function wasInjected(log: string): boolean {
  return existsSync(log) && readFileSync(log, 'utf8').includes('(INJECTED)');
}

export function nameOf({ call, error, nth, forever }: Fault): string {
  return `${call} ${error} at ${nth}${forever ? ' and ever after' : ''}`;
}
