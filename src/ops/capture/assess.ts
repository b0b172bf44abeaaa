/** Assesses a capture of legacy traffic: what orders would have made of every call, before a single one was routed. */

import { fieldsThatCame } from '../../mapping/assemble.ts';
import type { Tables } from '../../mapping/tables.ts';
import { type Exchange, endpointName, noteUnknown } from '../../proxy/evidence/exchange.ts';
import { nothingFound, recordedOf } from '../../proxy/evidence/findings.ts';
import { redactMessages } from '../../proxy/evidence/redact.ts';
import { unknownHeaderNames } from '../../proxy/http/request.ts';
import { claimedMerchant } from '../../proxy/routing/merchant-identity.ts';
import { outcomeOf } from '../../proxy/safety.ts';
import { slotOf } from '../../proxy/sales/link.ts';
import { compareCreate, hasShadow, type ShadowTools, shadowOf } from '../../proxy/shadow/shadow.ts';
import { Secret } from '../../proxy/vault.ts';
import type { EvidenceReader } from '../ports.ts';
import type { Readiness } from '../readiness/facts.ts';
import { readinessOf } from '../readiness/readiness.ts';
import { createBook } from './book.ts';
import { type Match, matcherOf, requestOf, taskOf } from './operation-of.ts';
import { type Beside, type Entry, isCall, nothingBeside, type ReadCall } from './read.ts';

/** What the command line knows and the core can't. */
export interface AssessTools extends ShadowTools {
  tables: Tables;
  /** Epoch ms. */
  now: number;
}

export interface AssessOptions {
  /** Whose calls these are, where nothing in them says it. */
  merchant_id: string | null;
  /** Null: as the capture says, and otherwise not known. */
  site: string | null;
  voucher: 'refuse' | 'drop';
  /** Calls below which evidence is inconclusive (`moves.min_sample`). */
  min_sample: number;
}

/** `lines` is the sum of the three after it: no line is dropped without a word. */
export interface AssessmentSums {
  lines: number;
  /** Matched to an operation and judged. */
  assessed: number;
  /** Puente has no operation for the call: it would be proxied untouched. */
  no_operation: number;
  unreadable: number;
  /** Of the assessed: creates that were translated on paper, or had been when they were captured. */
  shadowed: number;
  /** Captured without an answer; they count as taken. */
  unanswered: number;
}

export interface Assessment {
  book: EvidenceReader;
  sums: AssessmentSums;
  unreadable: Beside['unreadable'];
  remarks: string[];
  /** Of every merchant that was found, by id. */
  readiness: Readiness[];
  /** By merchant, as far as the capture or the command says it. */
  sites: ReadonlyMap<string, string | null>;
}

/** The merchant of calls whose token and path name none. */
export const UNKNOWN_MERCHANT = 'unknown';

/**
 * Reads the entries once, in bounded memory, and judges every merchant found.
 * @throws PuenteError of `readCapture`.
 */
export async function assessmentOf(
  entries: AsyncIterable<Entry>,
  tools: AssessTools,
  options: AssessOptions,
): Promise<Assessment> {
  const work = begin(tools, options);
  for await (const entry of entries) take(work, entry);
  const { book, sums, beside } = work;
  const { unreadable, remarks } = beside;
  const merchants = book.merchantIds();
  if (sums.unanswered > 0)
    remarks.push(`${sums.unanswered} calls have no answer in the capture: they count as taken by legacy.`);
  const nowhere = merchants.filter((id) => siteOf(work, id) === null);
  if (nowhere.length > 0 && sums.shadowed > 0)
    remarks.push(`The site of ${few(nowhere)} is not known, and rules of sites were left out: name it with --site.`);
  const readiness = await Promise.all(merchants.map((id) => readinessOf(book, factsOf(tools, id), options)));
  const sites = new Map(merchants.map((id) => [id, siteOf(work, id)] as const));
  return { book, sums, unreadable, remarks, readiness, sites };
}

type Work = ReturnType<typeof begin>;

function begin(tools: AssessTools, options: AssessOptions) {
  const sums = { lines: 0, assessed: 0, no_operation: 0, unreadable: 0, shadowed: 0, unanswered: 0 };
  const match = matcherOf(tools.tables.operations);
  /** By merchant, as legacy answers name them. */
  const sites = new Map<string, string>();
  return { tools, options, match, book: createBook(), sums, beside: nothingBeside(), sites };
}

function take(work: Work, entry: Entry): void {
  const { sums } = work;
  if (!isCall(work, entry)) return;
  const exchange = entry.kind === 'exchange' ? asKept(work, entry.exchange) : exchangeOfCall(work, entry);
  if (exchange.operation === null) sums.no_operation++;
  else sums.assessed++;
  learnSite(work, exchange);
  record(work, exchange);
}

/** An operation that today's tables no longer have counts as none. */
function asKept({ tools, options }: Work, exchange: Exchange): Exchange {
  const known = tools.tables.operations.some(({ name }) => name === exchange.operation);
  const merchant_id = exchange.merchant_id ?? options.merchant_id ?? UNKNOWN_MERCHANT;
  return { ...exchange, merchant_id, ...(known ? {} : { operation: null, kind: null }) };
}

/** Answers of legacy name the seller's site here and there (`GET /users/me`, v1 preferences). */
function learnSite({ sites }: Work, { merchant_id, messages }: Exchange): void {
  const said = (messages?.answer.body as { site_id?: unknown } | null | undefined)?.site_id; // any JSON; only looked at
  if (merchant_id !== null && typeof said === 'string' && /^M[A-Z]{2}$/.test(said)) sites.set(merchant_id, said);
}

