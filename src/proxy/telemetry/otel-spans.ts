/** What a call, an event, a recovery and an attempt at a notice are called as spans, and which facts of them are told. */

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
import type { Heard, Telemetry, TelemetryParts, Worked } from './port.ts';

/** Names by the semantic conventions for HTTP; what they have no name for is `puente.…`. */
export function createSpans(tell: Tell, operations: readonly Operation[]): Telemetry {
  const routes = new Map(operations.map(({ name, path }) => [name, path]));
  return {
    called: (exchange, heard) => tell(callSpan(exchange, heard, routes.get(exchange.operation ?? ''))),
    worked: (work) => tell(workSpan(work)),
    noticed: (notice, attempt) => tell(noticeSpan(notice, attempt)),
  };
}

/** Those of the standard's list that a door can be asked with. */
const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** A call about no sale is a trace of its own. @param route of the operation; undefined for a call that is none. */
function callSpan(exchange: Exchange, heard: Heard, route: string | undefined): Told {
  const { id, at, duration_ms, upstream, legacy_id, status, outcome } = exchange;
  const method = METHODS.includes(heard.method) ? heard.method : '_OTHER';
  return {
    at,
    duration_ms,
    upstream,
    name: [method === '_OTHER' ? 'HTTP' : method, route ?? ''].join(' ').trim(),
    kind: SpanKind.SERVER,
    trace_id: traceIdOf(legacy_id ?? id),
    links: linksOf(heard.traceparent),
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

function workSpan({ name, at, duration_ms, legacy_id, merchant_id, upstream, outcome }: Worked): Told {
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

function noticeSpan(notice: Notice, { at, duration_ms, status, outcome, url }: Attempt): Told {
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

/** `traceparent` of W3C Trace Context, version 00; what else somebody sends there is nothing. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** A till's own trace is pointed at and trusted no further: it decides neither the trace nor what is sampled. */
function linksOf(traceparent: string | null): Link[] {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined) return [];
  return [{ context: { traceId, spanId, traceFlags: Number.parseInt(flags ?? '0', 16) & 1, isRemote: true } }];
}

// Writes one finished piece of work as spans: a root of its trace, and below it what was asked upstream for it.

export interface Told {
  name: string;
  kind: SpanKind;
  /** Null: nothing says which trace it belongs to. */
  trace_id: string | null;
  /** Epoch ms. */
  at: number;
  duration_ms: number;
  /** Those that are undefined are left out. */
  attributes: Attributes;
  /** Names what went wrong; null where nothing did. */
  error: string | null;
  links?: Link[];
  upstream?: readonly UpstreamNote[];
}

/** Stands for an answer that did not come. */
export const NO_ANSWER = 'no_answer';

export type Tell = (told: Told) => void;

/** Roots have no parent: what belongs to one sale is told by processes that know nothing of each other. */
export function createTell(tracer: Tracer, ids: SteeredIds, hosts: TelemetryParts['hosts']): Tell {
  return ({ name, kind, trace_id, at, duration_ms, attributes, error, links = [], upstream = [] }) => {
    const options = { kind, startTime: at, links, attributes: cleaned({ ...attributes, ...errorOf(error) }) };
    const span = ids.inTrace(trace_id, () => tracer.startSpan(name, options, ROOT_CONTEXT));
    const below = trace.setSpan(ROOT_CONTEXT, span);
    for (const note of upstream) {
      const begun = at + (note.began_ms ?? 0);
      const asked = { kind: SpanKind.CLIENT, startTime: begun, attributes: cleaned(attributesOf(note, hosts)) };
      const child = tracer.startSpan(nameOf(note), asked, below);
      if (faultOf(note) !== null) child.setStatus({ code: SpanStatusCode.ERROR });
      child.end(begun + note.duration_ms);
    }
    if (error !== null) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(at + duration_ms);
  };
}

/** The documented calls by their route; what else was asked by our own name of it. */
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
    'server.address': isOfLegacy(note.name) ? hosts.legacy : hosts.orders,
    'puente.call': note.name,
    ...errorOf(faultOf(note)),
  };
}

function routeNamed(name: string): { method: string; path: string } | null {
  return Object.entries(upstreamRoutes).find(([known]) => known === name)?.[1] ?? null;
}

/** Carried calls, and what stories ask the old world (`LegacyReadName`). */
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

/** The last scrubber, as in the log: whatever a text is, no token, card or key stands in it. */
function cleaned(attributes: Attributes): Attributes {
  const kept: Attributes = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) kept[name] = typeof value === 'string' ? maskText(value, true) : value;
  }
  return kept;
}

// The trace of a sale is its legacy id: both have 128 bits, so that every process finds the same one, days apart.

export interface SteeredIds extends IdGenerator {
  /** Runs `start` so that the root span it starts is of this trace; null: of a new one. */
  inTrace<Started>(trace_id: string | null, start: () => Started): Started;
}

/** The library asks for a trace id while a root span is started, and nothing else runs meanwhile. */
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

/** A UUID without its dashes; an id of another form, as some sales on legacy have, by its digest. */
export function traceIdOf(id: string): string {
  const hex = id.replaceAll('-', '').toLowerCase();
  if (/^[0-9a-f]{32}$/.test(hex) && /[1-9a-f]/.test(hex)) return hex;
  return createHash('sha256').update(id).digest('hex').slice(0, 32);
}
