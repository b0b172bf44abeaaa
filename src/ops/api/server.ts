/** The ops door: health and metrics; and the API and the console, which are loaded once the process is ready. */
import type { ServerResponse } from 'node:http';
import express, { type Express } from 'express';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { type LoadedLate, loadedLate } from '../../proxy/http/loaded-late.ts';
import { doorGuard, GUARD_HEADERS, sameOriginOnly } from './access.ts';
import { tellError } from './errors.ts';
import { healthRouter } from './health.ts';
import type { OpsDoor } from './parts.ts';

/** Refuses an ambiguous request head, in the shape of every refusal of this listener. */
export function refuseOpsHead(response: ServerResponse): void {
  const { text: message, said } = say('refusal.head', {});
  const text = JSON.stringify({ error: 'bad_request', message, said: [said] });
  const type = 'application/json; charset=utf-8';
  response.writeHead(400, { ...GUARD_HEADERS, 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) });
  response.end(text);
}

export interface OpsApp {
  app: Express;
  /** Loads the API, a fifth of the program; otherwise the first call to it does. */
  load: LoadedLate['load'];
}

/**
 * Everything behind the operators' door. Health and metrics answer at once and without a token; the API and the console
 * are loaded at the first request to them, or by `load`.
 */
export function opsApp(door: OpsDoor): OpsApp {
  const { ports } = door;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(doorGuard(door.hosts));
  app.use(healthRouter({ ready: door.ready, admission: door.admission, store: ports.store }));
  app.get('/metrics', async (_request, response) => {
    const { type, text } = await door.metrics.render(ports.store, door.admission);
    response.type(type).send(text);
  });
  app.use('/api', sameOriginOnly);
  const { handler, load } = loadedLate(async () => (await import('./door.ts')).operatorsRouter(door));
  app.use(handler);
  app.use(() => {
    throw new PuenteError('not_found', say('refusal.no_operation', {}));
  });
  app.use(tellError(ports.log));
  return { app, load };
}
