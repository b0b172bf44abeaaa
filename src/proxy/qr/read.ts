/** Reads the current order of a till, which the orders API can only do by the order's id. */

import { answered, type LegacyAnswer, type LegacyCall, refused } from '../http/answer.ts';
import type { Ports } from '../ports.ts';
import { isStillOnOrders } from '../routing/lane.ts';
import { slotOf } from '../sales/link.ts';
import { readLink } from '../sales/refresh.ts';
import { saleContext } from './create.ts';
import { pointOfSaleOf } from './point-of-sale.ts';

/** v2: the order as it was sent; v1: as its create was answered. 404 where the till has none. */
export async function getPointOfSale(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const place = await pointOfSaleOf(ports, call);
  if (place.kind === 'refused') return place.answer;
  const slot = slotOf('qr', place.external_pos_id);
  const holder = await ports.store.links.liveLink(call.merchant.id, slot);
  if (holder === null && !(await isStillOnOrders(ports, call, slot))) return { kind: 'proxy' };
  const link = holder?.state === 'LIVE' ? await readLink(ports, holder, call.token) : null;
  if (link === null || link.state !== 'LIVE') return refused(call.operation.family, 'order_not_found');
  const { value } = ports.tables.answer(call.operation, link.order ?? {}, saleContext(ports, call, link));
  return answered(200, value.body);
}
