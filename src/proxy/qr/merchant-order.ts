/** The story of reading a merchant order, which the orders API doesn't have any more. */
import { z } from 'zod';
import { decimalOf } from '../../contract/legacy-amount.ts';
import type { merchantOrder } from '../../contract/merchant-orders.ts';
import { markLimitation } from '../evidence/limitation-mark.ts';
import type { LegacyCall } from '../http/call.ts';
import { answered, type LegacyAnswer, refused } from '../http/legacy-answer.ts';
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

/** The seller's public name, as the account says it. */
const account = z.looseObject({ nickname: z.string().default('') });

/** No answer is worth more of a till's time than this for a name that nobody pays by. */
const NICKNAME_WAIT_MS = 1_000;
/** While it can't be learned it is asked for once a minute, not at every poll. */
const FAILURE_KEPT_MS = 60_000;

/**
 * Asked for as seldom as what a till's number stands for; empty while it can't be learned. Waits for half of what is
 * left of the call's time at most, so that what the call is about keeps the other half.
 */
export async function nicknameOf(runtime: Runtime, call: LegacyCall): Promise<string> {
  const { reads, create } = runtime.settings;
  const now = runtime.clock.now();
  const ask = async (): Promise<string | null> => {
    const outcome = await runtime.upstream.send({
      name: 'users_me',
      method: 'GET',
      path: '/users/me',
      token: call.token,
      timeout_ms: Math.min(NICKNAME_WAIT_MS, reads.timeout_ms),
    });
    const known = outcome.kind === 'answered' && outcome.status === 200 ? account.safeParse(outcome.body) : null;
    return known?.success ? known.data.nickname : null;
  };
  const key = `nickname ${call.merchant.id}`;
  const asked = runtime.cache.get(key, now, reads.pos_fresh_ms, ask, (one) => (one === null ? FAILURE_KEPT_MS : true));
  const wait_ms = (call.received_at + create.deadline_ms - now) / 2;
  if (wait_ms >= NICKNAME_WAIT_MS) return (await asked) ?? '';
  return (await Promise.race([asked, runtime.clock.sleep(Math.max(wait_ms, 0))])) ?? '';
}
