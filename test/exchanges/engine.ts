/** Runs a golden exchange through the tables and the pure decisions alone: no door, no store, no network. */
import { expect } from 'vitest';
import { type PointErrorName, pointErrors } from '../../src/contract/legacy-point.ts';
import { type UpstreamCallName, upstreamRoutes } from '../../src/contract/orders.ts';
import { listTerminalsAnswer, setupTerminalAnswer } from '../../src/contract/terminals.ts';
import type { Link } from '../../src/core/link.ts';
import { noticeRequest } from '../../src/core/notice.ts';
import { derivedReference, fitsUpstream } from '../../src/core/reference.ts';
import { Secret } from '../../src/core/secret.ts';
import { PuenteError } from '../../src/error.ts';
import type { MappingContext, Operation, Tables, Translated } from '../../src/mapping/tables.ts';
import { endedOrder, orderOf } from './given.ts';
import type { Exchange, Step } from './kit.ts';
import { apply, type CreateBody, hold, type Judge, MERCHANT, newLink } from './link.ts';
import { fill, type Names } from './placeholders.ts';

const NOTICE_SECRET = 'notice-secret-of-the-engine';

/** Rows that fired: those the till sees the work of, and those of errors that the story answers in its own way. */
export interface Fired {
  seen: string[];
  unseen: string[];
}

/** @throws an assertion of vitest where the tables say something else than the file. */
export function runEngine(tables: Tables, exchange: Exchange): Fired {
  const fired: Fired = { seen: [], unseen: [] };
  const operation = tables.operations.find((one) => one.name === exchange.operation);
  if (!operation) throw new Error(`${exchange.title}: mappings/operations.yaml has no such operation`);
  const run = prepare(recording(tables, fired.seen), operation, exchange);
  const own = exchange.upstream.filter((step) => isOwn(operation, step, run.names));
  if (own.length > 0 && !exchange.tables_alone) checkRequest(run, own);
  else if (isRefusedByTables(run)) checkRefusal(run, fired);
  const last = own.at(-1);
  const failed = last !== undefined && (last.answer?.status ?? 0) >= 300 ? last : null;
  if (failed) checkError(run, failed, fired);
  if (exchange.legacy_answer.status < 300) checkAnswer(run, failed ? [] : own);
  if (exchange.notice) checkNotice(run);
  return fired;
}

interface Run extends Judge {
  operation: Operation;
  exchange: Exchange;
  names: Names;
  link: Link;
  context: MappingContext;
}

/** Tables that remember which of their rows fired. */
function recording(tables: Tables, fired: string[]): Tables {
  const kept = (translated: Translated): Translated => {
    fired.push(...translated.fired);
    return translated;
  };
  return {
    ...tables,
    request: (...given) => kept(tables.request(...given)),
    answer: (...given) => kept(tables.answer(...given)),
    notice: (...given) => kept(tables.notice(...given)),
    state: (...given) => {
      const row = tables.state(...given);
      fired.push(row.row);
      return row;
    },
  };
}

function prepare(tables: Tables, operation: Operation, exchange: Exchange): Run {
  const { site, declined = 'error', voucher = 'refuse' } = exchange.merchant;
  const now = Date.now();
  const names: Names = { merchant: MERCHANT, now: new Date(now).toISOString() };
  const { exponent } = tables.site(site);
  const rules = {
    now,
    declined,
    action_required_grace_ms: 60_000,
    released: false,
    default_lifetime_ms: 900_000,
    exponent,
  };
  const run: Run = {
    tables,
    operation,
    exchange,
    names,
    rules,
    link: newLink(1),
    context: { site, exponent, voucher },
  };
  exchange.given.forEach((given, index) => {
    const link = newLink(index + 1);
    const facts = { order_id: link.order_id ?? '', merchant: MERCHANT, reference: link.reference_sent };
    hold(link, given.device, given.body);
    apply(run, link, orderOf(given, facts));
    if (given.ends) apply(run, link, endedOrder(given, facts));
    names[`intent ${index + 1}`] = link.legacy_id;
    names[`order id ${index + 1}`] = link.order_id ?? '';
    run.link = link;
  });
  names.intent = run.link.legacy_id;
  names['order id'] = run.link.order_id ?? '';
  names.reference = run.link.reference_sent;
  names['created at'] = '2026-01-31 17:10:37';
  names['created on'] = '2026-01-31T17:10:37Z';
  return run;
}

/** True for the upstream call that the operation's request table makes; reads that a story adds are its own business. */
function isOwn(operation: Operation, step: Step, names: Names): boolean {
  if (operation.upstream === null || step.to === 'legacy') return false;
  const { method, path } = upstreamRoutes[operation.upstream];
  const wanted = path.replace(':order_id', names['order id'] ?? '');
  return step.request.method === method && fill(step.request.path, names) === wanted;
}

/** Stories that always translate before anything else, so that nothing upstream means a refusal by the tables. */
const TRANSLATING = new Set(['create_intent', 'list_devices', 'change_mode']);

function isRefusedByTables({ operation, exchange }: Run): boolean {
  const { upstream, legacy_request, legacy_answer } = exchange;
  const silent = upstream.length === 0 && legacy_answer.status >= 400 && legacy_request.text === undefined;
  return silent && TRANSLATING.has(operation.story);
}

