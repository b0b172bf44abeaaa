/** Calls of no operation: named and counted, and then carried, unless their merchant's word is to refuse them. */
import type { RequestHandler } from 'express';
import { refused } from '../core/answer.ts';
import { endpointName, noteUnknown } from '../core/exchange-unknown.ts';
import { askWhose } from '../core/proof.ts';
import type { Runtime } from '../core/runtime.ts';
import { sendAnswer } from './answer.ts';
import { nameCaller, policyOf } from './caller.ts';
import { type Carrier, carryBytes } from './carry.ts';
import { type Ongoing, ongoingOf } from './ongoing.ts';
import { familyOf } from './passthrough.ts';
import { readToken } from './request.ts';

/**
 * The last handler of the door. A merchant's word to refuse holds for calls with a token of its own, and an invented one
 * learns nothing of it. A call of nobody, such as the one for a new token, has no merchant, and is carried.
 */
export function unknownEndpoints(carrier: Pick<Carrier, 'runtime' | 'carry'>): RequestHandler {
  return (request, response, next) => {
    const call = ongoingOf(request);
    const serve = async (): Promise<void> => {
      await nameCaller(carrier.runtime, call, readToken(request));
      noteUnknown(call.draft, 'endpoint', endpointName(request.method, request.originalUrl));
      if (await isRefused(carrier.runtime, call)) {
        sendAnswer(response, refused(familyOf(request.originalUrl), 'action_not_supported'));
      } else if (!response.closed) carryBytes(carrier, call, [request, response, next]);
    };
    call.work = serve().catch(next);
  };
}

async function isRefused(runtime: Runtime, call: Ongoing): Promise<boolean> {
  const { token, merchant, merchant_id } = call;
  if (token === null || merchant_id === null) return false;
  if (policyOf(runtime, merchant, 'unknown_endpoint') !== 'refuse') return false;
  return (await askWhose(runtime, token)) === merchant_id;
}
