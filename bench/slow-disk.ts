/** A slow disk without another disk: whether one can be had here, and how long its fsync takes. Run by itself, it measures. */
import { spawnSync } from 'node:child_process';
import { measureFsync } from './machine.ts';
import { startProcess } from './processes.ts';

/** Null where a disk can be made slow; otherwise why it can't. */
export function slowDiskMissing(): string | null {
  const { error, status, stderr } = spawnSync('strace', ['-f', '--seccomp-bpf', '-o', '/dev/null', 'true'], {
    encoding: 'utf8',
  });
  if (error !== undefined) return 'strace is not installed';
  return status === 0 ? null : `strace can't trace here: ${stderr.trim().split('\n')[0]}`;
}

/** Median ms of one durable write in the directory under that delay, so that the table says what was measured, not what was meant. */
export async function measureSlowFsync(directory: string, delay_us: number): Promise<number> {
  const probe = await startProcess({
    name: 'fsync-probe',
    script: 'bench/slow-disk.ts',
    arguments: [directory],
    core: null,
    directory,
    ready: /one fsync takes ([\d.]+) ms/,
    fsync_delay_us: delay_us,
  });
  return Number(probe.said);
}

if (import.meta.main) process.stdout.write(`one fsync takes ${measureFsync(process.argv[2] ?? '.').toFixed(3)} ms\n`);
