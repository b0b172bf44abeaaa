/** The calls that refund a payment. */
import { requestedAmount } from '../../mapping/values.ts';
import { answered, type LegacyAnswer, type LegacyCall, refused } from '../http/answer.ts';
import type { Ports } from '../ports.ts';
import { nicknameOf } from '../routing/merchant-identity.ts';
import { answerRefund, makeRefund } from './make-refund.ts';
import { showPayment } from './read.ts';
import { refundBody, refundContext } from './refund-view.ts';

/** No body and `{}` refund all that is left, `{"amount"}` a part. @throws PuenteError refused, for a bad amount. */
export async function createRefund(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  if (call.link === null) return { kind: 'proxy' };
  const { amount } = call.body as { amount?: unknown }; // only JSON objects are accepted
  const requested_minor = requestedAmount(amount, ports.tables.site(call.merchant.site).exponent);
  // Read before the refund, so that a made refund is answered at once.
  const nickname = await nicknameOf(ports, call);
  const made = await makeRefund(ports, call, call.link, requested_minor);
  if (made.kind === 'answer') return made.answer;
  const { refund, link } = made;
  const shared = refundContext(ports, call, link, nickname);
  const body = refundBody(ports, call.operation, link, { ...refund, at: refund.created_at }, shared);
  return answerRefund(ports, call, refund, answered(201, body));
}

/** `PUT /collections/{id}`: always the whole, answered with the payment (`docs/field-notes.md` QR §3). */
export async function refundCollection(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  if (call.link === null) return { kind: 'proxy' };
  const { status } = call.body as { status?: unknown }; // as above
  if (status === undefined) return refused(call.operation.family, 'missing_property', 'status');
  // No other status is possible, because a payment at a till is never pending.
  if (status !== 'refunded') return refused(call.operation.family, 'state_refuses');
  await nicknameOf(ports, call); // as above
  const made = await makeRefund(ports, call, call.link, null);
  if (made.kind === 'answer') return made.answer;
  return answerRefund(ports, call, made.refund, answered(200, await showPayment(ports, call, made.link, 0)));
}
