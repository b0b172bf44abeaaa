/** The legacy lane: what is remembered, refused or looked at before the bytes of an operation are carried untouched. */
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { decodeText, readLegacyBody } from '../../contract/legacy-body.ts';
import type { Operation } from '../../mapping/tables.ts';
import { brownoutOf, brownoutWait_s } from '../routing/brownout.ts';
import { beginCarried } from '../routing/legacy-ledger/carry.ts';
import { isTerminalRefund } from '../routing/legacy-ledger/unit.ts';
import { askWhose } from '../routing/token-ownership.ts';
import type { Runtime } from '../runtime.ts';
import type { Secret } from '../secret.ts';
import { sendAnswer } from './answer.ts';
import { refused } from './legacy-answer.ts';
import type { Ongoing } from './ongoing.ts';
import { peekUpTo, singleHeaders } from './request.ts';

export interface Carrier {
  runtime: Runtime;
  /** Carries the request to the legacy upstream, untouched. */
  carry: RequestHandler;
  /** A longer body is carried without being looked at. */
  body_limit_bytes: number;
}

type Handled = Parameters<RequestHandler>;

/**
 * Carries a call of an operation, once it is written down where it makes something.
 * @returns false when an order of ours holds the unit by now, so that the lane has to be chosen again.
 * @throws PuenteError bad_request when the client goes away before its request is complete.
 */
export async function carryOperation(
  carrier: Carrier,
  call: Ongoing,
  operation: Operation,
  token: Secret,
  handled: Handled,
): Promise<boolean> {
  const [request, response] = handled;
  call.lane = 'legacy';
  if (await isBrownedOut(carrier.runtime, call, operation, token, response)) return true;
  const is_create = operation.upstream === 'create' || isTerminalRefund(operation);
  const is_captured = call.draft.rules?.captured === true && operation.body !== 'dropped';
  if (is_create || is_captured) call.body = await lookAtBody(request, carrier.body_limit_bytes);
  if (response.closed) return true; // nobody waits, and nothing was sent
  if (is_create) {
    const begun = await beginCarried(carrier.runtime, {
      merchant_id: call.merchant_id,
      operation,
      path: call.path,
      body: typeof call.body === 'object' ? call.body : null,
      headers: singleHeaders(request),
      is_token_refused: call.is_token_refused,
      token,
    });
    if (begun.kind === 'elsewhere') return false;
    call.sale = begun.kind === 'begun' ? begun.sale : null;
  }
  carryBytes(carrier, call, handled);
  return true;
}

/** Carries whatever it is, and remembers when. */
export function carryBytes(carrier: Pick<Carrier, 'runtime' | 'carry'>, call: Ongoing, handled: Handled): void {
  call.lane = 'legacy';
  call.carried_at = carrier.runtime.clock.now();
  call.carried_tick_ms = performance.now();
  void carrier.carry(...handled);
}

/** Refuses the call while a brown-out of its merchant asks for it; each call looks anew, so an abort holds at once. */
async function isBrownedOut(
  runtime: Runtime,
  call: Ongoing,
  operation: Operation,
  token: Secret,
  response: Handled[1],
): Promise<boolean> {
  const now = runtime.clock.now();
  const window = brownoutOf(call.merchant, operation, now);
  if (window === null) return false;
  // An invented token must not learn of it, and on legacy nobody was asked so far: then legacy judges the token itself.
  if ((await askWhose(runtime, token)) !== call.merchant?.id) return false;
  call.is_drill = true;
  runtime.count('brownouts', operation.name);
  const wait = { 'retry-after': String(brownoutWait_s(window, now)) };
  sendAnswer(response, refused(operation.family, 'unavailable', null, wait));
  return true;
}

/** Parsed as the orders lane would read it, or text where it is no JSON; undefined when there is nothing or too much. Every byte is put back. */
async function lookAtBody(request: IncomingMessage, limit_bytes: number): Promise<unknown> {
  const bytes = await peekUpTo(request, limit_bytes);
  if (bytes === null || bytes.length === 0) return undefined;
  const read = readLegacyBody(bytes, request.headers, limit_bytes);
  return read.fault === undefined ? read.value : decodeText(bytes);
}
