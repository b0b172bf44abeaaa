/** QR tills of a crash test, which sell, replace, refund, retry and log every call; and their buyers. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Answer, ARGENTINA, call, tokenOf } from '../kit.ts';
import { titleOf } from './qr-checker.ts';
import type { QrHistory, QrKind, RefundAsk, SaleFacts, TillCall } from './qr-history.ts';
import type { Random } from './random.ts';
import type { Stand } from './stand.ts';

export interface QrSale extends SaleFacts {
  path: string;
  method: string;
  body: Record<string, unknown>;
  headers: Record<string, string>;
  isTold: boolean;
  /** The sum that the till has read as refunded. */
  refunded_minor: number;
}

export interface WantedRefund extends RefundAsk {
  payment_id: string;
  isOver: boolean;
}

export interface QrTill extends Pick<QrHistory, 'calls' | 'probes'> {
  sales: QrSale[];
  asks: WantedRefund[];
  /** A new sale; on the code of a counter it replaces the order there. */
  sell(kind: QrKind, pos: string): Promise<QrSale>;
  /** Retries unanswered calls; some tills clear their counter instead. */
  recover(): Promise<void>;
  /** The buyer scans the code; false when there is nothing to pay. */
  pay(sale: QrSale): Promise<boolean>;
  /** The id of the sale's payment, by the search of tills; null when the server was killed. */
  findPayment(sale: QrSale): Promise<string | null>;
  refund(
    sale: QrSale,
    payment_id: string,
    wish: Pick<WantedRefund, 'amount_minor' | 'key' | 'knows_earlier'>,
  ): Promise<void>;
  /** A last sale on every point of sale; each must succeed, and stays open. */
  probe(): Promise<void>;
}

/** The least amount of an order in Argentina is 15.00. */
const LEAST_MINOR = 1500;
const MOST_MINOR = 999_999;
const FIND_LIMIT_MS = 10_000;

export function startQrTill(stand: Stand, random: Random): QrTill {
  const sales: QrSale[] = [];
  const calls: TillCall[] = [];
  const asks: WantedRefund[] = [];
  const probes: QrTill['probes'] = [];
  const used = new Map<string, QrKind>();
  /** The last sale of a point of sale, while it is unanswered. */
  const unanswered = new Map<string, QrSale>();

  /** Null when the connection broke because the server was killed. */
  async function send(path: string, options: Parameters<typeof call>[1]): Promise<Answer | null> {
    const url = stand.child?.public_url;
    if (url === undefined) return null;
    return call(url + path, { token: tokenOf(ARGENTINA), ...options }).catch(() => null);
  }

  async function create(sale: QrSale): Promise<number | null> {
    const { number, pos, path, method, body, headers } = sale;
    const line: TillCall = { what: 'create', pos, sale: number, status: null, qr_data: null };
    calls.push(line);
    const answer = await send(path, { method, body, headers });
    line.status = answer?.status ?? null;
    const { qr_data } = (answer?.body || {}) as { qr_data?: unknown }; // a 204 has none
    if (typeof qr_data === 'string') line.qr_data = qr_data;
    sale.isTold ||= line.status !== null && line.status < 300;
    if (isOpenAnswer(line.status)) unanswered.set(pos, sale);
    else unanswered.delete(pos);
    return line.status;
  }

  async function remove(pos: string): Promise<void> {
    const line: TillCall = { what: 'remove', pos, sale: null, status: null, qr_data: null };
    calls.push(line);
    const answer = await send(storePath(pos, false), { method: 'DELETE' });
    line.status = answer?.status ?? null;
    if (!isOpenAnswer(line.status)) unanswered.delete(pos);
  }

  async function ask(wanted: WantedRefund): Promise<void> {
    const { amount_minor, key, payment_id } = wanted;
    const body = amount_minor === null ? random.pick([undefined, {}]) : { amount: amount_minor / 100 };
    const line: RefundAsk['calls'][number] = { status: null, refund_id: null, amount_minor: null };
    wanted.calls.push(line);
    const answer = await send(`/v1/payments/${payment_id}/refunds`, {
      method: 'POST',
      ...(body === undefined ? {} : { body }),
      headers: key === null ? {} : { 'x-idempotency-key': key },
    });
    line.status = answer?.status ?? null;
    if (line.status === 201) {
      const made = answer?.body as { id: unknown; amount: unknown }; // a 201 of this call has a refund
      line.refund_id = String(made.id);
      line.amount_minor = Math.round(Number(made.amount) * 100);
    }
    settle(wanted, !isOpenAnswer(line.status), line.status === 201);
  }

  function settle(wanted: WantedRefund, isOver: boolean, isMade: boolean): void {
    wanted.isOver = isOver;
    const sale = sales[wanted.sale - 1];
    if (isMade && sale !== undefined)
      sale.refunded_minor += wanted.amount_minor ?? sale.amount_minor - sale.refunded_minor;
  }

  async function askAgain(wanted: WantedRefund): Promise<void> {
    await ask(wanted);
  }

  const till: QrTill = {
    sales,
    calls,
    asks,
    probes,
    async sell(kind, pos) {
      const before = unanswered.get(pos);
      // A new sale would not replace a dynamic one, so the till first needs the answer to that.
      if (before?.kind === 'dynamic') {
        await create(before);
        return before;
      }
      const sale = newSale(sales.length + 1, kind, pos, random);
      sales.push(sale);
      used.set(pos, kind);
      await create(sale);
      return sale;
    },
    async recover() {
      // Buyers pay what the counter shows, although the till has no answer yet.
      for (const sale of unanswered.values()) if (sale.kind !== 'dynamic' && random.chance(0.4)) await till.pay(sale);
      await Promise.all(
        [...unanswered].map(([pos, sale]) =>
          // No later sale replaces a dynamic one, so its till retries until it has the code.
          sale.kind === 'dynamic' || random.chance(0.7) ? create(sale) : remove(pos),
        ),
      );
      for (const wanted of asks.filter(({ isOver }) => !isOver)) await askAgain(wanted);
    },
    async pay(sale) {
      const payable = payableOf(stand, sale, calls);
      if (payable === null) return false;
      const { status } = await call(`${stand.sandbox.url}/_sandbox/${payable}/pay`, { body: {} });
      return status === 200;
    },
    async findPayment(sale) {
      const limit = Date.now() + FIND_LIMIT_MS;
      const query = new URLSearchParams({ external_reference: sale.reference, sort: 'date_created', criteria: 'desc' });
      while (Date.now() < limit) {
        const answer = await send(`/v1/payments/search?${query}`, {});
        if (answer === null) return null;
        const { results = [] } = (answer.status === 200 ? answer.body : {}) as { results?: { id: unknown }[] }; // the search's form
        if (results[0] !== undefined) return String(results[0].id);
        await pause(50);
      }
      throw new Error(`the payment of sale ${sale.number} was not found`);
    },
    async refund(sale, payment_id, wish) {
      const wanted: WantedRefund = {
        number: asks.length + 1,
        sale: sale.number,
        payment_id,
        calls: [],
        isOver: false,
        ...wish,
      };
      asks.push(wanted);
      await ask(wanted);
    },
    async probe() {
      for (const [pos, kind] of used) {
        const sale = newSale(sales.length + 1, kind, pos, random);
        sales.push(sale);
        probes.push({ pos, status: await create(sale) });
      }
    },
  };
  return till;
}

