/** One order at a time on a till's code (`docs/field-notes.md` QR §1.2, `docs/protocol.md` §3.9). */
import { afterEach, describe, expect, it } from 'vitest';
import { openForAll } from '../../open.ts';
import { openQrShop, orderPath, preference, preferencePath, type QrShop, storeOrder } from './qr-till.ts';
import { LEFT_IN_DOUBT } from './till.ts';

const shop = openForAll(() => openQrShop());
afterEach(async () => {
  await shop.clearFaults();
});

function put(till: string, change: object = {}): ReturnType<QrShop['till']> {
  return shop.till(orderPath(till), { method: 'PUT', body: storeOrder(change) });
}

async function statesAt(till: string): Promise<string[]> {
  return (await shop.ordersAt(till)).map(({ status }) => status);
}

describe('refused', () => {
  it('while the earlier create is not known, and works once it is', async () => {
    const { external_id } = shop.freshTill();
    await shop.fault({ ...LEFT_IN_DOUBT, times: 100 });
    expect((await put(external_id)).status).toBe(504);
    const second = await put(external_id, { external_reference: 'Factura 0003' });
    expect([second.status, second.body]).toEqual([
      409,
      {
        error: 'in_store_order_pending',
        message: 'The order before this one is not known yet; try again',
        status: 409,
        causes: [],
      },
    ]);
    const removed = await shop.till(orderPath(external_id), { method: 'DELETE' });
    expect([removed.status, removed.body]).toMatchObject([409, { error: 'in_store_order_pending' }]);
    await shop.clearFaults();
    expect((await put(external_id, { external_reference: 'Factura 0004' })).status).toBe(204);
    expect((await statesAt(external_id)).filter((status) => status === 'created')).toHaveLength(1);
  });

  it('a table refuses before the earlier order is touched', async () => {
    const { external_id } = shop.freshTill();
    await put(external_id);
    expect((await put(external_id, { total_amount: 302 })).status).toBe(400);
    expect(await statesAt(external_id)).toEqual(['created']);
  });
});

it('the earlier order is canceled upstream, whichever family put it there', async () => {
  const { external_id } = shop.freshTill();
  expect((await shop.till(preferencePath(external_id), { body: preference() })).status).toBe(200);
  expect((await put(external_id)).status).toBe(204);
  expect((await put(external_id, { external_reference: 'Factura 0003' })).status).toBe(204);
  expect(await statesAt(external_id)).toEqual(['canceled', 'canceled', 'created']);
  expect((await shop.till(orderPath(external_id), { method: 'DELETE' })).status).toBe(204);
  expect(await statesAt(external_id)).toEqual(['canceled', 'canceled', 'canceled']);
  const again = await shop.till(orderPath(external_id), { method: 'DELETE' });
  expect([again.status, again.text]).toEqual([204, '']);
});

it('tills that send DELETE before every PUT lose nothing', async () => {
  const { external_id } = shop.freshTill();
  for (const number of [1, 2, 3]) {
    expect((await shop.till(orderPath(external_id), { method: 'DELETE' })).status).toBe(204);
    expect((await put(external_id, { external_reference: `sale-${external_id}-${number}` })).status).toBe(204);
  }
  expect(await statesAt(external_id)).toEqual(['canceled', 'canceled', 'created']);
});
