/** A commit of a create succeeds without an answer: the till gets the truth or an error, and there is one order. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Relay, startRelay } from '../../engines/relay.ts';
import { type Bench, eventually, POINT, startBench } from '../../kit.ts';
import { FAST } from '../../proxy/http/till.ts';
import { type Server, startServer } from './server.ts';

const NO_LOOKS = { PUENTE_RECONCILE_POINT_INTERVAL_MS: '3600000', PUENTE_RECONCILE_MAX_INTERVAL_MS: '3600000' };

describe('a commit without an answer', () => {
  let server: Server;
  let address: Relay;
  let bench: Bench;
  beforeAll(async () => {
    server = await startServer();
    address = await startRelay(server.port);
    const PUENTE_POSTGRES_URL = address.urlFor(await server.database());
    bench = await startBench({ ...FAST, ...NO_LOOKS, PUENTE_ROUTING_DEFAULT_STAGE: 'orders', PUENTE_POSTGRES_URL });
    // Only tills may write sales here, so that the lost commit is a till's.
    bench.sandbox.world.configure({ webhook_url: '' });
    // The first create prepares the statements that the relay looks for.
    expect((await create('NEWLAND_N950__LOAD0000001')).status).toBe(201);
  });
  afterAll(async () => {
    await bench?.close();
    await address?.close();
    await server?.remove();
  });

  const create = (device: string) =>
    bench.till(`${POINT}/devices/${device}/payment-intents`, {
      body: { amount: 1500 },
      headers: { 'x-idempotency-key': `key-of-${device}` },
    });
  const ordersOn = (device: string) =>
    [...bench.sandbox.world.orders.values()].filter(
      ({ place }) => place.type === 'point' && place.terminal_id === device,
    );

  it('of the row before anything is sent: the till hears that nothing was sold, and its retry sells once', async () => {
    const device = 'NEWLAND_N950__LOAD0000002';
    const swallowed = address.swallowCommit(0);
    const refused = await create(device);
    await swallowed;
    expect(refused.status).toBe(503);
    expect(ordersOn(device)).toEqual([]);
    const sold = await eventually(
      () => create(device),
      ({ status }) => status === 201,
    );
    const [order, ...others] = ordersOn(device);
    expect(others).toEqual([]);
    expect(order?.status).toBe('created');
    expect(sold.body).toMatchObject({ device_id: device });
  });

  it('of the order that was made: the till hears that nobody knows, and its retry gets that order', async () => {
    const device = 'NEWLAND_N950__LOAD0000003';
    const swallowed = address.swallowCommit(1);
    const unknown = await create(device);
    await swallowed;
    expect(unknown.status).toBe(504);
    expect(ordersOn(device)).toHaveLength(1);
    const sold = await eventually(
      () => create(device),
      ({ status }) => status === 201,
    );
    expect(ordersOn(device)).toHaveLength(1);
    const { id } = sold.body as { id: string }; // a created intent has one
    expect((await bench.till(`${POINT}/payment-intents/${id}`)).body).toMatchObject({ id, state: 'OPEN' });
  });
});
