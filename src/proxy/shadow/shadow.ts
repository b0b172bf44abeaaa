/** The shadow of a legacy create: the order that would have been sent, and its predicted answer. It sends nothing. */

import { createHash } from 'node:crypto';
import { EXTERNAL_ID, USER_ID } from '../../contract/identifiers.ts';
import { isObject, stringifyJson } from '../../contract/json.ts';
import { errorBody, type Family, type LegacyErrorName, legacyError } from '../../contract/legacy-errors.ts';
import { PuenteError } from '../../error.ts';
import type { LegacyRequest, MappingContext, Operation, Tables, Translated } from '../../mapping/tables.ts';
import { isRefusalOfRequest, type ShadowFinding, type ShadowTask } from '../evidence/exchange.ts';
import { redactLosses, redactName } from '../evidence/redact.ts';
import type { DifferenceSeen, OlderForm } from '../records/evidence.ts';
import { derivedReference, fitsUpstream } from '../sales/new-link.ts';
import { type Prediction, predict, predictedBody } from './predict.ts';
import { rulesOf } from './rules.ts';

/** What a shadow may use. Nothing in it can send: keep it so. */
export interface ShadowTools {
  tables: Tables;
  /** Removes what must not be stored (`proxy/evidence/redact.ts`). */
  redact(value: unknown): unknown;
  /** Milliseconds with fractions from any start, such as `performance`. */
  clock: { now(): number };
}

type Finding = Omit<ShadowFinding, 'took_ms'>;

/** True for a call that the tables of the orders lane can translate on paper. */
export function hasShadow(tables: Tables, task: ShadowTask): boolean {
  const operation = knownOperation(tables, task);
  return operation !== null && makesOrder(operation);
}

/**
 * Translates a create with the tables of the orders lane and predicts the answer. Pure, apart from its clock.
 * @throws PuenteError not_found, for an operation that makes no order; bad_tables, for invalid tables.
 */
export function shadowOf(tools: ShadowTools, task: ShadowTask): ShadowFinding {
  const started = tools.clock.now();
  const input = shadowInput(tools.tables, task);
  if (!makesOrder(input.operation))
    throw new PuenteError('not_found', `${input.operation.name} makes no order, so it has no shadow.`);
  const finding = findingOf(tools, task, input);
  // A rule names the field, and a till may send any name.
  const detail = finding.detail === null ? null : redactName(finding.detail);
  return { ...finding, detail, took_ms: tools.clock.now() - started };
}

function findingOf(tools: ShadowTools, task: ShadowTask, input: ShadowInput): Finding {
  const { operation, source, context } = input;
  // The orders lane refuses such a body before any table.
  if (!isObject(source.body))
    return refusedHere(operation.family, { error: 'bad_json', detail: '', by: 'body' }, 'the body is no JSON object');
  const refusal = pathRefusal(operation, task);
  if (refusal !== null)
    return refusedHere(operation.family, { ...refusal, by: 'path' }, 'the path names no till of the seller');
  let translated: Translated;
  try {
    translated = tools.tables.request(operation, source, context);
  } catch (error) {
    return refusedByTable(tools.tables, operation.family, error);
  }
  const { exponent } = tools.tables.site(task.site);
  const order = translated.value.body;
  // Only upstream knows the seller's agreements and whether the token is of OAuth.
  const unknown = { is_oauth: null, is_marketplace: null, may_hand_out_cash: null };
  const prediction = predict(order, { site: task.site, exponent, has_key: true, ...unknown });
  const verdict = prediction === null ? ACCEPTED : refusedThere(tools.tables, input, prediction);
  return { ...verdict, order: tools.redact(order), fired: translated.fired, losses: redactLosses(translated.losses) };
}

type Verdict = Pick<ShadowFinding, 'verdict' | 'status' | 'code' | 'error' | 'detail' | 'cause'>;

const ACCEPTED: Verdict = { verdict: 'accepted', status: null, code: null, error: null, detail: null, cause: null };

/** Uses the same rows as a real refusal. */
function refusedThere(tables: Tables, { operation, context }: ShadowInput, prediction: Prediction): Verdict {
  const { status, code, detail, rule, path } = prediction;
  const row = tables.error(operation.family, 'create', status, predictedBody(prediction), context);
  const { error } = legacyRefusal(operation.family, row.error, row.detail);
  return { verdict: 'refused_there', status, code, error, detail, cause: { by: rule, error: null, names: path } };
}

