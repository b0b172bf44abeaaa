/** Probes: whether the process lives, and whether it takes calls. Served by the ops door, and on a port of their own. */
import express, { type Express, Router } from 'express';
import { version } from '../../version.ts';
import type { Store } from '../ports.ts';
import { GUARD_HEADERS } from './access.ts';
import type { OpsDoor } from './parts.ts';

interface HealthParts extends Pick<OpsDoor, 'ready' | 'admission'> {
  store: Pick<Store, 'healthy' | 'upkeep'>;
}

/** `GET /healthz` and `GET /readyz`; they show no setting, no name and no sum. */
export function healthRouter({ ready, admission, store }: HealthParts): Router {
  const router = Router();
  router.get('/healthz', (_request, response) => void response.json({ status: 'ok', version }));
  router.get('/readyz', (_request, response) => {
    const is_ready = ready() && store.healthy();
    response.status(is_ready ? 200 : 503).json({
      status: is_ready ? 'ready' : 'not ready',
      shedding: admission.level(),
      disk: store.upkeep.room().level,
    });
  });
  return router;
}

/** A listener that serves probes alone: `health.port`. */
export function healthApp(parts: HealthParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use((_request, response, next) => {
    response.set(GUARD_HEADERS);
    next();
  });
  app.use(healthRouter(parts));
  app.use((_request, response) => void response.status(404).json({ error: 'not_found' }));
  return app;
}
