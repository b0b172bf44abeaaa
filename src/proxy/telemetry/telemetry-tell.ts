/** Writes one finished piece of work as spans: a root of its trace, and below it what was asked upstream for it. */
import {
  type Attributes,
  type Link,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { upstreamRoutes } from '../../contract/upstream.ts';
import type { UpstreamNote } from '../evidence/exchange.ts';
import { maskText } from '../evidence/redact-text.ts';
import type { TelemetryParts } from './telemetry.ts';
import type { SteeredIds } from './telemetry-ids.ts';

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
