/** Calls of no operation: named and counted, and then carried, unless their merchant's word is to refuse them. */
import type { RequestHandler } from 'express';
import { endpointName, noteUnknown } from '../evidence/exchange-unknown.ts';
import { chooseLane, type Named } from '../routing/lane.ts';
import { askWhose } from '../routing/token-ownership.ts';
import type { Runtime } from '../runtime.ts';
import { errorAnswer, sendAnswer } from './answer.ts';
import { nameCaller, policyOf } from './caller.ts';
import { type Carrier, carryBytes } from './carry.ts';
import { type Answered, refused } from './legacy-answer.ts';
import { plainTarget, unroutedOf } from './legacy-route.ts';
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
      const guarded = await guard(carrier.runtime, call, request.method, request.originalUrl);
      if (guarded !== null) {
        sendAnswer(response, guarded);
      } else if (await isRefused(carrier.runtime, call)) {
        sendAnswer(response, refused(familyOf(request.originalUrl), 'action_not_supported'));
      } else if (!response.closed) carryBytes(carrier, call, [request, response, next]);
    };
    call.work = serve().catch((error: unknown) => {
      sendAnswer(response, errorAnswer(familyOf(request.originalUrl), error, request, carrier.runtime.log));
    });
  };
}

/** Of these methods nothing is made. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Nothing that can make a sale reaches legacy for a unit whose sales are on orders: there a write below the paths of sales
 * that no table knows is refused in its family's shape, unless the setting says to carry it, and so is whatever a bolder
 * server than ours could take for a call of the tables. The lane is chosen as for a call that the tables know.
 * @returns null for what may be carried.
 */
async function guard(runtime: Runtime, call: Ongoing, method: string, target: string): Promise<Answered | null> {
  const unrouted = method === 'OPTIONS' ? null : unroutedOf(runtime.tables.operations, target);
  if (unrouted === null) return null;
  const { is_odd, is_of_sales, slot, kind, path } = unrouted;
  if (!is_odd && runtime.tables.isCarried(method, plainTarget(target).split('?', 1)[0] ?? '')) return null;
  const family = familyOf(`${path}/`);
  const is_write = is_of_sales && !SAFE.has(method);
  if (!is_odd && (!is_write || runtime.settings.merchants.unknown_write === 'carry')) return null;
  // Nobody's call: where merchants start on legacy, legacy says what it thinks of it.
  if (call.token === null)
    return runtime.settings.merchants.stage === 'legacy' ? null : refused(family, 'unauthorized');
  const named: Named = slot === null ? { kind: 'merchant' } : { kind: 'slot', slot, work: 'look' };
  const lane = await chooseLane(runtime, call.token, named, kind);
  call.unit = slot;
  if (lane.lane === 'refused') return refused(family, lane.error);
  // Of a canary's work that names no unit nobody can tell whose sale it would be.
  if (lane.lane === 'legacy' && !(slot === null && lane.stage === 'canary')) return null;
  call.lane = 'orders';
  runtime.count('refused_writes', is_odd ? 'spelling' : 'endpoint');
  runtime.log.warn('a call that could make a sale on legacy was refused', {
    merchant: call.merchant_id ?? 'none',
    path: endpointName(method, target),
    cause: is_odd ? 'its path is spelled oddly' : 'no table knows it',
  });
  return is_odd ? refused(family, 'bad_request') : refused(family, 'action_not_supported');
}

async function isRefused(runtime: Runtime, call: Ongoing): Promise<boolean> {
  const { token, merchant, merchant_id } = call;
  if (token === null || merchant_id === null) return false;
  if (policyOf(runtime, merchant, 'unknown_endpoint') !== 'refuse') return false;
  return (await askWhose(runtime, token)) === merchant_id;
}
