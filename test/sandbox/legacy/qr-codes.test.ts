/** Dynamic and hybrid codes, cash withdrawal and its confirmation: `docs/field-notes.md` QR §1.3 and §1.4, rule by rule. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { qrCodeAnswer } from '../../../src/contract/legacy-qr.ts';
import { ARGENTINA, BRAZIL, codePath, openShop, preference, type Shop, storeOrder, v1Path, v2Path } from './qr-kit.ts';

let shop: Shop;
beforeEach(async () => {
  shop = await openShop();
});
afterEach(() => shop.close());

const make = (method: 'POST' | 'PUT', changes: object = {}, path = codePath()) =>
  shop.call(method, path, { body: storeOrder(changes) });
const states = async () => (await shop.orders()).map(({ mode, state }) => `${mode} ${state}`);

describe('codes', () => {
  it.each(['POST', 'PUT'] as const)(
    '%s answers 201 with the id and the code, or 200 where the setting says so',
    async (method) => {
      const reply = await make(method);
      expect(reply.status).toBe(201);
      expect(Object.keys(reply.body)).toEqual(['in_store_order_id', 'qr_data']);
      expect(qrCodeAnswer.safeParse(reply).success).toBe(true);
      expect(reply.body.in_store_order_id).toMatch(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      expect(reply.body.qr_data).toMatch(/^00020101021243650016COM\.MERCADOLIBRE0201306/);
      expect(reply.body.qr_data).toContain(reply.body.in_store_order_id);
      shop.sandbox.world.configure({ legacy_qr_code_status: 200 });
      expect((await make(method)).status).toBe(200);
    },
  );

  it('the singular path of one guide works, and no other word does', async () => {
    expect((await make('POST', {}, codePath().replace('collectors', 'collector'))).status).toBe(201);
    expect((await make('POST', {}, codePath().replace('collectors', 'sellers'))).status).toBe(404);
  });

  it('have the errors of v2', async () => {
    expect((await make('POST', { total_amount: 1 })).body.error).toBe('invalid_total_amount');
    expect((await make('PUT', { items: undefined })).body.error).toBe('error_creating_seller_qr_order');
    expect((await make('POST', {}, codePath('NOWHERE'))).body.error).toBe('pos_obtainment_error');
    expect((await make('POST', {}, codePath(undefined, BRAZIL))).status).toBe(400);
  });

  it('a dynamic one alone demands a notification_url that is a URL', async () => {
    const changes = { notification_url: 'www.shop.test' };
    expect((await make('POST', changes)).body.error).toBe('invalid_notification_url');
    expect((await make('PUT', changes)).status).toBe(201);
  });

  it('a dynamic one does not take the code of the till, and can not be fetched or deleted', async () => {
    await shop.call('POST', v1Path(), { body: preference() });
    await make('POST');
    await make('POST');
    expect(await states()).toEqual(['attended open', 'dynamic open', 'dynamic open']);
    expect((await shop.call('GET', v2Path())).body).toEqual(preference());
    await shop.call('DELETE', v2Path());
    expect((await shop.call('GET', v2Path())).status).toBe(404);
    expect(await states()).toEqual(['attended canceled', 'dynamic open', 'dynamic open']);
  });

  it('a hybrid one takes the code of the till, and is fetched and deleted there', async () => {
    await shop.call('POST', v1Path(), { body: preference() });
    await make('PUT');
    expect(await states()).toEqual(['attended expired', 'hybrid open']);
    expect((await shop.call('GET', v2Path())).body).toEqual(storeOrder());
    expect((await shop.call('DELETE', v2Path())).status).toBe(204);
    expect(await states()).toEqual(['attended expired', 'hybrid canceled']);
  });

  it('only what the till shows is found by its till; a dynamic one is by its id', async () => {
    const { body: dynamic } = await make('POST');
    const { body: hybrid } = await make('PUT');
    const { payables } = shop.sandbox.world;
    expect(payables.get(dynamic.in_store_order_id)).toMatchObject({ kind: 'legacy_qr', on_pos: false });
    expect(payables.get(hybrid.in_store_order_id)).toMatchObject({ kind: 'legacy_qr', on_pos: true });
  });
});

describe('cash withdrawal', () => {
  const cash = { items: undefined, cash_out: { amount: 100 }, total_amount: 100 };
  const confirm = (id: number | string, body: object, merchant = ARGENTINA) =>
    shop.call('POST', `/instore/orders/${id}/confirmation`, { merchant, body });
  const paid = async (): Promise<number> => {
    await shop.control('PUT', `merchants/${ARGENTINA}`, { may_hand_out_cash: true });
    await make('POST', cash);
    shop.buyer('pay');
    return (await shop.orders()).at(-1)?.merchant_order_id;
  };

  it('needs an agreement; with one an order may be cash alone, or items and cash', async () => {
    expect((await make('POST', cash)).body.error).toBe('invalid_cash_out.amount');
    await shop.control('PUT', `merchants/${ARGENTINA}`, { may_hand_out_cash: true });
    expect((await make('POST', cash)).status).toBe(201);
    expect((await make('POST', { cash_out: { amount: 100 } })).body.error).toBe('invalid_total_amount');
    expect((await make('POST', { cash_out: { amount: 100 }, total_amount: 341 })).status).toBe(201);
    expect(await shop.orders()).toMatchObject([{ cash_out_minor: 10_000 }, { total_minor: 34_100 }]);
  });

  it.each(['canceled/manually_cancelled', 'fail/internal_communication_error'])(
    'confirmation %s gives the payment back',
    async (words) => {
      const [status, status_detail] = words.split('/');
      const id = await paid();
      expect(await confirm(id, { status, status_detail })).toMatchObject({ status: 204, text: '' });
      const { body } = await shop.call('GET', `/merchant_orders/${id}`);
      expect(body).toMatchObject({
        order_status: 'reverted',
        payments: [{ status: 'refunded', amount_refunded: 100 }],
      });
    },
  );

  it('confirmation confirm leaves the payment, and is taken once', async () => {
    const id = await paid();
    expect((await confirm(id, { status: 'confirm', status_detail: 'confirmed' })).status).toBe(204);
    expect((await shop.call('GET', `/merchant_orders/${id}`)).body.order_status).toBe('paid');
    expect((await confirm(id, { status: 'confirm' })).status).toBe(400);
  });

  it('refuses other words, other orders, and orders without cash or payment', async () => {
    const id = await paid();
    expect((await confirm('x', { status: 'confirm' })).body.error).toBe('invalid_id');
    expect((await confirm(1, { status: 'confirm' })).status).toBe(404);
    expect((await confirm(id, { status: 'confirm' }, BRAZIL)).status).toBe(404);
    expect((await confirm(id, {})).body.error).toBe('invalid_status');
    expect((await confirm(id, { status: 'maybe' })).body.error).toBe('invalid_status');
    expect((await confirm(id, { status: 'confirm', status_detail: 'other' })).body.error).toBe('invalid_status_detail');
    await make('POST', cash);
    expect((await confirm(id + 1, { status: 'confirm' })).status).toBe(400);
    await make('PUT');
    shop.buyer('pay');
    expect((await confirm(id + 2, { status: 'confirm' })).status).toBe(400);
  });
});
