/** How the sandbox answers: one JSON text per answer, and the error envelopes of each family of paths (`docs/field-notes.md` Orders §1.5). */
import express, { type Request, type RequestHandler, type Response } from 'express';
import { decodeUtf8, type Json, parseJson } from '../contract/json.ts';
import { isOtherSyntax } from '../contract/legacy-body.ts';
import { errorBody, legacyError } from '../contract/legacy-errors.ts';

export interface Answer {
  status: number;
  /** JSON text; empty for an answer without a body. */
  body: string;
}

/** A documented refusal. `code` is missing for the 412 of `/terminals/v1/setup` alone. */
export interface Problem {
  status: number;
  code?: string | undefined;
  message: string;
  details?: string[] | undefined;
}

export function send(response: Response, answer: Answer): void {
  response.statusCode = answer.status;
  if (answer.body !== '') response.setHeader('content-type', 'application/json; charset=utf-8');
  response.end(answer.body);
}

export function json(status: number, value: unknown): Answer {
  return { status, body: JSON.stringify(value) };
}

/** The list envelope of orders and terminals. */
export function refusal(problem: Problem): Answer {
  const { status, code, message, details } = problem;
  return json(status, { errors: [{ code, message, details }] });
}

/** The flat envelope of token errors on orders and terminals. */
export function tokenRefusal(status: number, code: string, message: string): Answer {
  return json(status, { code, message });
}

/** The older envelope of payments and users. */
export function paymentsRefusal(status: number, error: string, message: string): Answer {
  return json(status, { message, error, status, cause: [] });
}

/** A forced error, in the envelope that its path speaks. */
export function encodeError(
  path: string,
  wanted: {
    status?: number | undefined;
    code?: string | undefined;
    message?: string | undefined;
    details?: string[] | undefined;
  },
): Answer {
  const status = wanted.status ?? 500;
  const message = wanted.message ?? 'An error was asked for at the control door.';
  if (path.startsWith('/point/')) return json(status, { error: wanted.code ?? String(status), message, status });
  const known = path.startsWith('/v1/payments') ? legacyError('payments', wanted.code ?? '') : null;
  if (known !== null) return json(known.status, errorBody('payments', known, ''));
  if (path.startsWith('/mpmobile/') || path.startsWith('/instore/')) {
    return json(status, { error: wanted.code ?? 'internal_error', message, status, causes: [] });
  }
  if (!path.startsWith('/v1/orders') && !path.startsWith('/terminals/')) {
    return paymentsRefusal(status, wanted.code ?? 'internal_error', message);
  }
  if (status === 401) return tokenRefusal(status, wanted.code ?? 'unauthorized', message);
  const code = wanted.code ?? (status >= 500 ? 'internal_error' : undefined);
  return refusal({ status, code, message, details: wanted.details });
}

// Reading request bodies: bytes as they came, whatever the content type says, then strict JSON.

/** No documented body comes near this; a larger one is a mistake. */
const MAX_BODY_BYTES = 256 * 1024;

/** Bodies on GET and DELETE are read too, and ignored by their handlers. */
export const readBody: RequestHandler = express.raw({ type: () => true, limit: MAX_BODY_BYTES });

/** What the legacy families read: JSON under any type but another format's own. */
export const readLegacyBody: RequestHandler[] = [
  (request, _response, next) =>
    next(
      isOtherSyntax(request.headers['content-type'] ?? '')
        ? Object.assign(new Error('no JSON'), { status: 415 })
        : undefined,
    ),
  readBody,
];

/** The bytes of the body; none for a missing one. */
export function bodyBytes(request: Request): Buffer {
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}

/** @returns undefined when the body is empty, null-safe `{ value }` when it parses, and `{ broken }` when it is no JSON. */
export function bodyJson(request: Request): { value: Json } | { broken: true } | undefined {
  const bytes = bodyBytes(request);
  if (bytes.length === 0) return undefined;
  try {
    return { value: parseJson(decodeUtf8(bytes)) };
  } catch {
    return { broken: true }; // what is wrong with it is the caller's to find out
  }
}

// What the sandbox's two logs hold: the calls it got, and the notifications it sent.

export interface RequestLine {
  at: string;
  method: string;
  path: string;
  idempotency_key: string | null;
  /** Null while unanswered, or when the answer never left. */
  status: number | null;
}

export interface SentLine {
  at: string;
  url: string;
  /** `order` webhooks, or the legacy dialects. */
  topic: string;
  /** The order or intent announced. */
  subject: string;
  action: string;
  /** Counted from 1. */
  attempt: number;
  /** Status of the receiver, or null with the reason. */
  status: number | null;
  failure: string | null;
}

// A list that keeps its newest entries: the sandbox's logs never grow past their bound.

export interface Ring<Entry> {
  push(entry: Entry): void;
  /** Oldest first. */
  list(): Entry[];
  clear(): void;
}

export function createRing<Entry>(capacity: number): Ring<Entry> {
  let entries: Entry[] = [];
  let next = 0;
  return {
    push(entry) {
      entries[next] = entry;
      next = (next + 1) % capacity;
    },
    list: () => (entries.length < capacity ? [...entries] : [...entries.slice(next), ...entries.slice(0, next)]),
    clear() {
      entries = [];
      next = 0;
    },
  };
}
