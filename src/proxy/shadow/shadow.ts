/** The shadow of a legacy create: the order that would have been sent, and what would have become of it; on paper only. */

import { createHash } from 'node:crypto';
import { EXTERNAL_ID, USER_ID } from '../../contract/identifiers.ts';
import { stringifyJson } from '../../contract/json.ts';
import { errorBody, type Family, type LegacyErrorName, legacyError } from '../../contract/legacy-errors.ts';
import { PuenteError } from '../../error.ts';
import type { LegacyRequest, MappingContext, Operation, Tables, Translated } from '../../mapping/tables.ts';
import type { ShadowFinding, ShadowTask } from '../evidence/exchange.ts';
import { redactLosses, redactName } from '../evidence/redact.ts';
import type { DifferenceSeen } from '../records/evidence.ts';
import { derivedReference, fitsUpstream } from '../sales/new-link.ts';
import { type Prediction, predict, predictedBody } from './predict.ts';

/** Everything a shadow is handed. There is no way from here to anything that sends: keep it so. */
export interface ShadowTools {
  tables: Tables;
  /** Takes out what must not be kept (`proxy/evidence/redact.ts`). */
  redact(value: unknown): unknown;
  /** Milliseconds with fractions, from any start: `performance` is one. */
  clock: { now(): number };
}

/** What is found beside the time it took. */
type Found = Omit<ShadowFinding, 'took_ms'>;

/** True for a task whose operation makes an order. */
export function hasShadow(tables: Tables, task: ShadowTask): boolean {
  const operation = knownOperation(tables, task);
  return operation !== null && makesOrder(operation);
}

/**
 * Translates a create by the tables of the real lane and predicts the answer. Pure, but for the clock it is handed.
 * @throws PuenteError not_found, for an operation that makes no order; bad_tables, for tables that do not hold.
 */
export function shadowOf(tools: ShadowTools, task: ShadowTask): ShadowFinding {
  const started = tools.clock.now();
  const asked = askedOf(tools.tables, task);
  if (!makesOrder(asked.operation))
    throw new PuenteError('not_found', `${asked.operation.name} makes no order, so it has no shadow.`);
  const found = findingOf(tools, task, asked);
  // A rule names the field, and a till may call its fields anything.
  const detail = found.detail === null ? null : redactName(found.detail);
  return { ...found, detail, took_ms: tools.clock.now() - started };
}

function findingOf(tools: ShadowTools, task: ShadowTask, asked: Asked): Found {
  const { operation, source, context } = asked;
  // The door of the real lane refuses such a body before any story.
  if (!isJsonObject(source.body))
    return refusedHere(toldOf(operation.family, 'bad_json', ''), 'the body is no JSON object');
  const refusal = pathRefusal(operation, task);
  if (refusal !== null) {
    return refusedHere(toldOf(operation.family, refusal.error, refusal.detail), 'the path names no till of the seller');
  }
  let translated: Translated;
  try {
    translated = tools.tables.request(operation, source, context);
  } catch (error) {
    return refusedByTable(tools.tables, operation.family, error);
  }
  const { exponent } = tools.tables.site(task.site);
  const order = translated.value.body;
  // Whether the token is of OAuth, and what the seller has agreed to, only the service knows.
  const unknown = { is_oauth: null, is_marketplace: null, may_hand_out_cash: null };
  const prediction = predict(order, { site: task.site, exponent, has_key: true, ...unknown });
  const verdict = prediction === null ? ACCEPTED : refusedThere(tools.tables, asked, prediction);
  return { ...verdict, order: tools.redact(order), fired: translated.fired, losses: redactLosses(translated.losses) };
}

function isJsonObject(body: unknown): boolean {
  return body !== null && typeof body === 'object' && Object.getPrototypeOf(body) === Object.prototype;
}

type Verdict = Pick<ShadowFinding, 'verdict' | 'status' | 'code' | 'error' | 'detail'>;

const ACCEPTED: Verdict = { verdict: 'accepted', status: null, code: null, error: null, detail: null };

/** Told to the till by the same rows as a real refusal. */
function refusedThere(tables: Tables, { operation, context }: Asked, prediction: Prediction): Verdict {
  const { status, code, detail } = prediction;
  const row = tables.error(operation.family, 'create', status, predictedBody(prediction), context);
  const { error } = toldOf(operation.family, row.error, row.detail);
  return { verdict: 'refused_there', status, code, error, detail };
}

