/** Whole QR sales as real tills and receivers make them, proxied and translated (`docs/field-notes.md` QR §7). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ARGENTINA, BRAZIL, call } from '../kit.ts';
import { closing } from '../open.ts';
import { makeCode } from './qr-clients.ts';
import { readCode, readFields } from './qr-emv.ts';
import { openShop, type Shop, type Stage } from './qr-shop.ts';

const TILL = 'SUC001POS001';
const stages: readonly Stage[] = ['orders', 'legacy'];
/** Most of it is the start of Puente on a busy machine. */
const LIMIT_MS = 30_000;

describe.each(stages)('stage %s', (stage) => {
  let shop: Shop;
  beforeEach(async () => {
    shop = await openShop(stage, ARGENTINA);
  }, LIMIT_MS);
  afterEach(() => shop.close(), LIMIT_MS);

  test('v1: the receiver reads the merchant order inside its handler and releases the item once it is paid', async () => {
    const { connection, receiver } = shop;
    const created = await call(`${connection.door_url}/mpmobile/instore/qr/${ARGENTINA}/${TILL}`, {
      token: connection.token,
      headers: { 'x-ttl-store-preference': '300' },
      body: {
        external_reference: 'Factura B 0001-00001234',
        notification_url: `${receiver.url}?tenant=3`,
        items: [
          { id: 78123172, title: 'Coffee', currency_id: 'ARS', unit_price: 120.5, quantity: 2, description: 'Black' },
          { id: 'B2', title: 'Croissant', currency_id: 'ARS', unit_price: 99.99, quantity: 1, description: '' },
        ],
      },
    });
    expect(created).toMatchObject({ status: 200, body: { total_amount: 340.99 } });
    await shop.handledAtLeast(1);
    expect(shop.handled[0]).toMatchObject({ topic: 'merchant_order', status: 'opened', verdict: 'not paid' });
    await shop.buyer('pay', TILL);
    const [, ...later] = await shop.handledAtLeast(3);
    expect(later.map(({ topic }) => topic).sort()).toEqual(['merchant_order', 'payment']);
    for (const handled of later) {
      expect(handled).toMatchObject({ status: 'closed', order_status: 'paid', verdict: 'release the item' });
      // The payment notice leads to the same merchant order as the other notice.
      expect(handled.asked).toBe(shop.handled[0]?.asked);
    }
    expect(receiver.received.map(({ query }) => query.get('tenant'))).toEqual(['3', '3', '3']);
    expect(shop.failures).toEqual([]);
  });

  test('dynamic: the till renders the code, and two of them wait side by side', async () => {
    const { connection, receiver } = shop;
    const sale = { title: 'Two coffees', total: 1500, notification_url: receiver.url };
    const first = await makeCode(connection, 'POST', TILL, { ...sale, reference: 'D1' });
    const second = await makeCode(connection, 'POST', TILL, { ...sale, reference: 'D2', total: 1600 });
    expect(first.in_store_order_id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(first.qr_data).not.toBe(second.qr_data);
    const code = readCode(first.qr_data);
    expect([code.get('00'), code.get('53'), code.get('54'), code.get('58')]).toEqual(['01', '032', '1500.00', 'AR']);
    expect(readFields(code.get('43') ?? '').get('00')).toBe('COM.MERCADOLIBRE');
    await shop.buyerOf('pay', payableOf(shop, second.qr_data));
    await shop.handledAtLeast(4);
    const read = await shop.bench.till('/merchant_orders/search?external_reference=D2');
    expect(read.body).toMatchObject({ total: 1, elements: [{ status: 'closed', paid_amount: 1600 }] });
    const other = await shop.bench.till('/merchant_orders/search?external_reference=D1');
    expect(other.body).toMatchObject({ total: 1, elements: [{ status: 'opened', payments: [] }] });
    expect(shop.failures).toEqual([]);
  });

  test('hybrid: shown by the printed code too, and paid there', async () => {
    const { connection, receiver } = shop;
    const sale = { reference: 'H1', title: 'Two coffees', total: 1500, notification_url: receiver.url };
    const { qr_data } = await makeCode(connection, 'PUT', TILL, sale);
    expect(readCode(qr_data).get('54')).toBe('1500.00');
    const path = `/instore/qr/seller/collectors/${ARGENTINA}/pos/${TILL}/orders`;
    expect((await shop.bench.till(path)).body).toMatchObject({ external_reference: 'H1', total_amount: 1500 });
    await shop.buyer('pay', TILL);
    await shop.handledAtLeast(3);
    expect(shop.handled.slice(1)).toEqual([
      expect.objectContaining({ verdict: 'release the item' }),
      expect.objectContaining({ verdict: 'release the item' }),
    ]);
    expect((await shop.bench.till(path)).status).toBe(404);
  });
});

test('Brazil: any bank pays the code by its Pix location', async () => {
  for (const stage of stages) {
    await using shop = closing(await openShop(stage, BRAZIL));
    const { qr_data } = await makeCode(shop.connection, 'POST', TILL, { reference: 'P1', title: 'Café', total: 25 });
    const code = readCode(qr_data);
    expect([code.get('53'), code.get('54'), code.get('58')]).toEqual(['986', '25.00', 'BR']);
    const account = readFields(code.get('26') ?? '');
    expect(account.get('00')).toBe('br.gov.bcb.pix');
    expect(account.get('25')).toMatch(/^pix-qr\.mercadopago\.com\//);
  }
});

/** Finds the payment as a wallet does: by the text of the code. */
function payableOf({ bench }: Shop, qr_data: string): string {
  const { world } = bench.sandbox;
  const order = [...world.orders.values()].find(({ place }) => place.type === 'qr' && place.qr_data === qr_data);
  const id = order?.id ?? [...world.payables.keys()].find((payable) => qr_data.includes(payable));
  if (id === undefined) throw new Error('Nobody waits for a payment of this code');
  return id;
}
