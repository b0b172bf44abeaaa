/** What Puente would make of one legacy request: the upstream request, the rows that fire, the losses, or the refusal. */
import { errorBody, legacyError } from '../contract/legacy-errors.ts';
import { upstreamRoutes } from '../contract/upstream.ts';
import { PuenteError } from '../error.ts';
import type { LoadedTables } from './assemble.ts';
import { describeRows, type RowWords } from './describe.ts';
import { explanationText } from './explain-text.ts';
import { matchPath } from './path-pattern.ts';
import { type ReadRequest, readRequest } from './read-request.ts';
import { suppose } from './suppose.ts';
import type { Loss, MappingContext, Operation, Translated } from './tables.ts';

export interface Explanation {
  /** Null when Puente has no operation for the request: it is carried to the legacy upstream untouched. */
  operation: string | null;
  /** Null when nothing is translated: refused, carried, or answered by what Puente has and what its story asks. */
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
  /** Why a row refuses it; null where the legacy contract itself does. */
  refused_by: { row: string; why: string } | null;
  /** Context values that only a live call knows, and what stood in for them. */
  assumed: Record<string, string>;
  /** What else only a live call decides, in words. */
  notes: string[];
  /** All of it for people. */
  text: string;
}

/** What is known of the merchant and the call; the clock is the caller's. */
export type ExplainContext = MappingContext & {
  /** Epoch ms; a date of expiry counts from here. */
  received_at: number;
};

/**
 * @param text an HTTP request as text, or JSON `{method, path, headers, body}`.
 * @param given such as the site; what is missing is assumed and said so.
 * @throws PuenteError bad_request, when the text is neither.
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

/** Orders refund what is left as the whole only (`orders-api.md` §2). */
const WHOLE = 'If that is all that is left of the payment, it is refunded as a whole, without a body.';

/** `legacy-qr.md` §1.2 errors and §6. */
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

/** As the door hands it on; a JSON body that is missing is the contract's to refuse. */
function bodyOf(operation: Operation, { body }: ReadRequest): unknown {
  if (operation.body === 'dropped') return undefined;
  return body === undefined && operation.body === 'optional' ? {} : body;
}

/** @throws what is no refusal. */
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