/** @param step whose reference is asked for: one of ours, or the client's own. */
function translate(run: Run, step: Step | null): Translated {
  const { exchange, operation, names, link } = run;
  const { legacy_request } = exchange;
  const path = pathValues(operation.path, fill(legacy_request.path, names));
  const body = legacy_request.body as CreateBody | undefined; // only looked at
  const said = body?.additional_info?.external_reference;
  const isOurs = step === null || asksReference(step) || typeof said !== 'string' || !fitsUpstream(said);
  if (operation.story === 'create_intent' && body !== undefined) hold(link, path.device_id ?? '', body);
  const source = { path, query: legacy_request.query ?? {}, headers: lowerCase(legacy_request.headers ?? {}), body };
  return run.tables.request(operation, source, {
    ...run.context,
    reference: isOurs ? derivedReference(link.legacy_id) : said,
    ...(link.order_id === null ? {} : { order_id: link.order_id }),
    ...(exchange.merchant.cancel_on_terminal ? { cancelable_status: 'at_terminal' } : {}),
  });
}

function asksReference(step: Step): boolean {
  return (step.request.body as { external_reference?: unknown } | undefined)?.external_reference === '<reference>';
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

function checkRefusal(run: Run, fired: Fired): void {
  let facts: Record<string, unknown> | null = null;
  try {
    translate(run, null);
  } catch (error) {
    if (!(error instanceof PuenteError) || error.code !== 'refused') throw error;
    ({ facts } = error);
  }
  if (facts === null) throw new Error('the tables refuse nothing here');
  if (typeof facts.row === 'string') fired.seen.push(facts.row);
  expect(legacyError(facts.error as PointErrorName, facts.detail)).toEqual(run.exchange.legacy_answer.body);
}

function checkError(run: Run, failed: Step, fired: Fired): void {
  const { status, body } = failed.answer ?? { status: 0 };
  const call = (run.exchange.tables_alone ?? run.operation.upstream) as UpstreamCallName; // an own step has one
  const json = typeof body === 'string' ? undefined : body;
  const row = run.tables.error(call, status, json, run.context);
  const { tables_say, legacy_answer } = run.exchange;
  expect(legacyError(row.error, row.detail)).toEqual(tables_say ?? legacy_answer.body);
  (tables_say === undefined ? fired.seen : fired.unseen).push(row.row);
}

function legacyError(name: PointErrorName, detail: unknown): Record<string, unknown> {
  const { status, error, message } = pointErrors[name];
  return { error, message: message.replace('{}', String(detail ?? '')).trim(), status };
}

function checkAnswer(run: Run, own: Step[]): void {
  const { tables, operation, exchange, link, context, names } = run;
  if (operation.answer === null || exchange.upstream.some((step) => step.to === 'legacy')) return;
  const body = fill(own.at(-1)?.answer?.body, names);
  const given = { ...context, intent_id: link.legacy_id, ...eventsOf(run) };
  const source = terminalsOf(operation, body);
  if (source === null) apply(run, link, body);
  const { value } = tables.answer(operation, source ?? (operation.story === 'last_status' ? {} : (link.order ?? {})), {
    ...given,
    device_id: link.unit,
    state: link.intent_state,
    state_at: link.intent_state_at,
    held: link.held,
    amount_minor: link.amount_minor,
  });
  expect(JSON.stringify(value.body)).toBe(JSON.stringify(fill(exchange.legacy_answer.body, names)));
}

function terminalsOf(operation: Operation, body: unknown): unknown {
  if (operation.upstream === 'terminals_list') return listTerminalsAnswer.parse(body);
  return operation.upstream === 'terminals_setup' ? setupTerminalAnswer.parse(body) : null;
}

function eventsOf(run: Run): MappingContext {
  const { exchange, names } = run;
  if (run.operation.story !== 'list_events') return {};
  const events = exchange.given.map((given, index) => {
    const link = newLink(index + 1);
    const facts = { order_id: names[`order id ${index + 1}`] ?? '', merchant: MERCHANT, reference: 'x' };
    apply(run, link, endedOrder(given, facts));
    return { payment_intent_id: link.legacy_id, status: link.intent_state, created_on: link.intent_state_at };
  });
  return { events: events.sort((one, other) => other.created_on - one.created_on) };
}

function checkNotice(run: Run): void {
  const { exchange, names, link } = run;
  const { notice, upstream } = exchange;
  if (!notice) return;
  // The answer has moved the link already; it is moved again from where it stood before, as the merchant sees it.
  const before: Link = { ...link, order: null, order_version: null, intent_state: 'OPEN' };
  const [body] = apply(run, before, fill(upstream.at(-1)?.answer?.body, names));
  if (body === undefined) throw new Error('nothing is announced here');
  expect(body).toBe(JSON.stringify(fill(notice.body, names)));
  const facts = { url: 'https://till.example/notices', intent_id: link.legacy_id, body, timestamp_ms: 1 };
  const request = noticeRequest({
    ...facts,
    request_id: 'r',
    dialect: notice.dialect,
    secret: new Secret(NOTICE_SECRET),
  });
  expect([...new URL(request.url).searchParams]).toEqual(Object.entries(fill(notice.query, names)));
}

function pathValues(pattern: string, path: string): Record<string, string> {
  const parts = path.split('/');
  const pairs = pattern
    .split('/')
    .flatMap((part, index) => (part.startsWith(':') ? [[part.slice(1), parts[index]]] : []));
  return Object.fromEntries(pairs);
}

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
