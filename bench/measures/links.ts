/** Large databases, made in bulk: copies of one paid sale, each with ids of its own. */
import Database from 'better-sqlite3';
import { synchronise } from '../../src/store/sqlite/synchronise.ts';

/** Rows of one transaction: the write-ahead log stays small. */
const ROWS_AT_ONCE = 100_000;
/** Of the database's pages kept in memory meanwhile, KiB, so that indexes are not read again and again. */
const CACHE_KIB = 512 * 1024;

/** What is the row's own; the rest is copied. Ids grow with time, as real ones do. */
const OWN: Readonly<Record<string, string>> = {
  legacy_id: "printf('01900000-%04x-7%03x-8000-%012x', n >> 16, (n >> 4) & 4095, n)",
  unit: "'BENCHD' || printf('%010d', n)",
  slot: "'point:BENCHD' || printf('%010d', n)",
  fingerprint: "'bench-' || n",
  client_key: 'NULL',
  reference_sent: "'bench' || n",
  client_reference: "'12_4_old' || n",
  idempotency_key: "'bench-key-' || n",
  order_id: "'ORD01BENCH00000000D' || printf('%010d', n)",
  order_json: "replace(order_json, order_id, 'ORD01BENCH00000000D' || printf('%010d', n))",
  payment_id: "'8' || printf('%010d', n)",
};

/**
 * Fills up to `rows` links. The table must hold a paid sale already, and nobody else may have it open.
 * @returns legacy ids of some of the rows, spread over all of them.
 * @throws Error when there is no paid sale to copy.
 */
export function fillLinks(path: string, rows: number, progress: (text: string) => void): string[] {
  const ids = fill(path, rows, progress);
  synchronise(path); // or the first durable write of the process that is measured would wait for all of it
  return ids;
}

function fill(path: string, rows: number, progress: (text: string) => void): string[] {
  const database = new Database(path);
  try {
    database.pragma('synchronous = OFF'); // a database that is thrown away
    database.pragma(`cache_size = -${CACHE_KIB}`);
    const model = database
      .prepare("SELECT rowid FROM links WHERE state = 'DONE' AND payment_id IS NOT NULL LIMIT 1")
      .pluck()
      .get();
    if (model === undefined) throw new Error('There is no paid sale to copy.');
    const columns = database.prepare<[], string>("SELECT name FROM pragma_table_info('links')").pluck().all();
    const insert = database.prepare(
      `WITH RECURSIVE counted (n) AS (SELECT @first UNION ALL SELECT n + 1 FROM counted WHERE n < @last)
       INSERT INTO links (${columns.join(', ')})
       SELECT ${columns.map((name) => OWN[name] ?? name).join(', ')} FROM counted, (SELECT * FROM links WHERE rowid = @model)`,
    );
    const present = Number(database.prepare('SELECT count(*) FROM links').pluck().get());
    for (let first = present + 1; first <= rows; first += ROWS_AT_ONCE) {
      insert.run({ first, last: Math.min(rows, first + ROWS_AT_ONCE - 1), model });
      database.pragma('wal_checkpoint(TRUNCATE)');
      progress(`${Math.min(rows, first + ROWS_AT_ONCE - 1)} of ${rows} links made`);
    }
    const step = Math.max(1, Math.floor((rows - present) / 200));
    return Array.from({ length: Math.min(200, rows - present) }, (_, index) => {
      const n = present + 1 + index * step;
      return String(
        database
          .prepare("SELECT legacy_id FROM links WHERE order_id = 'ORD01BENCH00000000D' || printf('%010d', ?)")
          .pluck()
          .get(n),
      );
    });
  } finally {
    database.close();
  }
}
