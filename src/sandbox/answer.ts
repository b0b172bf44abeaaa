/** How the sandbox answers: one JSON text per answer, and the error envelopes of each family of paths (`orders-api.md` §1.5). */
import type { Response } from 'express';
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
