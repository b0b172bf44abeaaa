/** Whether strace can delay fsync on this machine, and how long a delayed fsync takes; run as a program it measures. */
import { spawnSync } from 'node:child_process';
import { measureFsync } from './machine.ts';
import { startProcess } from './processes.ts';

/** Null where fsync can be delayed; otherwise the reason. */
export function slowDiskMissing(): string | null {
  const { error, status, stderr } = spawnSync('strace', ['-f', '--seccomp-bpf', '-o', '/dev/null', 'true'], {
    encoding: 'utf8',
  });
  if (error !== undefined) return 'strace is not installed';
  return status === 0 ? null : `strace can't trace here: ${stderr.trim().split('\n')[0]}`;
}

/** Median ms of one durable write under that delay: the table shows the measured time, not the intended one. */
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
