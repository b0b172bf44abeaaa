/** The ops API for whoever lives in the same process, such as the console: the same rows, roles, schemas and refusals. */

import { PuenteError } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import type { Log } from '../../proxy/runtime.ts';
import type { OpsParts, OpsRoute, Person } from './route.ts';
import { runRow } from './run-row.ts';
import type { Sessions } from './session.ts';
import type { SignIn } from './sign-in.ts';
import { isStreamed } from './stream.ts';

/** Names a row as the API's own page does: `GET /api/merchants/:id`. */
export type RowName = `${OpsRoute['method']} /api/${string}`;

export interface Asked {
  path?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
  signal?: AbortSignal;
}

export interface OpsApi {
  /**
   * Runs a row for a person. The answer is what a client reads of the JSON, in the form that the row's schema says.
   * @throws PuenteError as the API refuses. @throws TypeError for a row that there is not.
   */
  ask(person: Person, row: RowName, asked?: Asked): Promise<unknown>;
}

/** What the console is handed: the API, and who is who. */
export interface ConsoleParts {
  api: OpsApi;
  signIn: Pick<SignIn, 'memberOf'>;
  sessions: Sessions;
  log: Log;
}

export function inProcessApi(rows: readonly OpsRoute[], parts: OpsParts): OpsApi {
  const named = new Map(rows.map((row) => [`${row.method} ${row.path}`, row]));
  return {
    async ask(person, name, { path = {}, query = {}, body, signal = new AbortController().signal } = {}) {
      const row = named.get(name);
      if (row === undefined) throw new TypeError(`the ops API has no row ${name}`);
      if (row.body === undefined && body !== undefined)
        throw new PuenteError('bad_request', say('refusal.no_body', { row: `${row.method} ${row.path}` }));
      const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
      const answer = await runRow(row, parts, { person, path, query: given, body, signal });
      return isStreamed(answer) ? answer : JSON.parse(JSON.stringify(answer ?? {}));
    },
  };
}
