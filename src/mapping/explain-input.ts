/** Reads what a person wrote or captured: a legacy request, an answer of upstream, an event; as HTTP text or JSON. */
import { z } from 'zod';
import { parseJson } from '../contract/json.ts';
import { readQuery } from '../contract/legacy-body.ts';
import { PuenteError, type Spoken } from '../error.ts';
import { say } from '../locales/message.ts';

/** What a message is: a request of a till, or of upstream an answer, an error, or what it notifies of. */
export const explainedKinds = ['request', 'answer', 'notice', 'error'] as const;
export type ExplainedKind = (typeof explainedKinds)[number];

export type ReadMessage =
  | { kind: 'request'; request: ReadRequest }
  | { kind: Exclude<ExplainedKind, 'request'>; status: number | null; body: unknown };

const LEAST_ERROR = 400;
const STATUS_LINE = /^HTTP\/[\d.]+ (\d{3})\b/;

/**
 * @param kind null: its form says it. HTTP text says it in its first line; JSON with a method is a request, with an
 * error's fields an error, with an action an event; any other is an answer.
 * @throws PuenteError bad_request, with the expected form, for a text that is none, or not of this kind.
 */
export function readMessage(text: string, kind: ExplainedKind | null = null): ReadMessage {
  const trimmed = text.replace(/^\uFEFF/, '').trim();
  const read = STATUS_LINE.test(trimmed) ? fromAnswer(trimmed) : isBare(trimmed) ? fromBare(trimmed) : null;
  if (read === null || kind === 'request') {
    if (kind !== null && kind !== 'request') throw notExplained(say('explain.needs_body', {}));
    return { kind: 'request', request: readRequest(trimmed) };
  }
  return { ...read, kind: kind ?? read.kind };
}

type UpstreamMessage = Extract<ReadMessage, { body: unknown }>;

function fromAnswer(text: string): UpstreamMessage {
  const [head = '', ...rest] = text.split(/\r?\n\r?\n/);
  const status = Number(STATUS_LINE.exec(head)?.[1]);
  const body = rest.join('\n\n').trim();
  return { kind: kindOf(status), status, body: body === '' ? undefined : jsonOf(body) };
}

/** JSON that is no request. */
function isBare(text: string): boolean {
  if (!text.startsWith('{')) return false;
  const { method, path } = record(jsonOf(text));
  return method === undefined && path === undefined;
}

function fromBare(text: string): UpstreamMessage {
  const body = jsonOf(text);
  const { status, body: inner, errors, code, action, data } = record(body);
  if (typeof status === 'number' && inner !== undefined) return { kind: kindOf(status), status, body: inner };
  if (Array.isArray(errors) || typeof code === 'string') return { kind: 'error', status: null, body };
  if (action !== undefined && data !== undefined) return { kind: 'notice', status: null, body };
  return { kind: 'answer', status: null, body };
}

function kindOf(status: number): 'answer' | 'error' {
  return status >= LEAST_ERROR ? 'error' : 'answer';
}

/** The value when it is a JSON object; an empty object for any other value, so that its fields read as undefined. */
export function record(value: unknown): Readonly<Record<string, unknown>> & { [name: string]: unknown } {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : {}; // an object, keys unknown
}

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
function readRequest(text: string): ReadRequest {
  const trimmed = text.trim();
  return trimmed.startsWith('{') ? fromJson(trimmed) : fromHttp(trimmed);
}

function fromJson(text: string): ReadRequest {
  const parsed = written.safeParse(jsonOf(text));
  if (!parsed.success) throw notExplained(say('explain.needs_method', {}));
  const { method, path, headers, body } = parsed.data;
  return { method: method.toUpperCase(), ...target(path), headers: lowerCase(Object.entries(headers)), body };
}

function fromHttp(text: string): ReadRequest {
  const [head = '', ...rest] = text.split(/\r?\n\r?\n/);
  const [first = '', ...headerLines] = head.split(/\r?\n/);
  const match = REQUEST_LINE.exec(first.trim());
  if (!match) throw notExplained(say('explain.first_line', {}));
  const headers = headerLines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    if (colon < 1) throw notExplained(say('explain.header_line', { line }));
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
  if (!URL.canParse(written_target, base)) throw notExplained(say('explain.no_path', { path: written_target }));
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
    throw notExplained(say('explain.not_json', { why: (error as Error).message })); // the parser throws SyntaxError only
  }
}

/** The refusal of a message. */
export function notExplained(what: Spoken): PuenteError {
  return new PuenteError('bad_request', say('explain.refused', { what }));
}
