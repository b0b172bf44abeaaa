/** Assesses a capture of legacy traffic: translates every call on paper, before any is routed to orders. */
import { PuenteError } from '../../error.ts';
import { fieldsThatCame } from '../../mapping/assemble.ts';
import type { Tables } from '../../mapping/tables.ts';
import { type Exchange, endpointName, noteUnknown } from '../../proxy/evidence/exchange.ts';
import { nothingFound, recordedOf } from '../../proxy/evidence/findings.ts';
import { redactMessages, redactName } from '../../proxy/evidence/redact.ts';
import { unknownHeaderNames } from '../../proxy/http/request.ts';
import { claimedMerchant } from '../../proxy/routing/merchant-identity.ts';
import { outcomeOf } from '../../proxy/safety.ts';
import { slotOf } from '../../proxy/sales/link.ts';
import { compareCreate, hasShadow, makesOrder, type ShadowTools, shadowOf } from '../../proxy/shadow/shadow.ts';
import { Secret } from '../../proxy/vault.ts';
import type { EvidenceReader } from '../ports.ts';
import type { Readiness } from '../readiness/facts.ts';
import { readinessOf } from '../readiness/readiness.ts';
import { createBook } from './book.ts';
import type { ReadCall } from './call.ts';
import { createHosts } from './hosts.ts';
import { type Match, matcherOf, requestOf, taskOf } from './operation-of.ts';
import { type Beside, type Entry, FORMATS, isCall, nothingBeside } from './read.ts';
import { createTally } from './tally.ts';

interface AssessTools extends ShadowTools {
  tables: Tables;
  /** Epoch ms. */
  now: number;
}

export interface AssessOptions {
  /** The merchant of calls that name none. */
  merchant_id: string | null;
  /** Null: the site in the capture, else unknown. */
  site: string | null;
  voucher: 'refuse' | 'drop';
  /** With fewer calls, evidence is inconclusive (`moves.min_sample`). */
  min_sample: number;
  /** The hosts of legacy, in lower case; empty: the vendor's, and those that are called with an operation. */
  hosts: readonly string[];
}

/** `lines` is the sum of the four after it: every line is counted. */
export interface AssessmentSums {
  lines: number;
  /** Matched to an operation and judged. */
  assessed: number;
  /** Puente has no operation for the call: it would be proxied untouched. */
  no_operation: number;
  /** To a host that is not legacy's: left out. */
  foreign: number;
  unreadable: number;
  /** Assessed creates that were translated on paper, now or when they were captured. */
  shadowed: number;
  /** Captured without an answer; they count as accepted by legacy. */
  unanswered: number;
  /** Lines of an access log, among those that were assessed or have no operation. */
  logged: number;
}

export interface Assessment {
  book: EvidenceReader;
  tally: Pick<ReturnType<typeof createTally>, 'operations' | 'units'>;
  sums: AssessmentSums;
  unreadable: Beside['unreadable'];
  remarks: string[];
  /** Of every merchant found, sorted by id. */
  readiness: Readiness[];
  /** By merchant; null where neither capture nor command names it. */
  sites: ReadonlyMap<string, string | null>;
}

/** The merchant of calls whose token and path name none. */
const UNKNOWN_MERCHANT = 'unknown';

/**
 * Reads the entries once, in bounded memory, and judges every merchant.
 * @throws PuenteError bad_request when no line can be read, and those of `readCapture`.
 */
export async function assessmentOf(
  entries: AsyncIterable<Entry>,
  tools: AssessTools,
  options: AssessOptions,
): Promise<Assessment> {
  const work = begin(tools, options);
  for await (const entry of entries) take(work, entry);
  const { book, tally, sums, beside } = work;
  const { unreadable, remarks } = beside;
  const [bad] = unreadable;
  if (bad !== undefined && sums.unreadable === sums.lines)
    throw new PuenteError(
      'bad_request',
      `None of the ${sums.lines} lines can be read; line ${bad.line}: ${bad.why}. ${FORMATS}`,
    );
  sums.foreign = work.hosts.foreign();
  const merchants = book.merchantIds();
  const left_out = work.hosts.remark();
  if (left_out !== null) remarks.push(left_out);
  if (sums.logged > 0) remarks.push(loggedRemark(sums.logged));
  if (sums.unanswered > 0)
    remarks.push(`Calls without an answer in the capture: ${sums.unanswered}, counted as accepted by legacy.`);
  if (work.timeless > 0)
    remarks.push(`Calls without a time in the capture: ${work.timeless}, counted as made at the time of this report.`);
  const nowhere = merchants.filter((id) => siteOf(work, id) === null);
  if (nowhere.length > 0 && sums.shadowed > 0)
    remarks.push(
      `The site of ${few(nowhere)} is unknown, so the rules of sites were not applied: name it with --site.`,
    );
  const readiness = await Promise.all(merchants.map((id) => readinessOf(book, factsOf(tools, id), options)));
  const sites = new Map(merchants.map((id) => [id, siteOf(work, id)] as const));
  return { book, tally, sums, unreadable, remarks, readiness, sites };
}

