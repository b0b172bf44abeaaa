/** Work after an answer has left: records how a proxied sale ended, and hands the exchange to the evidence. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { readQuery } from '../../contract/legacy-body.ts';
import { fieldsThatCame } from '../../mapping/assemble.ts';
import { type Exchange, type Outcome, type ShadowTask, TILL_LEFT, type UpstreamNote } from '../evidence/exchange.ts';
import { type CapturedMessages, keptText, redactMessages } from '../evidence/redact.ts';
import type { Ports } from '../ports.ts';
import { endProxied, noteProxiedEnd } from '../routing/legacy-ledger.ts';
import { isOfRefunds, keepProxiedRefunds } from '../routing/legacy-refunds.ts';
import type { Stage } from '../routing/merchant.ts';
import { isShadowed, stageInForce } from '../routing/stage.ts';
import { noteTaken, provenMerchant } from '../routing/token-ownership.ts';
import { outcomeOf } from '../safety.ts';
import type { Telemetry } from '../telemetry/port.ts';
import { type Metrics, NONE } from '../telemetry/telemetry.ts';
import type { Admission } from './admission.ts';
import { ownAnswerOf } from './answer.ts';
import { bodyOf, type Ongoing, policyOf } from './exchange.ts';
import { scrubbedTarget, singleHeaders } from './request.ts';

/** Makes the work after each call. @param admission gets proven tokens. @param metrics, telemetry get every call. */
export function createAfter(
  admission: Pick<Admission, 'noteKnown'> | null = null,
  metrics: Pick<Metrics, 'observe' | 'upstream'> | null = null,
  telemetry: Telemetry | null = null,
): (call: Ongoing, request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (call, request, response) => {
    const { ports } = call;
    const closed_at = call.closed_at ?? ports.clock.now();
    const closed_tick_ms = call.closed_tick_ms ?? performance.now();
    const proxied = noteProxied(call, closed_tick_ms);
    if (metrics !== null) measure(metrics, call, request, response, closed_tick_ms, proxied);
    const sent =
      call.proxied_at === null
        ? answerSentBy(response)
        : await followProxied(ports, call, request, response, closed_at);
    if (call.proven_id === null) call.proven_id = await proved(ports, call);
    if (call.proven_id !== null && call.token !== null) admission?.noteKnown(ports.vault.fingerprint(call.token));
    noteUnknowns(ports, call);
    const messages = messagesOf(call, request, sent);
    const exchange = exchangeOf(ports, call, sent, closed_tick_ms - call.draft.started_tick_ms, messages);
    const task = shadowOf(ports, call, exchange, request, sent, messages);
    if (task === null) ports.evidence.finished(exchange, fieldsOf(ports, call, request));
    else ports.evidence.shadowed(task);
    if (exchange.lane === 'orders') ports.evidence.safety.note(exchange, call.draft);
    telemetry?.called(exchange, {
      method: request.method ?? '',
      traceparent: singleHeaders(request).traceparent ?? null,
    });
  };
}

/**
 * A till that disconnects sooner has left by itself: healthy upstreams are faster, and no till gives up so soon. One
 * that waited longer was not answered in time, which is a fault: an upstream that hangs shows in no other way.
 */
const PATIENCE_MS = 2_500;

/** One observation of each call, before anything that could fail or wait; no byte of a body is read for it. */
function measure(
  metrics: Pick<Metrics, 'observe' | 'upstream'>,
  call: Ongoing,
  { method = '', complete }: IncomingMessage,
  response: ServerResponse,
  closed_tick_ms: number,
  proxied: UpstreamNote | null,
): void {
  const { operation, lane, draft } = call;
  const status = ownAnswerOf(response)?.status ?? call.watched?.status ?? TILL_LEFT;
  const duration_ms = closed_tick_ms - draft.started_tick_ms;
  const is_unanswered = ownAnswerOf(response) === null && call.watched?.whole !== true;
  // An answer of legacy that breaks off destroys the response with its error.
  const is_cut_short = !response.errored && duration_ms < PATIENCE_MS;
  const has_left = is_unanswered && (!complete || is_cut_short);
  const outcome = has_left ? 'left' : outcomeOfCall(call, status);
  metrics.observe({ method, operation: operation?.name ?? null, lane, outcome, status, duration_ms });
  if (proxied === null) return;
  const kind = proxied.status !== null ? 'answered' : has_left ? 'left' : 'broken';
  const name = operation === null ? NONE : proxied.name;
  metrics.upstream('legacy', { name, method }, kind, proxied.status, proxied.duration_ms);
}

/** Stores what legacy's answer shows about sales. @returns that answer. */
function followProxied(
  ports: Ports,
  call: Ongoing,
  request: IncomingMessage,
  response: ServerResponse,
  closed_at: number,
): Promise<SentAnswer> {
  return inTurn(ports, call, async () => {
    const sent = await legacyAnswerOf(call, response, isBodyOfUse(ports, call));
    await endSale(ports, call, request, sent, closed_at);
    await noteEnd(ports, call, sent);
    return sent;
  });
}

