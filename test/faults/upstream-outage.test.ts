/** The whole app in an upstream outage: calls shed before a row is written, probes, and recovery (F31, P12, I15). */
import { describe, expect, it } from 'vitest';
import { createUpstream } from '../../src/proxy/upstream/client.ts';
import { Secret } from '../../src/proxy/vault.ts';
import { type Answer, ARGENTINA, eventually, POINT, tokenOf } from '../kit.ts';
import { openForAll } from '../open.ts';
import { type Row, rowsOf } from '../proxy/http/till.ts';
import { startFaultServer, startGate } from './fault-server.ts';
import * as acts from './fault-server-acts.ts';
import { openTill, startUpstream } from './upstream-stand.ts';

/** Bursts, because a breaker judges intervals of a second and more; so many once it is open. */
const BURSTS = 30;
const PER_BURST = 5;
const PAUSE_MS = 100;
const RETRY_STOCK = 20;

const upstream = openForAll(() => startUpstream());
const gate = openForAll(() => startGate(upstream.port));
const puente = openForAll(() =>
  openTill(gate.url, {
    PUENTE_UPSTREAM_POOL_BREAKER_FAILURES: '20',
    PUENTE_UPSTREAM_POOL_BREAKER_PROBE_MS: '200',
    PUENTE_UPSTREAM_POOL_BREAKER_STEADY_MS: '300',
  }),
);

function rows(device: string): Row[] {
  return rowsOf(puente.data_dir, device);
}

interface Offered {
  device: string;
  told: Answer;
}

/** Until the first one is shed, and then as many bursts again: how soon the breaker opens hangs on the machine. */
async function offerSales(): Promise<{ before: Offered[]; after: Offered[] }> {
  let is_open = false;
  const burst = async (): Promise<Promise<Offered>[]> => {
    const sales = Array.from({ length: PER_BURST }, async () => {
      const device = puente.device();
      const told = await puente.create(device);
      is_open ||= told.status === 503;
      return { device, told };
    });
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    return sales;
  };
  const before: Promise<Offered>[] = [];
  const after: Promise<Offered>[] = [];
  while (!is_open) before.push(...(await burst()));
  for (let nth = 0; nth < BURSTS; nth++) after.push(...(await burst()));
  return { before: await Promise.all(before), after: await Promise.all(after) };
}

describe('an upstream that answers every create with 500', () => {
  it('is sent at most 1.1 times what tills offer, probes included; shed calls leave no row [F31 P12 I15]', async () => {
    upstream.onCreate = () => acts.json(500, { errors: [{ code: 'internal_error' }] });
    const { before, after } = await offerSales();
    const sales = [...before, ...after];
    const isShed = ({ told }: Offered): boolean => told.status === 503;
    expect(after.filter(isShed).length, 'most of them').toBeGreaterThan(after.length / 3);
    const shed = sales.filter(isShed);
    for (const { device, told } of shed) {
      expect(rows(device)).toEqual([]);
      expect(Number(told.headers['retry-after'])).toBeGreaterThan(0);
    }
    for (const { told } of sales) expect(told.status).toBeOneOf([502, 503, 504]);
    expect(upstream.creates().length).toBeLessThanOrEqual(sales.length * 1.1 + RETRY_STOCK);
    expect(upstream.creates().length, 'far below what was offered').toBeLessThan(sales.length);
    expect((await puente.ops('/metrics')).text).toMatch(
      /puente_breaker_changes_total\{service="orders",calls="writes",state="open"\} [1-9]/,
    );
  });

  it('recovers: every sale in doubt gets its one order, and new sales go through [F31]', async () => {
    upstream.onCreate = (honest) => honest;
    const told = await eventually(
      () => puente.create(puente.device()),
      ({ status }) => status === 201,
    );
    expect(told.status).toBe(201);
    const doubtful = [...new Set(upstream.creates().map(({ headers }) => headers['x-idempotency-key'] ?? ''))];
    await eventually(
      async () => doubtful.filter((key) => !upstream.orders.has(key)),
      (left) => left.length === 0,
    );
    const bodies = new Map(upstream.creates().map(({ headers, body }) => [headers['x-idempotency-key'], body]));
    for (const { headers, body } of upstream.creates()) {
      expect(body.equals(bodies.get(headers['x-idempotency-key']) ?? Buffer.alloc(0))).toBe(true);
    }
    expect(upstream.orders.size, 'one order for each key').toBe(doubtful.length);
  });
});

describe('an upstream that resets everything', () => {
  it('reads are answered from the store, and soon without an upstream call [F31]', async () => {
    const device = puente.device();
    const { id } = (
      await eventually(
        () => puente.create(device),
        ({ status }) => status === 201,
      )
    ).body as { id: string }; // a 201 has one
    const read = (): Promise<Answer> => puente.till(`${POINT}/payment-intents/${id}`);
    gate.mode = 'reset';
    await eventually(read, () => puente.alerts.some(({ cause }) => cause === 'kept back: upstream is failing'));
    const told = await read();
    expect([told.status, (told.body as { state?: string }).state]).toEqual([200, 'OPEN']);
    gate.mode = 'open';
    const asked = upstream.heard.length;
    await eventually(read, () => upstream.heard.length > asked);
  });
});

describe('an event-loop stall', () => {
  it('does not count as an upstream timeout: answers that arrived meanwhile are read [F50]', async () => {
    const server = await startFaultServer(() => (socket, heard) => {
      acts.json(200, {})(socket, heard);
      const until = performance.now() + 500;
      while (performance.now() < until); // the answer was sent; the client reads it after its timeout
    });
    const client = createUpstream({
      baseUrl: server.url,
      connections: 1,
      connectTimeout_ms: 3_000,
      userAgent: 'Puente/test',
    });
    const outcome = await client.send({
      name: 'users_me',
      method: 'GET',
      path: '/users/me',
      token: new Secret(tokenOf(ARGENTINA)),
      timeout_ms: 300,
    });
    expect(outcome).toMatchObject({ kind: 'answered', status: 200 });
    await client.close();
    await server.close();
  });
});
