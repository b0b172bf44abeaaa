/** The story of a refund on the terminal, which orders don't have (LIM-03). */
import { createRefundIntentBody } from '../../contract/legacy-point.ts';
import type { LegacyCall } from '../http/call.ts';
import { type LegacyAnswer, refused } from '../http/legacy-answer.ts';
import type { Runtime } from '../runtime.ts';
import { slotOf } from '../sales/link.ts';
import { makeRoom } from './create.ts';

/**
 * `POST …/devices/{device}/refund`: refused with the way out for a payment that was made by an order, because orders
 * refund without the terminal; a payment that is not ours is carried to legacy (`legacy-point.md` §1.8).
 */
export async function refundIntent(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const body = createRefundIntentBody.safeParse(call.body);
  if (!body.success) return { kind: 'carry' };
  const link = await runtime.store.linkByPayment(String(body.data.payment_id));
  if (link?.merchant_id === call.merchant.id) {
    return refused('point', 'refund_on_terminal', String(body.data.payment_id));
  }
  // A terminal takes one thing at a time, whichever side it comes from.
  const holder = await runtime.store.liveLink(call.merchant.id, slotOf('point', call.path.device_id ?? ''));
  const deadline = call.received_at + runtime.settings.create.deadline_ms;
  const room = holder === null ? 'freed' : await makeRoom(runtime, call, holder, deadline);
  return room === 'freed' ? { kind: 'carry' } : room;
}
