/** The story of reading what a till has, which the orders API can only do by the order. */

import type { LegacyCall } from '../http/call.ts';
import { answered, type LegacyAnswer, refused } from '../http/legacy-answer.ts';
import { isStillOnOrders } from '../routing/lane.ts';
import type { Runtime } from '../runtime.ts';
import { slotOf } from '../sales/link.ts';
import { readLink } from '../sales/refresh.ts';
import { saleContext } from './create.ts';
import { pointOfSaleOf } from './point-of-sale.ts';

/** `GET` of v2: the order as it was sent; of v1: as its create answered it. 404 where the till has none. */
export async function getPointOfSale(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const place = await pointOfSaleOf(runtime, call);
  if (place.kind === 'refused') return place.answer;
  const slot = slotOf('qr', place.external_pos_id);
  const holder = await runtime.store.liveLink(call.merchant.id, slot);
  if (holder === null && !(await isStillOnOrders(runtime, call, slot))) return { kind: 'carry' };
  const link = holder?.state === 'LIVE' ? await readLink(runtime, holder, call.token) : null;
  if (link === null || link.state !== 'LIVE') return refused(call.operation.family, 'order_not_found');
  const { value } = runtime.tables.answer(call.operation, link.order ?? {}, saleContext(runtime, call, link));
  return answered(200, value.body);
}
