/** The story of confirming a cash withdrawal, which an order does not wait for. Source: `legacy-qr.md` §1.4. */
import { confirmationBody } from '../../contract/legacy-qr.ts';
import { minorUnits } from '../../mapping/amount.ts';
import { markLimitation } from '../evidence/limitation-mark.ts';
import type { LegacyCall } from '../http/call.ts';
import { answered, type LegacyAnswer, refused } from '../http/legacy-answer.ts';
import type { Runtime } from '../runtime.ts';
import { isPaid, type Link } from '../sales/link.ts';
import { refreshLink } from '../sales/refresh.ts';

/** What the till may say, and the reasons it may give. */
const detailsOf: Readonly<Record<string, readonly string[]>> = {
  confirm: ['confirmed'],
  canceled: ['manually_cancelled', 'confirmation_not_received', 'other'],
  fail: ['internal_communication_error', 'other'],
};

/**
 * `POST /instore/orders/{merchant_order_id}/confirmation` of a merchant order of ours: 204 when the cash was handed
 * out, because the order is over when it is paid. To give the money back is a refund, which is told (LIM-28).
 */
export async function confirmWithdrawal(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const { family } = call.operation;
  if (call.link === null) return { kind: 'carry' };
  const { status } = said(call.body);
  if (status === undefined) return refused(family, 'missing_property', 'status');
  const parsed = confirmationBody.safeParse(call.body);
  const details = detailsOf[String(status)];
  if (!parsed.success || details === undefined) return refused(family, 'invalid_property', 'status');
  const { status_detail } = parsed.data;
  if (status_detail !== undefined && !details.includes(status_detail)) {
    return refused(family, 'invalid_property', 'status_detail');
  }
  const link = await refreshLink(runtime, call.link, call.token);
  if (!isPaid(link)) return refused(family, 'bad_request');
  if (status !== 'confirm') return refused(family, 'confirmation_refused');
  if (isWithoutCash(runtime, call, link)) markLimitation(runtime.exchange(), 'LIM-28');
  return answered(204, undefined);
}

/** The payment of the order is the whole total: nothing of it was handed out. */
function isWithoutCash(runtime: Runtime, call: LegacyCall, { order, amount_minor }: Link): boolean {
  const { exponent } = runtime.tables.site(call.merchant.site);
  return minorUnits(order?.transactions?.payments?.[0]?.amount, exponent) === amount_minor;
}

function said(body: unknown): { status?: unknown } {
  return body !== null && typeof body === 'object' ? body : {};
}
