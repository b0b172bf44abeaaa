/** Errors of the ops API: one shape, {error, message} and facts. */
import { randomUUID } from 'node:crypto';
import type { ErrorRequestHandler, Response } from 'express';
import { z } from 'zod';
import { type ErrorCode, errorCodes, PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { Log } from '../../proxy/log.ts';
import { said } from '../fields.ts';

/** The body of every refusal; the facts of the error are further fields. */
export const refusalBody = z.looseObject({
  error: z.enum([...errorCodes, 'internal']),
  message: z.string().describe('What happened, and what to do next: a sentence for people.'),
  said: z.array(said).exactOptional().describe('The message by its codes, for other languages.'),
});

const STATUS: Readonly<Partial<Record<ErrorCode, number>>> = {
  bad_request: 400,
  blocked_address: 400,
  refused: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_many: 429,
  store_failed: 503,
  store_unusable: 503,
};

/**
 * The status of the error's code, and `Retry-After` in seconds when the error names it; the body is left to the caller.
 */
export function setRefusal(response: Response, { code, facts }: PuenteError): void {
  response.status(STATUS[code] ?? 500);
  if (facts.retry_after_s !== undefined) response.set('Retry-After', String(facts.retry_after_s));
}

/** The status of a call whose address or body Express could not read; null for any other error. */
export function callersFault(error: unknown): number | null {
  const status = error instanceof Error && 'status' in error ? error.status : null;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : null;
}

export const refusalStatuses = [...new Set([...Object.values(STATUS), 413, 500])].sort(
  (first, second) => first - second,
);

/**
 * Answers a PuenteError with its code, sentence and facts. Any other error is the caller's fault where Express says so,
 * else 500: it is logged under a request id, and the answer says nothing of it.
 */
export function tellError(log: Log): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error);
    if (error instanceof PuenteError) {
      setRefusal(response, error);
      const { facts, code, message, said: codes } = error;
      response.json({ ...facts, error: code, message, ...(codes.length === 0 ? {} : { said: codes }) });
      return;
    }
    const status = callersFault(error) ?? 500;
    if (status >= 500) {
      const request_id = randomUUID();
      log.error('ops call failed', { cause: String(error), path: request.path, request_id });
      response.set('X-Request-Id', request_id);
    }
    const [error_code, { text: message, said }] =
      status < 500 ? ['bad_request', say('refusal.unreadable', {})] : ['internal', say('refusal.internal', {})];
    response.status(status).json({ error: error_code, message, said: [said] });
  };
}
