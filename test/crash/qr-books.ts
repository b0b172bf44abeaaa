/** Collects a history of QR sales: the sandbox's state, the receiver, reads through Puente, and its audit chain. */
import { z } from 'zod';
import { type Answer, ARGENTINA, call, type Delivery, tokenOf } from '../kit.ts';
import { databaseBooks, isOfPoint, knownByNotice } from './books.ts';
import type { BookedOrder, BookedPayment, QrHistory, ToldNotice } from './qr-history.ts';
import type { QrTill } from './qr-till.ts';
import type { Stand } from './stand.ts';

export function minorOf(amount: unknown): number {
  return Math.round(Number(amount) * 100);
}

const payment = z.looseObject({
  amount: z.string(),
  status_detail: z.string().default(''),
  reference_id: z.string().nullish(),
});
const upstreamOrder = z.looseObject({
  id: z.string(),
  type: z.string(),
  total_amount: z.string(),
  status: z.string(),
  status_detail: z.string(),
  created_date: z.string(),
  last_updated_date: z.string(),
  config: z.looseObject({ qr: z.looseObject({ external_pos_id: z.string(), mode: z.string() }) }),
  type_response: z.looseObject({ qr_data: z.string() }).optional(),
  transactions: z.looseObject({
    payments: z.array(payment).min(1),
    refunds: z.array(z.looseObject({ reference_id: z.string(), amount: z.string() })).default([]),
  }),
  items: z.array(z.looseObject({ title: z.string() })).min(1),
});
const upstreamPayment = z.looseObject({
  id: z.int(),
  amount_minor: z.int(),
  refunded_minor: z.int(),
  created_at_ms: z.number(),
});
const ofAnyType = z.looseObject({ type: z.string() });
const upstreamState = z.looseObject({ orders: z.array(ofAnyType), payments: z.array(upstreamPayment) });

export async function upstreamBooks(stand: Stand): Promise<{ orders: BookedOrder[]; payments: BookedPayment[] }> {
  const { body } = await call(`${stand.sandbox.url}/_sandbox/state`);
  const { orders, payments } = upstreamState.parse(body);
  const paidAt = new Map(payments.map(({ id, created_at_ms }) => [String(id), created_at_ms]));
  return {
    orders: orders.filter(({ type }) => type === 'qr').map((order) => booked(upstreamOrder.parse(order), paidAt)),
    payments: payments.map(({ id, amount_minor, refunded_minor }) => ({
      id: String(id),
      amount_minor,
      refunded_minor,
    })),
  };
}

function booked(order: z.infer<typeof upstreamOrder>, paidAt: Map<string, number>): BookedOrder {
  const { id, status, config, transactions, items, type_response } = order;
  const [{ amount, status_detail, reference_id }] = transactions.payments as [z.infer<typeof payment>]; // at least one
  const payment_id = reference_id ?? null;
  // A refund is a change too, so a paid order ends with its payment.
  const ended_at = paidAt.get(payment_id ?? '') ?? (status === 'created' ? null : Date.parse(order.last_updated_date));
  return {
    id,
    pos: config.qr.external_pos_id,
    mode: config.qr.mode,
    title: items[0]?.title ?? '',
    total_minor: minorOf(order.total_amount),
    amount_minor: minorOf(amount),
    status,
    is_partly_refunded: order.status_detail === 'partially_refunded',
    detail: status_detail,
    qr_data: type_response?.qr_data ?? null,
    created_at: Date.parse(order.created_date),
    ended_at,
    payment_id,
    refunds: transactions.refunds.map((refund) => ({ id: refund.reference_id, amount_minor: minorOf(refund.amount) })),
  };
}

/** Payments at terminals have the same topic; the other checker judges them. */
function isPaidAtTerminal({ sandbox: { world } }: Stand, { topic, id }: ToldNotice): boolean {
  const origin = topic === 'payment' ? world.payments.get(Number(id))?.origin : undefined;
  return origin?.kind === 'order' && world.orders.get(origin.id)?.place.type === 'point';
}

export async function collectQr(
  stand: Stand,
  till: QrTill,
  found: Pick<QrHistory, 'open_after_recovery' | 'unsettled'>,
): Promise<QrHistory> {
  const notices = stand.receiver.received
    .filter((told) => !isOfPoint(told))
    .map(toldNotice)
    .filter((notice) => !isPaidAtTerminal(stand, notice));
  const read = async (path: string): Promise<Answer> =>
    call(`${stand.child?.public_url}${path}`, { token: tokenOf(ARGENTINA) });
  const { audits, integrity } = await databaseBooks(stand);
  const { sales, calls, asks, probes } = till;
  return {
    sales: sales.map(({ number, kind, pos, reference, amount_minor }) => ({
      number,
      kind,
      pos,
      reference,
      amount_minor,
    })),
    calls,
    asks: asks.map(({ number, sale, amount_minor, key, knows_earlier, calls: asked }) => ({
      number,
      sale,
      amount_minor,
      key,
      knows_earlier,
      calls: asked,
    })),
    probes,
    ...found,
    ...(await upstreamBooks(stand)),
    notices,
    merchant_orders: await readEach(notices, 'merchant_order', async (id) => {
      const { status, body } = await read(`/merchant_orders/${id}`);
      const shown = (status === 200 ? body : {}) as Partial<MerchantOrderShown>; // only compared
      return {
        http: status,
        reference: String(shown.external_reference),
        order_status: String(shown.order_status),
        total_minor: minorOf(shown.total_amount),
        payments: (shown.payments ?? []).map((one) => String(one.id)),
      };
    }),
    payment_reads: await readEach(notices, 'payment', async (id) => {
      const { status, body } = await read(`/v1/payments/${id}`);
      const shown = (status === 200 ? body : {}) as Record<string, unknown>; // only compared
      return {
        http: status,
        amount_minor: minorOf(shown.transaction_amount),
        refunded_minor: minorOf(shown.transaction_amount_refunded),
      };
    }),
    reported: audits.flatMap(({ action, detail }) => {
      const { order_id } = detail as { order_id?: unknown }; // a `settle` line has it
      return action === 'settle' ? [String(order_id)] : [];
    }),
    known_by_notice: await knownByNotice(stand),
    integrity,
  };
}

interface MerchantOrderShown {
  external_reference: unknown;
  order_status: unknown;
  total_amount: unknown;
  payments: { id: unknown }[];
}

async function readEach<Read>(
  notices: ToldNotice[],
  topic: ToldNotice['topic'],
  read: (id: string) => Promise<Read>,
): Promise<Map<string, Read>> {
  const ids = new Set(notices.filter((notice) => notice.topic === topic).map(({ id }) => id));
  const found = new Map<string, Read>();
  for (const id of ids) found.set(id, await read(id));
  return found;
}

/** An IPN has its topic in the query; a webhook has a type, and that of a merchant order a state. */
function toldNotice({ query, body }: Delivery): ToldNotice {
  const said = body as { resource?: unknown; status?: unknown }; // any JSON
  const topic = query.get('topic');
  if (topic !== null) {
    const resource = String(said.resource);
    return {
      topic: topic === 'payment' ? 'payment' : 'merchant_order',
      id: query.get('id') ?? '',
      status: null,
      // The host is that of a server that may have been killed since.
      resource: resource.startsWith('http') ? new URL(resource).pathname : resource,
    };
  }
  const isPayment = query.get('type') === 'payment';
  return {
    topic: isPayment ? 'payment' : 'merchant_order',
    id: query.get('data.id') ?? '',
    status: isPayment ? null : String(said.status),
    resource: null,
  };
}
