/** How long an fsync takes that was made slow, so that the table says what was measured and not what was meant. */
import { startProcess } from '../processes.ts';

/** Median ms of one durable write in the directory under that delay. */
export async function measureSlowFsync(directory: string, delay_us: number): Promise<number> {
  const probe = await startProcess({
    name: 'fsync-probe',
    script: 'bench/fsync-probe.ts',
    arguments: [directory],
    core: null,
    directory,
    ready: /one fsync takes ([\d.]+) ms/,
    fsync_delay_us: delay_us,
  });
  return Number(probe.said);
}
