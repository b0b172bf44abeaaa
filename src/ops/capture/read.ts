/** Reads captures: Puente's own, HAR exports of browsers and proxies, plain JSON lines, and access logs. */
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { parseJson } from '../../contract/json.ts';
import { PuenteError } from '../../error.ts';
import type { Exchange } from '../../proxy/evidence/exchange.ts';
import { callOfLogLine, isLogLine } from './access-log.ts';
import { callOfLine, type ReadCall } from './call.ts';
import { CAPTURE_VERSION, type CaptureMerchant, captureHeader, exchangeOfLine } from './format.ts';
import { callsOfHar } from './har.ts';

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

/** What a refusal of a file says that has none of them. */
export const FORMATS =
  'Read are: a capture of Puente (puente capture export), a HAR export, JSON lines {method, url, headers, body, status, response, at}, and access logs of nginx and Apache (common, combined, vhost_combined); each may be packed with gzip.';

/**
 * The entries of a capture in order; the format is detected. Only a HAR is held in memory as a whole.
 * @throws PuenteError bad_request for an empty file, one of no known format, a broken gzip file, a newer version, and a
 * HAR that is too large or invalid.
 */
export async function* readCapture(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Entry, void, undefined> {
  const packed = await peek(bytes);
  const { start, all } = isGzip(packed.start) ? await peek(unpacked(packed.all)) : packed;
  const text = new TextDecoder().decode(start);
  const format = formatOf(text, start.length < START_BYTES);
  if (format === 'har') yield* harEntries(all);
  else yield* lineEntries(linesOf(all), format === 'log' ? callOfLogLine : callOfLine);
}

/** By the first lines. @param is_whole false: the last line may be cut off. @throws PuenteError bad_request for none. */
function formatOf(text: string, is_whole: boolean): 'har' | 'json' | 'log' {
  if (text.trim() === '')
    throw new PuenteError('bad_request', `The capture is empty: export one that has calls. ${FORMATS}`);
  if (/^\s*\{\s*"log"\s*:/.test(text)) return 'har';
  const lines = text.split('\n').map((line) => line.trim());
  const whole = (is_whole || lines.length === 1 ? lines : lines.slice(0, -1)).filter((line) => line !== '');
  if (whole[0]?.startsWith('{')) return 'json';
  if (whole.some(isLogLine)) return 'log';
  if (whole.some((line) => line.startsWith('{'))) return 'json';
  throw new PuenteError('bad_request', `The file has no format that is read here. ${FORMATS}`);
}

/** What a capture contains beside calls. */
export interface Beside {
  /** By id, from the header of Puente's own capture. */
  merchants: Map<string, CaptureMerchant>;
  /** The first ones, up to `MOST_UNREADABLE`. */
  unreadable: { line: number; why: string }[];
  remarks: string[];
}

/** To be filled while the entries of a capture are read. */
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

function isGzip([first, second]: Uint8Array): boolean {
  return first === 0x1f && second === 0x8b;
}

/** @throws PuenteError bad_request when the file is cut off or damaged. */
async function* unpacked(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    // An error of the source ends the last stream, where it is thrown.
    yield* pipeline(Readable.from(bytes), createGunzip(), () => undefined);
  } catch (error) {
    if (error instanceof PuenteError) throw error;
    const message = 'The file is packed with gzip and is cut off or damaged: copy or export it again.';
    throw new PuenteError('bad_request', message, { cause: error });
  }
}

/** Enough to detect the format: servers write request, referrer and agent of 8 KB each into a line, and escape them. */
const START_BYTES = 128 * 1_024;

async function peek(bytes: AsyncIterable<Uint8Array>): Promise<{ start: Uint8Array; all: AsyncIterable<Uint8Array> }> {
  const source = bytes[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let length = 0;
  while (length < START_BYTES) {
    const next = await source.next();
    if (next.done === true) break;
    first.push(next.value);
    length += next.value.length;
  }
  const start = Buffer.concat(first).subarray(0, START_BYTES);
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

/** A HAR is parsed as a whole, which takes several times its size in memory. */
const MAX_HAR_BYTES = 256 * 1024 * 1024;
const TOO_LARGE =
  'The HAR is larger than 256 MB and can only be read as a whole: export it in parts, or as JSON lines {method, url, headers, body, status, response, at}.';

/** @param found a call, or the sentence of its error. */
function entryOf(line: number, found: ReadCall | string): Entry {
  return typeof found === 'string' ? { kind: 'unreadable', line, why: found } : { kind: 'call', line, call: found };
}

/** @param callOf reads a line that is not of Puente's own capture. */
async function* lineEntries(
  lines: AsyncIterable<Line>,
  callOf: (text: string) => ReadCall | string,
): AsyncGenerator<Entry> {
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
      yield own ? exchangeEntry(number, text) : entryOf(number, callOf(text));
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
