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
  by_puente_beside: number;
  by_bare_translation: number;
  untouched: number;
}

/** @param databases of those that were stopped; one that did not take part has none. */
export function checkCounts(
  databases: { puente: string; puente_beside?: string; bare_translation?: string },
  seen: Seen,
  { by_puente, by_puente_beside, by_bare_translation, untouched }: Created,
): Check[] {
  const orders = by_puente + by_puente_beside + by_bare_translation;
  return [
    ...rowsOfPuente('', databases.puente, by_puente),
    ...rowsOfPuente(' beside', databases.puente_beside, by_puente_beside),
    ...rowsOfBareTranslation(databases.bare_translation, by_bare_translation),
    { what: 'orders made upstream', expected: orders, found: seen.orders.length },
    { what: 'different idempotency keys upstream', expected: orders, found: seen.keys },
    { what: 'different sales upstream', expected: orders, found: new Set(seen.orders).size },
    { what: 'untouched creates upstream', expected: untouched, found: seen.intents },
    { what: 'requests that the upstream did not know', expected: 0, found: seen.unknown },
  ];
}

function rowsOfPuente(which: string, database: string | undefined, expected: number): Check[] {
  if (database === undefined) return [];
  const question = 'SELECT count(*) FROM links WHERE order_id IS NOT NULL';
  const left_out = "SELECT coalesce(sum(count), 0) FROM shed WHERE reason = 'evidence'";
  return [
    { what: `rows with their order in the database${which}`, expected, found: countIn(database, question) },
    // Without its evidence a call is cheaper than it is.
    { what: `exchanges${which} that were left out`, expected: 0, found: countIn(database, left_out) },
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
