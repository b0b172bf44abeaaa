/** Explains a message of upstream: the answer that a till gets for it, the notices that it causes, or the legacy error. */

import { orderEvent } from '../contract/events.ts';
import { errorBody, legacyError } from '../contract/legacy-errors.ts';
import { type Order, order as orderSchema } from '../contract/orders.ts';
import type { Spoken } from '../error.ts';
import { say } from '../locales/message.ts';
import { contractOf } from './contracts.ts';
import { describeFired } from './describe.ts';
import { notExplained, type ReadMessage, record } from './explain-input.ts';
import { type Explanation, noted, refusalOf, UNEXPLAINED, withText } from './explanation.ts';
import { nearTo } from './near.ts';
import { rowsOf } from './row.ts';
import type { NoticeTopic } from './schema.ts';
import type { LoadedTables, MappingContext, Operation, StateRow, Translated } from './tables.ts';
import { minorUnits } from './values.ts';

type Message = Exclude<ReadMessage, { kind: 'request' }>;
interface Options {
  operation: string | null;
  status: number | null;
}

/**
 * @param given such as site and `declined`; what only a live call knows is assumed and listed.
 * @throws PuenteError bad_request for a message that no table takes, naming what would be.
 */
export function explainUpstream(
  tables: LoadedTables,
  message: Message,
  given: MappingContext,
  options: Options,
): Explanation {
  if (message.kind === 'error') return explainError(tables, message, given, options);
  return message.kind === 'notice'
    ? explainNotice(tables, message, given)
    : explainAnswer(tables, message, given, options);
}

// An error: the row of the call's error table, and the error of the legacy API that it names.

function explainError(
  tables: LoadedTables,
  { status: read, body }: Message,
  given: MappingContext,
  options: Options,
): Explanation {
  const status = options.status ?? read;
  if (status === null) throw notExplained(say('explain.needs_status', {}));
  if (!Number.isInteger(status) || status < 400 || status > 599)
    throw notExplained(say('explain.no_error_status', { status: String(status) }));
  const called = tables.operations.filter(({ upstream }) => upstream !== null);
  const operation = named(called, options.operation, 'explain.names_calls');
  if (operation === null || operation.upstream === null)
    throw notExplained(say('explain.needs_operation', namesOf(called)));
  const { context, assumed } = supposed(tables, null, given, new Set(['site']));
  const row = tables.error(operation.family, operation.upstream, status, body ?? {}, context);
  const entry = legacyError(operation.family, row.error);
  const found = {
    ...foundBy(tables, 'error', operation),
    answer:
      entry === null ? null : { status: entry.status, body: errorBody(operation.family, entry, row.detail ?? '') },
    fired: describeFired(tables.documents, [row.row]),
    assumed,
    ...noted(row.default ? [say('explain.default_row', {})] : []),
  };
  return withText(found, operation);
}

// An answer: the answer table of the call, with the row of the states table that gives the state.

function explainAnswer(tables: LoadedTables, message: Message, given: MappingContext, options: Options): Explanation {
  const operation = answered(tables, message.body, options.operation);
  const table = tables.documents.tables.find((one) => one.table === operation.answer);
  if (table === undefined) throw notExplained(say('explain.no_answer', { operation: operation.name }));
  const order = table.from === 'nothing' || table.from === 'order' ? orderIn(message.body) : null;
  const source = table.from === 'nothing' ? {} : sourceOf(message.body, table.from);
  const wanted = keysOf(table);
  const state = order === null ? null : stateOf(tables, operation, order, given);
  const { context, assumed } = supposed(tables, { order, state, operation }, given, wanted);
  const found = { ...foundBy(tables, 'answer', operation), assumed };
  const first = state !== null && wanted.has('state') ? [state.row] : [];
  try {
    const translated: Translated = tables.answer(operation, source, context);
    const fired = describeFired(tables.documents, [...first, ...translated.fired]);
    const notes = options.operation === null ? [say('explain.other_calls', namesOf(takers(tables, message.body)))] : [];
    const answer = { status: message.status ?? 200, body: translated.value.body };
    return withText({ ...found, answer, fired, losses: translated.losses, ...noted(notes) }, operation);
  } catch (error) {
    return withText({ ...found, ...refusalOf(tables, operation, error) }, operation);
  }
}

