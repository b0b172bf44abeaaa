/** What each table takes on the disk, in both engines: its rows and its indexes apart. */
import Database from 'better-sqlite3';
import { Client } from 'pg';

export interface TableSize {
  table: string;
  rows: number;
  row_bytes: number;
  index_bytes: number;
}

/** Pages as they are, filled or not; the write-ahead log must have been emptied. */
export function sizesInFile(path: string): TableSize[] {
  const database = new Database(path, { readonly: true });
  try {
    const names = database
      .prepare<[], string>(
        `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name`,
      )
      .pluck()
      .all();
    const bytes = database.prepare<[string, string], { row_bytes: number; index_bytes: number }>(
      `SELECT coalesce(sum(CASE WHEN pages.name = ? THEN pgsize END), 0) AS row_bytes,
         coalesce(sum(CASE WHEN pages.name <> tbl_name THEN pgsize END), 0) AS index_bytes
       FROM dbstat AS pages JOIN sqlite_schema AS parts ON parts.name = pages.name
       WHERE pages.aggregate = TRUE AND tbl_name = ?`,
    );
    return names.map((table) => ({
      table,
      rows: Number(database.prepare(`SELECT count(*) FROM "${table}"`).pluck().get()),
      ...(bytes.get(table, table) ?? { row_bytes: 0, index_bytes: 0 }),
    }));
  } finally {
    database.close();
  }
}

/** Partitions count with the table that they are parts of. */
export async function sizesInDatabase(url: string): Promise<TableSize[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const found = await client.query<{ table: string; row_bytes: string; index_bytes: string }>(
      `SELECT relname AS table, sum(pg_table_size(part.oid)) AS row_bytes, sum(pg_indexes_size(part.oid)) AS index_bytes
       FROM pg_class CROSS JOIN LATERAL (
         SELECT pg_class.oid UNION SELECT relid FROM pg_partition_tree(pg_class.oid)) AS part (oid)
       WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
       GROUP BY relname ORDER BY relname`,
    );
    const sizes: TableSize[] = [];
    for (const { table, row_bytes, index_bytes } of found.rows) {
      const counted = await client.query<{ rows: string }>(`SELECT count(*) AS rows FROM "${table}"`);
      const rows = Number(counted.rows[0]?.rows);
      sizes.push({ table, rows, row_bytes: Number(row_bytes), index_bytes: Number(index_bytes) });
    }
    return sizes;
  } finally {
    await client.end();
  }
}
