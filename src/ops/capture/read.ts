/** Reads captures from anywhere: Puente's own, HAR exports of browsers and proxies, and plain JSON lines. */
import { parseJson } from '../../contract/json.ts';
import { PuenteError } from '../../error.ts';
import type { Exchange } from '../../proxy/evidence/exchange.ts';
import { CAPTURE_VERSION, type CaptureMerchant, captureHeader, exchangeOfLine } from './format.ts';
import { callsOfHar, MAX_HAR_BYTES } from './har.ts';
import { type Line, linesOf, MAX_LINE_CHARACTERS } from './lines.ts';
import { callOfLine, type ReadCall } from './plain.ts';

/** One entry of a capture; each is told, none is dropped. */
export type Entry =
  /** Of Puente's own capture. */
  | { kind: 'exchange'; line: number; exchange: Exchange }
  | { kind: 'call'; line: number; call: ReadCall }
  /** `why` says what is wrong in one sentence, and never what the line has in it. */
  | { kind: 'unreadable'; line: number; why: string }
  /** From the first line of Puente's own capture: merchants by id. */
  | { kind: 'merchants'; merchants: Readonly<Record<string, CaptureMerchant>> }
  /** About the file as a whole, such as that its end is missing. */
  | { kind: 'remark'; what: string };

/**
 * The entries of a capture in their order, in whatever format it is. Only a HAR is held in memory as a whole.
 * @throws PuenteError bad_request for an empty file, one of a newer version, and a HAR that is too large or no JSON.
 */
export async function* readCapture(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Entry, void, undefined> {
  const { start, all } = await peek(bytes);
  if (start.trim() === '') throw new PuenteError('bad_request', 'The capture is empty: there is nothing to look at.');
  if (/^\s*\{\s*"log"\s*:/.test(start)) yield* harEntries(all);
  else yield* lineEntries(linesOf(all));
}

/** So much of a file tells what it is. */
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
    if (length > MAX_HAR_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  let line = 0;
  for (const found of callsOfHar(new TextDecoder().decode(Buffer.concat(chunks)))) {
    line++;
    yield typeof found === 'string' ? { kind: 'unreadable', line, why: found } : { kind: 'call', line, call: found };
  }
}

function tooLarge(): PuenteError {
  return new PuenteError(
    'bad_request',
    `The HAR is larger than ${MAX_HAR_BYTES / 1024 / 1024} MB and can only be read as a whole: export it in parts, or as JSON lines {method, url, headers, body, status, response, at}.`,
  );
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
      yield own ? exchangeEntry(number, text) : callEntry(number, text);
    }
  }
  if (own && said === null) yield cut(null, read);
}

/**
 * @returns what a first line says, or the number of exchanges that a last line tells; null for any other line.
 * @throws PuenteError bad_request for a version that this Puente doesn't know.
 */
function headerOf(text: string): Entry | number | null {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return null;
  }
  const end = (value as { puente_capture_end?: unknown }).puente_capture_end; // the text began as an object
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

function callEntry(line: number, text: string): Entry {
  const found = callOfLine(text);
  return typeof found === 'string' ? { kind: 'unreadable', line, why: found } : { kind: 'call', line, call: found };
}

/** Where it is wrong; a parser's own text could repeat what the line has in it. */
function shortly(error: unknown): string {
  if (error instanceof SyntaxError) return 'not JSON';
  const issues = (error as { issues?: { path: PropertyKey[] }[] }).issues ?? []; // zod's own error
  return `${issues.map(({ path }) => path.join('.')).join(', ') || 'the line'} is not as it should be`;
}
