/** Additions to the kit for QR orders: a valid body, a buyer, and reads. */
import type { Profile } from '../../src/sandbox/assumptions.ts';
import { ARGENTINA, type CallOptions, type Kit, openKit, type Reply } from './kit.ts';

export const TILL = 'SUC001POS001';
export const OTHER_TILL = 'SUC001POS002';

export interface QrKit extends Kit {
  createQr(changes?: object, options?: CallOptions): Promise<Reply>;
  qrOrder(changes?: object, options?: CallOptions): Promise<string>;
  /** The buyer at a till of the merchant, by default Argentina. */
  atTill(action: string, options?: object, till?: string, merchant?: string): Promise<Reply>;
  atCode(id: string, action: string, options?: object): Promise<Reply>;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever JSON came and asserts on it
  get(id: string, merchant?: string): Promise<any>;
  /** Status and detail of the order, then of its payment. */
  statesOf(id: string): Promise<unknown[]>;
  advance(advance_ms: number): Promise<Reply>;
}

export async function openQrKit(settings: object = {}, profile?: Profile, now?: () => number): Promise<QrKit> {
  const kit = await openKit(settings, profile, now);
  let count = 0;
  const createQr: QrKit['createQr'] = (changes = {}, options = {}) => {
    const number = ++count;
    const body = { ...qrBody({ external_reference: `qr-${number}` }), ...changes };
    return kit.call('POST', '/v1/orders', { key: `qr-key-${number}`, body, ...options });
  };
  const get: QrKit['get'] = async (id, merchant = ARGENTINA) =>
    (await kit.call('GET', `/v1/orders/${id}`, { merchant })).body;
  return {
    ...kit,
    createQr,
    async qrOrder(changes, options) {
      const reply = await createQr(changes, options);
      if (reply.status !== 201) throw new Error(`create answered ${reply.status}: ${reply.text}`);
      return reply.body.id;
    },
    atTill: (action, options, till = TILL, merchant = ARGENTINA) =>
      kit.control('POST', `pos/${merchant}/${till}/${action}`, options),
    atCode: (id, action, options) => kit.control('POST', `payables/${id}/${action}`, options),
    get,
    async statesOf(id) {
      const order = await get(id);
      const [payment] = order.transactions.payments;
      return [order.status, order.status_detail, payment.status, payment.status_detail];
    },
    advance: (advance_ms) => kit.control('POST', 'clock', { advance_ms }),
  };
}

/** One item of 150.00, on the code of a till. */
export function qrBody(changes: object = {}): Record<string, unknown> {
  return {
    type: 'qr',
    external_reference: 'qr-0',
    transactions: { payments: [{ amount: '150.00' }] },
    config: { qr: { external_pos_id: TILL } },
    items: [qrItem()],
    ...changes,
  };
}

export function qrItem(changes: object = {}): Record<string, unknown> {
  return { title: 'Coffee', unit_price: '150.00', quantity: 1, unit_measure: 'unit', ...changes };
}
