/** Runs a golden exchange through the tables and pure decisions only: no door, no store, no network. */
import { expect } from 'vitest';
import { stringifyJson } from '../../src/contract/json.ts';
import { errorBody, type Family, legacyError } from '../../src/contract/legacy-errors.ts';
import { listTerminalsAnswer, parseSetupAnswer } from '../../src/contract/terminals.ts';
import { type UpstreamCallName, upstreamRoutes } from '../../src/contract/upstream.ts';
import { PuenteError } from '../../src/error.ts';
import type { MappingContext, Operation, Tables } from '../../src/mapping/tables.ts';
import type { Ports } from '../../src/ops/ports.ts';
import type { LegacyCall } from '../../src/proxy/http/answer.ts';
import { noticeRequest } from '../../src/proxy/notices/request.ts';
import { saleContext } from '../../src/proxy/qr/create.ts';
import type { Link } from '../../src/proxy/sales/link.ts';
import { Secret } from '../../src/proxy/vault.ts';
import { prepare, QR_CREATES, type Run, translate } from './engine-run.ts';
import { isSale } from './given.ts';
import type { Exchange, Step, WrittenNotice } from './kit.ts';
import { apply, VAULT } from './link.ts';
import { fill, type Names } from './placeholders.ts';
import { recording } from './recording.ts';

const NOTICE_SECRET = 'notice-secret-of-the-engine';

/** Rows that fired: those whose result the till sees, and rows of errors that the story answers otherwise. */
export interface Fired {
  seen: string[];
  unseen: string[];
}

/**
 * Stories build searches and refunds of payments and merchant orders from several sources: only the whole app covers
 * these.
 * @throws an assertion of vitest where the tables differ from the file.
 */
export function runEngine(tables: Tables, exchange: Exchange): Fired {
  const fired: Fired = { seen: [], unseen: [] };
  const operation = tables.operations.find((one) => one.name === exchange.operation);
  if (!operation) throw new Error(`${exchange.title}: mappings/operations.yaml has no such operation`);
  // Rows of errors are sorted by hand: only the file shows whether the till sees them.
  const watched = { ...recording(tables, (row) => fired.seen.push(row)), error: tables.error };
  const run = prepare(watched, operation, exchange);
  // The creates of given sales do not count.
  if (exchange.given.some(isSale)) fired.seen = [];
  const own = exchange.upstream.filter((step) => isOwn(operation, step, run.names));
  if (TRANSLATED.has(operation.family)) {
    if (own.length > 0) checkRequest(run, own);
    else if (isRefusedByTables(run)) checkRefusal(run);
  }
  const last = own.at(-1);
  const failed = last !== undefined && (last.answer?.status ?? 0) >= 300 ? last : null;
  if (failed) checkError(run, failed, fired);
  if (exchange.legacy_answer.status < 300) checkAnswer(run, failed ? [] : own);
  if (operation.family === 'point' && exchange.told !== null) checkNotices(run, exchange.told);
  if (exchange.told !== null && exchange.given.length === 0 && QR_CREATES.has(operation.story))
    checkTopics(run, exchange.told);
  return fired;
}

/** Families whose stories translate the till's request by one table and the order by another. */
const TRANSLATED = new Set<Family>(['point', 'qr_v1', 'qr']);

/** True for the upstream call of the operation's request table; a story's additional reads do not count. */
function isOwn(operation: Operation, step: Step, names: Names): boolean {
  if (operation.upstream === null || operation.request === null || step.to === 'legacy') return false;
  const { method, path } = upstreamRoutes[operation.upstream];
  const wanted = path.replace(':order_id', names['order id'] ?? '');
  return step.request.method === method && fill(step.request.path, names) === wanted;
}

/** Stories that translate first, so that an exchange without an upstream call is a refusal by the tables. */
const TRANSLATING = new Set(['create_intent', 'list_devices', 'change_mode']);

function isRefusedByTables({ operation, exchange }: Run): boolean {
  const { upstream, legacy_request, legacy_answer } = exchange;
  const silent = upstream.length === 0 && legacy_answer.status >= 400 && legacy_request.text === undefined;
  // A number in the path is looked up before any table is used.
  const names_till = operation.path.includes(':external_pos_id');
  return silent && (TRANSLATING.has(operation.story) || (QR_CREATES.has(operation.story) && names_till));
}

function checkRequest(run: Run, own: Step[]): void {
  for (const step of own) {
    const { request } = step;
    const { value, losses } = translate(run, step);
    expect(JSON.stringify(value.body)).toBe(JSON.stringify(fill(request.body, run.names)));
    expect(value.query ?? {}).toEqual(request.query ?? {});
    const { 'x-idempotency-key': _key, ...headers } = request.headers ?? {};
    expect(value.headers ?? {}).toEqual(headers);
    expect(losses.map((loss) => loss.path)).toEqual(run.exchange.losses);
  }
}

function checkRefusal(run: Run): void {
  let facts: Record<string, unknown> | null = null;
  try {
    translate(run, null);
  } catch (error) {
    if (!(error instanceof PuenteError) || error.code !== 'refused') throw error;
    ({ facts } = error);
  }
  // A QR create checks the path and its owner first, and refuses without a table.
  if (facts === null && QR_CREATES.has(run.operation.story)) return;
  if (facts === null) throw new Error('the tables refuse nothing here');
  const { family } = run.operation;
  expect(legacyBody(family, String(facts.error), facts.detail)).toEqual(run.exchange.legacy_answer.body);
}

