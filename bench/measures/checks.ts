/** Proof that the figures count real work: what was answered, what the upstream saw and what is on disk must be equal. */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { Seen } from '../upstream/start.ts';

export interface Check {
  what: string;
  expected: number;
  found: number;
}

/** Creates that were answered 2xx. */
export interface Created {
  by_puente: number;
  by_bare_translation: number;
  untouched: number;
}

/** @param databases of those that were stopped; one that did not take part has none. */
export function checkCounts(
  databases: { puente: string; bare_translation?: string },
  seen: Seen,
  { by_puente, by_bare_translation, untouched }: Created,
): Check[] {
  return [
    {
      what: 'rows with their order in the database',
      expected: by_puente,
      found: countIn(databases.puente, 'SELECT count(*) FROM links WHERE order_id IS NOT NULL'),
    },
    ...rowsOfBareTranslation(databases.bare_translation, by_bare_translation),
    // Without its evidence a call is cheaper than it is.
    {
      what: 'exchanges that were left out',
      expected: 0,
      found: countIn(databases.puente, "SELECT coalesce(sum(count), 0) FROM shed WHERE reason = 'evidence'"),
    },
    { what: 'orders made upstream', expected: by_puente + by_bare_translation, found: seen.orders.length },
    { what: 'different idempotency keys upstream', expected: by_puente + by_bare_translation, found: seen.keys },
    { what: 'different sales upstream', expected: by_puente + by_bare_translation, found: new Set(seen.orders).size },
    { what: 'untouched creates upstream', expected: untouched, found: seen.intents },
    { what: 'requests that the upstream did not know', expected: 0, found: seen.unknown },
  ];
}

function rowsOfBareTranslation(database: string | undefined, expected: number): Check[] {
  if (database === undefined) return [];
  const question = 'SELECT count(*) FROM links WHERE order_id IS NOT NULL AND body IS NULL';
  return [
    {
      what: 'rows with their order in the database of the bare translation',
      expected,
      found: countIn(database, question),
    },
  ];
}

/** One number, as a reader finds it afterwards. */
function countIn(path: string, question: string): number {
  if (!existsSync(path)) return 0;
  const database = new Database(path, { readonly: true });
  try {
    return Number(database.prepare(question).pluck().get());
  } finally {
    database.close();
  }
}
