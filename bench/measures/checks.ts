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
  translated: number;
  untouched: number;
}

/** @param database of Puente, which has been stopped. */
export function checkCounts(database: string, seen: Seen, created: Created): Check[] {
  return [
    {
      what: 'rows with their order in the database',
      expected: created.translated,
      found: countIn(database, 'SELECT count(*) FROM links WHERE order_id IS NOT NULL'),
    },
    // Without its evidence a call is cheaper than it is.
    {
      what: 'exchanges that were left out',
      expected: 0,
      found: countIn(database, "SELECT coalesce(sum(count), 0) FROM shed WHERE reason = 'evidence'"),
    },
    { what: 'orders made upstream', expected: created.translated, found: seen.orders.length },
    { what: 'different idempotency keys upstream', expected: created.translated, found: seen.keys },
    { what: 'different sales upstream', expected: created.translated, found: new Set(seen.orders).size },
    { what: 'untouched creates upstream', expected: created.untouched, found: seen.intents },
    { what: 'requests that the upstream did not know', expected: 0, found: seen.unknown },
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
