/** Repeats one captured call with today's tables: its upstream request, and the answer to the till. */
import { errorBody, legacyError } from '../../contract/legacy-errors.ts';
import { intentStates } from '../../contract/legacy-point.ts';
import { order } from '../../contract/orders.ts';
import { listTerminalsAnswer, parseSetupAnswer } from '../../contract/terminals.ts';
import { type UpstreamCallName, upstreamRoutes } from '../../contract/upstream.ts';
import { PuenteError } from '../../error.ts';
import type { MappingContext, Translated } from '../../mapping/tables.ts';
import { minorUnits, requestedAmount } from '../../mapping/values.ts';
import type { CapturedMessages } from '../../proxy/evidence/redact.ts';
import { referenceOf } from '../../proxy/qr/held-body.ts';
import { momentOf } from './call.ts';
import { type Change, changeOf, changesIn, lossChanges } from './changes.ts';
import type { Again } from './operation-of.ts';

type Sent = CapturedMessages['upstream'][number];

/** Today's upstream request against the captured one, with the same generated ids. */
export function requestChanges(again: Again): Change[] {
  const { exchange, messages, input } = again;
  const { operation } = input;
  const sent = operation.upstream === null ? null : sentCall(messages, operation.upstream);
  const now = translated(again, sent);
  const answered = `${messages.answer.status} ${exchange.error ?? ''}`.trim();
  if (now.kind === 'refused')
    return sent === null && answered === now.answered
      ? []
      : changeOf('refusal', sent === null ? answered : 'translated', now.answered);
  if (sent === null) return wasTranslated(again, now.value) ? [] : changeOf('refusal', answered, 'translated');
  const { path, query, body } = now.value.value;
  const target = targetOf(operation.upstream ?? 'get', path ?? {}, query ?? {});
  return [
    ...changeOf('upstream', sent.path, target),
    ...changesIn('upstream', sent.body, again.tools.redact(body)),
    ...(exchange.fired.length === 0 ? [] : lossChanges(exchange.losses, now.value.losses)),
  ];
}

/** The last upstream call of this name; null without one. */
function sentCall({ upstream }: CapturedMessages, name: UpstreamCallName): Sent | null {
  const { method, path } = upstreamRoutes[name];
  const pattern = new RegExp(`^${path.replaceAll(/:\w+/g, '[^/?]+')}(?:\\?|$)`);
  return upstream.findLast((call) => call.method === method && pattern.test(call.path)) ?? null;
}

type Translation = { kind: 'translated'; value: Translated } | { kind: 'refused'; answered: string };

function translated({ tools, input }: Again, sent: Sent | null): Translation {
  const { operation, source, context } = input;
  try {
    const given = { ...context, ...givenThen(input, sent) };
    return { kind: 'translated', value: tools.tables.request(operation, source, given) };
  } catch (error) {
    if (!(error instanceof PuenteError) || error.code !== 'refused') throw error;
    const { error: name, detail } = error.facts;
    const entry = legacyError(operation.family, String(name)) ?? legacyError(operation.family, 'internal');
    if (entry === null) throw error;
    const { error: word } = errorBody(operation.family, entry, String(detail ?? ''));
    return { kind: 'refused', answered: `${entry.status} ${String(word)}` };
  }
}

interface SentBody {
  external_reference?: unknown;
  config?: { qr?: { external_pos_id?: string } };
  transactions?: { id?: unknown }[];
}

/** Placeholder order id of a call that was answered before anything was sent. */
const SOME_ORDER = `ORD${'0'.repeat(26)}`;

/** Values that came from the store: the sent reference, the order, the refunded part. */
function givenThen({ operation, source, context }: Again['input'], sent: Sent | null): MappingContext {
  const body = (sent?.body ?? {}) as SentBody; // Puente's own JSON
  const given: MappingContext = operation.upstream === 'create' ? {} : { order_id: SOME_ORDER };
  if (typeof body.external_reference === 'string') given.reference = body.external_reference;
  // A point of sale that the call names by number only was looked up then.
  const till = source.path.external_pos_id ?? body.config?.qr?.external_pos_id;
  if (till !== undefined) given.external_pos_id = till;
  const order_id = /^\/v1\/orders\/([^/?]+)/.exec(sent?.path ?? '')?.[1];
  if (order_id !== undefined) given.order_id = order_id;
  if (operation.upstream !== 'refund' || sent?.body === undefined || sent.body === null) return given;
  const { amount } = Object(source.body) as { amount?: unknown }; // any JSON; its table checks it
  const refund_minor = requestedAmount(amount, Number(context.exponent));
  return refund_minor === null ? given : { ...given, refund_minor, transaction_id: body.transactions?.[0]?.id };
}

/** True when the tables accepted the call, and it was answered from the store or refused by the sale's state. */
function wasTranslated({ exchange }: Again, now: Translated): boolean {
  return exchange.status < 400 || exchange.fired.length > 1 || now.fired.length <= 1 || isOfState(exchange.error);
}

/** An error that no request table has, such as an unknown intent or order. */
function isOfState(error: string | null): boolean {
  return error !== null && /not_found|^404$|^101$|^111$|unauthorized|^401$|forbidden|^403$/.test(error);
}

