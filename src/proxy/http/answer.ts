/** Writes legacy answers, and errors in the legacy shape: no internals, never an `id`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { stringifyJson } from '../../contract/json.ts';
import { errorBody, type Family, type LegacyErrorName, legacyError } from '../../contract/legacy-errors.ts';
import type { UpstreamCallName } from '../../contract/upstream.ts';
import { PuenteError } from '../../error.ts';
import type { MappingContext, Operation } from '../../mapping/tables.ts';
import { markLimitation } from '../evidence/exchange.ts';
import type { Log } from '../log.ts';
import type { Ports } from '../ports.ts';
import type { Merchant } from '../routing/merchant.ts';
import { distrust } from '../routing/merchant-identity.ts';
import type { Link } from '../sales/link.ts';
import { errorCode, isNotYet, type UpstreamOutcome } from '../upstream/upstream.ts';
import type { Secret } from '../vault.ts';

/** Sends status, headers and JSON body; fields held for the till keep the source text of their numbers. */
export function sendAnswer(response: ServerResponse, answer: Answered): void {
  if (response.headersSent) return;
  (response as Answering)[OWN_ANSWER] = answer;
  const text = answer.body === undefined ? '' : textOf(answer.body);
  response.writeHead(answer.status, {
    // A 204 has no length either (RFC 9110 §8.6).
    ...(text === ''
      ? {}
      : { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(text) }),
    // An answer before the end of the body closes the connection; else Node would read a declared gigabyte (F65).
    ...(response.req.complete ? {} : { connection: 'close' }),
    ...requestId(response, answer.status),
    ...answer.headers,
  });
  response.end(text);
}

/** Texts of deeply frozen bodies (`Tables.answer`): a polled terminal sale is serialized once. */
const texts = new WeakMap<object, string>();
/** Held fields may be as long as a request body; a thousand such texts would be a gigabyte. */
const LONGEST_KEPT = 8_192;

function textOf(body: unknown): string {
  if (typeof body !== 'object' || body === null || !Object.isFrozen(body)) return stringifyJson(body);
  const known = texts.get(body);
  if (known !== undefined) return known;
  const text = stringifyJson(body);
  if (text.length <= LONGEST_KEPT) texts.set(body, text);
  return text;
}

/** `X-Request-Id` of an error answer, by which a person can name the call (`test/faults/README.md` F136). */
function requestId(response: ServerResponse, status: number): Record<string, string> {
  const id = status < 400 ? null : callIdOf(response.req);
  return id === null ? {} : { 'x-request-id': id };
}

/** Property of the request that holds the call's id, for `puente trace`; set by its exchange. */
export const CALL_ID = Symbol('call id');
export type Identified = IncomingMessage & { [CALL_ID]?: string };

function callIdOf(request: Identified): string | null {
  return request[CALL_ID] ?? null;
}

/** Property of the response, for the reason at `CALL` (`exchange.ts`). */
const OWN_ANSWER = Symbol('own answer');
type Answering = ServerResponse & { [OWN_ANSWER]?: Answered };

/** Puente's own answer on a response; null when the answer was proxied, or none was sent. */
export function ownAnswerOf(response: ServerResponse): Answered | null {
  return (response as Answering)[OWN_ANSWER] ?? null;
}

/** The legacy answer for any thrown error; an error that is answered 5xx is logged, unless it is a refusal. */
export function answerThrown(family: Family, error: unknown, request: IncomingMessage, log: Log): Answered {
  const refusal = refusalOf(family, error);
  if (refusal !== null) return refusal;
  const answer = refused(family, nameFor(error));
  if (answer.status >= 500) {
    const request_id = callIdOf(request) ?? 'none';
    log.error('call failed', { cause: String(error), action: request.method ?? '', request_id });
  }
  return answer;
}

function nameFor(error: unknown): 'bad_request' | 'unavailable' | 'unauthorized' | 'internal' {
  if (error instanceof URIError) return 'bad_request';
  if (isClientError(error)) return 'bad_request';
  if (!(error instanceof PuenteError)) return 'internal';
  if (error.code === 'bad_request') return 'bad_request';
  if (error.code === 'unauthorized') return 'unauthorized';
  return error.code === 'store_failed' || error.code === 'store_unusable' ? 'unavailable' : 'internal';
}

/** Express marks errors of its own router (a path that can't be decoded) with a 4xx status. */
function isClientError(error: unknown): boolean {
  const status = error instanceof Error && 'status' in error ? error.status : undefined;
  return typeof status === 'number' && status >= 400 && status < 500;
}

// The result of a story: an answer in the legacy shape, or another way for the call.

/** What a story returns. */
export type LegacyAnswer =
  /** An undefined body is sent as no body: v2 tills accept only that with 204 (`docs/field-notes.md` QR finding 2). */
  | {
      kind: 'answer';
      status: number;
      body: unknown;
      headers?: Record<string, string>;
      /** Runs after the call. @param whole the answer was sent; false when the client disconnected before. */
      onClosed?: (whole: boolean) => Promise<void>;
    }
  /** Proxied: the bytes go to the legacy upstream unchanged. */
  | { kind: 'proxy' }
  /** The merchant's settings changed since the lane was chosen, and nothing was sent: the lane is chosen again. */
  | { kind: 'moved' };

