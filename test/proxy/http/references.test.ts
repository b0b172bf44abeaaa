/**
 * A till's reference goes upstream if it fits and is new, and returns unchanged (`docs/architecture.md` Decision 5).
 */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ARGENTINA, eventually, INTENT, startReceiver, topicOf } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { idOf, openShop } from './till.ts';

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
  it.each(['Pedido 002', '🧾 42', '"quoted"\n', ''])('%j', async (reference) => {
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
  });
});

describe('a reference that fits', () => {
  it('and is used at once on two terminals makes both sales, one with a derived reference [F86]', async () => {
    const devices = [shop.freshDevice(), shop.freshDevice()];
    const answers = await Promise.all(devices.map((device) => sale(device, 'twins')));
    expect(answers.map((answer) => answer.status)).toEqual([201, 201]);
    const sent = await Promise.all(devices.map(async (device) => (await shop.orders(device))[0]?.external_reference));
    expect(sent.filter((reference) => reference === 'twins')).toHaveLength(1);
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
});