function targetOf(name: UpstreamCallName, path: Record<string, string>, query: Record<string, string>): string {
  const filled = upstreamRoutes[name].path.replaceAll(/:(\w+)/g, (_, key: string) => path[key] ?? `:${key}`);
  const text = new URLSearchParams(query).toString();
  return text === '' ? filled : `${filled}?${text}`;
}

// The answer of a call on the orders lane, made again from the captured upstream answers.

interface AnswerChanges {
  changes: Change[];
  /** Reasons why the answer could not be made again. */
  not_compared: string[];
}

const SAME: AnswerChanges = { changes: [], not_compared: [] };

/** What today's answer or error table would answer, against what the till was answered then. */
export function answerChanges(again: Again): AnswerChanges {
  const { messages, exchange, input } = again;
  const { answer: table } = input.operation;
  if (messages.answer.status >= 400) return errorChanges(again);
  if (table === null) return SAME;
  // A table that did not fire then did not make the answer.
  if (!exchange.fired.some((row) => row.startsWith(`${table}#`))) return SAME;
  const source = sourceOf(again);
  if (source === null)
    return {
      changes: [],
      not_compared: [`answers by ${table}: made of what was stored, which a capture does not have`],
    };
  const { value } = again.tools.tables.answer(input.operation, source, contextOf(again, source));
  return { changes: changesIn('answer', messages.answer.body, again.tools.redact(value.body)), not_compared: [] };
}

/** When an error row made the answer, today's row translates the same upstream error. */
function errorChanges({ tools, messages, exchange, input }: Again): AnswerChanges {
  const { operation, context } = input;
  const sent = operation.upstream === null ? null : sentCall(messages, operation.upstream);
  const spoke = exchange.fired.some((row) => /\.errors#/.test(row));
  if (!spoke || operation.upstream === null || sent === null || sent.status === null || sent.status < 400) return SAME;
  const row = tools.tables.error(operation.family, operation.upstream, sent.status, sent.answer, context);
  const entry = legacyError(operation.family, row.error) ?? legacyError(operation.family, 'internal');
  if (entry === null) return SAME;
  const body = tools.redact(errorBody(operation.family, entry, row.detail ?? ''));
  const changes = [
    ...changeOf('answer', String(messages.answer.status), String(entry.status)),
    ...changesIn('answer', messages.answer.body, body),
  ];
  return { changes, not_compared: [] };
}

/** The upstream answer that the till's answer was made from; null when that came from the store. */
function sourceOf({ messages, input }: Again): unknown {
  const { operation } = input;
  if (operation.story === 'last_status' || operation.story === 'list_events') return {};
  if (operation.family === 'payments' || operation.family === 'merchant_orders') return null;
  if (operation.upstream === 'terminals_list')
    return parsedBy(listTerminalsAnswer, sentCall(messages, 'terminals_list')?.answer);
  if (operation.upstream === 'terminals_setup')
    return parseSetupAnswer(sentCall(messages, 'terminals_setup')?.answer).data ?? null;
  // The call may first have removed another sale: only its own order counts, or a later read of it.
  const own = operation.upstream === null ? undefined : sentCall(messages, operation.upstream);
  const made = own?.status !== undefined && own.status !== null && own.status < 300 ? own : sentCall(messages, 'get');
  return parsedBy(order, made?.answer);
}

function parsedBy(schema: typeof order | typeof listTerminalsAnswer, value: unknown): unknown {
  const parsed = schema.safeParse(value);
  return parsed.success ? parsed.data : null;
}

/** The context of the answer tables. Stored ids, states and texts are read from the captured answer. */
function contextOf({ exchange, messages, input, tools, task }: Again, source: unknown): MappingContext {
  const { path, body } = task.request;
  const answer = record(messages.answer.body);
  const said = record(body);
  const isCreate = input.operation.upstream === 'create';
  const { currency, exponent } = tools.tables.site(task.site);
  const state = [answer.state, answer.status].find((one) => intentStates.some((known) => known === one));
  const { additional_info, payment, description } = isCreate ? said : answer;
  const held = Object.fromEntries(
    Object.entries({ additional_info, payment, description }).filter(([, value]) => value !== undefined),
  );
  return {
    ...input.context,
    currency,
    exponent,
    intent_id: exchange.legacy_id ?? answer.in_store_order_id ?? answer.id ?? path.intent_id,
    device_id: path.device_id ?? answer.device_id,
    held,
    state,
    state_at: momentOf(answer.created_on) ?? undefined,
    events: eventsOf(answer.events),
    amount_minor:
      typeof answer.amount === 'number' && input.operation.family === 'point'
        ? answer.amount
        : totalOf(source, exponent),
    merchant_id: Number(exchange.merchant_id ?? Number.NaN),
    preference_id: answer.id,
    client_reference: isCreate ? referenceOf(said) : answer.external_reference,
    request: isCreate ? said : answer,
  };
}

function record(value: unknown): Readonly<Record<string, unknown>> & { [name: string]: unknown } {
  return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {}; // an object, keys unknown
}

function totalOf(source: unknown, exponent: number): number | undefined {
  const { total_amount } = record(source);
  const minor = typeof total_amount === 'string' ? minorUnits(total_amount, exponent) : undefined;
  return minor === undefined ? undefined : Number(minor);
}

function eventsOf(events: unknown): unknown[] | undefined {
  if (!Array.isArray(events)) return undefined;
  return events.map((event) => ({ ...record(event), created_on: momentOf(record(event).created_on) ?? undefined }));
}