/** @throws an error that is no refusal. */
function refusedByTable(tables: Tables, family: Family, error: unknown): Finding {
  if (!(error instanceof PuenteError) || error.code !== 'refused') throw error;
  const { error: name, detail = '', row } = error.facts;
  const by = row === undefined ? null : tables.row(String(row));
  const why = by === null ? 'the legacy contract' : `${by.why} (${by.row})`;
  // Coverage finds the refused field by the last row that fired.
  const fired = row === undefined ? [] : [String(row)];
  const refusal = { error: String(name), detail: String(detail), by: by === null ? 'contract' : String(row) };
  return { ...refusedHere(family, refusal, why), fired };
}

/** A message contains field names, which a till may choose. */
const MAX_MESSAGE = 200;

function refusedHere(family: Family, refusal: { error: string; detail: string; by: string }, why: string): Finding {
  const { error, message } = legacyRefusal(family, refusal.error, refusal.detail);
  const detail = `${shortened(message)}: ${why}`;
  const cause = { by: refusal.by, error: refusal.error, names: shortened(redactName(refusal.detail)) };
  const verdict: Verdict = { verdict: 'refused_here', status: null, code: null, error, detail, cause };
  return { ...verdict, order: null, fired: [], losses: [] };
}

/** Refusals that differ only in an index are the same. */
function shortened(text: string): string {
  return withoutIndexes(text).slice(0, MAX_MESSAGE);
}

interface LegacyRefusal {
  status: number;
  error: string;
  message: string;
  body: unknown;
}

/** The answer of a legacy error; `internal` for a name that the family doesn't have. */
export function legacyRefusal(family: Family, name: string, detail: string | null): LegacyRefusal {
  const entry = legacyError(family, name) ?? legacyError(family, 'internal');
  if (entry === null) throw new PuenteError('bad_tables', `the catalogue of ${family} has no internal error`);
  const body = errorBody(family, entry, detail ?? '');
  return { status: entry.status, error: String(body.error), message: String(body.message), body };
}

/** The operation of a call, with the source and the context that a live call gives to its request table. */
export interface ShadowInput {
  operation: Operation;
  source: LegacyRequest;
  context: MappingContext;
}

/** Placeholder for the external id of a till that is named by its number, which only upstream knows. */
const SOME_TILL = 'POS0';

/** The operation of a task; null when these tables, older or newer than its exchange, do not have it. */
export function knownOperation(tables: Tables, { exchange }: ShadowTask): Operation | null {
  return tables.operations.find((one) => one.name === exchange.operation) ?? null;
}

/** True for an operation whose call creates an order upstream. */
export function makesOrder(operation: Operation): boolean {
  return operation.upstream === 'create' && operation.request !== null;
}