/** The call with this name, or else the one that most likely got such an answer. */
function answered(tables: LoadedTables, body: unknown, name: string | null): Operation {
  const with_table = tables.operations.filter(({ answer }) => answer !== null);
  const operation = named(with_table, name, 'explain.names_answers') ?? takers(tables, body)[0];
  if (operation !== undefined) return operation;
  throw notExplained(say('explain.no_table_takes', namesOf(with_table)));
}

/** Calls whose answer table takes this body: reads first, and of an order those of its family. */
function takers(tables: LoadedTables, body: unknown): Operation[] {
  const family = record(body).type === 'qr' ? 'qr_v1' : 'point';
  const isFor = ({ answer }: Operation): boolean => {
    const table = tables.documents.tables.find((one) => one.table === answer);
    if (table === undefined || table.from === 'nothing') return false;
    if (table.from === 'order' && table.family !== family && table.family !== 'merchant_orders') return false;
    return contractOf(table.from)?.schema.safeParse(body).success === true;
  };
  return tables.operations
    .filter(isFor)
    .toSorted((one, other) => Number(other.method === 'GET') - Number(one.method === 'GET'));
}

/** Parsed as the story does. */
function sourceOf(body: unknown, contract: string): unknown {
  const parsed = contractOf(contract)?.schema.safeParse(body);
  if (parsed?.success === true) return parsed.data;
  const [issue] = parsed?.error.issues ?? [];
  const where = issue === undefined || issue.path.length === 0 ? null : issue.path.join('.');
  throw notExplained(say('explain.not_of', { contract, where, why: issue?.message ?? '' }));
}

// A notice: the row of the states table, which says what is announced, and the body of a Point notice.

function explainNotice(tables: LoadedTables, message: Message, given: MappingContext): Explanation {
  const { order, notes } = announced(message.body);
  const operation = familyOperation(tables, order);
  const state = stateOf(tables, operation, order, given);
  const found = foundBy(tables, 'notice', null);
  const wanted = new Set(state.notices.flatMap((topic) => KEYS_OF_NOTICES[topic]));
  const { context, assumed } = supposed(tables, { order, state, operation }, given, wanted);
  try {
    const body = state.notices.includes('point') ? tables.notice(order, context) : null;
    const notices = state.notices.map((topic) => ({
      topic,
      body:
        topic === 'point'
          ? body?.value.body
          : { topic, id: topic === 'payment' ? context.payment_id : context.merchant_order_id },
    }));
    const fired = describeFired(tables.documents, [state.row, ...(body?.fired ?? [])]);
    const held = state.held ? [say('explain.held', {})] : [];
    return withText({ ...found, notices, fired, assumed, ...noted([...notes, ...held]) }, null);
  } catch (error) {
    return withText({ ...found, assumed, ...refusalOf(tables, operation, error) }, null);
  }
}

const KEYS_OF_NOTICES: Readonly<Record<NoticeTopic, readonly string[]>> = {
  point: ['intent_id', 'amount_minor', 'caller_id', 'created_at', 'payment_state'],
  payment: ['payment_id'],
  merchant_order: ['merchant_order_id'],
};

/** The order of a message; an event alone has only its status, and causes a read of the order. */
function announced(body: unknown): { order: Order; notes: Spoken[] } {
  const event = orderEvent.safeParse(body);
  const data = event.success ? event.data.data : undefined;
  if (data === undefined || record(body).status !== undefined) return { order: wholeOrder(body), notes: [] };
  if (data.status === undefined) throw notExplained(say('explain.event_without_status', {}));
  const inside = record(record(body).data);
  const whole = { ...inside, id: data.id, status: data.status, user_id: event.data?.user_id ?? inside.user_id };
  return { order: wholeOrder(whole), notes: [say('explain.event', {})] };
}

function wholeOrder(body: unknown): Order {
  return sourceOf(body, 'order') as Order; // the contract of that name has just parsed it
}

function orderIn(body: unknown): Order | null {
  const parsed = orderSchema.safeParse(body);
  return parsed.success ? parsed.data : null;
}

/** Any operation of the order's family, by which its states are found. */
function familyOperation(tables: LoadedTables, order: Order): Operation {
  const family = order.type === 'qr' ? 'qr' : 'point';
  return tables.operations.find((one) => one.family === family) as Operation; // both families have operations
}

