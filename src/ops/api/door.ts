/** The ops door behind its listener: the API as an Express router, and the console on top of it. */
import express, { type Request, type RequestHandler, Router } from 'express';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { createFleet } from '../fleet/fleet.ts';
import { createSessions, createSignIn, membersOf, type SignIn } from './access.ts';
import { inProcessApi, opsRoutes } from './api.ts';
import type { OpsDoor } from './parts.ts';
import { type OpsParts, type OpsRoute, permit, runRow } from './route.ts';
import { isStreamed, sendStream, untilGone } from './stream.ts';

/** The API with its sign-in, and the console when the door has one. */
export function operatorsRouter(door: OpsDoor): Router {
  const { ports } = door;
  const router = Router();
  const members = membersOf(door.people);
  const signIn = createSignIn(members, ports.clock, ports.log);
  const parts: OpsParts = { ...door, fleet: createFleet(ports) };
  router.use(opsRouter(opsRoutes, parts, signIn));
  if (door.console !== undefined) {
    const sessions = createSessions(members, ports.vault, ports.clock);
    router.use(door.console({ api: inProcessApi(parts), signIn, sessions, log: ports.log }));
  }
  return router;
}

/** Largest body of a change: a group of 1,000 alerts, or an import of 10,000 merchants. */
const BODY_LIMIT = '4mb';

/** The API under `/api`. It refuses unknown callers before the routing: they do not learn which routes exist. */
export function opsRouter(rows: readonly OpsRoute[], parts: OpsParts, signIn: SignIn): Router {
  const router = Router();
  router.use('/api', signIn.handler);
  for (const row of inOrder(rows)) {
    const method = row.method.toLowerCase() as 'get' | 'post' | 'put' | 'delete'; // the row's four methods, as express spells them
    const permitted: RequestHandler = (request, _response, next) => {
      permit(row, signIn.personOf(request));
      next();
    };
    // The role is checked before the body is read.
    router[method](row.path, permitted, express.json({ limit: BODY_LIMIT }), answerOf(row, parts, signIn));
  }
  return router;
}

/** Named segments before parameters, so that `/api/moves/bulk` does not match `/api/moves/:id`. */
function inOrder(rows: readonly OpsRoute[]): OpsRoute[] {
  const key = ({ path }: OpsRoute): string => path.replaceAll(':', '\uffff');
  return rows.toSorted((first, second) => (key(first) < key(second) ? -1 : Number(key(first) > key(second))));
}

function answerOf(row: OpsRoute, parts: OpsParts, signIn: SignIn): RequestHandler {
  return async (request, response) => {
    const answer = await runRow(row, parts, {
      person: signIn.personOf(request),
      path: request.params as Record<string, string>, // the parameters of rows are single segments
      query: request.query,
      body: bodyOf(row, request),
      signal: untilGone(response),
    });
    if (isStreamed(answer)) return sendStream(response, answer, parts.ports.log);
    response.json(answer ?? {});
  };
}

/** Undefined without a body. @throws PuenteError bad_request for a form or text, which a foreign page can post. */
function bodyOf(row: OpsRoute, request: Request): unknown {
  const is_empty =
    request.headers['transfer-encoding'] === undefined && Number(request.headers['content-length'] ?? 0) === 0;
  if (is_empty) return undefined;
  if (row.body !== undefined && !request.is('application/json'))
    throw new PuenteError('bad_request', say('refusal.not_json', {}));
  return request.body ?? null;
}
