/** The spans of calls, events, recoveries and notice attempts: their names and attributes. */
import { createHash } from 'node:crypto';
import {
  type Attributes,
  type Link,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { type IdGenerator, RandomIdGenerator } from '@opentelemetry/sdk-trace';
import { upstreamRoutes } from '../../contract/upstream.ts';
import type { Operation } from '../../mapping/tables.ts';
import type { Exchange, UpstreamNote } from '../evidence/exchange.ts';
import { maskText } from '../evidence/redact-text.ts';
import type { Attempt, Notice } from '../records/notices.ts';
import type { CallRequest, Telemetry, TelemetryParts, Worked } from './port.ts';
import { methodOf } from './telemetry.ts';

/** Names by the semantic conventions for HTTP; others are `puente.…`. */
export function createSpans(write: WriteSpan, operations: readonly Operation[]): Telemetry {
  const routes = new Map(operations.map(({ name, path }) => [name, path]));
  return {
    called: (exchange, request) => write(callSpan(exchange, request, routes.get(exchange.operation ?? ''))),
    worked: (work) => write(workSpan(work)),
    noticed: (notice, attempt) => write(noticeSpan(notice, attempt)),
  };
}

/** A call about no sale has its own trace. @param route of the operation; undefined without one. */
function callSpan(exchange: Exchange, request: CallRequest, route: string | undefined): FinishedWork {
  const { id, at, duration_ms, upstream, legacy_id, status, outcome } = exchange;
  const method = methodOf(request.method);
  return {
    at,
    duration_ms,
    upstream,
    name: [method === '_OTHER' ? 'HTTP' : method, route ?? ''].join(' ').trim(),
    kind: SpanKind.SERVER,
    trace_id: traceIdOf(legacy_id ?? id),
    links: linksOf(request.traceparent),
    attributes: {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      'puente.exchange': id,
      'puente.operation': exchange.operation ?? undefined,
      'puente.lane': exchange.lane,
      'puente.stage': exchange.stage,
      'puente.outcome': outcome,
      ...ofSale(legacy_id, exchange.merchant_id),
    },
    error: outcome === 'fault' ? String(status) : null,
  };
}

function workSpan({ name, at, duration_ms, legacy_id, merchant_id, upstream, outcome }: Worked): FinishedWork {
  return {
    at,
    duration_ms,
    upstream,
    name,
    kind: name === 'event' ? SpanKind.CONSUMER : SpanKind.INTERNAL,
    trace_id: legacy_id === null ? null : traceIdOf(legacy_id),
    attributes: { 'puente.outcome': outcome, ...ofSale(legacy_id, merchant_id) },
    error: outcome === 'failed' ? outcome : null,
  };
}

function noticeSpan(notice: Notice, { at, duration_ms, status, outcome, url }: Attempt): FinishedWork {
  return {
    at,
    duration_ms,
    name: 'notice',
    kind: SpanKind.CLIENT,
    trace_id: traceIdOf(notice.legacy_id),
    attributes: {
      'http.request.method': 'POST',
      'http.response.status_code': status ?? undefined,
      'server.address': url === null ? undefined : URL.parse(url)?.hostname,
      'puente.notice': notice.id,
      'puente.attempt': notice.attempts + 1,
      'puente.outcome': outcome,
      ...ofSale(notice.legacy_id, notice.merchant_id),
    },
    error: outcome === 'delivered' ? null : String(status ?? NO_ANSWER),
  };
}

function ofSale(legacy_id: string | null, merchant_id: string | null): Attributes {
  return { 'puente.legacy_id': legacy_id ?? undefined, 'puente.merchant': merchant_id ?? undefined };
}

/** `traceparent` of W3C Trace Context, version 00; any other value is ignored. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** A till's own trace is only linked: it decides neither the trace id nor the sampling. */
function linksOf(traceparent: string | null): Link[] {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined) return [];
  return [{ context: { traceId, spanId, traceFlags: Number.parseInt(flags ?? '0', 16) & 1, isRemote: true } }];
}

