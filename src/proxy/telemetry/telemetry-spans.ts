/** What a call, an event, a recovery and an attempt at a notice are called as spans, and which facts of them are told. */
import { type Attributes, type Link, SpanKind } from '@opentelemetry/api';
import type { Operation } from '../../mapping/tables.ts';
import type { Exchange } from '../evidence/exchange.ts';
import type { Attempt, Notice } from '../records/notices.ts';
import type { Heard, Telemetry, Worked } from './spans.ts';
import { traceIdOf } from './telemetry-ids.ts';
import { NO_ANSWER, type Tell, type Told } from './telemetry-tell.ts';

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
