/** The parts of the ops door, and those of the console: the ops API in the same process, and sign-in. */
import type { RequestHandler } from 'express';
import type { Admission } from '../../proxy/http/admission.ts';
import type { Log } from '../../proxy/log.ts';
import type { Metrics } from '../../proxy/telemetry/telemetry.ts';
import type { OpsTokens, Sessions, SignIn } from './access.ts';
import type { OpsApi } from './api.ts';
import type { OpsParts } from './route.ts';

export interface ConsoleParts {
  api: OpsApi;
  signIn: Pick<SignIn, 'memberOf'>;
  sessions: Sessions;
  log: Log;
}

export interface OpsDoor extends Omit<OpsParts, 'fleet'> {
  people: OpsTokens;
  /** Host names under which operators reach the door, beside `localhost` and IP addresses. */
  hosts: readonly string[];
  metrics: Metrics;
  admission: Pick<Admission, 'level' | 'callsUnderWay'>;
  /** Makes the pages of the console; without it the door serves programs only. */
  console?: (parts: ConsoleParts) => RequestHandler;
  /** False while starting or stopping: `/readyz` answers 503. */
  ready(): boolean;
}
