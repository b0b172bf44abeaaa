/** A slow disk without another disk: strace holds every fsync of one process, in all its threads, before it is made. */
import { spawnSync } from 'node:child_process';

/**
 * `--seccomp-bpf` stops the process for these calls alone, so that nothing else gets slower; `-D` leaves it our child.
 * The tracer itself runs on core 0 with the load, so that it takes nothing from a pinned contestant.
 */
export function slowDiskCommand(delay_us: number, core: number | null, command: readonly string[]): string[] {
  const strace = [
    'strace',
    '-D',
    '-f',
    '--seccomp-bpf',
    '-o',
    '/dev/null',
    '-e',
    'trace=fsync,fdatasync',
    '-e',
    `inject=fsync,fdatasync:delay_enter=${delay_us}`,
    ...command,
  ];
  return core === null ? strace : ['taskset', '-c', '0', ...strace];
}

/** Null where a disk can be made slow; otherwise why it can't. */
export function slowDiskMissing(): string | null {
  const { error, status, stderr } = spawnSync('strace', ['-f', '--seccomp-bpf', '-o', '/dev/null', 'true'], {
    encoding: 'utf8',
  });
  if (error !== undefined) return 'strace is not installed';
  return status === 0 ? null : `strace can't trace here: ${stderr.trim().split('\n')[0]}`;
}
