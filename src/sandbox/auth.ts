/** Who is calling: bearer tokens, and the answers to a missing, malformed or unknown one (`orders-api.md` §1.5). */
import type { Request } from 'express';
import { readQuery } from '../contract/legacy-body.ts';
import { paymentErrors } from '../contract/legacy-errors/payments.ts';
import { errorBody } from '../contract/legacy-errors.ts';
import { type Answer, json, tokenRefusal } from './answer.ts';
import type { Merchant } from './cast.ts';
import type { World } from './world.ts';

const BEARER = /^Bearer (\S+)$/i;
/** Production and test credentials start like this; anything else is malformed to the live service. */
const WELL_FORMED = /^(?:APP_USR|TEST)-[\w-]+$/;

/** @returns the token, or null when there is no bearer token in the header. */
export function bearerToken(request: Request): string | null {
  return BEARER.exec(request.headers.authorization ?? '')?.[1] ?? null;
}

export type Caller = { merchant: Merchant; refused?: undefined } | { merchant?: undefined; refused: Answer };

/** For `/v1/orders*` and `/terminals/*`. */
export function authenticate(world: World, request: Request): Caller {
  if (request.headers.authorization === undefined) {
    const isBlocked = world.settings.missing_token === 'gateway' && !request.path.startsWith('/terminals/');
    return { refused: isBlocked ? blockedByGateway : missingToken };
  }
  const token = bearerToken(request);
  if (token === null || !WELL_FORMED.test(token)) return { refused: missingToken };
  const merchant = world.tokens.get(token);
  return merchant === undefined ? { refused: unknownToken } : { merchant };
}

/** For the older families, which speak the older envelope and take the token in the query too (`legacy-qr.md` §6). */
export function authenticatePayments(world: World, request: Request): Caller {
  const token = bearerToken(request) ?? queryOf(request).get('access_token');
  if (token === null || token === '') return { refused: olderRefusal('Must provide your access_token to proceed') };
  const merchant = world.tokens.get(token);
  return merchant === undefined ? { refused: olderRefusal(paymentErrors.unauthorized.message) } : { merchant };
}

/** The query of the address; a bare question mark is an empty one. */
export function queryOf(request: Request): URLSearchParams {
  const [, query = ''] = request.originalUrl.split(/\?(.*)/s);
  return readQuery(query);
}

/** 401 with cause 5, as captured for a missing token (`legacy-qr.md` §3). */
function olderRefusal(message: string): Answer {
  const entry = { ...paymentErrors.unauthorized, message };
  return json(entry.status, errorBody('payments', entry, ''));
}

const missingToken = tokenRefusal(401, 'unauthorized', 'authorization value not present');
const unknownToken = tokenRefusal(401, 'unauthorized', 'user not found');
const blockedByGateway = json(403, {
  code: 'PA_UNAUTHORIZED_RESULT_FROM_POLICIES',
  blocked_by: 'PolicyAgent',
  message: 'At least one policy returned UNAUTHORIZED.',
  status: 403,
});
