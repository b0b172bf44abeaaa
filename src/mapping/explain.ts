/** What Puente would make of one legacy request: the upstream request, the rows that fire, the losses, or the refusal. */
import { stringifyJson } from '../contract/json.ts';
import { errorBody, legacyError } from '../contract/legacy-errors.ts';
import { upstreamRoutes } from '../contract/upstream.ts';
import { PuenteError } from '../error.ts';
import type { LoadedTables } from './assemble.ts';
import { type ReadRequest, readRequest } from './read-request.ts';
import { sourceText, targetText } from './render.ts';
import { type Row, rowsOf } from './schema.ts';
import type { Loss, MappingContext, Operation, Translated } from './tables.ts';

export interface Explanation {
  /** Null when Puente has no operation for the request: it is carried to the legacy upstream untouched. */
  operation: string | null;
  /** Null when nothing goes upstream: refused, carried, or answered from Puente's own map. */
  upstream: {
    method: string;
    path: string;
    query: Record<string, string>;
    headers: Record<string, string>;
    body: unknown;
  } | null;
  fired: { row: string; says: string; why: string }[];
  losses: Loss[];
  /** The legacy answer, when the tables refuse the request. */
  refusal: { status: number; error: string; message: string } | null;
  /** Why a row refuses it; null where the legacy contract itself does. */
  refused_by: { row: string; why: string } | null;
  /** Context values that only a live call knows, and what stood in for them. */
  assumed: Record<string, string>;
  /** All of it for people. */
  text: string;
}

/** Stand-ins for what the link store and the merchant's settings give a live call. */
const STAND_INS: MappingContext = {
  site: 'MLA',
  reference: 'pnt0',
  order_id: `ORD${'0'.repeat(26)}`,
  voucher: 'refuse',
};

/**
 * @param text an HTTP request as text, or JSON `{method, path, headers, body}`.
 * @param context what is known of the merchant, such as the site; what is missing is assumed and said so.
 * @throws PuenteError bad_request, when the text is neither.
 */
export function explain(tables: LoadedTables, text: string, context: MappingContext): Explanation {
  const request = readRequest(text);
  const match = findOperation(tables.operations, request);
  const assumed = match ? assumptions(tables, match.operation, context) : {};
  const plain = {
    operation: match?.operation.name ?? null,
    upstream: null,
    fired: [],
    losses: [],
    refusal: null,
    refused_by: null,
    assumed,
  };
  if (!match || match.operation.request === null) return withText(plain, match?.operation ?? null);
  const { operation, path } = match;
  const known: MappingContext = { ...assumed, ...context };
  const exponent = tables.site(typeof known.site === 'string' ? known.site : null).exponent;
  try {
    const translated = tables.request(
      operation,
      {
        path,
        query: request.query,
        headers: request.headers,
        ...(operation.body === 'dropped'
          ? {}
          : { body: request.body ?? (operation.body === 'optional' ? {} : undefined) }),
      },
      { exponent, ...known },
    );
    const upstream = upstreamOf(operation, translated);
    return withText(
      { ...plain, upstream, fired: describe(tables, translated.fired), losses: translated.losses },
      operation,
    );
  } catch (error) {
    if (!(error instanceof PuenteError) || error.code !== 'refused') throw error;
    const entry = legacyError(operation.family, String(error.facts.error));
    if (entry === null) throw error;
    const told = errorBody(operation.family, entry, String(error.facts.detail ?? ''));
    const refusal = { status: entry.status, error: String(told.error), message: String(told.message) };
    const [by] = describe(tables, [String(error.facts.row)]);
    return withText({ ...plain, refusal, refused_by: by ? { row: by.row, why: by.why } : null }, operation);
  }
}

/** The stand-ins that the operation's request table looks at. */
function assumptions(tables: LoadedTables, operation: Operation, context: MappingContext): Record<string, string> {
  const table = tables.documents.tables.find((one) => one.table === operation.request);
  if (!table) return {};
  const rows = rowsOf(table.table, table.rows);
  const keys = new Set(rows.filter((row) => row.verb === 'context').map((row) => String(row.from[0])));
  if (typeof table.unknown === 'object' || rows.some((row) => row.sites !== null)) keys.add('site').add('voucher');
  const missing = Object.entries(STAND_INS).filter(([key]) => keys.has(key) && context[key] === undefined);
  return Object.fromEntries(missing.map(([key, value]) => [key, String(value)]));
}

function findOperation(operations: readonly Operation[], request: ReadRequest) {
  for (const operation of operations) {
    const path = operation.method === request.method ? matchPath(operation.path, request.path) : null;
    if (path) return { operation, path };
  }
  return null;
}

function matchPath(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split('/');
  const given = path.replace(/\/$/, '').split('/');
  if (wanted.length !== given.length) return null;
  const found: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? '';
    if (part.startsWith(':') && value !== '') found[part.slice(1)] = value;
    else if (part !== value) return null;
  }
  return found;
}

function upstreamOf(operation: Operation, { value }: Translated): Explanation['upstream'] {
  if (operation.upstream === null) return null;
  const { method, path } = upstreamRoutes[operation.upstream];
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => value.path?.[name] ?? `:${name}`);
  return { method, path: filled, query: value.query ?? {}, headers: value.headers ?? {}, body: value.body };
}

function describe(tables: LoadedTables, fired: readonly string[]): Explanation['fired'] {
  const rows = tables.documents.tables.flatMap((table) => flat(rowsOf(table.table, table.rows)));
  return fired.flatMap((id) => {
    const row = rows.find((one) => one.id === id);
    return row ? [{ row: id, says: `${sourceText(row)} → ${targetText(row)}`.replaceAll('`', ''), why: row.why }] : [];
  });
}

function flat(rows: readonly Row[]): Row[] {
  return rows.flatMap((row) => [row, ...flat(row.rows)]);
}

function withText(found: Omit<Explanation, 'text'>, operation: Operation | null): Explanation {
  return { ...found, text: `${lines(found, operation).join('\n')}\n` };
}

function lines(found: Omit<Explanation, 'text'>, operation: Operation | null): string[] {
  if (operation === null) return ['No operation: carried to the legacy upstream untouched.'];
  const head = [`Operation  ${operation.name} (${operation.method} ${operation.path})`];
  if (operation.request === null)
    return [...head, "Nothing is translated: answered from Puente's own map, or refused by its story."];
  if (found.refusal) {
    const by = found.refused_by ? [`  ${found.refused_by.row}  ${found.refused_by.why}`] : [];
    return [...head, ...section('Refused', [`  ${found.refusal.status} ${stringifyJson(found.refusal)}`, ...by])];
  }
  const assumed = Object.entries(found.assumed).map(([key, value]) => `  ${key} = ${value}`);
  return [
    ...head,
    ...section('Upstream', upstreamLines(found.upstream)),
    ...section(
      'Rows',
      found.fired.flatMap(({ row, says, why }) => [`  ${row}  ${says}`, `      ${why}`]),
    ),
    ...section(
      'Lost',
      found.losses.length === 0 ? ['  nothing'] : found.losses.map(({ path, why }) => `  ${path}: ${why}`),
    ),
    ...section('Assumed, because only a live call knows it', assumed),
  ];
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
