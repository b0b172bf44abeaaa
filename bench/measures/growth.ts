/** Growth by sales: whole sales through Puente's door on each engine, then the bytes of each table. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { Client } from 'pg';
import { startServerProcess } from '../../test/store/postgres/server-process.ts';
import { prepareSales } from '../cases/prepare.ts';
import { databaseOf, OPS_TOKEN, startPuente } from '../contestants/puente.ts';
import { cpuSeconds, familyCpuSeconds, residentMb, untilQuiet } from '../machine.ts';
import type { Running } from '../processes.ts';
import { startUpstream } from '../upstream/start.ts';
import type { Check } from './checks.ts';
import { askServer, type Engine } from './databases.ts';

/** Disk space of a table, rows and indexes apart. */
interface TableSize {
  table: string;
  rows: number;
  row_bytes: number;
  index_bytes: number;
}

export interface GrowthResult {
  engine: Engine;
  /** Measured ones. */
  sales: number;
  /** Those, and the ones of the warm-up: all that are in the tables. */
  made: number;
  /** Tables that grow with sales; the others depend on the operator's data. */
  tables: TableSize[];
  /** Puente's processor time, all threads. */
  cpu_us_per_sale: number;
  /** Processor time of the database server; null where the database is a file. */
  server_cpu_us_per_sale: number | null;
  /** Bytes that Puente wrote to disk; of a server only its write-ahead log, which a standby or archive receives too. */
  written_bytes_per_sale: number | null;
  resident_mb: number | null;
  /** Delivered to one receiver during the sales; receivers on other hosts have their own slots. */
  notices_per_second: number;
  check: Check;
}

/** Tables with at least one row per sale, for ever or until retention deletes it. */
export const GROWING = ['links', 'link_states', 'notices', 'notice_attempts', 'events', 'exchanges'] as const;

/** Of a paid sale at a terminal: one for the intent, one for the payment. */
const NOTICES_PER_SALE = 2;
/** Sales before the measured ones, and no more than those: V8 compiles, and PostgreSQL plans for tables with rows. */
const MOST_WARM_SALES = 700;
/** Rarely, because each look counts all waiting notices. */
const LOOK_EVERY_MS = 250;
/** Time limit per sale with all its notices, on a busy machine; a few sales get a minute. */
const PATIENCE_MS = 200;
const LEAST_PATIENCE_MS = 60_000;

/**
 * A sale is one create, one payment event, reads until it shows as paid, and two delivered notices.
 * @throws Error with the first wrong answer.
 */
export async function measureGrowth(
  directory: string,
  sales: number,
  progress: (text: string) => void,
): Promise<GrowthResult[]> {
  const results: GrowthResult[] = [];
  for (const engine of ['SQLite', 'PostgreSQL'] as const) {
    const own = join(directory, engine);
    mkdirSync(own);
    progress(`growth: ${sales} whole sales on ${engine}`);
    results.push(engine === 'SQLite' ? await onFile(own, sales) : await onServer(own, sales));
  }
  return results;
}

async function onFile(directory: string, sales: number): Promise<GrowthResult> {
  const facts = await sell(directory, sales, {});
  const path = databaseOf(directory);
  const database = new Database(path);
  database.pragma('wal_checkpoint(TRUNCATE)');
  database.close();
  return resultOf('SQLite', sizesInFile(path), facts);
}

async function onServer(directory: string, sales: number): Promise<GrowthResult> {
  const server = await startServerProcess();
  try {
    const { url } = server;
    const ask = async (sql: string): Promise<string> => String(await askServer(url, `SELECT ${sql}`));
    const postmaster = Number.parseInt(await ask(`pg_read_file('postmaster.pid')`), 10);
    let begun = '';
    const warmed = async (): Promise<void> => {
      await askServer(url, 'VACUUM ANALYZE');
      begun = await ask('pg_current_wal_lsn()');
    };
    const facts = await sell(directory, sales, { PUENTE_POSTGRES_URL: url }, { postmaster, warmed });
    const written = Number(await ask(`pg_wal_lsn_diff(pg_current_wal_lsn(), '${begun}')`));
    // As autovacuum would do later.
    await askServer(url, 'VACUUM ANALYZE');
    const tables = await sizesInDatabase(url);
    return { ...resultOf('PostgreSQL', tables, facts), written_bytes_per_sale: written / sales };
  } finally {
    await server.stop();
  }
}

type Facts = Omit<GrowthResult, 'engine' | 'tables' | 'check'> & { told: number };

