/** The stories of reading the refunds of a payment: the real ones, else those of its order. */

import type { LegacyCall } from '../http/call.ts';
import { answered, type LegacyAnswer, refused } from '../http/legacy-answer.ts';
import type { Runtime } from '../runtime.ts';
import { noteRead } from '../sales/heard.ts';
import { refundsOfOrder, withOwnDates } from './refund-view.ts';
import { readPayment, settledLink } from './show.ts';

/** `GET /v1/payments/{id}/refunds`: an array. */
export async function listRefunds(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const found = await findRefunds(runtime, call);
  return 'kind' in found ? found : answered(200, found.refunds);
}

/** `GET /v1/payments/{id}/refunds/{refund_id}`. */
export async function getRefund(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const found = await findRefunds(runtime, call);
  if ('kind' in found) return found;
  const refund = found.refunds.find((one) => String((one as { id?: unknown }).id) === call.path.refund_id); // any JSON
  return refund === undefined ? refused(call.operation.family, 'refund_not_found') : answered(200, refund);
}

async function findRefunds(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer | { refunds: unknown[] }> {
  if (call.link === null) return { kind: 'carry' };
  const link = await settledLink(runtime, call, call.link);
  const read = await readPayment(runtime, call, link, runtime.settings.reads.fresh_ms);
  if (read.kind === 'failed') return read.answer;
  await noteRead(runtime, link);
  const real = read.kind === 'real' ? await withOwnDates(runtime, call, link, read.payment.refunds) : undefined;
  if (Array.isArray(real)) return { refunds: real };
  return { refunds: await refundsOfOrder(runtime, call, link) };
}
