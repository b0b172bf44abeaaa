/** What follows an answer that has left: a carried sale learns its end, and the exchange goes to the evidence. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { endCarried } from '../routing/legacy-ledger/carry.ts';
import { noteCarriedEnd } from '../routing/legacy-ledger/ended.ts';
import { isShadowed } from '../routing/stage.ts';
import { noteTaken, provenMerchant } from '../routing/token-ownership.ts';
import type { Runtime } from '../runtime.ts';
import type { Telemetry } from '../telemetry/spans.ts';
import type { Admission } from './admission.ts';
import { policyOf } from './caller.ts';
import { carriedBy, exchangeOf, fieldsOf, messagesOf, shadowOf, stageOf, type Told, toldBy } from './finished.ts';
import type { Ongoing } from './ongoing.ts';
import { singleHeaders } from './request.ts';

/** What `createExchanges` runs once a call is over. @param admission told of tokens that were proven. @param telemetry told of every call. */
export function createAfter(
  runtime: Runtime,
  admission: Pick<Admission, 'noteKnown'> | null = null,
  telemetry: Telemetry | null = null,
): (call: Ongoing, request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (call, request, response) => {
    const closed_at = call.closed_at ?? runtime.clock.now();
    const closed_tick_ms = call.closed_tick_ms ?? performance.now();
    const told =
      call.carried_at === null
        ? toldBy(response)
        : await followCarried(runtime, call, response, { closed_at, closed_tick_ms });
    if (call.proven_id === null) call.proven_id = await proved(runtime, call);
    if (call.proven_id !== null && call.token !== null) admission?.noteKnown(runtime.vault.fingerprint(call.token));
    noteUnknowns(runtime, call);
    const messages = messagesOf(call, request, told);
    const exchange = exchangeOf(runtime, call, told, closed_tick_ms - call.draft.started_tick_ms, messages);
    const task = shadowOf(runtime, call, exchange, request, told, messages);
    if (task === null) runtime.evidence.finished(exchange, fieldsOf(runtime, call, request));
    else runtime.evidence.shadowed(task);
    if (exchange.lane === 'orders') runtime.safety.note(exchange);
    telemetry?.called(exchange, {
      method: request.method ?? '',
      traceparent: singleHeaders(request).traceparent ?? null,
    });
  };
}

/** What legacy answered, once what it says of sales is written down. */
function followCarried(
  runtime: Runtime,
  call: Ongoing,
  response: ServerResponse,
  { closed_at, closed_tick_ms }: { closed_at: number; closed_tick_ms: number },
): Promise<Told> {
  noteCarried(call, closed_tick_ms);
  return inTurn(runtime, call, async () => {
    const told = await carriedBy(call, response, isBodyOfUse(runtime, call));
    await endSale(runtime, call, told, closed_at);
    await noteEnd(runtime, call, told);
    return told;
  });
}

/**
 * One after the other for what one token does at one unit, in the order of the answers: the cancel that follows a create at
 * once must find it written down as open. Tokens don't wait for each other, so that invented ones hold up nobody's till.
 */
function inTurn<Result>(
  runtime: Runtime,
  { carried_at, token, unit, path }: Ongoing,
  work: () => Promise<Result>,
): Promise<Result> {
  const where = unit ?? path.pos_id ?? null;
  if (carried_at === null || token === null || where === null) return work();
  return runtime.serial.run(`after:${runtime.vault.fingerprint(token)}:${where}`, work);
}

/** Whose the call was for certain, by what is known of its token or by what legacy has just done for it. Never throws. */
async function proved(runtime: Runtime, { operation, token, watched, merchant_id }: Ongoing): Promise<string | null> {
  if (token === null) return null;
  try {
    const known = await provenMerchant(runtime, token);
    if (known !== null || merchant_id === null || operation === null || watched === null) return known;
    if (!watched.whole || watched.status < 200 || watched.status > 299) return null;
    noteTaken(runtime, token, merchant_id);
    return merchant_id;
  } catch (error) {
    const cause = error instanceof Error ? error.message : 'unknown';
    runtime.log.warn('nobody could say whose a call was', { merchant: merchant_id ?? 'none', cause });
    return null;
  }
}

/** A carried answer is only unpacked and parsed where somebody reads it. */
function isBodyOfUse(runtime: Runtime, call: Ongoing): boolean {
  const { watched } = call;
  if (watched === null || watched.status >= 400 || call.sale !== null) return true;
  if (call.draft.rules?.captured === true) return true;
  return isShadowed(stageOf(runtime, call));
}

/** What is not known to have come whole may have happened or not, whoever broke off. */
async function endSale(runtime: Runtime, call: Ongoing, told: Told, closed_at: number): Promise<void> {
  if (call.sale === null) return;
  const whole = call.watched?.whole === true;
  await endCarried(runtime, call.sale, whole ? { status: told.status, body: told.body } : null, closed_at);
}

/** A carried cancel, or a read that shows an end, frees the unit of the sale that it is about. */
async function noteEnd(runtime: Runtime, call: Ongoing, { status, body }: Told): Promise<void> {
  const { operation, token, watched, merchant_id, path } = call;
  if (operation === null || token === null || call.sale !== null || watched?.whole !== true) return;
  await noteCarriedEnd(runtime, { operation, token, merchant_id, path }, { status, body }, call.at);
}

function noteCarried(call: Ongoing, closed_tick_ms: number): void {
  if (call.carried_tick_ms === null) return;
  const status = call.watched?.whole === true ? call.watched.status : null;
  call.draft.upstream.push({
    name: 'legacy',
    status,
    code: null,
    duration_ms: closed_tick_ms - call.carried_tick_ms,
    began_ms: call.carried_tick_ms - call.draft.started_tick_ms,
  });
}

/** Every hit is counted, whatever the policy; `note` is also logged, with whom the token names. */
function noteUnknowns(runtime: Runtime, call: Ongoing): void {
  for (const { what, name } of call.draft.unknown) {
    runtime.count('unknown', what);
    if (policyOf(runtime, call.merchant, `unknown_${what}`) !== 'note') continue;
    const merchant = call.merchant_id ?? 'none';
    runtime.log.info(`unknown ${what}`, { merchant, operation: call.operation?.name ?? 'none', path: name });
  }
}
