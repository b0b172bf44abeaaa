/** A collector for tests: receives OTLP over HTTP as JSON, and records it. */
import { createServer } from 'node:http';
import { eventually } from '../../kit.ts';
import { listen, shut } from '../../listen.ts';

export interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, unknown>;
  links?: { traceId: string; spanId: string }[];
  status: { code?: number };
}

export interface Metric {
  name: string;
  unit: string;
  sum?: { isMonotonic: boolean; dataPoints: Point[] };
  gauge?: { dataPoints: Point[] };
  histogram?: {
    dataPoints: (Point & { count: number; sum: number; bucketCounts: number[]; explicitBounds: number[] })[];
  };
}

interface Point {
  attributes: { key: string; value: Record<string, unknown> }[];
  asDouble?: number;
  asInt?: number;
}

export interface Collector {
  url: string;
  requests: { path: string; headers: Record<string, unknown>; bytes: Buffer }[];
  spans(): Span[];
  /** Resource attributes of the sender. */
  resource(): Record<string, unknown>;
  /** Of the newest export. */
  metrics(): Metric[];
  waitFor(holds: (spans: Span[]) => boolean): Promise<Span[]>;
  close(): Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  const requests: Collector['requests'] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({ path: request.url ?? '', headers: request.headers, bytes: Buffer.concat(chunks) });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  const port = await listen(server);
  // The wire format: https://github.com/open-telemetry/opentelemetry-proto
  const sent = (path: string): Wire[] =>
    requests.filter((one) => one.path === path).map(({ bytes }) => JSON.parse(bytes.toString('utf8')) as Wire);
  const spans = (): Span[] =>
    sent('/v1/traces')
      .flatMap(({ resourceSpans = [] }) => resourceSpans.flatMap((one) => one.scopeSpans.flatMap((two) => two.spans)))
      .map((span) => ({ ...span, attributes: plain(span.attributes) }));
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    spans,
    resource: () => plain(sent('/v1/traces')[0]?.resourceSpans?.[0]?.resource.attributes ?? []),
    metrics: () =>
      (sent('/v1/metrics').at(-1)?.resourceMetrics ?? []).flatMap((one) =>
        one.scopeMetrics.flatMap(({ metrics }) => metrics),
      ),
    waitFor: (holds) => eventually(() => Promise.resolve(spans()), holds),
    close: () => shut(server),
  };
}

interface Wire {
  resourceSpans?: {
    resource: { attributes: Point['attributes'] };
    scopeSpans: { spans: (Omit<Span, 'attributes'> & { attributes: Point['attributes'] })[] }[];
  }[];
  resourceMetrics?: { scopeMetrics: { metrics: Metric[] }[] }[];
}

export function plain(attributes: Point['attributes']): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
