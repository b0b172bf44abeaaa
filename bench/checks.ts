/** Proof that the figures count real work: what was answered, what the upstream saw and what is on disk must be equal. */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { databaseOf } from './contestants.ts';

/** What the upstream has answered: orders (translated) and intents (untouched). */
export interface UpstreamCounts {
  orders: number;
  intents: number;
}

export interface Check {
  what: string;
  expected: number;
  found: number;
}

/** @param directory of Puente, which has been stopped. */
export function checkCounts(
  directory: string,
  upstream: UpstreamCounts,
  succeeded: { translated: number; untouched: number },
): Check[] {
  return [
    { what: 'rows in the database', expected: succeeded.translated, found: countRows(directory) },
    { what: 'orders at the upstream', expected: succeeded.translated, found: upstream.orders },
    { what: 'untouched creates at the upstream', expected: succeeded.untouched, found: upstream.intents },
  ];
}

/** Links with their order, as a reader finds them afterwards. */
function countRows(directory: string): number {
  const path = databaseOf(directory);
  if (!existsSync(path)) return 0;
  const database = new Database(path, { readonly: true });
  const row = database
    .prepare<[], { count: number }>(`SELECT count(*) AS count FROM links WHERE state = 'LIVE' AND order_id IS NOT NULL`)
    .get();
  database.close();
  return row?.count ?? 0;
}