/**
 * Runs the work of one token at one unit in the order of the answers: a cancel right behind a create must find the
 * create stored as open, and the repeat of a refund the first one. Tokens do not wait for each other, so that invented tokens delay no till.
 */
function inTurn<Result>(
  ports: Ports,
  { proxied_at, token, operation, unit, path }: Ongoing,
  work: () => Promise<Result>,
): Promise<Result> {
  const where = unit ?? path.pos_id ?? (isOfRefunds(operation) ? path.payment_id : null) ?? null;
  if (proxied_at === null || token === null || where === null) return work();
  return ports.memory.mutex.run(`after:${ports.vault.fingerprint(token)}:${where}`, work);
}

/** The proven merchant of a call: by its token, or because legacy has just executed the call. Never throws. */
async function proved(ports: Ports, { operation, token, watched, merchant_id }: Ongoing): Promise<string | null> {
  if (token === null) return null;
  try {
    const known = await provenMerchant(ports, token);
    if (known !== null || merchant_id === null || operation === null || watched === null) return known;
    if (!watched.whole || watched.status < 200 || watched.status > 299) return null;
    noteTaken(ports, token, merchant_id);
    return merchant_id;
  } catch (error) {
    const cause = error instanceof Error ? error.message : 'unknown';
    ports.log.warn('the merchant of a call could not be found out', { merchant: merchant_id ?? 'none', cause });
    return null;
  }
}

/** True when the body of a proxied answer is used in any case; only then is it decompressed and parsed here. */
function isBodyOfUse(ports: Ports, call: Ongoing): boolean {
  const { watched, operation } = call;
  if (watched === null || watched.status >= 400 || call.sale !== null) return true;
  if (isOfRefunds(operation)) return true;
  if (call.draft.rules?.captured === true) return true;
  return isShadowed(stageOf(ports, call));
}

/** Stores the outcome of a proxied create or refund, or of a read of refunds; without a complete answer it is unknown. */
async function endSale(
  ports: Ports,
  call: Ongoing,
  request: IncomingMessage,
  sent: SentAnswer,
  closed_at: number,
): Promise<void> {
  const { sale, operation, token, merchant_id, is_token_refused, path, at } = call;
  const answer = call.watched?.whole === true ? { status: sent.status, body: sent.body } : null;
  if (sale !== null) return endProxied(ports, sale, answer, closed_at);
  if (operation === null || token === null || !isOfRefunds(operation)) return;
  const body = typeof call.body === 'object' ? call.body : null;
  const refund = { operation, merchant_id, is_token_refused, token, path, at, body, headers: singleHeaders(request) };
  await keepProxiedRefunds(ports, refund, answer);
}

/** Frees the unit of a sale that a proxied cancel ended, or that a proxied read shows in a terminal state. */
async function noteEnd(ports: Ports, call: Ongoing, { status, body }: SentAnswer): Promise<void> {
  const { operation, token, watched, merchant_id, path } = call;
  if (operation === null || token === null || call.sale !== null || watched?.whole !== true) return;
  const answer = { status, body: async () => body ?? (await bodyOf(watched)) };
  await noteProxiedEnd(ports, { operation, token, merchant_id, path }, answer, call.at);
}

/** Null for a call that was not proxied. */
function noteProxied({ proxied_tick_ms, watched, draft }: Ongoing, closed_tick_ms: number): UpstreamNote | null {
  if (proxied_tick_ms === null) return null;
  const note: UpstreamNote = {
    name: 'legacy',
    status: watched?.whole === true ? watched.status : null,
    code: null,
    duration_ms: closed_tick_ms - proxied_tick_ms,
    began_ms: proxied_tick_ms - draft.started_tick_ms,
  };
  draft.upstream.push(note);
  return note;
}

/** Counts every unknown field, header and endpoint; policy `note` also logs it, with the claimed merchant. */
function noteUnknowns(ports: Ports, call: Ongoing): void {
  for (const { what, name } of call.draft.unknown) {
    ports.count('unknown_names', what);
    if (policyOf(ports, call.merchant, `unknown_${what}`) !== 'note') continue;
    const merchant = call.merchant_id ?? 'none';
    ports.log.info(`unknown ${what}`, { merchant, operation: call.operation?.name ?? 'none', path: name });
  }
}

// What the evidence gets of a finished call: the exchange, and the input of its shadow.

/** The answer that the till got, Puente's own or proxied. */
interface SentAnswer {
  status: number;
  headers: Record<string, string>;
  /** Null when there was none, or it is unreadable. */
  body: unknown;
}

/** Puente's own answer. */
function answerSentBy(response: ServerResponse): SentAnswer {
  const own = ownAnswerOf(response);
  if (own === null) return { status: TILL_LEFT, headers: {}, body: null };
  return { status: own.status, headers: own.headers ?? {}, body: own.body ?? null };
}

