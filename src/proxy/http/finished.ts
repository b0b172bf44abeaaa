/** What is handed to the evidence once a call is over: the exchange, and what its shadow needs. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { readQuery } from '../../contract/legacy-body.ts';
import { fieldsThatCame } from '../../mapping/fields.ts';
import type { CapturedMessages, Exchange } from '../evidence/exchange.ts';
import { outcomeOf, TILL_LEFT } from '../evidence/exchange-outcome.ts';
import { redactMessages } from '../evidence/redact.ts';
import type { Stage } from '../routing/merchant.ts';
import { isShadowed, stageInForce } from '../routing/stage.ts';
import type { Runtime, ShadowTask } from '../runtime.ts';
import { toldOf } from './answer.ts';
import type { Ongoing } from './ongoing.ts';
import { scrubbedTarget, singleHeaders } from './request.ts';
import { bodyOf } from './tee.ts';

/** What the till was told; of a carried answer, what went by. */
export interface Told {
  status: number;
  headers: Record<string, string>;
  /** Null where there was none, or nobody could read it. */
  body: unknown;
}

/** What Puente itself told. */
export function toldBy(response: ServerResponse): Told {
  const own = toldOf(response);
  if (own === null) return { status: TILL_LEFT, headers: {}, body: null };
  return { status: own.status, headers: own.headers ?? {}, body: own.body ?? null };
}

/** What was told of a call that was carried. @param reading whether the body of the answer is of use. */
export async function carriedBy({ watched }: Ongoing, response: ServerResponse, reading: boolean): Promise<Told> {
  if (watched === null || toldOf(response) !== null) return toldBy(response);
  const { status, headers } = watched;
  return { status, headers, body: reading ? await bodyOf(watched) : null };
}

/**
 * The exchange of a call. One whose token nobody has proven is kept under no merchant: it may be anybody's, and counts in
 * no sum of whom it names. @param duration_ms the till's wait. @param messages redacted; null unless captured.
 */
export function exchangeOf(
  runtime: Runtime,
  call: Ongoing,
  told: Told,
  duration_ms: number,
  messages: CapturedMessages | null,
): Exchange {
  const { draft, operation } = call;
  return {
    id: call.id,
    at: call.at,
    merchant_id: call.proven_id,
    operation: operation?.name ?? null,
    kind: operation?.kind ?? null,
    lane: call.lane,
    stage: stageOf(runtime, call),
    unit: call.unit,
    legacy_id: draft.legacy_id,
    status: told.status,
    error: told.status < 400 ? null : errorNamed(told.body),
    outcome: call.is_drill ? 'business' : outcomeOf(told.status, draft.upstream, draft.by_doubt),
    duration_ms,
    tables_revision: runtime.tables.revision,
    // Copies: what still runs for the call must not change what was handed over.
    upstream: [...draft.upstream],
    fired: [...draft.fired],
    losses: [...draft.losses],
    unknown: [...draft.unknown],
    limitations: [...draft.limitations],
    shadow: null,
    messages: call.proven_id === null ? null : messages,
  };
}

/** As the lane saw it; a call of no lane has its merchant's. */
export function stageOf(runtime: Runtime, call: Ongoing): Stage {
  return call.stage ?? stageInForce(runtime.settings, call.merchant, call.operation?.kind ?? null).stage;
}

/**
 * What the shadow of a carried call needs; null for a call that has none. @param messages of the call, for the case that
 * its token is only proven by the shadow.
 */
export function shadowOf(
  runtime: Runtime,
  call: Ongoing,
  exchange: Exchange,
  request: IncomingMessage,
  told: Told,
  messages: CapturedMessages | null,
): ShadowTask | null {
  const { operation, token, merchant } = call;
  if (operation === null || token === null || call.carried_at === null || !isShadowed(exchange.stage)) return null;
  if (operation.upstream !== 'create' && !operation.double_read) return null;
  return {
    exchange,
    request: askedIn(call, request),
    legacy_body: call.watched?.whole === true ? told.body : null,
    token,
    site: merchant?.site ?? null,
    voucher: merchant?.settings.voucher ?? runtime.settings.merchants.voucher,
    messages,
  };
}

/** What coverage asks of a call that the tables have translated: fields that it had; the others are proven by the rows that fired. */
export function fieldsOf({ tables }: Runtime, call: Ongoing, request: IncomingMessage): string[] {
  const { operation, draft } = call;
  if (operation === null || draft.fired.length === 0) return [];
  return fieldsThatCame(tables, operation.name, askedIn(call, request));
}

function askedIn(call: Ongoing, request: IncomingMessage): ShadowTask['request'] {
  return { path: call.path, query: queryOf(request), headers: withoutSecrets(request), body: call.body };
}

/** The messages of a captured call, redacted before anything waits or is kept; null for a call that is not captured. */
export function messagesOf(call: Ongoing, request: IncomingMessage, told: Told): CapturedMessages | null {
  if (call.draft.rules?.captured !== true || call.operation === null) return null;
  // The rules are of whom the token names, which may be somebody else.
  if (call.proven_id !== null && call.proven_id !== call.merchant_id) return null;
  return redactMessages({
    request: {
      method: request.method ?? '',
      target: scrubbedTarget(request),
      headers: singleHeaders(request),
      body: call.body ?? null,
    },
    answer: told,
    upstream: [...call.draft.sent],
  });
}

function errorNamed(body: unknown): string | null {
  const named = body !== null && typeof body === 'object' && 'error' in body ? body.error : null;
  return typeof named === 'string' ? named.slice(0, MAX_ERROR) : null;
}
/** The longest error of the catalogues is below 60 characters; another one is not kept whole. */
const MAX_ERROR = 80;

/** The last of a parameter given twice, without a token: legacy took such calls, and its shadow says what orders make of them. */
function queryOf(request: IncomingMessage): Record<string, string> {
  return Object.fromEntries(readQuery(scrubbedTarget(request).split(/\?(.*)/s)[1] ?? ''));
}

function withoutSecrets(request: IncomingMessage): Record<string, string> {
  const { authorization: _token, cookie: _cookie, ...headers } = singleHeaders(request);
  return headers;
}
