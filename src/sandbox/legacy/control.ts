/** The legacy part of the control door: where a merchant's legacy notifications go, and the intents with their history. */
import { type Request, type Response, Router } from 'express';
import { z } from 'zod';
import { bodyJson, json, readBody, send } from '../answer.ts';
import type { Merchant } from '../cast.ts';
import type { Chargeback, Payment } from '../records.ts';
import { announceFeed } from '../webhooks.ts';
import type { World } from '../world.ts';
import { lastStep } from './lifecycle.ts';
import { notificationUrlOf } from './qr/notices.ts';
import type { QrState } from './qr/state.ts';
import { DEFAULT_SECRET, type LegacyState, type NoticeTarget, type TerminalWork } from './state.ts';

const address = z.url({ protocol: /^https?$/ });
const noticeTarget = z
  .strictObject({
    url: address.optional(),
    ipn_url: address.optional(),
    topic: z.enum(['point_integration_ipn', 'point_integration_wh']).default('point_integration_ipn'),
    secret: z.string().min(1).default(DEFAULT_SECRET),
  })
  .refine(({ url, ipn_url }) => url !== undefined || ipn_url !== undefined, 'Give url, ipn_url, or both.')
  .transform(({ url = null, ipn_url = null, ...rest }) => ({ url, ipn_url, ...rest }));

/** `GET`, `PUT` and `DELETE /_sandbox/legacy/merchants/{id}/notifications`; the secret is never shown. */
export function legacyControl(world: World, state: LegacyState): Router {
  const router = Router();
  router.use('/_sandbox/legacy/merchants/:merchant/notifications', (request, response, next) => {
    if (world.merchants.has(request.params.merchant)) next();
    else send(response, json(404, { error: 'not_found', message: `Merchant ${request.params.merchant} is unknown.` }));
  });
  const target = router.route('/_sandbox/legacy/merchants/:merchant/notifications');
  target.get((request, response) =>
    send(response, json(200, shown(state.notice_targets.get(request.params.merchant)))),
  );
  target.put(readBody, (request, response) => {
    const body = bodyJson(request);
    const parsed = noticeTarget.safeParse(body !== undefined && 'value' in body ? body.value : undefined);
    if (!parsed.success) {
      return send(response, json(400, { error: 'bad_request', message: z.prettifyError(parsed.error) }));
    }
    state.notice_targets.set(request.params.merchant, parsed.data);
    send(response, json(200, shown(parsed.data)));
  });
  target.delete((request, response) => {
    state.notice_targets.delete(request.params.merchant);
    send(response, { status: 204, body: '' });
  });
  return router;
}

/** The `legacy` part of `GET /_sandbox/state`. */
export function legacyView(state: LegacyState): object {
  return {
    counts: { intents: state.intents.size, refunds: state.refunds.size },
    intents: newest(state.intents).map((intent) => ({ ...shownWork(intent), amount: intent.amount_minor })),
    refunds: newest(state.refunds).map((refund) => ({ ...shownWork(refund), payment_id: refund.payment.id })),
    notifications: [...state.notice_targets].map(([merchant_id, target]) => ({ merchant_id, ...shown(target) })),
  };
}

/** After a load test there are too many to print; the counts are whole. */
const SHOWN = 1000;

function newest<Entry>(map: Map<string, Entry>): Entry[] {
  return [...map.values()].slice(-SHOWN);
}

function shownWork(work: TerminalWork): object {
  return {
    id: work.id,
    merchant_id: work.merchant.user_id,
    device_id: work.terminal.id,
    state: lastStep(work).state,
    history: work.history.map(({ state, at_ms }) => ({ state, at: new Date(at_ms).toISOString() })),
  };
}

function shown(target: NoticeTarget | undefined): object {
  return { url: target?.url ?? null, topic: target?.topic ?? null, ipn_url: target?.ipn_url ?? undefined };
}

// The control door of the feed: a chargeback of a payment, and a fraud alert, which nobody but the outside world can
// cause.

