/** `POST /oauth/token` of the cast. Source: `docs/field-notes.md` Spec Authentication 4, the official SDK's types. */

import { randomBytes } from 'node:crypto';
import type { Request } from 'express';
import { isObject } from '../../contract/json.ts';
import { type Answer, json, paymentsRefusal } from '../answer.ts';
import { bodyBytes, bodyJson } from '../call.ts';
import { addToken } from '../cast.ts';
import type { Merchant } from '../records.ts';
import type { World } from '../world.ts';

/** Invented, for the cast's only application. */
export const CLIENT_SECRET = 'sandbox-client-secret';
const LIFETIME_S = 180 * 24 * 60 * 60;

/** Needs no bearer token: the client secret authenticates the caller. The state view shows id, secret and codes. */
export function exchange(world: World, request: Request): Answer {
  const parameters = readParameters(request);
  const type = parameters.get('grant_type');
  if (type === undefined) return paymentsRefusal(400, 'invalid_request', 'grant_type is required');
  if (type !== 'authorization_code' && type !== 'refresh_token') {
    return paymentsRefusal(400, 'unsupported_grant_type', 'grant_type is authorization_code or refresh_token');
  }
  const code = parameters.get(type === 'refresh_token' ? 'refresh_token' : 'code');
  if (code === undefined) return paymentsRefusal(400, 'invalid_request', `${type} needs its code`);
  const client_id = parameters.get('client_id');
  const isKnown = [...world.merchants.values()].some(({ application_id }) => application_id === client_id);
  if (!isKnown || parameters.get('client_secret') !== CLIENT_SECRET) {
    return paymentsRefusal(400, 'invalid_client', 'client_id or client_secret is not valid');
  }
  const grant = world.grants.get(code);
  if (grant?.type !== type) return paymentsRefusal(400, 'invalid_grant', 'The code is unknown or was used before');
  world.grants.delete(code);
  return json(200, issue(world, world.merchant(grant.merchant_id)));
}

/** Adds a token to those of the merchant; it may take a marketplace fee. */
function issue(world: World, { application_id, user_id }: Merchant): object {
  const refresh_token = `TG-${randomBytes(12).toString('hex')}-${user_id}`;
  world.grants.set(refresh_token, { code: refresh_token, type: 'refresh_token', merchant_id: user_id });
  const at = new Date(world.clock.now()).toISOString();
  const stamp = `${at.slice(5, 7)}${at.slice(8, 10)}${at.slice(11, 13)}`; // MMddHH (`docs/field-notes.md` QR §6)
  const access_token = `APP_USR-${application_id}-${stamp}-${randomBytes(16).toString('hex')}-${user_id}`;
  addToken(world, access_token, user_id, true);
  return {
    access_token,
    token_type: 'bearer',
    expires_in: LIFETIME_S,
    scope: 'offline_access read write',
    user_id: Number(user_id),
    refresh_token,
    public_key: `APP_USR-00000000-0000-4000-8000-000${user_id}`,
    live_mode: true,
  };
}

/** JSON, as the SDK sends it, or the form of OAuth's specification; empty for anything else. */
function readParameters(request: Request): ReadonlyMap<string, string> {
  if (request.is('application/x-www-form-urlencoded')) {
    return new Map(new URLSearchParams(bodyBytes(request).toString('utf8')));
  }
  const body = bodyJson(bodyBytes(request));
  if (body === undefined || 'broken' in body || !isObject(body.value)) return new Map();
  return new Map(Object.entries(body.value).map(([name, value]) => [name, String(value)]));
}
