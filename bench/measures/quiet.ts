/** Waits until a process has nothing to do. */
import { setTimeout as pause } from 'node:timers/promises';
import { cpuSeconds } from '../machine.ts';

/** Processor time is told in ticks of 10 ms: at most one of them in so long is as good as none. */
const QUIET_FOR_MS = 150;
const QUIET_S = 0.0101;
/** What works on for ever is told as that, and measured with it. */
const QUIET_LIMIT_MS = 8000;

/** Waits until a process has nothing to do: what it put off belongs to it, and not to whoever is measured next. How long, ms. */
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