/** A finished piece of work: the root span of its trace. */
interface FinishedWork {
  name: string;
  kind: SpanKind;
  /** Null: a new trace. */
  trace_id: string | null;
  /** Epoch ms. */
  at: number;
  duration_ms: number;
  /** Undefined ones are left out. */
  attributes: Attributes;
  /** Null for success. */
  error: string | null;
  links?: Link[];
  /** Child spans. */
  upstream?: readonly UpstreamNote[];
}

/** The error type of a call without an answer. */
const NO_ANSWER = 'no_answer';

export type WriteSpan = (work: FinishedWork) => void;

/** Roots have no parent: the spans of one sale come from independent processes. */
export function createSpanWriter(tracer: Tracer, ids: SteeredIds, hosts: TelemetryParts['hosts']): WriteSpan {
  return ({ name, kind, trace_id, at, duration_ms, attributes, error, links = [], upstream = [] }) => {
    const options = { kind, startTime: at, links, attributes: cleaned({ ...attributes, ...errorOf(error) }) };
    const span = ids.inTrace(trace_id, () => tracer.startSpan(name, options, ROOT_CONTEXT));
    const below = trace.setSpan(ROOT_CONTEXT, span);
    for (const note of upstream) {
      const begun = at + (note.began_ms ?? 0);
      const call = { kind: SpanKind.CLIENT, startTime: begun, attributes: cleaned(attributesOf(note, hosts)) };
      const child = tracer.startSpan(nameOf(note), call, below);
      if (faultOf(note) !== null) child.setStatus({ code: SpanStatusCode.ERROR });
      child.end(begun + note.duration_ms);
    }
    if (error !== null) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(at + duration_ms);
  };
}

/** Documented calls are named by their route, others by Puente's own name. */
function nameOf({ name }: UpstreamNote): string {
  const route = routeNamed(name);
  return route === null ? name : `${route.method} ${route.path}`;
}

function attributesOf(note: UpstreamNote, hosts: TelemetryParts['hosts']): Attributes {
  const route = routeNamed(note.name);
  return {
    'http.request.method': route?.method,
    'url.template': route?.path,
    'http.response.status_code': note.status ?? undefined,
    'server.address': (isOfLegacy(note.name) ? hosts.legacy : hosts.orders).address,
    'puente.call': note.name,
    ...errorOf(faultOf(note)),
  };
}

function routeNamed(name: string): { method: string; path: string } | null {
  return Object.entries(upstreamRoutes).find(([known]) => known === name)?.[1] ?? null;
}

/** Proxied calls, and reads of the legacy API (`LegacyReadName`). */
function isOfLegacy(name: string): boolean {
  return name === 'legacy' || name.startsWith('legacy_') || name.endsWith('_search');
}

function faultOf({ status, code }: UpstreamNote): string | null {
  if (status === null) return NO_ANSWER;
  return status < 400 ? null : (code ?? String(status));
}

function errorOf(error: string | null): Attributes {
  return error === null ? {} : { 'error.type': error };
}

/** Masks tokens, cards and keys in every text, as the log does. */
function cleaned(attributes: Attributes): Attributes {
  const kept: Attributes = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) kept[name] = typeof value === 'string' ? maskText(value, true) : value;
  }
  return kept;
}

/** The trace id of a sale is its legacy id, 128 bits too, so that every process uses the same one, days apart. */
interface SteeredIds extends IdGenerator {
  /** The root span that `start` starts has this trace id; null: a new one. */
  inTrace<Started>(trace_id: string | null, start: () => Started): Started;
}

/** The library requests a trace id synchronously while it starts a root span. */
export function createIds(): SteeredIds {
  const random = new RandomIdGenerator();
  let steered: string | null = null;
  return {
    generateTraceId: () => steered ?? random.generateTraceId(),
    generateSpanId: () => random.generateSpanId(),
    inTrace(trace_id, start) {
      steered = trace_id;
      try {
        return start();
      } finally {
        steered = null;
      }
    },
  };
}

/** A UUID without its dashes; the digest of any other id, as some legacy sales have. */
export function traceIdOf(id: string): string {
  const hex = id.replaceAll('-', '').toLowerCase();
  if (/^[0-9a-f]{32}$/.test(hex) && /[1-9a-f]/.test(hex)) return hex;
  return createHash('sha256').update(id).digest('hex').slice(0, 32);
}
