/** The stories of the oldest SDKs' reads: a payment, and a search of payments, as collections (`legacy-qr.md` §3). */

import { type LegacyCall, merchantContext } from '../http/call.ts';
import type { LegacyAnswer } from '../http/legacy-answer.ts';
import type { Runtime } from '../runtime.ts';
import { getPayment } from './read.ts';
import { searchPayments } from './search.ts';

/** `GET /collections/{id}` and `/collections/notifications/{id}`: the payment; errors as `/v1/payments/{id}` tells them. */
export async function getCollection(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const answer = await getPayment(runtime, call);
  if (answer.kind !== 'answer' || answer.status !== 200) return answer;
  return { ...answer, body: asCollection(runtime, call, answer.body) };
}

/** `GET /collections/search`: the search of payments, asked of legacy by its newer path, whose answer has the same page. */
export async function searchCollections(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const answer = await searchPayments(runtime, call);
  if (answer.kind !== 'answer' || answer.status !== 200) return answer;
  const body = answer.body as { results: unknown[] }; // the story has put it together
  return { ...answer, body: { ...body, results: body.results.map((one) => asCollection(runtime, call, one)) } };
}

/** Every field of the payment, and beside them what a collection calls otherwise. */
function asCollection(runtime: Runtime, call: LegacyCall, payment: unknown): { collection: object } {
  const { value } = runtime.tables.collection(payment, merchantContext(runtime, call.merchant));
  return { collection: { ...(payment as object), ...(value.body as object) } }; // the table has just read and written them
}
