/** `POST /oauth/token` for the cast: an authorization code or a refresh token becomes an access token. Source: `docs/field-notes.md` Spec Authentication 4, the official SDK's types. */
import { randomBytes } from 'node:crypto';
import { type Request, Router } from 'express';
import { type Answer, bodyBytes, bodyJson, json, readBody, send } from '../answer.ts';
import type { Merchant } from '../cast.ts';
import type { World } from '../world.ts';

/** The invented secret of the cast's one application. */
const CLIENT_SECRET = 'sandbox-client-secret';
/** 180 days. */
const LIFETIME_S = 180 * 24 * 60 * 60;

/** No bearer token is needed: the client proves itself by its secret. The state view tells id, secret and codes. */
export function oauthRouter(world: World): Router {
  const grants = createGrants(world);
  world.addView('oauth', () => ({ client_secret: CLIENT_SECRET, grants: grants.list() }));
  const router = Router();
  router.post('/oauth/token', readBody, (request, response) => {
    send(response, exchange(world, grants, readParameters(request)));
  });
  return router;
}

type GrantType = 'authorization_code' | 'refresh_token';

interface Grant {
  type: GrantType;
  merchant: Merchant;
}

/** What can still be exchanged, each once; every merchant starts with one code. */
function createGrants(world: World) {
  const grants = new Map<string, Grant>();
  const fill = (): void => {
    grants.clear();
    for (const merchant of world.merchants.values()) {
      grants.set(`TG-0000000000000000000000c0-${merchant.user_id}`, { type: 'authorization_code', merchant });
    }
  };
  fill();
  world.onReset(fill);
  return {
    take(type: GrantType, code: string): Merchant | null {
      const grant = grants.get(code);
      if (grant?.type !== type) return null;
      grants.delete(code);
      return grant.merchant;
    },
    refreshToken(merchant: Merchant): string {
      const code = `TG-${randomBytes(12).toString('hex')}-${merchant.user_id}`;
      grants.set(code, { type: 'refresh_token', merchant });
      return code;
    },
    list: () =>
      [...grants].map(([code, { type, merchant }]) => ({
        type,
        code,
        merchant_id: merchant.user_id,
        client_id: merchant.application_id,
      })),
  };
}

function exchange(
  world: World,
  grants: ReturnType<typeof createGrants>,
  parameters: ReadonlyMap<string, string>,
): Answer {
  const type = parameters.get('grant_type');
  if (type === undefined) return fault(400, 'invalid_request', 'grant_type is required');
  if (type !== 'authorization_code' && type !== 'refresh_token') {
    return fault(400, 'unsupported_grant_type', 'grant_type is authorization_code or refresh_token');
  }
  const code = parameters.get(type === 'refresh_token' ? 'refresh_token' : 'code');
  if (code === undefined) return fault(400, 'invalid_request', `${type} needs its code`);
  const client_id = parameters.get('client_id');
  const isKnown = [...world.merchants.values()].some(({ application_id }) => application_id === client_id);
  if (!isKnown || parameters.get('client_secret') !== CLIENT_SECRET) {
    return fault(400, 'invalid_client', 'client_id or client_secret is not valid');
  }
  const merchant = grants.take(type, code);
  if (merchant === null) return fault(400, 'invalid_grant', 'The code is unknown or was used before');
  return json(200, issue(world, merchant, grants.refreshToken(merchant)));
}

/** A new token beside those that the merchant has; it may take a marketplace fee. */
function issue(world: World, merchant: Merchant, refresh_token: string): object {
  const { application_id, user_id } = merchant;
  const at = new Date(world.clock.now()).toISOString();
  const stamp = `${at.slice(5, 7)}${at.slice(8, 10)}${at.slice(11, 13)}`; // MMddHH (`docs/field-notes.md` QR §6)
  const access_token = `APP_USR-${application_id}-${stamp}-${randomBytes(16).toString('hex')}-${user_id}`;
  world.tokens.set(access_token, merchant);
  world.oauth_tokens.add(access_token);
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

/** JSON as the SDK sends it, or the form of OAuth's own specification; empty for anything else. */
function readParameters(request: Request): ReadonlyMap<string, string> {
  if (request.is('application/x-www-form-urlencoded')) {
    return new Map(new URLSearchParams(bodyBytes(request).toString('utf8')));
  }
  const body = bodyJson(request);
  if (body === undefined || 'broken' in body || typeof body.value !== 'object' || body.value === null) return new Map();
  return new Map(Object.entries(body.value).map(([name, value]) => [name, String(value)]));
}

function fault(status: number, error: string, message: string): Answer {
  return json(status, { message, error, status, cause: [] });
}