function resultOf(engine: Engine, tables: readonly TableSize[], { told, ...facts }: Facts): GrowthResult {
  return {
    engine,
    tables: tables.filter(({ table }) => GROWING.some((name) => name === table)),
    ...facts,
    check: { what: `notices received of sales on ${engine}`, expected: facts.made * NOTICES_PER_SALE, found: told },
  };
}

interface DatabaseServer {
  /** Its process, whose others work for Puente. */
  postmaster: number;
  /** Called before the measured sales: does what autovacuum does after a minute. */
  warmed(): Promise<void>;
}

async function sell(
  directory: string,
  sales: number,
  settings: Record<string, string>,
  server: DatabaseServer | null = null,
): Promise<Facts> {
  const upstream = await startUpstream(directory, null);
  const puente = await startPuente(
    { upstream: upstream.said, core: null, directory },
    {
      PUENTE_MERCHANTS_NOTICE_URL: `${upstream.said}/bench/notices`,
      PUENTE_OUTBOUND_ALLOW_PRIVATE: 'true',
      PUENTE_OUTBOUND_ALLOW_HTTP: 'true',
      // The usual limit on reads of orders after events would dominate the measurement.
      PUENTE_RECONCILE_CALLS_PER_SECOND: '10000',
      ...settings,
    },
  );
  const used = () => ({
    cpu_s: cpuSeconds(puente.pid) ?? Number.NaN,
    server_cpu_s: server === null ? null : familyCpuSeconds(server.postmaster),
    written: writtenBytes(puente.pid),
  });
  const warm = Math.min(MOST_WARM_SALES, sales);
  await makeSales(puente, 1, warm);
  await untilQuiet(puente.pid);
  await server?.warmed();
  const before = used();
  const told_ms = await makeSales(puente, 1 + warm, sales);
  await untilQuiet(puente.pid);
  const after = used();
  const resident_mb = residentMb(puente.pid);
  await puente.stop();
  await upstream.stop();
  const perSale = (first: number | null, last: number | null): number | null =>
    first === null || last === null ? null : (last - first) / sales;
  const server_cpu_s = perSale(before.server_cpu_s, after.server_cpu_s);
  return {
    cpu_us_per_sale: ((after.cpu_s - before.cpu_s) / sales) * 1e6,
    server_cpu_us_per_sale: server_cpu_s === null ? null : server_cpu_s * 1e6,
    written_bytes_per_sale: perSale(before.written, after.written),
    resident_mb,
    notices_per_second: (sales * NOTICES_PER_SALE) / (told_ms / 1000),
    sales,
    made: warm + sales,
    told: upstream.seen().notices,
  };
}

/** Makes sales `first` and later. @returns ms from their first delivered notice to the last. */
async function makeSales(puente: Running, first: number, sales: number): Promise<number> {
  const notices = (first - 1) * NOTICES_PER_SALE;
  const limit_ms = Math.max(LEAST_PATIENCE_MS, sales * PATIENCE_MS);
  const [told_ms] = await Promise.all([
    untilTold(puente, notices, notices + sales * NOTICES_PER_SALE, limit_ms),
    prepareSales(puente.said, 'F', first, sales),
  ]);
  return told_ms;
}

/** Ms from the first notice delivered after so many to the last. @throws Error with the counts after the limit. */
async function untilTold(puente: Running, delivered: number, notices: number, limit_ms: number): Promise<number> {
  const ops = /ops door +(http:\/\/\S+)/.exec(readFileSync(puente.log, 'utf8'))?.[1];
  let first = 0;
  for (const limit = Date.now() + limit_ms; ; ) {
    const page = await (await fetch(`${ops}/metrics`, { headers: { authorization: `Bearer ${OPS_TOKEN}` } })).text();
    const taken = Number(/^puente_notice_attempts_total\{outcome="delivered"\} (\d+)/m.exec(page)?.[1] ?? 0);
    if (taken > delivered && first === 0) first = performance.now();
    if (taken >= notices) return performance.now() - first;
    if (Date.now() > limit)
      throw new Error(
        `Only ${taken} of ${notices} notices were taken:\n${page.match(/^puente_(notice|waiting).*/gm)?.join('\n')}`,
      );
    await pause(LOOK_EVERY_MS);
  }
}

/** Bytes that a process wrote to disk; null where the system does not report them. */
function writtenBytes(pid: number): number | null {
  try {
    return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? Number.NaN);
  } catch {
    return null;
  }
}

/** Counts whole pages, full or not; the write-ahead log must be empty. */
function sizesInFile(path: string): TableSize[] {
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

/** Partitions count with their table. */
async function sizesInDatabase(url: string): Promise<TableSize[]> {
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
