/** Route rows into a router: role, schemas, operation, answer. */
import express, { type Request, type RequestHandler, Router } from 'express';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import type { OpsParts, OpsRoute } from './route.ts';
import { permit, runRow } from './run-row.ts';
import type { SignIn } from './sign-in.ts';
import { isStreamed, sendStream, untilGone } from './stream.ts';

/** Largest body of an operator's change: a bulk move names thousands of merchants, and nothing is larger. */
const BODY_LIMIT = '512kb';

/**
 * The API under `/api`. Whoever is not known learns nothing, not even which routes there are; of the others each row lets
 * in the roles that are enough.
 */
export function opsRouter(rows: readonly OpsRoute[], parts: OpsParts, signIn: SignIn): Router {
  const router = Router();
  router.use('/api', signIn.handler);
  for (const row of inOrder(rows)) {
    const method = row.method.toLowerCase() as 'get' | 'post' | 'put' | 'delete'; // the row's four methods, as express spells them
    router[method](row.path, permitted(row, signIn), express.json({ limit: BODY_LIMIT }), answerOf(row, parts, signIn));
  }
  return router;
}

/** Named segments before parameters, so that `/api/moves/bulk` is not a move called bulk. */
function inOrder(rows: readonly OpsRoute[]): OpsRoute[] {
  const key = ({ path }: OpsRoute): string => path.replaceAll(':', '\uffff');
  return rows.toSorted((first, second) => (key(first) < key(second) ? -1 : Number(key(first) > key(second))));
}

/** Before the body is read. */
function permitted(row: OpsRoute, signIn: SignIn): RequestHandler {
  return (request, _response, next) => {
    permit(row, signIn.personOf(request));
    next();
  };
}

function answerOf(row: OpsRoute, parts: OpsParts, signIn: SignIn): RequestHandler {
  return async (request, response) => {
    const answer = await runRow(row, parts, {
      person: signIn.personOf(request),
      path: pathOf(request),
      query: request.query,
      body: bodyOf(row, request),
      signal: untilGone(response),
    });
    if (isStreamed(answer)) return sendStream(response, answer, parts.runtime.log);
    response.json(answer ?? {});
  };
}

/** @throws PuenteError bad_request for what the row does not take, and for a form or plain text that a page can post. */
function bodyOf(row: OpsRoute, request: Request): unknown {
  const is_empty =
    request.headers['transfer-encoding'] === undefined && Number(request.headers['content-length'] ?? 0) === 0;
  if (row.body === undefined) {
    if (is_empty) return undefined;
    throw new PuenteError('bad_request', say('refusal.no_body', { row: `${row.method} ${row.path}` }));
  }
  if (!is_empty && !request.is('application/json')) throw new PuenteError('bad_request', say('refusal.not_json', {}));
  return is_empty ? {} : request.body;
}

/** The parameters of the row's path, all single segments. */
function pathOf(request: Request): Record<string, string> {
  return Object.fromEntries(Object.entries(request.params).map(([name, value]) => [name, String(value)]));
}
