/**
 * A till's reference goes upstream if it fits and is new, and returns unchanged (`docs/architecture.md` Decision 5).
 */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ARGENTINA, call, eventually, INTENT, startReceiver, tokenOf, topicOf } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { idOf, LEFT_IN_DOUBT, openShop } from './till.ts';

const shop = openForAll(() => openShop());
const receiver = openForAll(() => startReceiver());
beforeAll(async () => {
  await shop.notify(ARGENTINA, { notice_url: receiver.url });
});
afterEach(async () => {
  await shop.clearFaults();
});

function sale(device: string, reference: unknown) {
  return shop.create(device, { additional_info: { external_reference: reference, print_on_terminal: false } });
}

describe('a reference that does not fit is replaced upstream by a derived one [F86]', () => {
  it.each(['Pedido 002', 'a'.repeat(65), 'señal·1', '🧾 42', 'a/b?c=d&e', '"quoted"\n', '-'.repeat(300), ''])(
    '%j',
    async (reference) => {
      const device = shop.freshDevice();
      const created = await sale(device, reference);
      expect(created.status).toBe(201);
      const [order] = await shop.orders(device);
      expect(order?.external_reference).toMatch(/^pnt[0-9a-f]{32}$/);
      expect((created.body as { additional_info: unknown }).additional_info).toEqual({
        external_reference: reference,
        print_on_terminal: false,
      });
      const read = await shop.read(idOf(created));
      expect(read.body).toMatchObject({ additional_info: { external_reference: reference } });
      const told = () => receiver.received.filter((one) => topicOf(one) === INTENT);
      const before = told().length;
      await shop.atTerminal('pay', { device });
      await receiver.waitFor(before + 1, INTENT);
      expect(told()[before]?.body).toMatchObject({
        id: idOf(created),
        additional_info: { external_reference: reference },
      });
    },
  );
});

describe('a reference that fits', () => {
  it.each(['sale-77', 'A'.repeat(64), '12_3_0f-9'])('%j', async (reference) => {
    const device = shop.freshDevice();
    await sale(device, reference);
    expect((await shop.orders(device)).map((order) => order.external_reference)).toEqual([reference]);
  });

  it('and is used again after the first sale was paid is derived, and both tills read their own [F86]', async () => {
    const device = shop.freshDevice();
    const first = idOf(await sale(device, 'repeats'));
    await shop.atTerminal('pay', { device });
    await eventually(
      async () => (await shop.read(first)).body,
      (body) => (body as { state: string }).state === 'FINISHED',
    );
    const second = idOf(await sale(device, 'repeats'));
    const sent = (await shop.orders(device)).map((order) => order.external_reference);
    expect(sent[0]).toBe('repeats');
    expect(sent[1]).toMatch(/^pnt/);
    for (const id of [first, second]) {
      expect((await shop.read(id)).body).toMatchObject({ additional_info: { external_reference: 'repeats' } });
    }
  });

  it('used at once on two terminals, both sales are made', async () => {
    const devices = [shop.freshDevice(), shop.freshDevice()];
    const answers = await Promise.all(devices.map((device) => sale(device, 'twins')));
    expect(answers.map((answer) => answer.status)).toEqual([201, 201]);
    const sent = await Promise.all(devices.map(async (device) => (await shop.orders(device))[0]?.external_reference));
    expect(sent.filter((reference) => reference === 'twins')).toHaveLength(1);
  });
});

describe("another system's order with the same reference", () => {
  async function foreignOrder(reference: string, terminal_id: string): Promise<string> {
    const answer = await call(`${shop.sandbox.url}/v1/orders`, {
      token: tokenOf(ARGENTINA),
      headers: { 'x-idempotency-key': `foreign-${reference}` },
      body: {
        type: 'point',
        external_reference: reference,
        transactions: { payments: [{ amount: '15.00' }] },
        config: { point: { terminal_id } },
      },
    });
    expect(answer.status).toBe(201);
    return idOf(answer);
  }

  it('does not lose the sale: it goes with a derived one', async () => {
    await foreignOrder('shared-1', shop.freshDevice());
    const device = shop.freshDevice();
    const created = await sale(device, 'shared-1');
    expect(created.status).toBe(201);
    expect((await shop.orders(device)).map((order) => order.external_reference)).toEqual([
      expect.stringMatching(/^pnt/),
    ]);
    expect(shop.rows(device).map((row) => row.state)).toEqual(['REJECTED', 'LIVE']);
    expect((await shop.read(idOf(created))).body).toMatchObject({
      additional_info: { external_reference: 'shared-1' },
    });
  });

  it('never becomes the payment of our refused attempt: its event tells the merchant nothing', async () => {
    const device = shop.freshDevice();
    await foreignOrder('shared-2', device);
    expect((await sale(device, 'shared-2')).status, 'the terminal is taken').toBe(409);
    const before = receiver.received.length;
    await shop.atTerminal('pay', { device });
    await eventually(
      async () => (await shop.ops('/metrics')).text,
      (text) => /puente_events_total\{outcome="(parked|done)"\} [1-9]/.test(text),
    );
    expect(shop.rows(device)).toMatchObject([
      { state: 'REJECTED', reference_sent: 'shared-2', order_id: null },
      { state: 'REJECTED', order_id: null },
    ]);
    expect(receiver.received.length).toBe(before);
  });

  it('on another terminal is not adopted by our create in doubt', async () => {
    const device = shop.freshDevice();
    await shop.fault(LEFT_IN_DOUBT);
    expect((await sale(device, 'shared-3')).status).toBe(504);
    const elsewhere = shop.freshDevice();
    await foreignOrder('shared-3', elsewhere);
    await shop.atTerminal('pay', { device: elsewhere });
    await eventually(
      async () => (await shop.ops('/metrics')).text,
      (text) => /puente_events_total\{outcome="parked"\} [2-9]/.test(text),
    );
    expect(shop.rows(device)).toMatchObject([{ state: 'IN_DOUBT', order_id: null }]);
  });
});
