/** Removing the order of a point of sale: for a cancel, and before the next order, because legacy replaced it and orders refuses. */
import type { LegacyCall } from '../http/call.ts';
import { answered, type LegacyAnswer } from '../http/legacy-answer.ts';
import type { Ports } from '../ports.ts';
import { isStillOnOrders } from '../routing/lane.ts';
import { slotOf } from '../sales/link.ts';
import { clearPointOfSale, inTurn } from './clear.ts';
import { pointOfSaleOf } from './point-of-sale.ts';

/**
 * `DELETE` of v1, v2 and hybrid: 204 without a body, also where there is nothing, which satisfies the clients that
 * expect 400 there and those that expect 404 (`docs/field-notes.md` QR §1.2).
 */
export async function cancelPointOfSale(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const place = await pointOfSaleOf(ports, call);
  if (place.kind === 'refused') return place.answer;
  const slot = slotOf('qr', place.external_pos_id);
  return inTurn(ports, call.merchant.id, slot, async () => {
    const holder = await ports.store.links.liveLink(call.merchant.id, slot);
    if (holder === null) {
      return (await isStillOnOrders(ports, call, slot)) ? answered(204, undefined) : { kind: 'carry' };
    }
    const deadline = call.received_at + ports.settings.create.deadline_ms;
    const room = await clearPointOfSale(ports, call, holder, deadline);
    return room === 'freed' ? answered(204, undefined) : room;
  });
}
