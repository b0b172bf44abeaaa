/** One call of the older families (payments, invoices, stores, tills, users): who calls, what was sent, and how it is refused. */
import { type Request, Router } from 'express';
import { isExactNumber, type Json } from '../contract/json.ts';
import { errorBody, type LegacyErrorEntry, type LegacyErrorName, legacyError } from '../contract/legacy-errors.ts';
import { PuenteError } from '../error.ts';
import { type Answer, bodyJson, json, readBody, send } from './answer.ts';
import { authenticatePayments, queryOf } from './auth.ts';
import type { Merchant } from './cast.ts';
import type { World } from './world.ts';

export interface OlderCall {
  world: World;
  /** The owner of the token. */
  merchant: Merchant;
  query: URLSearchParams;
  request: Request;
  /** A named part of the path; empty when the route has none of that name. */
  path(name: string): string;
}

/** @throws PuenteError refused, made by `refuse` or `refuseWith`. */
export type OlderHandler = (call: OlderCall) => Answer;

export type OlderRoute = readonly ['get' | 'post' | 'put' | 'delete', string, OlderHandler];

/** Bodies of GET and DELETE are read and dropped; a trailing slash changes nothing (`docs/field-notes.md` QR §3). */
export function olderRouter(world: World, routes: readonly OlderRoute[]): Router {
  const router = Router();
  for (const [method, path, handler] of routes) {
    router[method](path, readBody, (request, response) => send(response, answer(world, request, handler)));
  }
  return router;
}

function answer(world: World, request: Request, handler: OlderHandler): Answer {
  const caller = authenticatePayments(world, request);
  if (caller.refused !== undefined) return caller.refused;
  const path = (name: string): string => String(request.params[name] ?? '');
  try {
    return handler({ world, merchant: caller.merchant, query: queryOf(request), request, path });
  } catch (error) {
    if (error instanceof PuenteError && error.code === 'refused') return refusalAnswer(error);
    throw error;
  }
}

/** A refusal in the words of the payments catalogue; `detail` fills `{}`. */
export function refuse(name: LegacyErrorName, detail = ''): PuenteError {
  const entry = legacyError('payments', name);
  if (entry === null) throw new PuenteError('not_found', `The payments family has no error ${name}.`);
  return refuseWith(entry, detail);
}

/** A refusal that the payments catalogue doesn't have. */
export function refuseWith(entry: LegacyErrorEntry, detail = ''): PuenteError {
  const { status, error, cause } = entry;
  const message = entry.message.replace('{}', detail);
  return new PuenteError('refused', message, { facts: { status, error, ...(cause !== undefined && { cause }) } });
}

function refusalAnswer({ message, facts }: PuenteError): Answer {
  const { status, error, cause } = facts;
  const entry = { status: Number(status), error: String(error), message };
  const body = errorBody('payments', cause === undefined ? entry : { ...entry, cause: Number(cause) }, '');
  return json(entry.status, body);
}

export type JsonObject = { [key: string]: Json };

/**
 * The body as an object; none at all counts as `{}`.
 * @throws PuenteError refused.
 */
export function bodyObject(request: Request): JsonObject {
  const body = bodyJson(request) ?? { value: {} };
  if ('broken' in body || !isJsonObject(body.value)) throw refuse('bad_json');
  return body.value;
}

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value);
}

export interface Page {
  offset: number;
  limit: number;
}

/**
 * `limit` and `offset` of the query.
 * @throws PuenteError what `fault` makes of the name of the parameter that is no number.
 */
export function pageOf(query: URLSearchParams, default_limit: number, fault: (name: string) => PuenteError): Page {
  const read = (name: string, missing: number): number => {
    const text = query.get(name);
    if (text === null || text === '') return missing;
    if (!/^\d{1,9}$/.test(text)) throw fault(name);
    return Number(text);
  };
  return { offset: read('offset', 0), limit: Math.min(read('limit', default_limit), MAX_LIMIT) };
}

/** The largest page; none is published, so a larger wish is cut and the answer says so in `paging.limit`. */
const MAX_LIMIT = 1000;

/** `paging` and `results` of one page. */
export function paged<Entry>(entries: readonly Entry[], page: Page, render: (entry: Entry) => unknown): Answer {
  const { offset, limit } = page;
  const results = entries.slice(offset, offset + limit).map(render);
  return json(200, { paging: { total: entries.length, limit, offset }, results });
}
