/** The ops API as one list of routes, and the same for callers in the same process. */
import { version } from '../../version.ts';
import { defined } from '../fields.ts';
import { evidenceRoutes } from './evidence.ts';
import { fleetRoutes } from './fleet.ts';
import { incidentRoutes } from './incidents.ts';
import { merchantRoutes } from './merchants.ts';
import { moveRoutes } from './moves.ts';
import { noticeRoutes } from './notices.ts';
import { openApiRoute } from './openapi.ts';
import type { OpsApi } from './parts.ts';
import { planRoutes } from './plan.ts';
import { reportRoutes } from './report.ts';
import { type OpsParts, type OpsRoute, runRow } from './route.ts';
import { isStreamed } from './stream.ts';
import { tableRoutes } from './tables.ts';
import { traceRoutes } from './trace.ts';
import { upkeepRoutes } from './upkeep.ts';

const features: OpsRoute[] = [
  ...evidenceRoutes,
  ...fleetRoutes,
  ...incidentRoutes,
  ...merchantRoutes,
  ...moveRoutes,
  ...noticeRoutes,
  ...planRoutes,
  ...reportRoutes,
  ...tableRoutes,
  ...traceRoutes,
  ...upkeepRoutes,
];

export const opsRoutes: readonly OpsRoute[] = [...features, openApiRoute(version, features)];

// The ops API for callers in the same process, such as the console: the same rows, roles, schemas and refusals.

/**
 * Answers are copied through JSON, as they would arrive over HTTP; a stream is handed on. `ask` @throws PuenteError as
 * the door refuses, TypeError for a row that does not exist.
 */
export function inProcessApi(rows: readonly OpsRoute[], parts: OpsParts): OpsApi {
  const named = new Map(rows.map((row) => [`${row.method} ${row.path}`, row]));
  return {
    async ask(person, name, { path = {}, query = {}, body, signal = new AbortController().signal } = {}) {
      const row = named.get(name);
      if (row === undefined) throw new TypeError(`the ops API has no row ${name}`);
      const answer = await runRow(row, parts, { person, path, query: defined(query), body, signal });
      return isStreamed(answer) ? answer : JSON.parse(JSON.stringify(answer ?? {}));
    },
  };
}
