/** The story of reading a merchant order, which the orders API doesn't have any more. */
import type { z } from 'zod';
import { decimalOf } from '../../contract/legacy-amount.ts';
import type { merchantOrder } from '../../contract/merchant-orders.ts';
import { markLimitation } from '../evidence/limitation-mark.ts';
import type { LegacyCall } from '../http/call.ts';
import { answered, type LegacyAnswer, refused } from '../http/legacy-answer.ts';
import { nicknameOf } from '../routing/merchant-identity.ts';
import type { Runtime } from '../runtime.ts';
import { noteRead } from '../sales/heard.ts';
import type { Link } from '../sales/link.ts';
import { readLink } from '../sales/refresh.ts';
import { saleContext } from './create.ts';

export type MerchantOrder = z.infer<typeof merchantOrder>;

/** `GET /merchant_orders/{id}`: the full shape, of a live sale as its order is now (`legacy-qr.md` §2). */
export async function getMerchantOrder(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const { link: named } = call;
  if (named === null) return { kind: 'carry' };
  const [link, nickname] = await Promise.all([
    named.state === 'LIVE' ? readLink(runtime, named, call.token) : named,
    nicknameOf(runtime, call),
  ]);
  if (link.order === null) return refused(call.operation.family, 'not_found');
  await noteRead(runtime, link);
  const order = renderMerchantOrder(runtime, call, link, nickname);
  markShown(runtime, order);
  return answered(200, order);
}

/** None was made before it was paid or scanned (LIM-37); it tells no buyer (LIM-38), and one time for all changes (LIM-39). */
export function markShown(runtime: Runtime, { payments }: MerchantOrder): void {
  const draft = runtime.exchange();
  markLimitation(draft, 'LIM-37');
  if (payments.length > 0) markLimitation(draft, 'LIM-38');
  if (payments.some(({ amount_refunded }) => /[1-9]/.test(decimalOf(amount_refunded) ?? '')))
    markLimitation(draft, 'LIM-39');
}

/** @param link of a QR sale whose order is known; without one there is no merchant order. */
export function renderMerchantOrder(runtime: Runtime, call: LegacyCall, link: Link, nickname: string): MerchantOrder {
  const { value } = runtime.tables.answer(call.operation, link.order, {
    ...saleContext(runtime, call, link),
    site: call.merchant.site ?? '',
    client_reference: link.client_reference ?? '',
    merchant_order_id: link.merchant_order_id,
    state: link.legacy_state,
    created_at: link.created_at,
    nickname,
    ...(link.payment_id === null ? {} : { payment_id: Number(link.payment_id) }),
  });
  return value.body as MerchantOrder; // the table has just checked it
}