/** An answer that is sent to the till. */
export type Answered = Extract<LegacyAnswer, { kind: 'answer' }>;

/** An answer for the till. @param status HTTP. @param body written as JSON. */
export function answered(status: number, body: unknown, headers?: Record<string, string>): Answered {
  return headers === undefined ? { kind: 'answer', status, body } : { kind: 'answer', status, body, headers };
}

/** Official clients wait as long as a 429 says, and a second otherwise (`docs/field-notes.md` Point §1.9). */
const RETRY_IN_1_S = { 'retry-after': '1' };

/** The `Retry-After` that upstream set for its answer; a 429 has one in any case. */
export function waitOf(status: number, retry_after_ms: number | null): Record<string, string> | undefined {
  if (retry_after_ms !== null) return { 'retry-after': String(Math.ceil(retry_after_ms / 1000)) };
  return status === 429 ? RETRY_IN_1_S : undefined;
}

/** An error of the family's catalogue, else its `internal`, in its envelope; `detail` replaces `{}` in the text. */
export function refused(
  family: Family,
  name: LegacyErrorName,
  detail: string | null = null,
  headers?: Record<string, string>,
): Answered {
  const entry = legacyError(family, name) ?? legacyError(family, 'internal');
  if (entry === null) throw new PuenteError('bad_tables', `the catalogue of ${family} has no internal error`);
  return answered(entry.status, errorBody(family, entry, detail ?? ''), headers ?? waitOf(entry.status, null));
}

/** The legacy answer for a refusal that a story threw; null for any other error. */
function refusalOf(family: Family, error: unknown): Answered | null {
  if (!(error instanceof PuenteError) || error.code !== 'refused') return null;
  const { error: name, detail } = error.facts;
  if (typeof name !== 'string' || legacyError(family, name) === null) return null;
  return refused(family, name as LegacyErrorName, typeof detail === 'string' ? detail : null); // membership was just checked
}

// One legacy call on the orders lane, and upstream errors as legacy errors.

/** A call on the orders lane, read and checked. */
export interface LegacyCall {
  operation: Operation;
  /** Epoch ms of arrival; the deadline counts from here. */
  received_at: number;
  /** Path and query without the token, by which a retry is recognised. */
  target: string;
  path: Record<string, string>;
  query: Record<string, string>;
  /** Lower-case names. */
  headers: Record<string, string>;
  /** Parsed JSON, where the operation takes a body. */
  body: unknown;
  token: Secret;
  /** The token's owner, accepted by upstream. */
  merchant: Merchant;
  /** The link that the path names, verified as this merchant's; null when it names none, or for a new sale. */
  link: Link | null;
  /** The stage leaves new work on legacy: only work of its unit brought the call to orders. */
  is_by_unit: boolean;
}

/** A story runs one operation from the parsed call to the legacy answer. */
export type Story = (ports: Ports, call: LegacyCall) => Promise<LegacyAnswer>;

/** What tables may use of a merchant: its site, the decimals of its currency and its voucher policy. */
export function merchantContext(ports: Ports, merchant: Merchant): MappingContext {
  return {
    site: merchant.site ?? undefined,
    exponent: ports.tables.site(merchant.site).exponent,
    voucher: merchant.settings.voucher ?? ports.settings.merchants.voucher,
  };
}

/** The legacy answer for an upstream call that did not succeed; after a 401 the token is verified again. */
export async function upstreamRefusal(
  ports: Ports,
  call: LegacyCall,
  name: UpstreamCallName,
  outcome: UpstreamOutcome,
): Promise<Answered> {
  if (outcome.kind === 'not_sent') return refused(call.operation.family, 'bad_gateway');
  if (outcome.kind === 'broken') return refused(call.operation.family, 'outcome_unknown');
  if (outcome.status === 401) await distrust(ports, call.token);
  return answerUpstreamError(ports, call, name, outcome.status, outcome.body, outcome.retry_after_ms);
}

/**
 * The error table's row for a status and body, as a legacy answer; a default row is counted and logged. A temporary
 * refusal is answered as worth a retry, documented or not, because official clients repeat a 503 by themselves.
 */
export function answerUpstreamError(
  ports: Ports,
  call: LegacyCall,
  name: UpstreamCallName,
  status: number,
  body: unknown,
  retry_after_ms: number | null = null,
): Answered {
  const row = ports.tables.error(call.operation.family, name, status, body, merchantContext(ports, call.merchant));
  // Legacy's limits were different; whether legacy would have refused this amount too is unknown.
  if (row.error === 'amount_minimum' || row.error === 'amount_maximum') markLimitation(ports.exchange, 'LIM-12');
  const passes = isNotYet(status, errorCode(body));
  if (row.default && !passes) {
    ports.count('default_rows', name);
    ports.log.warn('error table: default row used', {
      operation: call.operation.name,
      status,
      merchant: call.merchant.id,
    });
  }
  const wait = waitOf(status, retry_after_ms) ?? (passes ? RETRY_IN_1_S : undefined);
  return refused(call.operation.family, passes ? 'not_yet' : row.error, passes ? null : row.detail, wait);
}
