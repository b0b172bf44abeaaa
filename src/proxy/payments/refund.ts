import { askedAmount } from '../../mapping/amount.ts';
import { answered, type LegacyAnswer, refused } from '../http/answer.ts';
import type { LegacyCall } from '../http/call.ts';
import type { Ports } from '../ports.ts';
import { nicknameOf } from '../routing/merchant-identity.ts';
import { noteRead } from '../sales/acknowledgement.ts';
import { makeRefund, tellRefund } from './make-refund.ts';
import { readPayment, settledLink, showPayment } from './read.ts';
import { refundBody, refundContext, refundsOfOrder, withOwnDates } from './refund-view.ts';

/**
 * `POST /v1/payments/{id}/refunds`: nothing and `{}` mean all that is left, `{"amount"}` a part; 201 with the refund.
 * @throws PuenteError refused, for an amount that is none.
 */
export async function createRefund(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  if (call.link === null) return { kind: 'carry' };
  const { amount } = call.body as { amount?: unknown }; // the door takes JSON objects only
  const asked_minor = askedAmount(amount, ports.tables.site(call.merchant.site).exponent);
  // Asked for first: a refund that was made is told at once.
  const nickname = await nicknameOf(ports, call);
  const made = await makeRefund(ports, call, call.link, asked_minor);
  if (made.kind === 'answer') return made.answer;
  const { refund, link } = made;
  const shared = refundContext(ports, call, link, nickname);
  const body = refundBody(ports, call.operation, link, { ...refund, at: refund.created_at }, shared);
  return tellRefund(ports, refund, answered(201, body));
}

/** `PUT /collections/{id}` with `{"status":"refunded"}`: always whole, answered with the payment (`docs/field-notes.md` QR §3). */
export async function refundCollection(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  if (call.link === null) return { kind: 'carry' };
  const { status } = call.body as { status?: unknown }; // as above
  if (status === undefined) return refused(call.operation.family, 'missing_property', 'status');
  // Nothing else can be made of a payment at a till: it is never pending.
  if (status !== 'refunded') return refused(call.operation.family, 'state_refuses');
  await nicknameOf(ports, call); // known before the refund is sent, as above; what is shown may need it
  const made = await makeRefund(ports, call, call.link, null);
  if (made.kind === 'answer') return made.answer;
  return tellRefund(ports, made.refund, answered(200, await showPayment(ports, call, made.link, 0)));
}

// The stories of reading the refunds of a payment: the real ones, else those of its order.

/** `GET /v1/payments/{id}/refunds`: an array. */
export async function listRefunds(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const found = await findRefunds(ports, call);
  return 'kind' in found ? found : answered(200, found.refunds);
}

/** `GET /v1/payments/{id}/refunds/{refund_id}`. */
export async function getRefund(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const found = await findRefunds(ports, call);
  if ('kind' in found) return found;
  const refund = found.refunds.find((one) => String((one as { id?: unknown }).id) === call.path.refund_id); // any JSON
  return refund === undefined ? refused(call.operation.family, 'refund_not_found') : answered(200, refund);
}

async function findRefunds(ports: Ports, call: LegacyCall): Promise<LegacyAnswer | { refunds: unknown[] }> {
  if (call.link === null) return { kind: 'carry' };
  const link = await settledLink(ports, call, call.link);
  const read = await readPayment(ports, call, link, ports.settings.reads.fresh_ms);
  if (read.kind === 'failed') return read.answer;
  await noteRead(ports, link);
  const real = read.kind === 'real' ? await withOwnDates(ports, call, link, read.payment.refunds) : undefined;
  if (Array.isArray(real)) return { refunds: real };
  return { refunds: await refundsOfOrder(ports, call, link) };
}
