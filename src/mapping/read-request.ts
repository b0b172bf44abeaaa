/** Reads a legacy request that a person wrote down: raw HTTP text, or JSON. */
import { z } from 'zod';
import { parseJson } from '../contract/json.ts';
import { readQuery } from '../contract/legacy-body.ts';
import { PuenteError } from '../error.ts';

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

/** @throws PuenteError bad_request, with what is expected, when the text is no request. */
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

/** Path and query; a full URL is taken as well. */
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
