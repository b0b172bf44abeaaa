/** Who there is in the sandbox: sellers, integrators, their tokens, idempotency keys and ids. */

import type { Request, Router } from 'express';
import { z } from 'zod';
import { readQuery } from '../contract/legacy-body.ts';
import { errorBody, paymentErrors } from '../contract/legacy-errors.ts';
import { PuenteError } from '../error.ts';
import { type Answer, json, readBody, send, tokenRefusal } from './answer.ts';
import type { Settings } from './assumptions.ts';
import { createCast, type Merchant, type Occupation, type Terminal } from './cast.ts';
import type { Clock } from './clock.ts';
import { merchantOf, parse } from './control-call.ts';
import type { World } from './world.ts';

/** Merchants, tokens, stores, points of sale and terminals; `fill` puts the cast back. */
export function createPeople() {
  const merchants: World['merchants'] = new Map();
  const tokens: World['tokens'] = new Map();
  const oauth_tokens: World['oauth_tokens'] = new Set();
  const stores: World['stores'] = new Map();
  const points_of_sale: World['points_of_sale'] = new Map();
  const terminals = new Map<string, Map<string, Terminal>>();
  const lists = new Map<string, Terminal[]>();
  const addTerminal = (terminal: Terminal): void => {
    terminals.get(terminal.merchant_id)?.set(terminal.id, terminal);
    lists.get(terminal.merchant_id)?.push(terminal);
  };
  return {
    merchants,
    tokens,
    oauth_tokens,
    stores,
    points_of_sale,
    addTerminal,
    terminal: (merchant_id: string, terminal_id: string) => terminals.get(merchant_id)?.get(terminal_id),
    terminals: (merchant_id: string) => lists.get(merchant_id) ?? [],
    occupy(terminal: Terminal, occupation: Occupation): void {
      if (terminal.occupation !== null) {
        const holder = terminal.occupation.id;
        throw new PuenteError('conflict', `Terminal ${terminal.id} already holds ${holder}; end that first.`);
      }
      terminal.occupation = occupation;
    },
    release(terminal: Terminal, id: string): void {
      if (terminal.occupation?.id === id) terminal.occupation = null;
    },
    fill(extra_terminals: number): void {
      const cast = createCast(extra_terminals);
      for (const map of [merchants, tokens, oauth_tokens, stores, points_of_sale, terminals, lists]) map.clear();
      for (const merchant of cast.merchants) {
        merchants.set(merchant.user_id, merchant);
        tokens.set(merchant.access_token, merchant);
        terminals.set(merchant.user_id, new Map());
        lists.set(merchant.user_id, []);
      }
      for (const store of cast.stores) stores.set(store.id, store);
      for (const point of cast.points_of_sale) points_of_sale.set(point.id, point);
      for (const terminal of cast.terminals) addTerminal(terminal);
    },
  };
}

// The part of the control door that changes what a merchant may do: its token, and the agreements behind it.

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

const merchantSchema = z.strictObject({
  has_marketplace: z.boolean().exactOptional(),
  may_hand_out_cash: z.boolean().exactOptional(),
});

const tokenSchema = z
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
function changeToken(world: World, merchant: Merchant, wanted: z.infer<typeof tokenSchema>): void {
  const old = merchant.access_token;
  const { access_token = old, oauth = world.oauth_tokens.has(old) } = wanted;
  world.tokens.delete(old);
  world.oauth_tokens.delete(old);
  merchant.access_token = access_token;
  world.tokens.set(access_token, merchant);
  if (oauth) world.oauth_tokens.add(access_token);
}

// Who is calling: bearer tokens, and the answers to a missing, malformed or unknown one (`orders-api.md` §1.5).

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

// The idempotency memory: 24 hours per merchant and key, in the five variants of `reliability.md` §3.1.

/** `interface.md` Limits: key memory of 24 hours. */
const MEMORY_MS = 24 * 60 * 60 * 1000;
const MINUTE_MS = 60_000;

export interface SavedAnswer {
  status: number;
  body: string;
}

export interface KeyEntry {
  /** Hash of method, path and body; null when the body was never read, which matches any. */
  fingerprint: string | null;
  stored_at_ms: number;
  answer: SavedAnswer;
  /** The order that came of it. */
  order_id: string | null;
}

export interface KeyMemory {
  find(merchant_id: string, key: string): KeyEntry | undefined;
  store(merchant_id: string, key: string, entry: Omit<KeyEntry, 'stored_at_ms'>): void;
  clear(): void;
}

export function createKeyMemory(clock: Clock, settings: Settings): KeyMemory {
  const entries = new Map<string, KeyEntry>();
  return {
    find(merchant_id, key) {
      const entry = entries.get(`${merchant_id}/${key}`);
      if (entry === undefined) return undefined;
      const age_ms = clock.now() - entry.stored_at_ms;
      const memory_ms = settings.replay === 'forgets' ? settings.replay_forget_after_minutes * MINUTE_MS : MEMORY_MS;
      return age_ms < memory_ms ? entry : undefined;
    },
    store(merchant_id, key, entry) {
      forgetOld();
      const name = `${merchant_id}/${key}`;
      entries.delete(name); // so that the map stays in order of age
      entries.set(name, { ...entry, stored_at_ms: clock.now() });
    },
    clear: () => entries.clear(),
  };

  /** Entries are in order of age, so the walk stops at the first young one. */
  function forgetOld(): void {
    const oldest_ms = clock.now() - MEMORY_MS;
    for (const [name, entry] of entries) {
      if (entry.stored_at_ms > oldest_ms) return;
      entries.delete(name);
    }
  }
}

// Ids of orders, payments and refunds: a prefix and a ULID (`orders-api.md` §1.4).

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_LETTERS = 10;
const RANDOM_LETTERS = 16;

/** A ULID: 10 letters of time, which ids made together share, and 16 random ones. */
export function newUlid(world: World): string {
  let time = world.clock.now();
  let text = '';
  for (let index = 0; index < TIME_LETTERS; index++) {
    text = CROCKFORD.charAt(time % 32) + text;
    time = Math.floor(time / 32);
  }
  for (let index = 0; index < RANDOM_LETTERS; index++) text += CROCKFORD.charAt(Math.floor(world.random() * 32));
  return text;
}

/** `ORD` and 26 characters; `ORDTST` for orders of test credentials, where the settings make such orders (`orders-api.md` §1.4). */
export function isOrderId(text: string, { order_ids, order_id_letters }: World['settings']): boolean {
  const [, suffix = ''] = (order_ids === 'ORD' ? /^ORD(.*)$/ : /^ORD(?:TST)?(.*)$/).exec(text) ?? [];
  return (order_id_letters === 'alphanumeric' ? /^[0-9A-Za-z]{26}$/ : /^[0-9A-HJKMNP-TV-Z]{26}$/).test(suffix);
}