/** `POST /_sandbox/payments/{id}/chargeback` and `POST /_sandbox/legacy/merchants/{id}/delivery_cancellation`. */
export function feedControl(state: QrState): Router {
  const router = Router();
  router.post('/_sandbox/payments/:payment/chargeback', readBody, (request, response) => {
    const payment = state.world.payments.get(Number(request.params.payment));
    const merchant = state.world.merchants.get(payment?.merchant_id ?? '');
    if (payment === undefined || merchant === undefined) return refuse(response, 404, 'There is no such payment.');
    const wanted = read(request, response, chargebackSchema);
    if (wanted === null) return;
    const chargeback = changeChargeback(state, payment, wanted.status);
    if (chargeback === null) {
      return refuse(response, 409, `Payment ${payment.id} is ${payment.status}; ${wanted.status} is not possible.`);
    }
    tellChargeback(state, payment, merchant, chargeback);
    send(response, json(200, chargeback));
  });
  router.post('/_sandbox/legacy/merchants/:merchant/delivery_cancellation', readBody, (request, response) => {
    const merchant = state.world.merchants.get(String(request.params.merchant));
    if (merchant === undefined) return refuse(response, 404, `Merchant ${request.params.merchant} is unknown.`);
    const wanted = read(request, response, alertSchema);
    if (wanted === null) return;
    const order = state.merchant_orders.get(wanted.id);
    announceFeed(state.feed, {
      topic: 'delivery_cancellation',
      id: wanted.id,
      merchant,
      notification_url: order?.merchant === merchant ? order.notification_url : null,
      change: 'created',
      status: '',
    });
    send(response, { status: 204, body: '' });
  });
  return router;
}

/** `opened` begins a dispute about an approved payment; `won` and `lost` end it. */
const chargebackSchema = z.strictObject({ status: z.enum(['opened', 'won', 'lost']).default('opened') });
/** The merchant order, or whatever else the alert is about. */
const alertSchema = z.strictObject({ id: z.int().positive() });

/** @returns null when the payment's state does not allow it. */
function changeChargeback({ world }: QrState, payment: Payment, status: Chargeback['status']): Chargeback | null {
  const now_ms = world.clock.now();
  if (status === 'opened') {
    if (payment.status !== 'approved') return null;
    const { id: payment_id, merchant_id } = payment;
    const amount_minor = payment.amount_minor + payment.tip_minor - payment.refunded_minor;
    const id = world.nextChargebackId();
    const times = { created_at_ms: now_ms, updated_at_ms: now_ms };
    const chargeback: Chargeback = { id, payment_id, merchant_id, amount_minor, status, ...times };
    world.chargebacks.set(id, chargeback);
    settle(payment, 'charged_back', 'in_process', now_ms);
    return chargeback;
  }
  const open = [...world.chargebacks.values()].find(
    (chargeback) => chargeback.payment_id === payment.id && chargeback.status === 'opened',
  );
  if (open === undefined) return null;
  open.status = status;
  open.updated_at_ms = now_ms;
  if (status === 'won') settle(payment, 'approved', 'accredited', now_ms);
  else settle(payment, 'charged_back', 'settled', now_ms);
  return open;
}

function settle(payment: Payment, status: Payment['status'], status_detail: string, now_ms: number): void {
  payment.status = status;
  payment.status_detail = status_detail;
  payment.updated_at_ms = now_ms;
}

/** Both topics: the payment has changed, and the dispute has. */
function tellChargeback(state: QrState, payment: Payment, merchant: Merchant, chargeback: Chargeback): void {
  state.world.paymentChanged(payment);
  announceFeed(state.feed, {
    topic: 'chargebacks',
    id: chargeback.id,
    merchant,
    notification_url: notificationUrlOf(state, payment),
    change: chargeback.status === 'opened' ? 'created' : 'updated',
    status: chargeback.status,
  });
}

/** An empty body counts as `{}`. @returns null after it has answered with what is wrong. */
function read<Schema extends z.ZodType>(request: Request, response: Response, schema: Schema): z.infer<Schema> | null {
  const body = bodyJson(request) ?? { value: {} };
  const parsed = schema.safeParse('value' in body ? body.value : undefined);
  if (parsed.success) return parsed.data;
  send(response, json(400, { error: 'bad_request', message: z.prettifyError(parsed.error) }));
  return null;
}

function refuse(response: Response, status: 404 | 409, message: string): void {
  send(response, json(status, { error: status === 404 ? 'not_found' : 'refused', message }));
}
