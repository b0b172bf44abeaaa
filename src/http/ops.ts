/** The ops door: health, metrics, and the API of all features; a known token on everything that shows or changes state. */
import type { ServerResponse } from 'node:http';
import express, { type Express, type RequestHandler } from 'express';
import { createFleet } from '../core/fleet/fleet.ts';
import { say } from '../core/sentences.ts';
import { PuenteError } from '../error.ts';
import { version } from '../version.ts';
import type { Admission } from './admission.ts';
import type { Metrics } from './metrics.ts';
import { auditRoutes } from './ops/audit.ts';
import { backupRoutes } from './ops/backup.ts';
import { brownoutRoutes } from './ops/brownouts.ts';
import { captureRoutes } from './ops/capture.ts';
import { differencesRoutes } from './ops/differences.ts';
import { doctorRoutes } from './ops/doctor.ts';
import { eraseRoutes } from './ops/erase.ts';
import { tellError } from './ops/errors.ts';
import { evidenceRoutes } from './ops/evidence.ts';
import { fleetRoutes } from './ops/fleet.ts';
import { doorGuard, GUARD_HEADERS, sameOriginOnly } from './ops/guard.ts';
import { type ConsoleParts, inProcessApi } from './ops/in-process.ts';
import { incidentRoutes } from './ops/incidents.ts';
import { merchantRoutes } from './ops/merchants.ts';
import { moveRoutes } from './ops/moves.ts';
import { noticeRoutes } from './ops/notices.ts';
import { openApiRoute } from './ops/openapi.ts';
import { membersOf, type OpsTokens } from './ops/people.ts';
import { readinessRoutes } from './ops/readiness.ts';
import { reconcileRoutes } from './ops/reconcile.ts';
import { registerRoutes } from './ops/register.ts';
import { reportRoutes } from './ops/report.ts';
import type { OpsParts, OpsRoute } from './ops/route.ts';
import { opsRouter } from './ops/router.ts';
import { safetyRoutes } from './ops/safety.ts';
import { createSessions } from './ops/session.ts';
import { createSignIn } from './ops/sign-in.ts';
import { stageRoutes } from './ops/stage.ts';
import { traceRoutes } from './ops/trace.ts';

export interface OpsDoor extends Omit<OpsParts, 'fleet'> {
  people: OpsTokens;
  /** Host names under which operators reach the door, beside `localhost` and IP addresses. */
  hosts: readonly string[];
  metrics: Metrics;
  admission: Pick<Admission, 'level' | 'callsUnderWay'>;
  /** Makes the pages for people; without it the door is for programs alone. */
  console?: (parts: ConsoleParts) => RequestHandler;
  /** False while starting or stopping: `/readyz` answers 503. */
  ready(): boolean;
}

/** Every route of the API; a feature's rows stand in its own file. */
const features: OpsRoute[] = [
  ...auditRoutes,
  ...backupRoutes,
  ...brownoutRoutes,
  ...captureRoutes,
  ...differencesRoutes,
  ...doctorRoutes,
  ...eraseRoutes,
  ...evidenceRoutes,
  ...fleetRoutes,
  ...incidentRoutes,
  ...merchantRoutes,
  ...moveRoutes,
  ...noticeRoutes,
  ...readinessRoutes,
  ...reconcileRoutes,
  ...registerRoutes,
  ...reportRoutes,
  ...safetyRoutes,
  ...stageRoutes,
  ...traceRoutes,
];

/** The rows that the door serves. */
export const opsRoutes: readonly OpsRoute[] = [...features, openApiRoute(version, features)];

/** Tells that the head of a request would leave a guess, in the shape of every refusal here. */
export function refuseOpsHead(response: ServerResponse): void {
  const { text: message, said } = say('refusal.head', {});
  const text = JSON.stringify({ error: 'bad_request', message, said: [said] });
  const type = 'application/json; charset=utf-8';
  response.writeHead(400, { ...GUARD_HEADERS, 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) });
  response.end(text);
}

export function opsApp(door: OpsDoor): Express {
  const { runtime } = door;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(doorGuard(door.hosts));
  app.get('/healthz', (_request, response) => void response.json({ status: 'ok', version }));
  app.get('/readyz', (_request, response) => {
    const ready = door.ready() && runtime.store.healthy();
    response.status(ready ? 200 : 503).json({
      status: ready ? 'ready' : 'not ready',
      shedding: door.admission.level(),
      disk: runtime.store.room().level,
    });
  });
  app.get('/metrics', async (_request, response) => {
    const { type, text } = await door.metrics.render(runtime.store, door.admission);
    response.type(type).send(text);
  });
  app.use('/api', sameOriginOnly);
  const members = membersOf(door.people);
  const signIn = createSignIn(members, runtime.clock, runtime.log);
  const parts: OpsParts = { ...door, fleet: createFleet(runtime) };
  app.use(opsRouter(opsRoutes, parts, signIn));
  if (door.console !== undefined) {
    const sessions = createSessions(members, runtime.vault, runtime.clock);
    app.use(door.console({ api: inProcessApi(opsRoutes, parts), signIn, sessions, log: runtime.log }));
  }
  app.use(() => {
    throw new PuenteError('not_found', say('refusal.no_operation', {}));
  });
  app.use(tellError(runtime.log));
  return app;
}