/** No answer, an unknown outcome, or a request to retry later. */
function isOpenAnswer(status: number | null): boolean {
  return status === null || status >= 500 || status === 409 || status === 429;
}

const storePath = (pos: string, withStore: boolean): string =>
  `/instore/qr/seller/collectors/${ARGENTINA}/${withStore ? 'stores/SUC002/' : ''}pos/${pos}/orders`;
const methods = { v2: 'PUT', v1: 'POST', dynamic: 'POST' } as const;
const paths: Readonly<Record<QrKind, (pos: string, random: Random) => string>> = {
  v2: (pos, random) => storePath(pos, random.chance(0.5)),
  v1: (pos) => `/mpmobile/instore/qr/${ARGENTINA}/${pos}`,
  dynamic: (pos) => `/instore/orders/qr/seller/collectors/${ARGENTINA}/pos/${pos}/qrs`,
};

function newSale(number: number, kind: QrKind, pos: string, random: Random): QrSale {
  const amount_minor = random.between(LEAST_MINOR, MOST_MINOR);
  // The first reference fits the rules of the new API, the second does not.
  const reference = random.pick([`sale-${number}`, `Pedido ${number}`]);
  const unit_price = amount_minor / 100;
  const item = { title: titleOf({ number }), unit_price, quantity: 1 };
  const v2 = {
    external_reference: reference,
    title: 'Shop',
    description: 'Counter',
    total_amount: unit_price,
    items: [{ ...item, sku_number: 'A1', category: 'food', unit_measure: 'unit', total_amount: unit_price }],
  };
  const v1 = { external_reference: reference, items: [{ ...item, id: 'A1', currency_id: 'ARS' }] };
  return {
    number,
    kind,
    pos,
    reference,
    amount_minor,
    path: paths[kind](pos, random),
    method: methods[kind],
    body: kind === 'v1' ? v1 : v2,
    headers: random.chance(0.5) ? { 'x-idempotency-key': `till-key-${number}` } : {},
    isTold: false,
    refunded_minor: 0,
  };
}

/** Where the buyer pays: the counter's code, or the code in the till's answer; null without one. */
function payableOf(stand: Stand, sale: QrSale, calls: TillCall[]): string | null {
  if (sale.kind !== 'dynamic') return `pos/${ARGENTINA}/${sale.pos}`;
  const code = calls.findLast((line) => line.sale === sale.number && line.qr_data !== null)?.qr_data;
  const order = [...stand.sandbox.world.orders.values()].find(
    ({ place }) => place.type === 'qr' && code !== undefined && place.qr_data === code,
  );
  return order === undefined ? null : `payables/${order.id}`;
}
