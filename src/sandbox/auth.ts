/** Who calls the sandbox: bearer tokens, and the merchants that the control door adds. */
import type { Request, Router } from 'express';
import { z } from 'zod';
import { readQuery } from '../contract/legacy-body.ts';
import { errorBody, paymentErrors } from '../contract/legacy-errors.ts';
import { type Answer, json, readBody, send, tokenRefusal } from './answer.ts';
import type { Merchant } from './cast.ts';
import { merchantOf, parse } from './control-call.ts';
import type { World } from './world.ts';

export function addMerchants(router: Router, world: World): void {
  router.put('/_sandbox/merchants/:merchant', readBody, (request, response) => {
    const merchant = Object.assign(merchantOf(world, request), parse(merchantSchema, request));
    const { user_id, has_marketplace, may_hand_out_cash } = merchant;
    send(response, json(200, { user_id, has_marketplace, may_hand_out_cash }));
  });
  router.put('/_sandbox/merchants/:merchant/token', readBody, (request, response) => {
    changeToken(world, merchantOf(world, request), parse(tokenSchema, request));
    send(response, { status: 204, body: '' });
  });
}

export const merchantSchema = z.strictObject({
  has_marketplace: z.boolean().exactOptional(),
  may_hand_out_cash: z.boolean().exactOptional(),
});

export const tokenSchema = z
  .strictObject({
    access_token: z
      .string()
      .regex(/^(?:APP_USR|TEST)-[\w-]+$/)
      .optional(),
    /** Whether the token was obtained through OAuth. */
    oauth: z.boolean().optional(),
  })
  .refine((wanted) => Object.keys(wanted).length > 0, { message: 'Say access_token or oauth.' });

/** A replaced token is unknown from now on, as an expired one is. */
export function changeToken(world: World, merchant: Merchant, wanted: z.infer<typeof tokenSchema>): void {
  const old = merchant.access_token;
  const { access_token = old, oauth = world.oauth_tokens.has(old) } = wanted;
  world.tokens.delete(old);
  world.oauth_tokens.delete(old);
  merchant.access_token = access_token;
  world.tokens.set(access_token, merchant);
  if (oauth) world.oauth_tokens.add(access_token);
}

export const BEARER = /^Bearer (\S+)$/i;

/** Production and test credentials start like this; anything else is malformed to the live service. */
export const WELL_FORMED = /^(?:APP_USR|TEST)-[\w-]+$/;

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

/** For the older families, which speak the older envelope and take the token in the query too (`docs/field-notes.md` QR §6). */
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

/** 401 with cause 5, as captured for a missing token (`docs/field-notes.md` QR §3). */
export function olderRefusal(message: string): Answer {
  const entry = { ...paymentErrors.unauthorized, message };
  return json(entry.status, errorBody('payments', entry, ''));
}

export const missingToken = tokenRefusal(401, 'unauthorized', 'authorization value not present');

export const unknownToken = tokenRefusal(401, 'unauthorized', 'user not found');

export const blockedByGateway = json(403, {
  code: 'PA_UNAUTHORIZED_RESULT_FROM_POLICIES',
  blocked_by: 'PolicyAgent',
  message: 'At least one policy returned UNAUTHORIZED.',
  status: 403,
});
