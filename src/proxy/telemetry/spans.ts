/** What is told of finished work to whoever watches from outside: one trace for a sale, by its legacy id. */
import type { Exchange, UpstreamNote } from '../evidence/exchange.ts';
import type { Attempt, Notice } from '../records/notices.ts';

/** What a call said of itself beside what its exchange keeps. */
export interface Heard {
  method: string;
  /** The W3C header, as somebody sent it; null without one. */
  traceparent: string | null;
}

/** Work that no till waited for. */
export interface Worked {
  /** `event`: what a webhook points at was looked at; `recovery`: a due sale was looked after. */
  name: 'event' | 'recovery';
  /** Epoch ms. */
  at: number;
  duration_ms: number;
  /** Null when it was about no sale that is known. */
  legacy_id: string | null;
  merchant_id: string | null;
  upstream: readonly UpstreamNote[];
  /** A word of a closed list; `failed` when it threw. */
  outcome: string;
}

/** Takes what is over. Never throws, never waits; what it has no room for is dropped. */
export interface Telemetry {
  called(exchange: Exchange, heard: Heard): void;
  worked(work: Worked): void;
  /** @param attempt at this notice, recorded by now. */
  noticed(notice: Notice, attempt: Attempt): void;
}
