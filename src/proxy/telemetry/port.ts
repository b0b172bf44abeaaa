/** Telemetry as others see it: what finished work tells about itself, and what is exported. */
import type { Registry } from 'prom-client';
import type { Operation } from '../../mapping/tables.ts';
import type { Clock } from '../clock.ts';
import type { Exchange, UpstreamNote } from '../evidence/exchange.ts';
import type { Log } from '../log.ts';
import type { Attempt, Notice } from '../records/notices.ts';

/** A counter, gauge or histogram with its values. */
export type Reading = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number];

export interface TelemetryParts {
  log: Log;
  /** In which the durations between two log lines are counted. */
  clock: Required<Pick<Clock, 'monotonic'>>;
  operations: readonly Operation[];
  /** Host names of the two upstreams. */
  hosts: { orders: string; legacy: string };
  /** What `/metrics` shows, read anew for every export. */
  readings(): Promise<Reading[]>;
  /** Tells one run of the process from another. */
  instance: string;
  version: string;
}

export interface RunningTelemetry extends Telemetry {
  /** Sends what waits, within two seconds; the rest is dropped. Never rejects. */
  stop(): Promise<void>;
}

export interface TelemetrySettings {
  /** Where to; nothing: the signal is off. */
  traces: Exporter[];
  metrics: Exporter[];
  traces_protocol: Protocol;
  metrics_protocol: Protocol;
  sampler: Sampler;
  /** Of sales, from 0 to 1; for `traceidratio`. */
  sampled_share: number;
  metric_interval_ms: number;
  metric_timeout_ms: number;
  batch: { delay_ms: number; timeout_ms: number; queue: number; size: number };
  /** What was asked for and is not done, as sentences for the operator. */
  remarks: string[];
}

export type Exporter = 'otlp' | 'console';

export type Protocol = 'http/protobuf' | 'http/json';

export type Sampler = 'always_on' | 'always_off' | 'traceidratio';

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