function stateOf(tables: LoadedTables, { family }: Operation, order: Order, { declined }: MappingContext): StateRow {
  const of = family === 'point' ? 'point' : 'qr';
  return tables.state(of, order, declined === 'finished' ? 'finished' : 'error');
}

// What a live call knows: read from the order where it says so, and stood in for otherwise.

interface Known {
  order: Order | null;
  state: StateRow | null;
  operation: Operation;
}

const SOME_INTENT = '00000000-0000-4000-8000-000000000000';

function supposed(
  tables: LoadedTables,
  known: Known | null,
  given: MappingContext,
  wanted: ReadonlySet<string>,
): { context: MappingContext; assumed: Record<string, string> } {
  const site = typeof given.site === 'string' ? given.site : 'MLA';
  const { currency, exponent } = tables.site(site);
  const read = known === null ? {} : defined(readFrom(known, exponent));
  const stands = Object.entries(STAND_INS).filter(
    ([key]) => wanted.has(key) && given[key] === undefined && !(key in read),
  );
  const assumed = [...(given.site === undefined ? [['site', site] as const] : []), ...stands];
  return {
    context: { currency, exponent, site, ...Object.fromEntries(stands), ...read, ...given },
    assumed: Object.fromEntries(
      assumed.map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
    ),
  };
}

/** Stand-ins for values from the store and from other calls. */
const STAND_INS: MappingContext = {
  intent_id: SOME_INTENT,
  device_id: 'PAX_A910__SMARTPOS0000000001',
  amount_minor: 1500,
  client_reference: null,
  merchant_id: 700100200,
  caller_id: 700100200,
  preference_id: `700100200-${SOME_INTENT}`,
  merchant_order_id: 1,
  payment_id: 1,
  refund_number: 1,
  nickname: 'SELLER',
  state: 'OPEN',
  state_at: 0,
  created_at: 0,
  request: { items: [] },
  refunds: [],
  events: [],
};

function readFrom({ order, state, operation }: Known, exponent: number): MappingContext {
  const payment = order?.transactions?.payments?.[0];
  const user = order?.user_id === undefined ? undefined : Number(order.user_id);
  const intent = operation.family === 'point' ? SOME_INTENT : undefined;
  return {
    device_id: order?.config?.point?.terminal_id,
    amount_minor: minorUnits(order?.total_amount ?? payment?.amount, exponent),
    client_reference: order?.external_reference,
    merchant_id: user,
    caller_id: user,
    preference_id: user === undefined || intent !== undefined ? undefined : `${user}-${SOME_INTENT}`,
    payment_id: /^\d+$/.test(payment?.reference_id ?? '') ? Number(payment?.reference_id) : undefined,
    payment_state: order?.status === 'failed' ? 'rejected' : 'approved',
    state: state?.shows,
    state_at: moment(order?.last_updated_date),
    created_at: moment(order?.created_date),
  };
}

function moment(text: string | undefined): number | undefined {
  const at = Date.parse(text ?? '');
  return Number.isNaN(at) ? undefined : at;
}

function defined(facts: MappingContext): MappingContext {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}

function keysOf(table: { table: string; rows: Parameters<typeof rowsOf>[1] }): Set<string> {
  return new Set(
    rowsOf(table.table, table.rows)
      .filter(({ verb }) => verb === 'context')
      .map(({ from }) => String(from[0])),
  );
}

// Names of operations in refusals.

/** Null without a name. @throws PuenteError bad_request for a name that is none of these. */
function named(operations: readonly Operation[], name: string | null, listing: string): Operation | null {
  if (name === null) return null;
  const found = operations.find((one) => one.name === name);
  if (found !== undefined) return found;
  const names = operations.map((one) => one.name);
  const near = nearTo(name, names);
  throw notExplained(say(listing, { operation: name.slice(0, 80), names: near.length > 0 ? near : names }));
}

function namesOf(operations: readonly Operation[]): { names: string[] } {
  return { names: operations.map(({ name }) => name) };
}

function foundBy(tables: LoadedTables, kind: Message['kind'], operation: Operation | null): Omit<Explanation, 'text'> {
  return { ...UNEXPLAINED, kind, revision: tables.revision, operation: operation?.name ?? null };
}