function loggedRemark(lines: number): string {
  return `${lines} lines are of an access log, which has no headers and no bodies. No create was translated, so this report can't tell what orders would refuse, which fields and amounts would be lost, or whose calls they are where the path has no user and no token. Where the log names no host, calls to other sites of the same server are among those of no operation. A capture of Puente, a HAR export or JSON lines with bodies tell all that.`;
}

type Work = ReturnType<typeof begin>;

function begin(tools: AssessTools, options: AssessOptions) {
  const counts = { assessed: 0, no_operation: 0, foreign: 0, unreadable: 0 };
  const sums = { lines: 0, ...counts, shadowed: 0, unanswered: 0, logged: 0 };
  const match = matcherOf(tools.tables.operations);
  /** By merchant, from legacy answers. */
  const sites = new Map<string, string>();
  const hosts = createHosts<CalledEntry>(options.hosts);
  const creates = new Set(tools.tables.operations.filter(makesOrder).map(({ name }) => name));
  const kept = { book: createBook(), tally: createTally(), sums, timeless: 0, beside: nothingBeside() };
  return { tools, options, match, hosts, creates, sites, ...kept };
}

type CalledEntry = Extract<Entry, { kind: 'call' }>;

function take(work: Work, entry: Entry): void {
  if (!isCall(work, entry)) return;
  if (entry.kind === 'exchange') {
    count(work, asKept(work, entry.exchange), false);
    return;
  }
  const { host, method, target } = entry.call;
  const is_operation = work.match(method, pathOf(target)) !== null;
  // A call without an operation is counted by its name alone, so it waits without its bodies.
  const slim = is_operation ? entry : { ...entry, call: { ...entry.call, body: undefined } };
  for (const one of work.hosts.admit(host, slim, is_operation)) {
    if (one.call.answer === null) work.sums.unanswered++;
    if (one.call.at === null) work.timeless++;
    count(work, exchangeOfCall(work, one), one.call.is_logged, one.call.answer?.status ?? null);
  }
}

function pathOf(target: string): string {
  return target.split('?', 1)[0] ?? '';
}

/** @param status what was answered; null without an answer. */
function count(work: Work, exchange: Exchange, is_logged: boolean, status: number | null = exchange.status): void {
  const { sums, tally, creates } = work;
  const { operation, merchant_id, at } = exchange;
  if (is_logged) sums.logged++;
  if (operation === null) sums.no_operation++;
  else {
    sums.assessed++;
    const unit = exchange.unit === null ? null : redactName(exchange.unit);
    const is_create = creates.has(operation);
    tally.add({ merchant_id: merchant_id ?? UNKNOWN_MERCHANT, operation, unit, status, at, is_create, is_logged });
  }
  learnSite(work, exchange);
  record(work, exchange);
}

/** An operation that today's tables do not have becomes null. */
function asKept({ tools, options }: Work, exchange: Exchange): Exchange {
  const known = tools.tables.operations.some(({ name }) => name === exchange.operation);
  const merchant_id = exchange.merchant_id ?? options.merchant_id ?? UNKNOWN_MERCHANT;
  return { ...exchange, merchant_id, ...(known ? {} : { operation: null, kind: null }) };
}

/** Some legacy answers name the seller's site (`GET /users/me`, v1 preferences). */
function learnSite({ sites }: Work, { merchant_id, messages }: Exchange): void {
  const said = (messages?.answer.body as { site_id?: unknown } | null | undefined)?.site_id; // any JSON; the type is checked below
  if (merchant_id !== null && typeof said === 'string' && /^M[A-Z]{2}$/.test(said)) sites.set(merchant_id, said);
}

