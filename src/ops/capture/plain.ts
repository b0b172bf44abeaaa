/** A call as somebody else wrote it down: a JSON line with method, URL, headers and body, and maybe the answer. */
import { z } from 'zod';
import { parseJson } from '../../contract/json.ts';

export interface ReadCall {
  method: string;
  /** Path and query as they came. */
  target: string;
  /** Lower-case names. */
  headers: Record<string, string>;
  /** Parsed JSON; the text where it is none; undefined without a body. */
  body: unknown;
  answer: { status: number; headers: Record<string, string>; body: unknown } | null;
  /** Epoch ms; null when nothing says it. */
  at: number | null;
  /** Null when nothing says it. */
  duration_ms: number | null;
}

/** @returns what is wrong with it, in one sentence that repeats nothing of the line. */
export function callOfLine(text: string): ReadCall | string {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return 'it is not JSON';
  }
  const parsed = written.safeParse(value);
  if (!parsed.success) return `${parsed.error.issues[0]?.path.join('.') || 'the line'} is missing or not as expected`;
  const { method, path, url, headers, body, status, response, at, duration_ms } = parsed.data;
  const target = targetOf(url ?? path ?? '');
  if (target === null) return 'neither path nor url is one';
  const answer = status === undefined ? null : { status, headers: {}, body: bodyOf(response) };
  return {
    method: method.toUpperCase(),
    target,
    headers: headersOf(headers ?? {}),
    body: bodyOf(body),
    answer,
    at: momentOf(at),
    duration_ms: duration_ms ?? null,
  };
}

/** Path and query of an absolute or relative URL; null when it is none. */
export function targetOf(url: string): string | null {
  const base = 'http://legacy.invalid';
  if (url === '' || !URL.canParse(url, base)) return null;
  const { pathname, search } = new URL(url, base);
  return pathname + search;
}

/** A text that holds JSON is what it says; other texts stay. Nothing stays nothing. */
export function bodyOf(body: unknown): unknown {
  if (body === undefined || body === null || body === '') return undefined;
  if (typeof body !== 'string') return body;
  try {
    return parseJson(body);
  } catch {
    return body;
  }
}

/** ISO text or epoch ms. */
export function momentOf(at: unknown): number | null {
  if (typeof at === 'number') return Number.isSafeInteger(at) && at > 0 ? at : null;
  const ms = typeof at === 'string' ? Date.parse(at) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

function headersOf(headers: Record<string, unknown>): Record<string, string> {
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