/** The answer of a proxied call. @param reading whether to parse its body. */
async function legacyAnswerOf({ watched }: Ongoing, response: ServerResponse, reading: boolean): Promise<SentAnswer> {
  if (watched === null || ownAnswerOf(response) !== null) return answerSentBy(response);
  const { status, headers } = watched;
  return { status, headers, body: reading ? await bodyOf(watched) : null };
}

/** The exchange of a call, without a merchant while its token is only a claim. @param duration_ms the till's wait. */
function exchangeOf(
  ports: Ports,
  call: Ongoing,
  sent: SentAnswer,
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
    stage: stageOf(ports, call),
    unit: call.unit,
    legacy_id: draft.legacy_id,
    status: sent.status,
    error: sent.status < 400 ? null : errorNamed(sent.body),
    outcome: outcomeOfCall(call, sent.status),
    duration_ms,
    tables_revision: ports.tables.of(call.proven_id).revision,
    // Copies, because work that still runs for the call may change the draft.
    upstream: [...draft.upstream],
    fired: [...draft.fired],
    losses: [...draft.losses],
    unknown: [...draft.unknown],
    limitations: [...draft.limitations],
    shadow: null,
    messages: call.proven_id === null ? null : messages,
  };
}

function outcomeOfCall({ is_drill, draft }: Ongoing, status: number): Outcome {
  return is_drill ? 'business' : outcomeOf(status, draft.upstream, draft.doubt_of !== undefined);
}

/** The stage when the lane was chosen; for a call without a lane, its merchant's. */
function stageOf(ports: Ports, call: Ongoing): Stage {
  return call.stage ?? stageInForce(ports.settings, call.merchant, call.operation?.kind ?? null).stage;
}

/** Input of the shadow of a proxied call; null without one. @param messages for a token that only the shadow proves. */
function shadowOf(
  ports: Ports,
  call: Ongoing,
  exchange: Exchange,
  request: IncomingMessage,
  sent: SentAnswer,
  messages: CapturedMessages | null,
): ShadowTask | null {
  const { operation, token, merchant } = call;
  if (operation === null || token === null || call.proxied_at === null || !isShadowed(exchange.stage)) return null;
  if (operation.upstream !== 'create' && !operation.double_read) return null;
  return {
    exchange,
    request: requestOf(call, request),
    legacy_body: call.watched?.whole === true ? sent.body : null,
    token,
    site: merchant?.site ?? null,
    voucher: merchant?.settings.voucher ?? ports.settings.merchants.voucher,
    messages,
  };
}

/** For coverage: the fields of a translated call whose rows do not prove them by firing. */
function fieldsOf({ tables }: Ports, call: Ongoing, request: IncomingMessage): string[] {
  const { operation, draft } = call;
  if (operation === null || draft.fired.length === 0) return [];
  return fieldsThatCame(tables.of(call.proven_id), operation.name, requestOf(call, request));
}

function requestOf(call: Ongoing, request: IncomingMessage): ShadowTask['request'] {
  return { path: call.path, query: queryOf(request), headers: withoutSecrets(request), body: call.body };
}

/** The messages of a captured call, redacted before they are queued or stored; null for any other call. */
function messagesOf(call: Ongoing, request: IncomingMessage, sent: SentAnswer): CapturedMessages | null {
  if (call.draft.rules?.captured !== true || call.operation === null) return null;
  // Capture is a setting of the claimed merchant, which may not be the proven one.
  if (call.proven_id !== null && call.proven_id !== call.merchant_id) return null;
  return redactMessages({
    request: {
      method: request.method ?? '',
      target: scrubbedTarget(request),
      headers: singleHeaders(request),
      body: call.body ?? null,
    },
    answer: sent,
    upstream: [...call.draft.sent],
  });
}

/** Masked: legacy may repeat in it what its till sent, and reports show it. */
function errorNamed(body: unknown): string | null {
  const named = body !== null && typeof body === 'object' && 'error' in body ? body.error : null;
  return typeof named === 'string' ? keptText(named.slice(0, MAX_READ), MAX_ERROR) : null;
}
/** The longest error of the catalogues is below 60 characters; a longer text is cut, once it was searched for secrets. */
const MAX_ERROR = 80;
const MAX_READ = 500;

/** The query without the token; of a repeated parameter the last value, because legacy accepted such calls. */
function queryOf(request: IncomingMessage): Record<string, string> {
  const target = scrubbedTarget(request);
  const start = target.indexOf('?');
  return start === -1 ? {} : Object.fromEntries(readQuery(target.slice(start + 1)));
}

function withoutSecrets(request: IncomingMessage): Record<string, string> {
  const { authorization: _token, cookie: _cookie, ...headers } = singleHeaders(request);
  return headers;
}
