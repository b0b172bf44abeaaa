/** One statement on a PostgreSQL server, beside what is measured. */
import { Client } from 'pg';

/** @returns the first value of the first row; undefined for a statement without rows. @throws Error of the server. */
export async function askServer(url: string, sql: string): Promise<unknown> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<unknown[]>({ text: sql, rowMode: 'array' });
    return rows[0]?.[0];
  } finally {
    await client.end();
  }
}
