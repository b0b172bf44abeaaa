/** Reads captures in three formats: Puente's own, HAR exports of browsers and proxies, and plain JSON lines. */
import { z } from 'zod';
import { parseJson } from '../../contract/json.ts';
import { PuenteError } from '../../error.ts';
import type { Exchange } from '../../proxy/evidence/exchange.ts';
import { CAPTURE_VERSION, type CaptureMerchant, captureHeader, exchangeOfLine } from './format.ts';

/** One entry of a capture; an unreadable one is an entry too, none is dropped. */
export type Entry =
  /** From Puente's own capture. */
  | { kind: 'exchange'; line: number; exchange: Exchange }
  | { kind: 'call'; line: number; call: ReadCall }
  /** `why` is one sentence that repeats nothing of the line. */
  | { kind: 'unreadable'; line: number; why: string }
  /** By id, from the header of Puente's own capture. */
  | { kind: 'merchants'; merchants: Readonly<Record<string, CaptureMerchant>> }
  /** About the whole file, such as a missing end. */
  | { kind: 'remark'; what: string };

/**
 * The entries of a capture in order; the format is detected. Only a HAR is held in memory as a whole.
 * @throws PuenteError bad_request for an empty file, a newer version, and a HAR that is too large or invalid.
 */
export async function* readCapture(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Entry, void, undefined> {
  const { start, all } = await peek(bytes);
  if (start.trim() === '') throw new PuenteError('bad_request', 'The capture is empty: export one that has calls.');
  if (/^\s*\{\s*"log"\s*:/.test(start)) yield* harEntries(all);
  else yield* lineEntries(linesOf(all));
}

/** What a capture contains beside calls. */
export interface Beside {
  /** By id, from the header of Puente's own capture. */
  merchants: Map<string, CaptureMerchant>;
  /** The first ones, up to `MOST_UNREADABLE`. */
  unreadable: { line: number; why: string }[];
  remarks: string[];
}

export function nothingBeside(): Beside {
  return { merchants: new Map(), unreadable: [], remarks: [] };
}

export type CallEntry = Extract<Entry, { kind: 'exchange' | 'call' }>;

/** More of them repeat the same causes. */
const MOST_UNREADABLE = 20;

/** Counts the line of an entry. An entry that is not a call goes to `beside`. @returns true for a call. */
export function isCall(
  { sums, beside }: { sums: { lines: number; unreadable: number }; beside: Beside },
  entry: Entry,
): entry is CallEntry {
  if (entry.kind === 'merchants') {
    for (const [id, merchant] of Object.entries(entry.merchants)) beside.merchants.set(id, merchant);
    return false;
  }
  if (entry.kind === 'remark') {
    beside.remarks.push(entry.what);
    return false;
  }
  sums.lines++;
  if (entry.kind !== 'unreadable') return true;
  sums.unreadable++;
  if (beside.unreadable.length < MOST_UNREADABLE) beside.unreadable.push({ line: entry.line, why: entry.why });
  return false;
}

/** Enough of a file to detect its format. */
const START_BYTES = 4_096;

async function peek(bytes: AsyncIterable<Uint8Array>): Promise<{ start: string; all: AsyncIterable<Uint8Array> }> {
  const source = bytes[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let length = 0;
  while (length < START_BYTES) {
    const next = await source.next();
    if (next.done === true) break;
    first.push(next.value);
    length += next.value.length;
  }
  const start = new TextDecoder().decode(Buffer.concat(first).subarray(0, START_BYTES));
  const all = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* first;
      for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value;
    } finally {
      await source.return?.();
    }
  };
  return { start, all: all() };
}

async function* harEntries(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Entry> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    length += chunk.length;
    if (length > MAX_HAR_BYTES) throw new PuenteError('bad_request', TOO_LARGE);
    chunks.push(chunk);
  }
  let line = 0;
  for (const found of callsOfHar(new TextDecoder().decode(Buffer.concat(chunks)))) {
    line++;
    yield entryOf(line, found);
  }
}

const TOO_LARGE =
  'The HAR is larger than 256 MB and can only be read as a whole: export it in parts, or as JSON lines {method, url, headers, body, status, response, at}.';

/** @param found a call, or the sentence of its error. */
function entryOf(line: number, found: ReadCall | string): Entry {
  return typeof found === 'string' ? { kind: 'unreadable', line, why: found } : { kind: 'call', line, call: found };
}