function siteOf({ options, sites, beside }: Work, merchant_id: string | null): string | null {
  const id = merchant_id ?? '';
  return options.site ?? sites.get(id) ?? beside.merchants.get(id)?.site ?? null;
}

/** A call whose messages are at hand is translated anew; of another one counts what was found when it came. */
function record(work: Work, exchange: Exchange): void {
  const { tools, book, sums } = work;
  const request =
    exchange.messages === null ? null : (requestOf(work.match, exchange.messages.request)?.request ?? null);
  const voucher = work.beside.merchants.get(exchange.merchant_id ?? '')?.voucher ?? work.options.voucher;
  const task = taskOf(exchange, request ?? NO_REQUEST, siteOf(work, exchange.merchant_id), voucher);
  const anew = request !== null && exchange.lane === 'legacy' && hasShadow(tools.tables, task);
  const shadow = anew ? shadowOf(tools, task) : exchange.shadow;
  const seen = { ...exchange, shadow, unknown: [...exchange.unknown] };
  if (anew) seen.tables_revision = tools.tables.revision;
  for (const loss of shadow?.losses ?? []) if (loss.unknown === true) noteUnknown(seen, 'field', loss.path);
  if (shadow !== null) sums.shadowed++;
  const difference = shadow === null ? null : compareCreate(task, shadow);
  const differences = difference === null ? [] : [difference];
  const came = fieldsThatCame(tools.tables, exchange.operation, request);
  book.record(recordedOf(tools.tables, seen, { ...nothingFound, came, differences, compared: shadow !== null }));
}

const NO_REQUEST = { path: {}, query: {}, headers: {}, body: undefined };

/** A file does not say the merchant's settings here. */
function factsOf({ now, tables }: AssessTools, merchant_id: string): Parameters<typeof readinessOf>[1] {
  const { revision, operations, isCarried } = tables;
  const unsaid = { stage: null, unknown: null, notice_url: null, credential: null, trips: null, in_doubt: null };
  const nothing = { shed: null, fault_share: null, on_orders: [], reset_at: {}, mismatches: [] };
  return { merchant_id, now, tables_revision: revision, operations, isCarried, ...unsaid, ...nothing };
}

function few(merchants: readonly string[]): string {
  const more = merchants.length - 3;
  return merchants.slice(0, 3).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** A call without an answer counts as accepted by legacy, so that no prediction about it is overlooked. */
const TAKEN = 200;

/** The exchange, redacted; its id is the line, so that people find it in their file. */
function exchangeOfCall(
  { tools, options, match: find, sums }: Work,
  { line, call }: Extract<Entry, { kind: 'call' }>,
): Exchange {
  const { answer, target, method, headers, body } = call;
  const [path = ''] = target.split('?', 1);
  const match = find(method, path);
  if (answer === null) sums.unanswered++;
  const status = answer?.status ?? TAKEN;
  const clean = redactMessages({
    request: { method, target, headers, body },
    answer: answer ?? { status, headers: {}, body: null },
    upstream: [],
  });
  const unknown = { unknown: [] as Exchange['unknown'] };
  if (match === null) noteUnknown(unknown, 'endpoint', endpointName(method, clean.request.target));
  else if (match.operation.request !== null)
    for (const name of unknownHeaderNames(Object.keys(clean.request.headers))) noteUnknown(unknown, 'header', name);
  return {
    id: `line-${line}`,
    at: call.at ?? tools.now,
    merchant_id: merchantOf(call, match) ?? options.merchant_id ?? UNKNOWN_MERCHANT,
    operation: match?.operation.name ?? null,
    kind: match?.operation.kind ?? null,
    lane: 'legacy',
    stage: 'legacy',
    unit: unitOf(match?.path ?? {}),
    legacy_id: match?.path.intent_id?.toLowerCase() ?? null,
    status,
    error: status < 400 ? null : errorOf(clean.answer.body),
    outcome: outcomeOf(status, []),
    duration_ms: call.duration_ms ?? 0,
    tables_revision: tools.tables.revision,
    upstream: [],
    fired: [],
    losses: [],
    unknown: unknown.unknown,
    limitations: [],
    shadow: null,
    messages: clean,
  };
}

/** By the end of its token, or the user id in its path: what a call says of itself. */
function merchantOf({ headers, target }: ReadCall, match: Match | null): string | null {
  const header = /^Bearer\s+(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  const token =
    header ?? new URLSearchParams(target.split('?')[1] ?? '').get('access_token') ?? headers['x-access-token'];
  const claimed = token === null || token === undefined ? null : claimedMerchant(new Secret(token));
  const user = match?.path.user_id;
  return claimed ?? (user !== undefined && /^\d{1,20}$/.test(user) ? user : null);
}

function unitOf({ device_id, external_pos_id }: Record<string, string>): string | null {
  if (device_id !== undefined) return slotOf('point', device_id);
  return external_pos_id === undefined ? null : slotOf('qr', external_pos_id);
}

/** As the door reads it of an answer. */
function errorOf(body: unknown): string | null {
  const named = body !== null && typeof body === 'object' && 'error' in body ? body.error : null;
  return typeof named === 'string' ? named.slice(0, MAX_ERROR) : null;
}
/** The longest error of the catalogues is below 60 characters. */
const MAX_ERROR = 80;