/** Values of store or upstream have a placeholder. @throws PuenteError not_found, for an unknown operation. */
export function shadowInput(tables: Tables, task: ShadowTask): ShadowInput {
  const operation = knownOperation(tables, task);
  if (operation === null)
    throw new PuenteError('not_found', `The tables have no operation '${task.exchange.operation ?? ''}' to shadow.`);
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

/** Refusals before any table: a path of another seller, or without a till (`docs/field-notes.md` QR §1.2). */
function pathRefusal(
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

/** The till's own reference where it fits; only the store knows whether it was used before. */
function referenceFor({ kind }: Operation, { exchange, request }: ShadowTask): string {
  const body = record(request.body);
  const written = kind === 'qr' ? body.external_reference : record(body.additional_info).external_reference;
  // QR tills also send numbers, whose text is the reference.
  const is_other = kind === 'qr' && written !== undefined && typeof written !== 'string';
  const text = is_other ? stringifyJson(written) : written;
  return typeof text === 'string' && fitsUpstream(text) ? text : derivedReference(exchange.id);
}

/** How the code is shown (`docs/field-notes.md` Orders §7.2). */
function modeOf({ story }: Operation): 'static' | 'dynamic' | 'hybrid' {
  if (story === 'create_dynamic_code') return 'dynamic';
  return story === 'create_hybrid_code' ? 'hybrid' : 'static';
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' ? (value as Readonly<Record<string, unknown>>) : {}; // an object, keys unknown
}

/**
 * The difference between legacy's answer and the prediction; null when they agree or can't be compared. Three kinds
 * count: legacy accepted what orders would refuse; legacy refused what orders would accept; both refuse with different
 * errors. Rules can't judge state, so refusals of it do not count (`isRefusalOfRequest`), nor does an incomplete answer.
 */
export function compareCreate(tables: Tables, task: ShadowTask, finding: ShadowFinding): DifferenceSeen | null {
  const { status, error, operation, outcome } = task.exchange;
  const accepted = status < 300;
  if (operation === null || outcome === 'fault' || !(accepted || isRefusalOfRequest(status))) return null;
  // The error of legacy Point is mostly its status again.
  const legacy = error === null || error === String(status) ? String(status) : `${status} ${error}`;
  if (finding.verdict === 'accepted') {
    return accepted ? null : difference(operation, 'verdict', legacy, 'accepted', `refused ${legacy}, accepted`);
  }
  const what = accepted ? 'verdict' : 'error';
  if (!accepted && finding.error === error) return null;
  const orders = wordsOf(finding);
  const seen = difference(operation, what, legacy, orders, `${accepted ? 'taken' : legacy}, ${kindOf(finding)}`);
  const older = olderForm(tables, task, finding);
  return older === null ? seen : { ...seen, older };
}

/** A finding in words, with the sentence of its reason. */
export function wordsOf(finding: ShadowFinding): string {
  return [...codesOf(finding), finding.detail].filter((part) => part !== null).join(' ');
}

/** Equal for findings that differ at most in the wording of their reason. One without a cause has only its words. */
export function kindOf(finding: ShadowFinding): string {
  const { cause } = finding;
  if (cause === undefined || cause === null) return wordsOf(finding);
  return [...codesOf(finding), cause.by, cause.error, cause.names].filter((part) => part !== null).join(' ');
}

function codesOf({ verdict, status, code, error }: ShadowFinding): (string | number | null)[] {
  return [verdict, status, code, error];
}

/** Characters of each side of a difference. */
const MAX_SHOWN = 500;

/** @param kind codes, rows and fields without values; it distinguishes differences. */
function difference(
  operation: string,
  what: DifferenceSeen['what'],
  legacy: string,
  orders: string,
  kind: string,
): DifferenceSeen {
  const signature = signatureOf({ operation, what, path: '', kind });
  return {
    signature,
    operation,
    what,
    path: '',
    legacy: legacy.slice(0, MAX_SHOWN),
    orders: orders.slice(0, MAX_SHOWN),
  };
}

/**
 * Signatures of older builds were made of sentences, and a sentence may have been reworded since: a difference that was
 * judged under such a signature is known by everything around the sentence. Null without a sentence.
 */
function olderForm(tables: Tables, task: ShadowTask, finding: ShadowFinding): OlderForm | null {
  const { cause, code, detail } = finding;
  const operation = knownOperation(tables, task);
  if (operation === null || cause === undefined || cause === null || detail === null) return null;
  const [table = '', number] = cause.by.split('#');
  const startOf = (what: string): string =>
    [...codesOf(finding), `${what}: `].filter((part) => part !== null).join(' ');
  if (cause.error !== null) {
    const { message } = legacyRefusal(operation.family, cause.error, cause.names);
    return { start: startOf(shortened(message)), row: number === undefined ? null : cause.by };
  }
  const rules = operation.family === 'point' ? rulesOf.point : rulesOf.qr;
  const alike = rules.filter((rule) => rule.path === table && rule.code === code);
  // The words alone tell two rules on one field apart: reworded, they are judged anew rather than by the other's judgement.
  const start =
    alike.length > 1 ? wordsOf(finding).slice(0, MAX_SHOWN) : startOf(cause.names === '' ? 'order' : cause.names);
  return { start, row: null };
}

/** Whether two findings on one call differ at most in the wording of their reason. @param then may be of an older build. */
export function isSameFinding(tables: Tables, task: ShadowTask, then: ShadowFinding, now: ShadowFinding): boolean {
  if (kindOf(then) === kindOf(now)) return true;
  const older = then.cause === undefined ? olderForm(tables, task, now) : null;
  return older !== null && isOlderForm(older, wordsOf(then));
}

/** @param orders of a stored difference. */
export function isOlderForm({ start, row }: OlderForm, orders: string): boolean {
  const of = / \(([\w.]+#[\w.]+)\)$/.exec(orders)?.[1] ?? null;
  return orders.startsWith(start) && of === row;
}

/** Equal for equal differences; contains no value and no list index. */
interface DifferenceKind {
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

/** A value for display: redacted under its own name, as JSON, cut. */
export function shown(redact: (value: unknown) => unknown, path: string, value: unknown): string {
  if (value === undefined) return 'nothing';
  const name = path.replaceAll('[]', '').split('.').at(-1) ?? '';
  const clean = redact({ [name]: value }) as Record<string, unknown>; // a redactor keeps objects objects
  return stringifyJson(clean[name] ?? Object.values(clean)[0] ?? null).slice(0, MAX_SHOWN);
}