async function* lineEntries(lines: AsyncIterable<Line>): AsyncGenerator<Entry> {
  let own = false;
  let read = 0;
  let said: number | null = null;
  for await (const { number, text } of lines) {
    if (text === null) {
      read++;
      yield { kind: 'unreadable', line: number, why: `it is longer than ${MAX_LINE_CHARACTERS} characters` };
      continue;
    }
    const header = text.startsWith('{"puente_capture') ? headerOf(text) : null;
    if (typeof header === 'number') {
      said = header;
      if (said !== read) yield cut(said, read);
    } else if (header !== null) {
      own = true;
      read = 0;
      said = null;
      yield header;
    } else {
      read++;
      yield own ? exchangeEntry(number, text) : entryOf(number, callOfLine(text));
    }
  }
  if (own && said === null) yield cut(null, read);
}

/** @returns a header's entry, an end line's count, or null. @throws PuenteError bad_request for a newer version. */
function headerOf(text: string): Entry | number | null {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return null;
  }
  const end = (value as { puente_capture_end?: unknown }).puente_capture_end; // the text begins as an object
  if (typeof end === 'number') return end;
  const header = captureHeader.safeParse(value);
  if (!header.success) return null;
  if (header.data.puente_capture > CAPTURE_VERSION) {
    throw new PuenteError(
      'bad_request',
      `The capture has version ${header.data.puente_capture} and this Puente reads version ${CAPTURE_VERSION}: use the Puente that made it, or a newer one.`,
    );
  }
  return { kind: 'merchants', merchants: header.data.merchants };
}

function cut(said: number | null, read: number): Entry {
  const what =
    said === null
      ? `The last line of the capture is missing: the export broke off after ${read} exchanges.`
      : `The last line of the capture says ${said} exchanges, and there are ${read}.`;
  return { kind: 'remark', what };
}

function exchangeEntry(line: number, text: string): Entry {
  try {
    return { kind: 'exchange', line, exchange: exchangeOfLine(text) };
  } catch (error) {
    return { kind: 'unreadable', line, why: `it is no exchange of a capture: ${shortly(error)}` };
  }
}

/** Names only paths, because a parser's message could repeat values of the line. */
function shortly(error: unknown): string {
  if (error instanceof SyntaxError) return 'not JSON';
  const issues = (error as { issues?: { path: PropertyKey[] }[] }).issues ?? []; // zod's own error
  return `${issues.map(({ path }) => path.join('.')).join(', ') || 'the line'} is invalid`;
}

// A stream of bytes as numbered lines: files of any size are read in bounded memory.

export interface Line {
  /** From 1, blank lines counted. */
  number: number;
  /** Null for a line above `MAX_LINE_CHARACTERS`. */
  text: string | null;
}

/** Two bodies of the largest accepted size, as JSON strings in JSON, are shorter. */
export const MAX_LINE_CHARACTERS = 16_000_000;

/** Lines end in `\n` or `\r\n`. Blank lines and a byte order mark are left out. */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Line, void, undefined> {
  const decoder = new TextDecoder('utf-8');
  let number = 0;
  let parts: string[] = [];
  let length = 0;
  const close = (last: string): Line | null => {
    number++;
    const long = length + last.length > MAX_LINE_CHARACTERS;
    const text = long ? null : parts.join('') + last;
    parts = [];
    length = 0;
    return text !== null && text.trim() === '' ? null : { number, text: text === null ? null : text.trim() };
  };
  for await (const chunk of bytes) {
    const [first = '', ...rest] = decoder.decode(chunk, { stream: true }).split('\n');
    let open = first;
    for (const next of rest) {
      const line = close(open);
      if (line !== null) yield line;
      open = next;
    }
    length += open.length;
    // A line that is already too long is only counted.
    if (length <= MAX_LINE_CHARACTERS) parts.push(open);
  }
  const tail = decoder.decode();
  const line = close(tail);
  if (line !== null) yield line;
}

// HAR 1.2, exported by browsers and proxies: one JSON document with all calls.

/** A HAR is parsed as a whole, which takes several times its size in memory. */
const MAX_HAR_BYTES = 256 * 1024 * 1024;

/** The calls of a HAR in order, or the error of an entry. @throws PuenteError bad_request when it is not a HAR. */
function callsOfHar(text: string): (ReadCall | string)[] {
  let value: unknown;
  try {
    // Amounts are inside bodies: strings that are parsed exactly later. No number of the HAR itself is an amount.
    value = JSON.parse(text);
  } catch {
    throw new PuenteError(
      'bad_request',
      'The file begins as a HAR and is no JSON: it was cut, or damaged. Export it again.',
    );
  }
  const har = document.safeParse(value);
  if (!har.success)
    throw new PuenteError('bad_request', 'The file begins as a HAR and has no log.entries. Export it again.');
  return har.data.log.entries.map(callOf);
}

