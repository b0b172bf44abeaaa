/** Loaded into each Node contestant: answers its parent how late the event loop was since the last question. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Milliseconds. */
export interface LoopDelay {
  p50_ms: number;
  p99_ms: number;
  max_ms: number;
}

/** The monitor's timer fires this often; what it counts includes that, so it is taken off again. */
const RESOLUTION_MS = 1;
const PER_MS = 1e6;

if (process.send !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const late = (value_ns: number): number => Math.max(0, value_ns / PER_MS - RESOLUTION_MS);
  process.on('message', (question) => {
    if (question !== 'loop delay') return;
    const answer: LoopDelay = {
      p50_ms: late(delay.percentile(50)),
      p99_ms: late(delay.percentile(99)),
      max_ms: late(delay.max),
    };
    delay.reset();
    process.send?.(answer);
  });
  // A contestant lives as long as its own work, and not for its parent.
  process.channel?.unref();
}