/** @throws what is no refusal. */
function refusedByTable(tables: Tables, family: Family, error: unknown): Found {
  if (!(error instanceof PuenteError) || error.code !== 'refused') throw error;
  const { error: name, detail, row } = error.facts;
  const by = row === undefined ? null : tables.row(String(row));
  const why = by === null ? 'the legacy contract' : `${by.why} (${by.row})`;
  // The row that refused is the last one that fired, so that coverage knows whose field it was.
  const fired = row === undefined ? [] : [String(row)];
  return { ...refusedHere(toldOf(family, String(name), String(detail ?? '')), why), fired };
}

/** A message names fields, and a till may call its own whatever it likes. */
const MAX_MESSAGE = 200;

function refusedHere({ error, message }: Told, why: string): Found {
  const nothing = { order: null, fired: [], losses: [] };
  // Which element of a list it was makes it no other refusal.
  const detail = `${message.replaceAll(/\[\d+\]/g, '[]').slice(0, MAX_MESSAGE)}: ${why}`;
  return { verdict: 'refused_here', status: null, code: null, error, detail, ...nothing };
}

/** The two texts of the till's error body. */
interface Told {
  error: string;
  message: string;
}

function toldOf(family: Family, name: string, detail: string | null): Told {
  const entry = legacyError(family, name) ?? legacyError(family, 'internal');
  if (entry === null) throw new PuenteError('bad_tables', `the catalogue of ${family} has no internal error`);
  const body = errorBody(family, entry, detail ?? '');
  return { error: String(body.error), message: String(body.message) };
}

// What a legacy call would be translated with: the sources and the context that a live call hands to its request
// table.

export interface Asked {
  operation: Operation;
  source: LegacyRequest;
  context: MappingContext;
}

/** Stands in for the external id of a till that is named by its number, which only the service knows. */
const SOME_TILL = 'POS0';

/** The operation of a task; null when these tables do not have it, which may be older or newer than its exchange. */
export function knownOperation(tables: Tables, { exchange }: ShadowTask): Operation | null {
  return tables.operations.find((one) => one.name === exchange.operation) ?? null;
}

/** The operation of a task. @throws PuenteError not_found, when these tables do not have it. */
function operationOf(tables: Tables, task: ShadowTask): Operation {
  const { exchange } = task;
  const operation = knownOperation(tables, task);
  if (operation === null)
    throw new PuenteError('not_found', `The tables have no operation '${exchange.operation ?? ''}' to shadow.`);
  return operation;
}

/** True when the operation makes an order, so that a shadow of it can be computed. */
export function makesOrder(operation: Operation): boolean {
  return operation.upstream === 'create' && operation.request !== null;
}

/** As the stories of creates make it. What only the store or the service knows has a stand-in of the same form. */
export function askedOf(tables: Tables, task: ShadowTask): Asked {
  const operation = operationOf(tables, task);
  const { currency, exponent } = tables.site(task.site);
  const { path, query, headers, body } = task.request;
  const context: MappingContext = { site: task.site ?? undefined, exponent, voucher: task.voucher };
  const source: LegacyRequest = { path, query, headers, body };
  if (!makesOrder(operation)) return { operation, source, context };
  Object.assign(context, { reference: referenceFor(operation, task) });
  if (operation.kind === 'qr') {
    const external_pos_id = path.external_pos_id ?? SOME_TILL;
    Object.assign(context, { external_pos_id, mode: modeOf(operation), received_at: task.exchange.at, currency });
  }
  return { operation, source, context };
}

/** What the story of a QR sale refuses before any table: a path that is not the caller's, or names no till (`docs/field-notes.md` QR §1.2). */
export function pathRefusal(
  { family, kind }: Operation,
  { exchange, request }: ShadowTask,
): { error: LegacyErrorName; detail: string } | null {
  if (kind !== 'qr') return null;
  const { user_id, external_pos_id } = request.path;
  if (user_id !== undefined && !USER_ID.test(user_id)) return { error: 'invalid_collector', detail: '' };
  if (user_id !== undefined && exchange.merchant_id !== null && user_id !== exchange.merchant_id)
    return { error: 'foreign_collector', detail: '' };
  if (external_pos_id === undefined || EXTERNAL_ID.test(external_pos_id)) return null;
  return family === 'qr_v1'
    ? { error: 'pos_not_found', detail: '' }
    : { error: 'invalid_property', detail: 'external_pos_id' };
}

