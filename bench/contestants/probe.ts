/** Loaded into each Node contestant: reports its event loop delay since the last request, and profiles it. */
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Requests of the parent; each is answered by one message. */
export type Question =
  /** Answered by a `LoopDelay`. */
  | 'loop delay'
  | 'profile'
  /** Ends the profile and writes it to this file. */
  | { profile_into: string };

export interface LoopDelay {
  p50_ms: number;
  p99_ms: number;
  max_ms: number;
}

/** Interval of the monitor's timer, which is included in its values and subtracted again. */
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
    const question = message as Question; // sent by the parent
    if (question !== 'loop delay') return void profile(question);
    const answer: LoopDelay = {
      p50_ms: late(delay.percentile(50)),
      p99_ms: late(delay.percentile(99)),
      max_ms: late(delay.max),
    };
    delay.reset();
    process.send?.(answer);
  });
  // The channel to the parent must not keep a contestant running.
  process.channel?.unref();
}