function checkError(run: Run, failed: Step, fired: Fired): void {
  const { status, body } = failed.answer ?? { status: 0 };
  const { family, upstream } = run.operation;
  const call = upstream as UpstreamCallName; // an own step has one
  const json = typeof body === 'string' ? undefined : body;
  const row = run.tables.error(family, call, status, json, run.context);
  const { tables_say, legacy_answer } = run.exchange;
  expect(legacyBody(family, row.error, row.detail)).toEqual(tables_say ?? legacy_answer.body);
  (tables_say === undefined ? fired.seen : fired.unseen).push(row.row);
}

function legacyBody(family: Family, name: string, detail: unknown): Record<string, unknown> {
  const entry = legacyError(family, name) ?? legacyError(family, 'internal');
  if (entry === null) throw new Error(`${family} has no errors`);
  return errorBody(family, entry, String(detail ?? ''));
}

function checkAnswer(run: Run, own: Step[]): void {
  const { tables, operation, exchange, link, names } = run;
  const proxied = exchange.upstream.some((step) => step.to === 'legacy');
  if (operation.answer === null || proxied || !TRANSLATED.has(operation.family)) return;
  const body = fill(own.at(-1)?.answer?.body, names);
  const source = terminalsOf(operation, body);
  if (source === null) apply(run, link, body);
  const context = operation.family === 'point' ? intentContext(run) : qrContext(run);
  const order = operation.story === 'last_status' ? {} : (link.order ?? {});
  const { value } = tables.answer(operation, source ?? order, context);
  expect(stringifyJson(value.body)).toBe(stringifyJson(fill(exchange.legacy_answer.body, names)));
}

function intentContext(run: Run): MappingContext {
  const { context, link } = run;
  return {
    ...context,
    intent_id: link.legacy_id,
    ...eventsOf(run),
    device_id: link.unit,
    state: link.legacy_state,
    state_at: link.legacy_state_at,
    held: link.held,
    amount_minor: link.amount_minor,
  };
}

function qrContext({ tables, exchange, link }: Run): MappingContext {
  const settings = { merchants: { voucher: 'refuse' } };
  const merchant = { id: link.merchant_id, site: exchange.merchant.site, settings: {} };
  // `saleContext` uses the site's row, the merchant's settings and the vault only.
  return saleContext(
    { tables, settings, vault: VAULT } as unknown as Ports,
    { merchant } as unknown as LegacyCall,
    link,
  );
}

function terminalsOf(operation: Operation, body: unknown): unknown {
  if (operation.upstream === 'terminals_list') return listTerminalsAnswer.parse(body);
  return operation.upstream === 'terminals_setup' ? parseSetupAnswer(body).data : null;
}

function eventsOf({ operation, given }: Run): MappingContext {
  if (operation.story !== 'list_events') return {};
  const events = given.map((link) => ({
    payment_intent_id: link.legacy_id,
    status: link.legacy_state,
    created_on: link.legacy_state_at,
  }));
  return { events: events.sort((one, other) => other.created_on - one.created_on) };
}

/** Of an intent: its first notice and its topics; the other dialect omits the payment (LIM-60). */
function checkNotices(run: Run, told: WrittenNotice[]): void {
  const { exchange, names, link } = run;
  const [notice] = told;
  if (notice === undefined) return;
  // The answer has changed the link already; the changes are applied again, from the state that the merchant knew.
  const before: Link = { ...link, order: null, order_version: null, legacy_state: 'OPEN' };
  const due = apply(run, before, fill(exchange.upstream.at(-1)?.answer?.body, names));
  const [first] = due;
  if (first === undefined) throw new Error('nothing is announced here');
  if (notice.dialect === 'point_integration_ipn') {
    const wanted = told.map(({ query }) => [fill(query, names).topic, fill(query, names).id]);
    const topics = { point: 'point_integration_ipn', payment: 'payment', merchant_order: 'merchant_order' };
    expect(due.map(({ topic, subject }) => [topics[topic], subject])).toEqual(wanted);
  }
  const sent = { ...first, form: 'point', id: 'r', sequence: 1, state: 'pending', attempts: 0 } as const;
  const receiver = { url: 'https://till.example/notices', dialect: notice.dialect, secret: new Secret(NOTICE_SECRET) };
  const extra = exchange.merchant.point_notice_extra;
  const request = noticeRequest(sent, { ...receiver, extra, public_url: 'https://puente.example' }, 1);
  expect(request.body).toBe(JSON.stringify(fill(notice.body, names)));
  expect([...new URL(request.url).searchParams]).toEqual(Object.entries(fill(notice.query, names)));
}

/** Of a QR sale: the topics of its notices and their order; the sender writes their text. */
function checkTopics(run: Run, told: WrittenNotice[]): void {
  const { exchange, names, link } = run;
  const born = {
    ...link,
    order: null,
    order_version: null,
    payment_id: null,
    legacy_state: 'payment_required',
  } as Link; // one of a link's states
  const due = exchange.upstream.flatMap((step) => apply(run, born, fill(step.answer?.body, names)));
  names['new payment'] ??= born.payment_id ?? '';
  names.payment ??= born.payment_id ?? '';
  const queries = told.map((notice) => fill(notice.query, names));
  const wanted = queries.map((query) => [query.topic ?? query.type, query.id ?? query['data.id']]);
  expect(due.map((notice) => [notice.topic, notice.subject])).toEqual(wanted);
}
