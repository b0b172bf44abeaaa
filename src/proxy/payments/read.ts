/** The story of reading a payment: real ones are read, not invented (`legacy-qr.md` §3). */

import type { LegacyCall } from '../http/call.ts';
import { answered, type LegacyAnswer } from '../http/legacy-answer.ts';
import type { Runtime } from '../runtime.ts';
import { noteRead } from '../sales/heard.ts';
import { ownView, readPayment, settledLink, tellFromOrder } from './show.ts';

/** `GET /v1/payments/{id}`; the service's errors are told as they came. */
export async function getPayment(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  if (call.link === null) return { kind: 'carry' };
  const link = await settledLink(runtime, call, call.link);
  const read = await readPayment(runtime, call, link, runtime.settings.reads.fresh_ms);
  if (read.kind === 'failed') return read.answer;
  await noteRead(runtime, link);
  if (read.kind === 'missing') return answered(200, await tellFromOrder(runtime, call, link));
  return answered(200, await ownView(runtime, call, link, read.payment));
}
