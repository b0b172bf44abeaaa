/** Answers of the sandbox, and the error envelopes of each API family (`docs/field-notes.md` Orders §1.5). */
import type { Response } from 'express';
import { stringifyJson } from '../contract/json.ts';
import {
  errorBody,
  type LegacyErrorEntry,
  type LegacyErrorName,
  type Family as LegacyFamily,
  legacyError,
} from '../contract/legacy-errors.ts';
import { PuenteError } from '../error.ts';

export interface Answer {
  status: number;
  /** JSON text; empty for an answer without a body. */
  body: string;
}

/** A documented refusal. Only the 412 of `/terminals/v1/setup` has no `code`. */
export interface Problem {
  status: number;
  code?: string | undefined;
  message: string;
  details?: string[] | undefined;
}

export function problem(status: number, code: string, message: string, details?: string[]): Problem {
  return { status, code, message, details };
}

/** An empty body gets no content type, as a 204 needs it. */
export function send(response: Response, answer: Answer): void {
  response.statusCode = answer.status;
  if (answer.body !== '') response.setHeader('content-type', 'application/json; charset=utf-8');
  response.end(answer.body);
}

/** @param value may hold exact numbers, which keep their source text. */
export function json(status: number, value: unknown): Answer {
  return { status, body: stringifyJson(value) };
}

export const noContent: Answer = { status: 204, body: '' };

/** The list envelope of orders and terminals. */
export function refusal({ status, code, message, details }: Problem): Answer {
  return json(status, { errors: [{ code, message, details }] });
}

/** The flat envelope of token errors on orders and terminals. */
export function tokenRefusal(status: number, code: string, message: string): Answer {
  return json(status, { code, message });
}

/** The legacy envelope of payments and users. */
export function paymentsRefusal(status: number, error: string, message: string): Answer {
  return json(status, { message, error, status, cause: [] });
}

/** An error that becomes this answer. */
export function refused({ status, body }: Answer): PuenteError {
  return new PuenteError('refused', body, { facts: { status, body } });
}

/** @returns the answer of an error made by `refused` or `refuse`; null for any other. */
export function refusedAnswer(error: unknown): Answer | null {
  if (!(error instanceof PuenteError) || typeof error.facts.body !== 'string') return null;
  return { status: Number(error.facts.status), body: error.facts.body };
}

/** @param detail fills `{}`. @param error replaces the catalogue's code, where one code covers several fields. */
export function refuse(
  family: LegacyFamily,
  name: LegacyErrorName | LegacyErrorEntry,
  detail = '',
  error?: string,
): PuenteError {
  const entry = typeof name === 'string' ? legacyError(family, name) : name;
  if (entry === null) throw new Error(`The catalogue of ${family} has no error ${name}`);
  return refused(json(entry.status, errorBody(family, error === undefined ? entry : { ...entry, error }, detail)));
}

interface ForcedError {
  status?: number | undefined;
  code?: string | undefined;
  message?: string | undefined;
  details?: string[] | undefined;
}

/** A forced error in the envelope of its path's family. */
export function encodeError(path: string, { status = 500, details, ...forced }: ForcedError): Answer {
  const { code, message = 'An error was requested at the control door.' } = forced;
  if (path.startsWith('/point/')) return json(status, { error: code ?? String(status), message, status });
  const known = path.startsWith('/v1/payments') ? legacyError('payments', code ?? '') : null;
  if (known !== null) return json(known.status, errorBody('payments', known, ''));
  if (path.startsWith('/mpmobile/') || path.startsWith('/instore/')) {
    return json(status, { error: code ?? 'internal_error', message, status, causes: [] });
  }
  if (!path.startsWith('/v1/orders') && !path.startsWith('/terminals/')) {
    return paymentsRefusal(status, code ?? 'internal_error', message);
  }
  if (status === 401) return tokenRefusal(status, code ?? 'unauthorized', message);
  return refusal({ status, code: code ?? (status >= 500 ? 'internal_error' : undefined), message, details });
}