function callOf(value: unknown): ReadCall | string {
  const parsed = entry.safeParse(value);
  if (!parsed.success) return `${parsed.error.issues[0]?.path.join('.') ?? 'the entry'} is missing or invalid`;
  const { request, response, startedDateTime, time } = parsed.data;
  const target = targetOf(request.url);
  if (target === null) return 'request.url is no URL';
  // Exporters write status 0 for a call without an answer.
  const answered = response !== undefined && response.status >= 100;
  return {
    method: request.method.toUpperCase(),
    target,
    headers: headersOf(request.headers),
    body: bodyOf(sent(request.postData)),
    answer: answered
      ? { status: response.status, headers: headersOf(response.headers), body: bodyOf(textOf(response.content)) }
      : null,
    at: momentOf(startedDateTime),
    duration_ms: time ?? null,
  };
}

/** A form may be in `params` instead of `text`. */
function sent(data: z.infer<typeof posted> | undefined | null): string | undefined {
  const text = textOf(data);
  if (text !== undefined && text !== '') return text;
  const fields = data?.params ?? [];
  return fields.length === 0
    ? undefined
    : new URLSearchParams(fields.map(({ name, value }): [string, string] => [name, value])).toString();
}

function textOf(
  data: { text?: string | undefined; encoding?: string | undefined } | undefined | null,
): string | undefined {
  if (data?.text === undefined || data.encoding !== 'base64') return data?.text;
  return Buffer.from(data.text, 'base64').toString('utf8');
}

/** Leaves out the pseudo-headers of HTTP/2. */
function headersOf(list: readonly { name: string; value: string }[]): Record<string, string> {
  const pairs = list.filter(({ name }) => !name.startsWith(':')).map(({ name, value }) => [name.toLowerCase(), value]);
  return Object.fromEntries(pairs);
}

const headers = z.array(z.object({ name: z.string(), value: z.string() })).default([]);
const posted = z.object({
  text: z.string().optional(),
  encoding: z.string().optional(),
  params: z.array(z.object({ name: z.string(), value: z.string().default('') })).optional(),
});
const entry = z.object({
  startedDateTime: z.string().optional(),
  time: z.number().nonnegative().optional().catch(undefined),
  request: z.object({
    method: z.string().regex(/^[A-Za-z]{1,10}$/),
    url: z.string(),
    headers,
    postData: posted.nullish(),
  }),
  response: z
    .object({
      status: z.int().catch(0),
      headers,
      content: z.object({ text: z.string().optional(), encoding: z.string().optional() }).optional(),
    })
    .optional(),
});
const document = z.object({ log: z.object({ entries: z.array(z.unknown()) }) });

// A JSON line of another tool: method, URL, headers, body, and possibly the answer.

export interface ReadCall {
  method: string;
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
}

/** @returns the call, or an error sentence that repeats nothing of the line. */
function callOfLine(text: string): ReadCall | string {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return 'it is not JSON';
  }
  const parsed = written.safeParse(value);
  if (!parsed.success) return `${parsed.error.issues[0]?.path.join('.') || 'the line'} is missing or invalid`;
  const { method, path, url, headers, body, status, response, at, duration_ms } = parsed.data;
  const target = targetOf(url ?? path ?? '');
  if (target === null) return 'path or url is invalid';
  const answer = status === undefined ? null : { status, headers: {}, body: bodyOf(response) };
  return {
    method: method.toUpperCase(),
    target,
    headers: plainHeaders(headers ?? {}),
    body: bodyOf(body),
    answer,
    at: momentOf(at),
    duration_ms: duration_ms ?? null,
  };
}

/** Path and query of an absolute or relative URL; null when it is invalid. */
export function targetOf(url: string): string | null {
  const base = 'http://legacy.invalid';
  if (url === '' || !URL.canParse(url, base)) return null;
  const { pathname, search } = new URL(url, base);
  return pathname + search;
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

/** ISO text or epoch ms. */
export function momentOf(at: unknown): number | null {
  if (typeof at === 'number') return Number.isSafeInteger(at) && at > 0 ? at : null;
  const ms = typeof at === 'string' ? Date.parse(at) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
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