function siteOf({ options, sites, beside }: Work, merchant_id: string | null): string | null {
  const id = merchant_id ?? '';
  return options.site ?? sites.get(id) ?? beside.merchants.get(id)?.site ?? null;
}

/** Translates a call with messages again; a call without them keeps its captured shadow. */
function record(work: Work, exchange: Exchange): void {
  const { book, sums } = work;
  const tools = { ...work.tools, tables: work.tools.tables.of(exchange.merchant_id) };
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
  const difference = shadow === null ? null : compareCreate(tools.tables, task, shadow);
  const differences = difference === null ? [] : [difference];
  const came = fieldsThatCame(tools.tables, exchange.operation, request);
  book.record(recordedOf(tools.tables, seen, { ...nothingFound, came, differences, compared: shadow !== null }));
}

const NO_REQUEST = { path: {}, query: {}, headers: {}, body: undefined };

/** A capture does not contain the merchant's settings on this installation. */
function factsOf({ now, tables }: AssessTools, merchant_id: string): Parameters<typeof readinessOf>[1] {
  const { revision, operations, isProxied } = tables.of(merchant_id);
  const unsaid = {
    merchant_name: null,
    stage: null,
    unknown: null,
    notice_url: null,
    unacknowledged: null,
    credential: null,
    trips: null,
    in_doubt: null,
  };
  const nothing = {
    shed: null,
    fault_share: null,
    on_orders: [],
    reset_at: {},
    mismatches: [],
    accepted: [],
    legacy_use: null,
  };
  return { merchant_id, now, tables_revision: revision, operations, isProxied, ...unsaid, ...nothing };
}

function few(merchants: readonly string[]): string {
  const more = merchants.length - 3;
  return merchants.slice(0, 3).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** A call without an answer counts as accepted by legacy, so that every prediction about it is reported. */
const TAKEN = 200;

/** The redacted exchange; its id is the line number, so that operators find it in the file. */
function exchangeOfCall({ tools, options, match: find, tally }: Work, { line, call }: CalledEntry): Exchange {
  const { answer, target, method, headers, body } = call;
  const match = find(method, pathOf(target));
  const status = answer?.status ?? TAKEN;
  const clean = redactMessages({
    request: { method, target, headers, body },
    answer: answer ?? { status, headers: {}, body: null },
    upstream: [],
  });
  const unknown = { unknown: [] as Exchange['unknown'] };
  if (match === null) noteUnknown(unknown, 'endpoint', tally.known(endpointName(method, clean.request.target)));
  else if (match.operation.request !== null)
    for (const name of unknownHeaderNames(Object.keys(clean.request.headers))) noteUnknown(unknown, 'header', name);
  const unit = unitOf(match?.path ?? {});
  const merchant_id = merchantOf(call, match) ?? options.merchant_id ?? UNKNOWN_MERCHANT;
  return {
    id: `line-${line}`,
    at: call.at ?? tools.now,
    merchant_id,
    operation: match?.operation.name ?? null,
    kind: match?.operation.kind ?? null,
    lane: 'legacy',
    stage: 'legacy',
    unit: unit === null ? null : tally.known(unit),
    legacy_id: match?.path.intent_id?.toLowerCase() ?? null,
    status,
    error: status < 400 ? null : errorOf(clean.answer.body),
    outcome: outcomeOf(status, []),
    duration_ms: call.duration_ms ?? 0,
    tables_revision: tools.tables.of(merchant_id).revision,
    upstream: [],
    fired: [],
    losses: [],
    unknown: unknown.unknown,
    limitations: [],
    shadow: null,
    messages: call.is_logged ? null : clean,
  };
}

/** Claimed by the end of the token or the user id in the path, not verified. */
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

/** As the public door reads it from an answer. */
function errorOf(body: unknown): string | null {
  const named = body !== null && typeof body === 'object' && 'error' in body ? body.error : null;
  return typeof named === 'string' ? named.slice(0, MAX_ERROR) : null;
}
/** The errors of the catalogues are shorter than 60 characters. */
const MAX_ERROR = 80;
