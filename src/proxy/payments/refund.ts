import { askedAmount } from '../../mapping/amount.ts';
import type { LegacyCall } from '../http/call.ts';
import { answered, type LegacyAnswer, refused } from '../http/legacy-answer.ts';
import { nicknameOf } from '../routing/merchant-identity.ts';
import type { Runtime } from '../runtime.ts';
import { noteRead } from '../sales/acknowledgement.ts';
import { makeRefund, tellRefund } from './make-refund.ts';
import { readPayment, settledLink, showPayment } from './read.ts';
import { refundBody, refundContext, refundsOfOrder, withOwnDates } from './refund-view.ts';

/**
 * `POST /v1/payments/{id}/refunds`: nothing and `{}` mean all that is left, `{"amount"}` a part; 201 with the refund.
 * @throws PuenteError refused, for an amount that is none.
 */
export async function createRefund(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  if (call.link === null) return { kind: 'carry' };
  const { amount } = call.body as { amount?: unknown }; // the door takes JSON objects only
  const asked_minor = askedAmount(amount, runtime.tables.site(call.merchant.site).exponent);
  // Asked for first: a refund that was made is told at once.
  const nickname = await nicknameOf(runtime, call);
  const made = await makeRefund(runtime, call, call.link, asked_minor);
  if (made.kind === 'answer') return made.answer;
  const { refund, link } = made;
  const shared = refundContext(runtime, call, link, nickname);
  const body = refundBody(runtime, call.operation, link, { ...refund, at: refund.created_at }, shared);
  return tellRefund(runtime, refund, answered(201, body));
}

/** `PUT /collections/{id}` with `{"status":"refunded"}`: always whole, answered with the payment (`legacy-qr.md` §3). */
export async function refundCollection(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  if (call.link === null) return { kind: 'carry' };
  const { status } = call.body as { status?: unknown }; // as above
  if (status === undefined) return refused(call.operation.family, 'missing_property', 'status');
  // Nothing else can be made of a payment at a till: it is never pending.
  if (status !== 'refunded') return refused(call.operation.family, 'state_refuses');
  await nicknameOf(runtime, call); // known before the refund is sent, as above; what is shown may need it
  const made = await makeRefund(runtime, call, call.link, null);
  if (made.kind === 'answer') return made.answer;
  return tellRefund(runtime, made.refund, answered(200, await showPayment(runtime, call, made.link, 0)));
}

// The stories of reading the refunds of a payment: the real ones, else those of its order.

/** `GET /v1/payments/{id}/refunds`: an array. */
export async function listRefunds(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const found = await findRefunds(runtime, call);
  return 'kind' in found ? found : answered(200, found.refunds);
}

/** `GET /v1/payments/{id}/refunds/{refund_id}`. */
export async function getRefund(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const found = await findRefunds(runtime, call);
  if ('kind' in found) return found;
  const refund = found.refunds.find((one) => String((one as { id?: unknown }).id) === call.path.refund_id); // any JSON
  return refund === undefined ? refused(call.operation.family, 'refund_not_found') : answered(200, refund);
}

async function findRefunds(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer | { refunds: unknown[] }> {
  if (call.link === null) return { kind: 'carry' };
  const link = await settledLink(runtime, call, call.link);
  const read = await readPayment(runtime, call, link, runtime.settings.reads.fresh_ms);
  if (read.kind === 'failed') return read.answer;
  await noteRead(runtime, link);
  const real = read.kind === 'real' ? await withOwnDates(runtime, call, link, read.payment.refunds) : undefined;
  if (Array.isArray(real)) return { refunds: real };
  return { refunds: await refundsOfOrder(runtime, call, link) };
}
