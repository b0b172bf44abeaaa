/** The story of taking a till's order away by the till, which the orders API can only do by the order. */
import { answered, type LegacyAnswer } from '../answer.ts';
import type { LegacyCall } from '../call.ts';
import { stageOf } from '../lane.ts';
import { slotOf } from '../link.ts';
import type { Runtime } from '../runtime.ts';
import { clearTill } from './clear.ts';
import { tillOf } from './till.ts';

/**
 * `DELETE` of v1, v2 and hybrid: 204 without a body, also where the till has nothing, which satisfies the clients that
 * expect 400 there and those that expect 404 (`legacy-qr.md` §1.2).
 */
export async function cancelTill(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const till = await tillOf(runtime, call);
  if (till.kind === 'refused') return till.answer;
  const holder = await runtime.store.liveLink(call.merchant.id, slotOf('qr', till.external_pos_id));
  if (holder === null) {
    return stageOf(runtime, call.merchant) === 'legacy' ? { kind: 'carry' } : answered(204, undefined);
  }
  const deadline = call.received_at + runtime.settings.create.deadline_ms;
  const room = await clearTill(runtime, call, holder, deadline);
  return room === 'freed' ? answered(204, undefined) : room;
}
