/** Loaded into each Node contestant: tells its parent how late the event loop was since the last question, and profiles it. */
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** What the parent may ask; each question is answered by one message. */
export type Question =
  /** Answered by a `LoopDelay`. */
  | 'loop delay'
  /** The profile of the main thread begins. */
  | 'profile'
  /** It ends, and is written to this file. */
  | { profile_into: string };

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
  const profiler = new Session();
  const profile = async (question: Question): Promise<void> => {
    if (question === 'profile') {
      profiler.connect();
      await profiler.post('Profiler.enable');
      await profiler.post('Profiler.start');
    } else if (typeof question === 'object') {
      const ended = await profiler.post('Profiler.stop');
      profiler.disconnect();
      writeFileSync(question.profile_into, JSON.stringify(ended.profile));
    }
    process.send?.('done');
  };
  process.on('message', (message) => {
    const question = message as Question; // what the parent sends
    if (question !== 'loop delay') return void profile(question);
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
