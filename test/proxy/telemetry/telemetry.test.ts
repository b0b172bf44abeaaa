/** Telemetry over real sockets: one trace per sale, the values of `/metrics`, and data that must not be exported. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Log, LogFields } from '../../../src/proxy/log.ts';
import { searchFor } from '../../faults/canary-search.ts';
import { ARGENTINA, eventually, type Receiver, startReceiver, tokenOf } from '../../kit.ts';
import { idOf, openShop, type Shop } from '../http/till.ts';
import { type Collector, plain, type Span as Sent, startCollector } from './collector.ts';

const HEADER_SECRET = 'the-key-of-our-collector';
const TILL_TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const TILL_SPAN = '00f067aa0ba902b7';

let shop: Shop;
let collector: Collector;
let receiver: Receiver;
const lines: { level: string; message: string; fields: LogFields }[] = [];

afterEach(async () => {
  await shop.close();
  await receiver?.close();
  await collector.close();
  vi.unstubAllEnvs();
  lines.length = 0;
});

async function open(variables: Record<string, string> = {}): Promise<void> {
  collector = await startCollector();
  const all = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: `x-key=${HEADER_SECRET}`,
    OTEL_BSP_SCHEDULE_DELAY: '20',
    OTEL_METRICS_EXPORTER: 'none',
    ...variables,
  };
  for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
  shop = await openShop({}, { environment: process.env, log: keptLog() });
}

function keptLog(): Log {
  const keep =
    (level: string) =>
    (message: string, fields: LogFields = {}): void =>
      void lines.push({ level, message, fields });
  return { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') };
}

const traceOf = (id: string): string => id.replaceAll('-', '');
const first = (spans: Sent[], name: string): Sent | undefined => spans.find((span) => span.name === name);

describe('traces', () => {
  it('create, upstream calls, reads, the event and each attempt at the notice join one trace: the legacy id', async () => {
    await open({
      OTEL_SERVICE_NAME: 'puente-of-the-test',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    });
    let attempts = 0;
    receiver = await startReceiver(() => (++attempts === 1 ? 500 : 200));
    await shop.notify(ARGENTINA, {
      notice_url: `${receiver.url}/path-of-the-shop?key=key-of-the-shop`,
      point_payment_notices: 'off',
    });
    const device = shop.freshDevice();
    const traceparent = `00-${TILL_TRACE}-${TILL_SPAN}-01`;
    const id = idOf(await shop.create(device, {}, { headers: { traceparent } }));
    await shop.read(id);
    await shop.atTerminal('pay', { device });
    await receiver.waitFor(1);
    const of = (spans: Sent[]): Sent[] => spans.filter((span) => span.traceId === traceOf(id));
    const refused = first(of(await collector.waitFor((all) => first(of(all), 'notice') !== undefined)), 'notice');
    const redelivery = `/api/notices/${refused?.attributes['puente.notice']}/replay`;
    expect((await shop.ops(redelivery, { body: { reason: 'the shop is back' } })).status).toBe(200);
    await receiver.waitFor(2);
    const spans = of(
      await collector.waitFor(
        (all) =>
          ['event', 'GET /point/integration-api/payment-intents/:intent_id'].every((name) =>
            of(all).some((span) => span.name === name),
          ) && of(all).filter(({ name }) => name === 'notice').length === 2,
      ),
    );
    const create = first(spans, 'POST /point/integration-api/devices/:device_id/payment-intents');
    expect(create).toMatchObject({
      kind: 2,
      links: [{ traceId: TILL_TRACE, spanId: TILL_SPAN }],
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/point/integration-api/devices/:device_id/payment-intents',
        'http.response.status_code': 201,
        'puente.operation': 'point.create_intent',
        'puente.lane': 'orders',
        'puente.stage': 'orders',
        'puente.outcome': 'ok',
        'puente.merchant': ARGENTINA,
        'puente.legacy_id': id,
      },
    });
    expect(create?.parentSpanId ?? '').toBe('');
    const sent = first(spans, 'POST /v1/orders');
    expect(sent).toMatchObject({
      kind: 3,
      parentSpanId: create?.spanId,
      attributes: { 'puente.call': 'create', 'http.response.status_code': 201, 'server.address': '127.0.0.1' },
    });
    const [from, to] = [BigInt(create?.startTimeUnixNano ?? 0), BigInt(create?.endTimeUnixNano ?? 0)];
    expect(BigInt(sent?.startTimeUnixNano ?? 0)).toBeGreaterThanOrEqual(from);
    expect(BigInt(sent?.endTimeUnixNano ?? 0)).toBeLessThanOrEqual(to);
    const event = first(spans, 'event');
    expect(event).toMatchObject({ kind: 5, attributes: { 'puente.outcome': 'done', 'puente.legacy_id': id } });
    expect(spans.some((span) => span.name === 'GET /v1/orders/:order_id' && span.parentSpanId === event?.spanId)).toBe(
      true,
    );
    expect(refused).toMatchObject({
      kind: 3,
      status: { code: 2 },
      attributes: {
        'http.response.status_code': 500,
        'error.type': '500',
        'server.address': '127.0.0.1',
        'puente.attempt': 1,
        'puente.outcome': 'theirs',
        'puente.legacy_id': id,
      },
    });
    expect(spans.findLast(({ name }) => name === 'notice')).toMatchObject({
      status: { code: 0 },
      attributes: { 'http.response.status_code': 200, 'puente.attempt': 2, 'puente.outcome': 'delivered' },
    });
    expect(collector.resource()).toMatchObject({
      'service.name': 'puente-of-the-test',
      'deployment.environment.name': 'test',
      'service.version': expect.any(String),
    });
  });

  it('a create in doubt that is completed by itself stays in its trace', async () => {
    await open();
    const device = shop.freshDevice();
    await shop.fault({ method: 'POST', path: '/v1/orders', kind: 'no_answer', when: 'after', times: 4 });
    expect((await shop.create(device)).status).toBeGreaterThanOrEqual(500);
    const [row] = shop.rows(device);
    const spans = await collector.waitFor((all) => all.some(({ name }) => name === 'recovery'));
    const recovery = first(spans, 'recovery');
    expect(recovery).toMatchObject({ traceId: traceOf(row?.legacy_id ?? ''), kind: 1 });
    expect(spans.some((span) => span.parentSpanId === recovery?.spanId && span.kind === 3)).toBe(true);
    expect(first(spans, 'POST /point/integration-api/devices/:device_id/payment-intents')).toMatchObject({
      traceId: recovery?.traceId,
      status: { code: 2 },
    });
  });

  it('a call about no sale is a trace of its own, and a till decides neither the trace nor what is sampled', async () => {
    await open();
    const headers = { traceparent: `00-${TILL_TRACE}-${TILL_SPAN}-00` };
    await shop.till('/point/integration-api/devices', { headers });
    await shop.till('/point/integration-api/devices', { headers: { traceparent: 'not one' } });
    const spans = await collector.waitFor((all) => all.filter(({ kind }) => kind === 2).length === 2);
    const [linked, lone] = spans.filter(({ kind }) => kind === 2);
    expect(linked).toMatchObject({ name: 'GET /point/integration-api/devices', links: [{ traceId: TILL_TRACE }] });
    expect(lone?.links ?? []).toEqual([]);
    for (const span of [linked, lone]) expect(span?.traceId).toBe(traceOf(String(span?.attributes['puente.exchange'])));
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(2);
  });

  it('a proxied call is told with what was proxied, and a path that nobody knows without it', async () => {
    await open();
    await shop.till('/v1/secret-store-of-somebody', { method: 'DELETE' });
    await shop.till('/v1/secret-store-of-somebody?access_token=abc');
    const spans = await collector.waitFor((all) => all.filter(({ kind }) => kind === 2).length === 2);
    expect(spans.filter(({ kind }) => kind === 2).map(({ name }) => name)).toEqual(['DELETE', 'GET']);
    expect(first(spans, 'legacy')).toMatchObject({ kind: 3, attributes: { 'puente.call': 'legacy' } });
    expect(JSON.stringify(spans)).not.toContain('secret-store');
  });

  it.each([
    ['always_off', '1'],
    ['traceidratio', '0'],
  ])('%s sends no span', async (sampler, share) => {
    await open({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: share });
    await shop.create(shop.freshDevice());
    await shop.app.close();
    expect(collector.requests).toEqual([]);
  });

  it('protobuf is spoken unless something else is asked for', async () => {
    await open({ OTEL_EXPORTER_OTLP_PROTOCOL: '' });
    const id = idOf(await shop.create(shop.freshDevice()));
    await shop.app.close();
    const trace = Buffer.from(traceOf(id), 'hex');
    expect(collector.requests.some(({ bytes }) => bytes.includes(trace))).toBe(true);
    for (const { path, headers } of collector.requests) {
      expect(path).toBe('/v1/traces');
      expect(headers).toMatchObject({ 'content-type': 'application/x-protobuf', 'x-key': HEADER_SECRET });
    }
  });
});

describe('what leaves', () => {
  it('nothing while no variable asks for it', async () => {
    await open({ OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_METRICS_EXPORTER: '' });
    await shop.create(shop.freshDevice());
    await shop.app.close();
    expect(collector.requests).toEqual([]);
  });

  it('no token of a header or a query, no body, no path of a receiver; and no header of the collector in the log', async () => {
    await open({ OTEL_METRICS_EXPORTER: 'otlp' });
    receiver = await startReceiver(() => 500);
    await shop.notify(ARGENTINA, { notice_url: `${receiver.url}/path-of-the-shop?key=key-of-the-shop` });
    const device = shop.freshDevice();
    const token = tokenOf(ARGENTINA);
    const reference = 'reference-only-the-till-knows';
    const id = idOf(await shop.create(device, { additional_info: { external_reference: reference } }));
    await shop.till(`/point/integration-api/payment-intents/${id}?access_token=${token}`, { token: null });
    await shop.till(`/point/integration-api/payment-intents/${token}`);
    await shop.till(`/v1/anything/${token}?access_token=${token}`, {
      headers: { traceparent: token, tracestate: token },
    });
    await shop.atTerminal('pay', { device });
    await receiver.waitFor(1);
    await shop.app.close();
    const search = searchFor({
      token,
      header: HEADER_SECRET,
      receiver: 'path-of-the-shop',
      key: 'key-of-the-shop',
      card: '4111111111111111',
      reference,
    });
    expect(collector.spans().length).toBeGreaterThan(5);
    for (const { bytes } of collector.requests) expect(search(bytes)).toEqual([]);
    expect(search(JSON.stringify(lines))).toEqual([]);
    expect(searchFor({ id })(Buffer.concat(collector.requests.map(({ bytes }) => bytes)))).toContain('id (raw)');
  });
});

describe('a collector that does not take it', () => {
  it('is told once, while tills are served', async () => {
    const refusing = await startReceiver(() => 400);
    await open({ OTEL_EXPORTER_OTLP_ENDPOINT: refusing.url });
    await eventually(
      async () => {
        expect((await shop.create(shop.freshDevice())).status).toBe(201);
        return refusing.received.length;
      },
      (count) => count >= 3,
    );
    const told = lines.filter(({ message }) => message.startsWith('telemetry'));
    expect(told).toEqual([
      {
        level: 'warn',
        message: 'telemetry was not accepted and is dropped',
        fields: { action: 'traces', cause: '400' },
      },
    ]);
    await refusing.close();
  });

  it('holds up neither a call nor the end, when it never answers', async () => {
    const hanging = await startReceiver(() => new Promise<number>(() => undefined));
    // Without Puente's own bound, the stop would wait for the exporter's timeout, longer than this test.
    const patient = { OTEL_EXPORTER_OTLP_TIMEOUT: '600000', OTEL_BSP_EXPORT_TIMEOUT: '600000' };
    await open({ OTEL_EXPORTER_OTLP_ENDPOINT: hanging.url, OTEL_METRICS_EXPORTER: 'otlp', ...patient });
    await shop.create(shop.freshDevice());
    await hanging.waitFor(0);
    await eventually(
      () => Promise.resolve(hanging.received.length),
      (count) => count >= 1,
    );
    expect((await shop.create(shop.freshDevice())).status).toBe(201);
    await shop.app.close();
    await hanging.close();
  });

  it('is not there', async () => {
    await open({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
    expect((await shop.create(shop.freshDevice())).status).toBe(201);
    await shop.app.close();
  });
});

describe('metrics', () => {
  it('are those of /metrics, with the same values, by the names of the conventions', async () => {
    await open({ OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'otlp', OTEL_METRIC_EXPORT_INTERVAL: '50' });
    await shop.create(shop.freshDevice());
    await shop.create(shop.freshDevice());
    await shop.read('019539a0-0000-7000-8000-00000000dead');
    await shop.till('/v1/secret-store-of-somebody');
    const page = (await shop.ops('/metrics')).text;
    const shown = (series: string): number => Number(page.match(new RegExp(`^${series} (.+)$`, 'm'))?.[1]);
    await eventually(
      () => Promise.resolve(collector.metrics()),
      (all) =>
        valueIn(all, 'puente.creates', { 'puente.outcome': 'created' }) === 2 && pointsOf(all, CLIENT).length > 2,
    );
    const all = collector.metrics();
    const names = [...page.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name);
    expect(all.length).toBe(names.length);
    expect(
      all.filter(({ name }) => /^puente(?!\.)|_(total|seconds|bytes)$/.test(name) && !/^(process|nodejs)_/.test(name)),
    ).toEqual([]);
    for (const [name, unit] of [
      ['nodejs.eventloop.delay.p99', 's'],
      ['process.cpu.time', 's'],
      ['puente.disk', 'By'],
      [SERVER, 's'],
      [CLIENT, 's'],
    ])
      expect(all.find((one) => one.name === name)?.unit, name).toBe(unit);
    const labels = '{method="POST",operation="point.create_intent",lane="orders",outcome="ok",status="201"}';
    const histogram = pointsOf(all, SERVER).find(
      ({ attributes }) => plain(attributes)['http.request.method'] === 'POST',
    );
    expect(plain(histogram?.attributes ?? [])).toEqual({
      'http.request.method': 'POST',
      'http.response.status_code': 201,
      'http.route': '/point/integration-api/devices/:device_id/payment-intents',
      'url.scheme': 'http',
      'puente.operation': 'point.create_intent',
      'puente.lane': 'orders',
      'puente.outcome': 'ok',
    });
    const proxied = pointsOf(all, CLIENT).map(({ attributes }) => plain(attributes));
    expect(proxied).toContainEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 404,
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(shop.app.sandbox?.url ?? '').port),
      'error.type': '404',
      'puente.service': 'legacy',
      'puente.call': 'legacy',
    });
    const series = 'puente_http_request_duration_seconds';
    expect(histogram).toMatchObject({ count: 2, sum: shown(`${series}_sum\\${labels}`) });
    // https://opentelemetry.io/docs/specs/semconv/http/http-metrics/
    expect(histogram?.explicitBounds).toEqual([
      0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
    ]);
    let below = 0;
    for (const [index, bound] of (histogram?.explicitBounds ?? []).entries()) {
      below += Number(histogram?.bucketCounts[index]);
      const bucket = labels.replace('{', `{le="${bound}",`);
      expect(below, bucket).toBe(shown(`${series}_bucket\\${bucket}`));
    }
    expect(histogram?.bucketCounts).toHaveLength(15);
    const live = page.match(/^puente_links\{state="LIVE"\} (\d+)$/m)?.[1];
    expect(valueIn(all, 'puente.links', { 'puente.state': 'LIVE' })).toBe(Number(live));
    expect(all.find(({ name }) => name === 'puente.creates')?.sum?.isMonotonic).toBe(true);
  });
});

const SERVER = 'http.server.request.duration';
const CLIENT = 'http.client.request.duration';

function pointsOf(all: ReturnType<Collector['metrics']>, name: string) {
  return all.find((one) => one.name === name)?.histogram?.dataPoints ?? [];
}

function valueIn(all: ReturnType<Collector['metrics']>, name: string, labels: Record<string, string>): unknown {
  const metric = all.find((one) => one.name === name);
  const points = (metric?.sum ?? metric?.gauge)?.dataPoints ?? [];
  return points.find(({ attributes }) => same(plain(attributes), labels))?.asDouble;
}

function same(one: Record<string, unknown>, other: Record<string, unknown>): boolean {
  return JSON.stringify(Object.entries(one).sort()) === JSON.stringify(Object.entries(other).sort());
}
