/** A call that another tool recorded, and the JSON lines of such calls: method, URL, headers, body, perhaps the answer. */
import { z } from 'zod';
import { parseJson } from '../../contract/json.ts';

export interface ReadCall {
  method: string;
  /** In lower case, without port; null where only a path is known. */
  host: string | null;
  /** Path and query. */
  target: string;
  /** Lower-case names. */
  headers: Record<string, string>;
  /** Parsed JSON, else the text; undefined without a body. */
  body: unknown;
  answer: { status: number; headers: Record<string, string>; body: unknown } | null;
  /** Epoch ms; null when unknown. */
  at: number | null;
  /** Null when unknown. */
  duration_ms: number | null;
  /** From an access log: headers and bodies are not empty but unknown. */
  is_logged: boolean;
}

/** @returns the call, or an error sentence that repeats nothing of the line. */
export function callOfLine(text: string): ReadCall | string {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return 'it is not JSON';
  }
  const parsed = written.safeParse(value);
  if (!parsed.success) return `${parsed.error.issues[0]?.path.join('.') || 'the line'} is missing or invalid`;
  const { method, path, url, headers, body, status, response, at, duration_ms } = parsed.data;
  const place = placeOf(url ?? path ?? '');
  if (place === null) return 'path or url is invalid';
  const moment = momentOf(at);
  if (moment === undefined) return `at ${NO_TIME}`;
  const answer = status === undefined ? null : { status, headers: {}, body: bodyOf(response) };
  return {
    method: method.toUpperCase(),
    ...place,
    headers: plainHeaders(headers ?? {}),
    body: bodyOf(body),
    answer,
    at: moment,
    duration_ms: duration_ms ?? null,
    is_logged: false,
  };
}

/** Host, path and query of an absolute or relative URL; null when it is invalid. */
export function placeOf(url: string): Pick<ReadCall, 'host' | 'target'> | null {
  const base = 'http://legacy.invalid';
  const is_absolute = /^[a-z]+:\/\//i.test(url);
  // A path that begins with two slashes is a path in a request line; as a reference its first part would be a host.
  const parsed = url === '' ? null : is_absolute || !url.startsWith('/') ? URL.parse(url, base) : URL.parse(base + url);
  if (parsed === null) return null;
  const { hostname, pathname, search } = parsed;
  return { host: is_absolute ? hostname : null, target: pathname + search };
}

/** Parses JSON text; other values stay. Null and '' become undefined. */
export function bodyOf(body: unknown): unknown {
  if (body === undefined || body === null || body === '') return undefined;
  if (typeof body !== 'string') return body;
  try {
    return parseJson(body);
  } catch {
    return body;
  }
}

/** The end of a sentence about a time that is none. */
export const NO_TIME = 'is no time: ISO 8601, or milliseconds since 1970';

/** ISO text or epoch ms. @returns null without a time; undefined for one that no calendar has, as the 31st of June. */
export function momentOf(at: unknown): number | null | undefined {
  if (at === undefined || at === null || at === '') return null;
  if (typeof at === 'number') return Number.isSafeInteger(at) && at > 0 ? at : undefined;
  const [day] = /^\d{4}-\d\d-\d\d/.exec(String(at)) ?? [];
  const ms = typeof at === 'string' ? Date.parse(at) : Number.NaN;
  // V8 takes the 31st of every month.
  const is_day = day === undefined || new Date(day).toJSON()?.startsWith(day) === true;
  return Number.isNaN(ms) || !is_day ? undefined : ms;
}

function plainHeaders(headers: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value].flat().join(', ')]),
  );
}

const headerValue = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);
const written = z
  .looseObject({
    method: z.string().regex(/^[A-Za-z]{1,10}$/),
    path: z.string().optional(),
    url: z.string().optional(),
    headers: z.record(z.string(), headerValue).nullish(),
    body: z.unknown().optional(),
    status: z.int().min(100).max(599).optional(),
    response: z.unknown().optional(),
    at: z.unknown().optional(),
    duration_ms: z.unknown().transform(Number).pipe(z.number().nonnegative()).optional().catch(undefined),
  })
  .refine(({ path, url }) => path !== undefined || url !== undefined, { path: ['path'] });
