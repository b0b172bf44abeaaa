/** All that people and their programs ask the ops door for: the API of every feature, and the console on top of it. */
import { Router } from 'express';
import { version } from '../../version.ts';
import { createFleet } from '../fleet/fleet.ts';
import { auditRoutes } from './audit.ts';
import { backupRoutes } from './backup.ts';
import { brownoutRoutes } from './brownouts.ts';
import { captureRoutes } from './capture.ts';
import { differencesRoutes } from './differences.ts';
import { doctorRoutes } from './doctor.ts';
import { eraseRoutes } from './erase.ts';
import { evidenceRoutes } from './evidence.ts';
import { fleetRoutes } from './fleet.ts';
import { inProcessApi } from './in-process.ts';
import { incidentRoutes } from './incidents.ts';
import { merchantRoutes } from './merchants.ts';
import { moveRoutes } from './moves.ts';
import { noticeRoutes } from './notices.ts';
import { openApiRoute } from './openapi.ts';
import { membersOf } from './people.ts';
import { readinessRoutes } from './readiness.ts';
import { reconcileRoutes } from './reconcile.ts';
import { registerRoutes } from './register.ts';
import { reportRoutes } from './report.ts';
import type { OpsParts, OpsRoute } from './route.ts';
import { opsRouter } from './router.ts';
import { safetyRoutes } from './safety.ts';
import type { OpsDoor } from './server.ts';
import { createSessions } from './session.ts';
import { createSignIn } from './sign-in.ts';
import { stageRoutes } from './stage.ts';
import { traceRoutes } from './trace.ts';

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

export function operatorsRouter(door: OpsDoor): Router {
  const { runtime } = door;
  const router = Router();
  const members = membersOf(door.people);
  const signIn = createSignIn(members, runtime.clock, runtime.log);
  const parts: OpsParts = { ...door, fleet: createFleet(runtime) };
  router.use(opsRouter(opsRoutes, parts, signIn));
  if (door.console !== undefined) {
    const sessions = createSessions(members, runtime.vault, runtime.clock);
    router.use(door.console({ api: inProcessApi(opsRoutes, parts), signIn, sessions, log: runtime.log }));
  }
  return router;
}
