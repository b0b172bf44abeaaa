/** Runs a row for somebody, whichever door the call came by: the API and the console refuse and do the same. */
import { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import { parsed } from './parse.ts';
import { isEnough } from './person.ts';
import type { OpsParts, OpsRoute, Person } from './route.ts';

const NOTHING = z.strictObject({});

/** What a call brings, before anything of it was looked at. */
export interface RowAsk {
  person: Person;
  path: Record<string, string>;
  query: unknown;
  /** Undefined for none. */
  body: unknown;
  signal: AbortSignal;
}

/** @throws PuenteError forbidden when the person's role is not enough. */
export function permit(row: OpsRoute, person: Person): void {
  if (isEnough(person.role, row.role)) return;
  throw new PuenteError(
    'forbidden',
    say('refusal.role', {
      name: person.name,
      role: person.role,
      command: row.command,
      row: `${row.method} ${row.path}`,
      needed: row.role,
      note: row.role_note ?? null,
    }),
    { facts: { role: person.role, needed: row.role } },
  );
}

/** @throws PuenteError forbidden, bad_request for what the row does not take, and whatever the operation refuses. */
export async function runRow(row: OpsRoute, parts: OpsParts, ask: RowAsk): Promise<unknown> {
  permit(row, ask.person);
  return row.run(parts, {
    path: ask.path,
    query: parsed(row.query ?? NOTHING, ask.query),
    body: row.body === undefined ? undefined : parsed(row.body, ask.body ?? {}),
    person: ask.person,
    signal: ask.signal,
  });
}
