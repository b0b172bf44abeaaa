/** The ops door: health, metrics, the merchants' settings and the delivery log; bearer token on everything that shows or changes state. */
import { createHash, timingSafeEqual } from 'node:crypto';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import {
  changeMerchant,
  merchantChange,
  moveStage,
  stageChange,
  viewMerchant,
  viewMerchants,
} from '../core/operate.ts';
import type { Runtime } from '../core/runtime.ts';
import type { Secret } from '../core/secret.ts';
import { PuenteError } from '../error.ts';
import type { Metrics } from './metrics.ts';
import { parsed } from './ops-body.ts';
import { noticeRouter } from './ops-notices.ts';

/** Largest body an operator's change can have. */
const BODY_LIMIT = '64kb';
/** The one token there is now belongs to this name in audit lines. */
const OPERATOR = 'operator';

export interface OpsDoor {
  runtime: Runtime;
  token: Secret;
  metrics: Metrics;
  /** False while starting or stopping: `/readyz` answers 503. */
  ready(): boolean;
  /** Throws for a URL that the outbound guard would refuse. */
  checkUrl(url: string): void;
}

export function opsApp(door: OpsDoor): Express {
  const { runtime } = door;
  const app = express();
  app.disable('x-powered-by');
  app.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
  app.get('/readyz', (_request, response) => {
    const ready = door.ready() && runtime.store.healthy();
    response.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready' });
  });
  app.get('/metrics', async (_request, response) => {
    const { type, text } = await door.metrics.render(runtime.store);
    response.type(type).send(text);
  });
  app.use('/api', bearer(door.token), express.json({ limit: BODY_LIMIT }));
  app.get('/api/merchants', async (_request, response) => {
    response.json({ merchants: await viewMerchants(runtime) });
  });
  app.get('/api/merchants/:id', async (request, response) => {
    response.json(await viewMerchant(runtime, request.params.id));
  });
  app.put('/api/merchants/:id', async (request, response) => {
    const change = parsed(merchantChange, request.body);
    response.json(await changeMerchant(runtime, request.params.id, change, OPERATOR, door.checkUrl));
  });
  app.put('/api/merchants/:id/stage', async (request, response) => {
    response.json(await moveStage(runtime, request.params.id, parsed(stageChange, request.body), OPERATOR));
  });
  app.use('/api/notices', noticeRouter(runtime, OPERATOR));
  app.use(
    (_request, response) =>
      void response.status(404).json({ error: 'not_found', message: 'There is no such operation' }),
  );
  app.use(tellError(runtime));
  return app;
}

/** Digests are compared, so that neither length nor prefix of the token leaks (`reliability.md` F124). */
function bearer(token: Secret): RequestHandler {
  const expected = digest(token.reveal());
  return (request, response, next) => {
    const given = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    if (timingSafeEqual(digest(given), expected)) return next();
    response.status(401).json({ error: 'unauthorized', message: 'Send the ops token as Authorization: Bearer …' });
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

const STATUS: Partial<Record<PuenteError['code'], number>> = {
  bad_request: 400,
  blocked_address: 400,
  refused: 400,
  not_found: 404,
  conflict: 409,
  store_failed: 503,
  store_unusable: 503,
};

function tellError(runtime: Runtime): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    if (error instanceof PuenteError) {
      response.status(STATUS[error.code] ?? 500).json({ error: error.code, message: error.message });
      return;
    }
    const status = error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : 500;
    if (status >= 500) runtime.log.error('ops call failed', { cause: String(error), path: request.path });
    const message = status < 500 ? 'The body is not valid JSON, or too large' : 'Internal error; the log says more';
    response.status(status).json({ error: status < 500 ? 'bad_request' : 'internal', message });
  };
}
