/** One call of the legacy API in parts, its answer, and its refusals in the catalogue's words. */

import type { Request } from 'express';
import { TERMINAL_ID } from '../../contract/identifiers.ts';
import { type Json, parseJson, withWholeNumbers } from '../../contract/json.ts';
import { decodeText } from '../../contract/legacy-body.ts';
import { type LegacyError, pointErrors } from '../../contract/legacy-point.ts';
import { PuenteError } from '../../error.ts';
import { bodyBytes } from '../answer.ts';
import { bearerToken, queryOf } from '../auth.ts';
import type { Merchant, Terminal } from '../cast.ts';
import type { World } from '../world.ts';
import type { LegacyState } from './state.ts';

export interface LegacyCall {
  world: World;
  state: LegacyState;
  /** The owner of the token. */
  merchant: Merchant;
  /** A named part of the path; empty when the route has none of that name. */
  path(name: string): string;
  query: URLSearchParams;
  /** Value of a request header, by lower-case name. */
  header(name: string): string | undefined;
  /** Raw bytes; empty on GET and DELETE, whose bodies the live service ignores (`docs/field-notes.md` Point finding 9). */
  body: Uint8Array;
}

export interface LegacyReply {
  status: number;
  /** Missing for an answer without a body. */
  body?: unknown;
}

export type Handler = (call: LegacyCall) => LegacyReply;

/** A refusal with its legacy body; `{}` in the text is filled with `detail` (`docs/field-notes.md` Point §1.9). */
export function refusal(error: LegacyError, detail = ''): PuenteError {
  const message = error.message.replace('{}', detail);
  return new PuenteError('refused', message, { facts: { status: error.status, error: error.error } });
}

/** @throws PuenteError refused, when the bytes are no JSON object. */
export function jsonObject(bytes: Uint8Array): { [key: string]: Json } {
  let value: Json;
  try {
    value = withWholeNumbers(parseJson(decodeText(bytes)));
  } catch {
    throw refusal(pointErrors.bad_json);
  }
  if (!isObject(value)) throw refusal(pointErrors.bad_json);
  return value;
}

/** True for a JSON object; arrays, null and exact numbers are none. */
export function isObject(value: unknown): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/**
 * The one value of a query parameter, or null.
 * @throws PuenteError refused, when it is given twice.
 */
export function single(query: URLSearchParams, name: string): string | null {
  const values = query.getAll(name);
  if (values.length > 1) throw refusal(pointErrors.bad_request);
  return values[0] ?? null;
}

/** @throws PuenteError refused with `error`, when the device of the path is not one of this merchant's. */
export function deviceOf(call: LegacyCall, error: LegacyError): Terminal {
  // The reference has a 400 for the format of the id, apart from the answer for a device that is not there (§1.2).
  if (!TERMINAL_ID.test(call.path('device'))) throw refusal(pointErrors.invalid_property, 'device_id');
  const terminal = call.world.terminal(call.merchant.user_id, call.path('device'));
  if (terminal === undefined) throw refusal(error);
  return terminal;
}

// A request of any legacy family in the parts that its handlers read, and whose it is.

export interface Parts {
  /** Owner of the token, which old clients also put into the query (`docs/architecture.md` Decision 12); undefined when it is nobody's. */
  merchant: Merchant | undefined;
  /** A named part of the path; empty when the route has none of that name. */
  path(name: string): string;
  query: URLSearchParams;
  /** Value of a request header, by lower-case name. */
  header(name: string): string | undefined;
  /** Raw bytes; empty where the route reads no body. */
  body: Uint8Array;
}

export function partsOf(world: World, request: Request): Parts {
  const query = queryOf(request);
  return {
    merchant: world.tokens.get(bearerToken(request) ?? query.get('access_token') ?? ''),
    path: (name) => String(request.params[name] ?? ''),
    query,
    header: (name) => request.get(name),
    body: bodyBytes(request),
  };
}
