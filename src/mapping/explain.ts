/** Explains one message: a legacy request here, messages of upstream in `explain-upstream.ts`. */

import { upstreamRoutes } from '../contract/upstream.ts';
import { say } from '../locales/message.ts';
import { describeFired } from './describe.ts';
import { type ExplainedKind, type ReadRequest, readMessage } from './explain-input.ts';
import { explainUpstream } from './explain-upstream.ts';
import { type Explanation, noted, refusalOf, UNEXPLAINED, withText } from './explanation.ts';
import { matcherOf } from './path.ts';
import { rowsOf } from './row.ts';
import type { WrittenTable } from './schema.ts';
import type { LoadedTables, MappingContext, Operation, Translated } from './tables.ts';
import { requestedAmount } from './values.ts';

export type ExplainContext = MappingContext & {
  /** Epoch ms; a date of expiry counts from here. */
  received_at: number;
};

/** What a person states about a message; a missing value is found, or assumed and listed. */
export interface ExplainAsk {
  kind?: ExplainedKind | null;
  /** The call that upstream's message is about, by its name. */
  operation?: string | null;
  /** Upstream's status, where the text has none. */
  status?: number | null;
}

/**
 * @param tables those of the merchant. @param text HTTP as text, or JSON (`explain-input.ts`).
 * @param given such as the site; a missing value is assumed and listed.
 * @throws PuenteError bad_request for a text that can't be explained, with the form that can.
 */
export function explain(
  tables: LoadedTables,
  text: string,
  given: ExplainContext,
  options: ExplainAsk = {},
): Explanation {
  const message = readMessage(text, options.kind ?? null);
  if (message.kind === 'request') return explainRequest(tables, message.request, given);
  return explainUpstream(tables, message, given, {
    operation: options.operation ?? null,
    status: options.status ?? null,
  });
}

function explainRequest(tables: LoadedTables, request: ReadRequest, given: ExplainContext): Explanation {
  const match = findOperation(tables.operations, request);
  const { revision } = tables;
  const found = { ...UNEXPLAINED, kind: 'request' as const, revision, operation: match?.operation.name ?? null };
  if (!match || match.operation.request === null) return withText(found, match?.operation ?? null);
  const { operation, path } = match;
  const body = bodyOf(operation, request);
  try {
    const { context, assumed } = suppose(tables, { operation, path, body }, given);
    found.assumed = assumed;
    const source = { path, query: request.query, headers: request.headers, ...(body === undefined ? {} : { body }) };
    const translated = tables.request(operation, source, context);
    const upstream = upstreamOf(operation, translated);
    const notes = [
      ...(context.refund_minor === undefined ? [] : [say('explain.whole', {})]),
      ...(operation.kind === 'qr' ? [say('explain.own_point_of_sale', {})] : []),
    ];
    const fired = describeFired(tables.documents, translated.fired);
    return withText({ ...found, upstream, fired, losses: translated.losses, ...noted(notes) }, operation);
  } catch (error) {
    return withText({ ...found, ...refusalOf(tables, operation, error) }, operation);
  }
}

/** As the door passes it on; the contract refuses a missing JSON body. */
function bodyOf(operation: Operation, { body }: ReadRequest): unknown {
  if (operation.body === 'dropped') return undefined;
  return body === undefined && operation.body === 'optional' ? {} : body;
}

function findOperation(operations: readonly Operation[], request: ReadRequest) {
  const match = matcherOf(request.path);
  for (const operation of operations) {
    const path = operation.method === request.method ? match(operation.path) : null;
    if (path) return { operation, path };
  }
  return null;
}

function upstreamOf(operation: Operation, { value }: Translated): Explanation['upstream'] {
  if (operation.upstream === null) return null;
  const { method, path } = upstreamRoutes[operation.upstream];
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => value.path?.[name] ?? `:${name}`);
  return { method, path: filled, query: value.query ?? {}, headers: value.headers ?? {}, body: value.body };
}

// The context of a call without a store and an upstream: values from the request, and stand-ins for the rest.

export interface Supposed {
  context: MappingContext;
  assumed: Record<string, string>;
}

export interface ExplainedCall {
  operation: Operation;
  path: Record<string, string>;
  body: unknown;
}

/** Stand-ins for values from the store, the merchant's settings and upstream. */
const STAND_INS: MappingContext = {
  site: 'MLA',
  reference: 'pnt0',
  order_id: `ORD${'0'.repeat(26)}`,
  voucher: 'refuse',
  external_pos_id: 'POS0',
};
/** The payment inside the order; only a partial refund needs its id. */
const TRANSACTION_ID = `PAY${'0'.repeat(26)}`;

/** @param given wins over derived values. @throws PuenteError refused, as the story does, for an invalid amount. */
function suppose(tables: LoadedTables, request: ExplainedCall, given: MappingContext): Supposed {
  const table = tables.documents.tables.find((one) => one.table === request.operation.request);
  const wanted = table ? keysOf(table) : new Set<string>();
  const { external_pos_id } = request.path;
  const named: MappingContext = { ...(external_pos_id === undefined ? {} : { external_pos_id }), ...given };
  const stood = Object.entries(STAND_INS).filter(([key]) => wanted.has(key) && named[key] === undefined);
  const known: MappingContext = { ...Object.fromEntries(stood), ...named };
  const { currency, exponent } = tables.site(typeof known.site === 'string' ? known.site : null);
  const part = wanted.has('refund_minor') ? partOf(request.body, exponent, given) : null;
  if (part?.transaction_id !== undefined && given.transaction_id === undefined)
    stood.push(['transaction_id', part.transaction_id]);
  return {
    context: { currency, exponent, mode: modeOf(request.operation), ...part, ...known },
    assumed: Object.fromEntries(stood.map(([key, value]) => [key, String(value)])),
  };
}

/** Context keys that the table reads; policies and rows by site read `site` without naming it. */
function keysOf(table: WrittenTable): Set<string> {
  const rows = rowsOf(table.table, table.rows);
  const keys = new Set(rows.filter((row) => row.verb === 'context').map((row) => String(row.from[0])));
  if (typeof table.unknown === 'object' || rows.some((row) => row.sites !== null)) keys.add('site').add('voucher');
  return keys;
}

/** Path and method decide how the code shows (`docs/field-notes.md` Orders §7.2). */
function modeOf({ method, path }: Operation): string {
  if (!path.endsWith('/qrs')) return 'static';
  return method === 'POST' ? 'dynamic' : 'hybrid';
}

/** Null for a refund of the whole rest. */
function partOf(body: unknown, exponent: number, given: MappingContext): MappingContext | null {
  const { amount } = (body ?? {}) as { amount?: unknown }; // any JSON; its table decides
  const refund_minor = requestedAmount(amount, exponent);
  return refund_minor === null ? null : { refund_minor, transaction_id: given.transaction_id ?? TRANSACTION_ID };
}
