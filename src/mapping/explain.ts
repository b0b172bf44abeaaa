/** Explains one legacy request: the upstream request, the rows that fire, the losses, or the refusal. */

import { z } from 'zod';
import { parseJson, stringifyJson } from '../contract/json.ts';
import { readQuery } from '../contract/legacy-body.ts';
import { errorBody, legacyError } from '../contract/legacy-errors.ts';
import { upstreamRoutes } from '../contract/upstream.ts';
import { PuenteError } from '../error.ts';
import { describeRows } from './describe.ts';
import { matchPath } from './path.ts';
import { rowsOf } from './row.ts';
import type { WrittenTable } from './schema.ts';
import type { LoadedTables, Loss, MappingContext, Operation, RowWords, Translated } from './tables.ts';
import { askedAmount } from './values.ts';

export interface Explanation {
  /** Null when Puente has no operation for the request: it is proxied to legacy unchanged. */
  operation: string | null;
  /** Null when nothing is translated: refused, proxied, or answered from the store and by other calls of its story. */
  upstream: {
    method: string;
    path: string;
    query: Record<string, string>;
    headers: Record<string, string>;
    body: unknown;
  } | null;
  fired: RowWords[];
  losses: Loss[];
  /** The legacy answer, when the tables refuse the request. */
  refusal: { status: number; error: string; message: string } | null;
  /** The refusing row; null where the legacy contract refuses. */
  refused_by: { row: string; why: string } | null;
  /** Stand-ins for context values of a live call. */
  assumed: Record<string, string>;
  /** Decisions of a live call, in words. */
  notes: string[];
  text: string;
}

export type ExplainContext = MappingContext & {
  /** Epoch ms; a date of expiry counts from here. */
  received_at: number;
};

/**
 * @param text an HTTP request as text, or JSON `{method, path, headers, body}`.
 * @param given such as the site; a missing value is assumed and listed.
 * @throws PuenteError bad_request for any other text.
 */
export function explain(tables: LoadedTables, text: string, given: ExplainContext): Explanation {
  const request = readRequest(text);
  const match = findOperation(tables.operations, request);
  const found = { ...NOTHING, operation: match?.operation.name ?? null };
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
      ...(context.refund_minor === undefined ? [] : [WHOLE]),
      ...(operation.kind === 'qr' ? [OWN_POINT_OF_SALE] : []),
    ];
    const rows = describeRows(tables.documents, translated.fired);
    const fired = rows.map(({ row, says, why }) => ({ row, says, why }));
    return withText({ ...found, upstream, fired, losses: translated.losses, notes }, operation);
  } catch (error) {
    return withText({ ...found, ...refusalOf(tables, operation, error) }, operation);
  }
}

/** Orders refund the whole rest without an amount only (`docs/field-notes.md` Orders §2). */
const WHOLE = 'If that is all that is left of the payment, it is refunded as a whole, without a body.';

/** `docs/field-notes.md` QR §1.2 errors and §6. */
const OWN_POINT_OF_SALE =
  "The point of sale in the path has to be the seller's, and so has the user where there is one; other calls are refused.";

const NOTHING: Omit<Explanation, 'text' | 'operation'> = {
  upstream: null,
  fired: [],
  losses: [],
  refusal: null,
  refused_by: null,
  assumed: {},
  notes: [],
};

/** As the door passes it on; the contract refuses a missing JSON body. */
function bodyOf(operation: Operation, { body }: ReadRequest): unknown {
  if (operation.body === 'dropped') return undefined;
  return body === undefined && operation.body === 'optional' ? {} : body;
}

function refusalOf(
  tables: LoadedTables,
  { family }: Operation,
  error: unknown,
): Pick<Explanation, 'refusal' | 'refused_by'> {
  if (!(error instanceof PuenteError) || error.code !== 'refused') throw error;
  const entry = legacyError(family, String(error.facts.error));
  if (entry === null) throw error;
  const told = errorBody(family, entry, String(error.facts.detail ?? ''));
  const [by] = describeRows(tables.documents, [String(error.facts.row)]);
  return {
    refusal: { status: entry.status, error: String(told.error), message: String(told.message) },
    refused_by: by ? { row: by.row, why: by.why } : null,
  };
}

