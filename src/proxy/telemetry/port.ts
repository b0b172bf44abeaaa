/** The interface of telemetry: what finished work reports, and what is exported. */
import type { Operation } from '../../mapping/tables.ts';
import type { Clock } from '../clock.ts';
import type { Exchange, UpstreamNote } from '../evidence/exchange.ts';
import type { Log } from '../log.ts';
import type { Attempt, Notice } from '../records/notices.ts';
import type { Reading } from './telemetry.ts';

/** What telemetry is made of. */
export interface TelemetryParts {
  log: Log;
  clock: Required<Pick<Clock, 'monotonic'>>;
  operations: readonly Operation[];
  /** Of the two upstreams. */
  hosts: { orders: ServerHost; legacy: ServerHost };
  /** Of the public door. */
  scheme: 'http' | 'https';
  /** The values of `/metrics`, read for every export. */
  readings(): Promise<Reading[]>;
  /** Identifies this run of the process. */
  instance: string;
  version: string;
}

export interface ServerHost {
  address: string;
  port: number;
}

export interface RunningTelemetry extends Telemetry {
  /** Exports what is queued, within two seconds; the rest is dropped. Never rejects. */
  stop(): Promise<void>;
}

export interface TelemetrySettings {
  /** Destinations; empty: the signal is off. */
  traces: Exporter[];
  metrics: Exporter[];
  traces_protocol: Protocol;
  metrics_protocol: Protocol;
  sampler: Sampler;
  /** Share of sales, from 0 to 1; for `traceidratio`. */
  sampled_share: number;
  metric_interval_ms: number;
  metric_timeout_ms: number;
  batch: { delay_ms: number; timeout_ms: number; queue: number; size: number };
  /** Settings that are ignored, as sentences for the operator. */
  remarks: string[];
}

export type Exporter = 'otlp' | 'console';
export type Protocol = 'http/protobuf' | 'http/json';
type Sampler = 'always_on' | 'always_off' | 'traceidratio';

/** Facts of the request that the exchange does not have. */
export interface CallRequest {
  method: string;
  /** The W3C header as received; null without one. */
  traceparent: string | null;
}

/** Background work. */
export interface Worked {
  /** `event`: the sale of a webhook was read; `recovery`: a due sale was recovered. */
  name: 'event' | 'recovery';
  /** Epoch ms. */
  at: number;
  duration_ms: number;
  /** Null without a known sale. */
  legacy_id: string | null;
  merchant_id: string | null;
  upstream: readonly UpstreamNote[];
  /** A word of a closed list; `failed` when it threw. */
  outcome: string;
}

/** Receives finished work. Never throws, never waits; drops what it has no room for. */
export interface Telemetry {
  /** A call that was answered; its exchange is complete. */
  called(exchange: Exchange, request: CallRequest): void;
  /** Background work that has ended, also when it failed. */
  worked(work: Worked): void;
  /** An attempt to deliver `notice`, after it was recorded. */
  noticed(notice: Notice, attempt: Attempt): void;
}