/** The till's own where it fits; whether it was used before, only the store knows. */
function referenceFor({ kind }: Operation, { exchange, request }: ShadowTask): string {
  const body = record(request.body);
  const said = kind === 'qr' ? body.external_reference : record(body.additional_info).external_reference;
  // QR tills write numbers too, whose text is the reference.
  const text = kind === 'qr' && said !== undefined && typeof said !== 'string' ? stringifyJson(said) : said;
  return typeof text === 'string' && fitsUpstream(text) ? text : derivedReference(exchange.id);
}

/** How the code shows, by the story (`docs/field-notes.md` Orders §7.2). */
function modeOf({ story }: Operation): 'static' | 'dynamic' | 'hybrid' {
  if (story === 'create_dynamic_code') return 'dynamic';
  return story === 'create_hybrid_code' ? 'hybrid' : 'static';
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' ? (value as Readonly<Record<string, unknown>>) : {}; // an object, keys unknown
}

// A create that legacy has answered, beside the verdict that its shadow predicts.

/**
 * The difference between what legacy did and what orders would do; null when they agree or can't be compared.
 *
 * Three kinds count: legacy took what orders would refuse; legacy refused what orders would take; both refuse, and the
 * till is told another error. What hangs on the state of things is no difference, because no rule can know it: legacy's
 * 401 and 403 (whose token, whose terminal), 404 (no such till), 409 (busy), 429, and every 5xx. So a busy terminal on
 * legacy is not held against orders, and that an order would meet a busy terminal is not predicted. Nor is a till that left
 * before it was told anything, or an answer that broke off.
 */
export function compareCreate(task: ShadowTask, finding: ShadowFinding): DifferenceSeen | null {
  const { status, error, operation, outcome } = task.exchange;
  const taken = status < 300;
  if (operation === null || outcome === 'fault' || status >= 500 || (!taken && (status < 400 || STATE.has(status))))
    return null;
  // Errors of legacy Point are mostly their status again, which is said once.
  const told = error === null || error === String(status) ? String(status) : `${status} ${error}`;
  if (finding.verdict === 'accepted') {
    if (taken) return null;
    return difference(operation, 'verdict', told, 'accepted', `refused ${told}, accepted`);
  }
  const refusal = [finding.verdict, finding.status, finding.code, finding.error, finding.detail];
  const said = refusal.filter((part) => part !== null).join(' ');
  if (taken) return difference(operation, 'verdict', told, said, `taken, ${said}`);
  return finding.error === error ? null : difference(operation, 'error', told, said, `${told}, ${said}`);
}

const STATE = new Set([401, 403, 404, 409, 429]);
/** Kept of each side (`DifferenceSeen`). */
const MAX_ANSWER = 500;

/** The words of a refusal are rules and fields, no values; they tell differences apart. */
function difference(
  operation: string,
  what: DifferenceSeen['what'],
  legacy: string,
  orders: string,
  kind: string,
): DifferenceSeen {
  return {
    signature: signatureOf({ operation, what, path: '', kind }),
    operation,
    what,
    path: '',
    legacy: legacy.slice(0, MAX_ANSWER),
    orders: orders.slice(0, MAX_ANSWER),
  };
}

// Differences between the sides: their signatures, and what is kept of the two values.

/** Kept of each side (`DifferenceSeen`). */
const MAX_SHOWN = 500;

/** What makes a difference the same as another: never a value, and never a place in a list. */
export interface DifferenceKind {
  operation: string;
  what: DifferenceSeen['what'];
  path: string;
  /** `missing`, or which code on which rule. */
  kind: string;
}

/** 16 hex digits. */
export function signatureOf({ operation, what, path, kind }: DifferenceKind): string {
  const text = [operation, what, withoutIndexes(path), withoutIndexes(kind)].join('\n');
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function withoutIndexes(text: string): string {
  return text.replaceAll(/\[\d+\]/g, '[]');
}

/** A value as it may be shown: redacted under its own name, as JSON, cut. */
export function shown(redact: (value: unknown) => unknown, path: string, value: unknown): string {
  if (value === undefined) return 'nothing';
  const name = path.replaceAll('[]', '').split('.').at(-1) ?? '';
  const clean = redact({ [name]: value }) as Record<string, unknown>; // a redactor keeps objects objects
  return stringifyJson(clean[name] ?? Object.values(clean)[0] ?? null).slice(0, MAX_SHOWN);
}