function findOperation(operations: readonly Operation[], request: ReadRequest) {
  for (const operation of operations) {
    const path = operation.method === request.method ? matchPath(operation.path, request.path) : null;
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

function withText(found: Omit<Explanation, 'text'>, operation: Operation | null): Explanation {
  return { ...found, text: explanationText(found, operation) };
}

// The context of a call without a store and an upstream: values from the request, and stand-ins for the rest.

export interface Supposed {
  context: MappingContext;
  assumed: Record<string, string>;
}

export interface Asked {
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
export function suppose(tables: LoadedTables, asked: Asked, given: MappingContext): Supposed {
  const table = tables.documents.tables.find((one) => one.table === asked.operation.request);
  const wanted = table ? keysOf(table) : new Set<string>();
  const { external_pos_id } = asked.path;
  const said: MappingContext = { ...(external_pos_id === undefined ? {} : { external_pos_id }), ...given };
  const stood = Object.entries(STAND_INS).filter(([key]) => wanted.has(key) && said[key] === undefined);
  const known: MappingContext = { ...Object.fromEntries(stood), ...said };
  const { currency, exponent } = tables.site(typeof known.site === 'string' ? known.site : null);
  const part = wanted.has('refund_minor') ? partOf(asked.body, exponent, given) : null;
  if (part?.transaction_id !== undefined && given.transaction_id === undefined)
    stood.push(['transaction_id', part.transaction_id]);
  return {
    context: { currency, exponent, mode: modeOf(asked.operation), ...part, ...known },
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
  const refund_minor = askedAmount(amount, exponent);
  return refund_minor === null ? null : { refund_minor, transaction_id: given.transaction_id ?? TRANSACTION_ID };
}

// Reads a legacy request that a person wrote: raw HTTP text, or JSON.

export interface ReadRequest {
  method: string;
  /** Without the query. */
  path: string;
  query: Record<string, string>;
  /** Lower-case names. */
  headers: Record<string, string>;
  body: unknown;
}

const REQUEST_LINE = /^([A-Z]+) (\S+)(?: HTTP\/[\d.]+)?$/;

const written = z.object({
  method: z.string(),
  path: z.string(),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.unknown().optional(),
});

/** @throws PuenteError bad_request, with the expected form, when the text is no request. */
export function readRequest(text: string): ReadRequest {
  const trimmed = text.trim();
  return trimmed.startsWith('{') ? fromJson(trimmed) : fromHttp(trimmed);
}

function fromJson(text: string): ReadRequest {
  const parsed = written.safeParse(jsonOf(text));
  if (!parsed.success) throw notARequest('the JSON needs method and path, and may have headers and body');
  const { method, path, headers, body } = parsed.data;
  return { method: method.toUpperCase(), ...target(path), headers: lowerCase(Object.entries(headers)), body };
}

function fromHttp(text: string): ReadRequest {
  const [head = '', ...rest] = text.split(/\r?\n\r?\n/);
  const [first = '', ...headerLines] = head.split(/\r?\n/);
  const match = REQUEST_LINE.exec(first.trim());
  if (!match) throw notARequest("the first line must be like 'POST /point/integration-api/… HTTP/1.1'");
  const headers = headerLines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    if (colon < 1) throw notARequest(`the header line '${line}' has no name`);
    return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  });
  const body = rest.join('\n\n').trim();
  return {
    method: match[1] ?? '',
    ...target(match[2] ?? ''),
    headers: lowerCase(headers),
    body: body === '' ? undefined : jsonOf(body),
  };
}

/** Path and query; a full URL is accepted too. */
function target(written_target: string): { path: string; query: Record<string, string> } {
  const base = 'http://legacy.invalid';
  if (!URL.canParse(written_target, base)) throw notARequest(`'${written_target}' is no path`);
  const url = new URL(written_target, base);
  return { path: url.pathname, query: Object.fromEntries(readQuery(url.search.slice(1))) };
}

function lowerCase(headers: readonly [string, string][]): Record<string, string> {
  return Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw notARequest(`the body is not JSON: ${(error as Error).message}`); // the parser throws SyntaxError only
  }
}

function notARequest(what: string): PuenteError {
  return new PuenteError('bad_request', `This is not a request that can be explained: ${what}.`);
}

// An explanation as text for people.

export function explanationText(found: Omit<Explanation, 'text'>, operation: Operation | null): string {
  return `${lines(found, operation).join('\n')}\n`;
}

function lines(found: Omit<Explanation, 'text'>, operation: Operation | null): string[] {
  if (operation === null) return ['No operation: proxied to the legacy upstream unchanged.'];
  const head = [`Operation  ${operation.name} (${operation.method} ${operation.path})`];
  const asks = section(
    'Asked beside, as far as the call needs it',
    operation.asks.map((call) => `  ${call}`),
  );
  if (operation.request === null) return [...head, untranslated(operation), ...asks];
  const assumed = section(
    'Assumed, because only a live call shows it',
    Object.entries(found.assumed).map(([key, value]) => `  ${key} = ${value}`),
  );
  if (found.refusal) {
    const by = found.refused_by ? [`  ${found.refused_by.row}  ${found.refused_by.why}`] : [];
    const refused = section('Refused', [`  ${found.refusal.status} ${stringifyJson(found.refusal)}`, ...by]);
    return [...head, ...refused, ...assumed];
  }
  return [
    ...head,
    ...section('Upstream', upstreamLines(found.upstream)),
    ...asks,
    ...section(
      'Rows',
      found.fired.flatMap(({ row, says, why }) => [`  ${row}  ${says}`, `      ${why}`]),
    ),
    ...section(
      'Lost',
      found.losses.length === 0 ? ['  nothing'] : found.losses.map(({ path, why }) => `  ${path}: ${why}`),
    ),
    ...assumed,
    ...section(
      'Note',
      found.notes.map((note) => `  ${note}`),
    ),
  ];
}

/** For a call without a request table: its story may still call upstream, and answers with the result. */
function untranslated({ answer }: Operation): string {
  if (answer === null) return 'Nothing is translated: its story answers, or refuses.';
  return "Nothing is translated: what is Puente's own is answered from its store and its own reads; the rest is proxied.";
}

function section(title: string, body: readonly string[]): string[] {
  return body.length === 0 ? [] : ['', title, ...body];
}

function upstreamLines(upstream: Explanation['upstream']): string[] {
  if (!upstream) return [];
  const query = new URLSearchParams(upstream.query).toString();
  const headers = Object.entries(upstream.headers).map(([name, value]) => `  ${name}: ${value}`);
  const body =
    upstream.body === undefined
      ? []
      : JSON.stringify(upstream.body, null, 2)
          .split('\n')
          .map((line) => `  ${line}`);
  return [`  ${upstream.method} ${upstream.path}${query === '' ? '' : `?${query}`}`, ...headers, ...body];
}
