/** Whether deleting keeps up and the size stays stable: days of new sales with as many deleted, on each engine. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Store, UpkeepStore } from '../../src/ops/ports.ts';
import { tidyRound } from '../../src/ops/upkeep/chores.ts';
import { Secret } from '../../src/proxy/vault.ts';
import { openPostgresStore } from '../../src/store/postgres/store.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { newExchange } from '../../test/store/contract/evidence-kit.ts';
import { attempt, DAY_MS, finished, newEvent, newNotice, orderId } from '../../test/store/contract/harness.ts';
import { startServerProcess } from '../../test/store/postgres/server-process.ts';
import type { Check } from './checks.ts';
import { askServer, type Engine } from './databases.ts';

export interface RetentionResult {
  engine: Engine;
  sales_per_day: number;
  kept_days: number;
  /** After each day's deleting. */
  days: { bytes: number; sales_deleted: number; took_ms: number }[];
  /** With no other load. */
  sales_deleted_per_second: number;
  /** The longest time that the writer is blocked, which a create would wait. */
  longest_step_ms: number;
  /** Deleting row by row (always in a file); includes the server's writes to clean up. */
  exchanges_by_rows: { per_second: number; log_bytes_each: number | null };
  /** Dropping a whole partition; null for the file. */
  exchanges_by_span: { rows: number; took_ms: number; log_bytes: number } | null;
  checks: Check[];
}

const KEPT_DAYS = 3;
const DAYS = 9;
/** As in `evidence-chores.ts`. */
const EXCHANGE_ROWS = 500;
/** Exchanges per sale of a day where only exchanges are deleted, as of a polling till. */
const EXCHANGES = 10;
const TOGETHER = 64;
/** The size of a sale's order after a read; the rest of its row is that of the contract suite. */
const ORDER = { status: 'processed', description: 'x'.repeat(600) };

/** One engine's database under measurement, with a clock that the benchmark sets. */
interface Ground {
  store: Store;
  clock: { now: number };
  bytes(): Promise<number>;
  /** Bytes of the server's write-ahead log so far; null without a server. */
  logged(): Promise<number | null>;
}

/** @param sales of one day. */
export async function measureRetention(
  directory: string,
  sales: number,
  progress: (text: string) => void,
): Promise<RetentionResult[]> {
  progress(`retention: ${DAYS} days of ${sales} sales in a file`);
  const onFile = await withFile(directory, (ground) => live('SQLite', ground, sales, progress));
  progress(`retention: ${DAYS} days of ${sales} sales in a database`);
  return [onFile, await withServer((ground) => live('PostgreSQL', ground, sales, progress))];
}

async function live(
  engine: Engine,
  ground: Ground,
  sales: number,
  progress: (text: string) => void,
): Promise<RetentionResult> {
  const days: RetentionResult['days'] = [];
  let longest_step_ms = 0;
  const watched: Pick<UpkeepStore, 'tidyOld'> = {
    async tidyOld(limits, limit) {
      const since = performance.now();
      const rows = await ground.store.upkeep.tidyOld(limits, limit);
      longest_step_ms = Math.max(longest_step_ms, performance.now() - since);
      return rows;
    },
  };
  for (let day = 0; day < DAYS; day++, ground.clock.now += DAY_MS) {
    await sell(ground, sales);
    const before = ground.clock.now - KEPT_DAYS * DAY_MS;
    const since = performance.now();
    const gone = await tidyRound(
      watched,
      {
        links_before: before,
        notices_before: before,
        events_before: before,
        sums_before: before,
        tokens_before: before,
      },
      () => true,
    );
    const took_ms = performance.now() - since;
    await tidyExchanges(ground, before);
    days.push({ bytes: await ground.bytes(), sales_deleted: gone.links, took_ms });
    progress(`retention, ${engine}, day ${day + 1}: ${Math.round((days.at(-1)?.bytes ?? 0) / 2 ** 20)} MB`);
  }
  const busy = days.filter(({ sales_deleted }) => sales_deleted > 0);
  const deleted = busy.reduce((sum, one) => sum + one.sales_deleted, 0);
  const kept = (await ground.store.upkeep.counts()).links.DONE ?? 0;
  return {
    engine,
    sales_per_day: sales,
    kept_days: KEPT_DAYS,
    days,
    sales_deleted_per_second: deleted / (busy.reduce((sum, one) => sum + one.took_ms, 0) / 1000),
    longest_step_ms,
    exchanges_by_rows: await byRows(ground, EXCHANGES * sales),
    exchanges_by_span: engine === 'SQLite' ? null : await bySpan(ground, EXCHANGES * sales),
    checks: [{ what: `sales kept on ${engine}`, expected: DAYS * sales - deleted, found: kept }],
  };
}

/** Makes sales at the current time, each with one event, one delivered notice and two exchanges. */
async function sell(ground: Ground, sales: number): Promise<void> {
  const {
    store,
    clock: { now },
  } = ground;
  for (let first = 0; first < sales; first += TOGETHER) {
    const together = Array.from({ length: Math.min(TOGETHER, sales - first) }, async () => {
      const id = randomUUID();
      const sale = await finished(store, { slot: `point:${id}`, created_at: now, updated_at: now }, now);
      const notices = [newNotice(sale, JSON.stringify(ORDER), { created_at: now })];
      await store.links.saveLink(
        sale,
        { order_id: orderId(0) + id, order: { ...ORDER, id }, updated_at: now },
        { notices },
      );
      await store.events.receiveEvent(newEvent({ order_id: orderId(0) + id, received_at: now }));
    });
    await Promise.all(together);
    const due = await store.notices.dueNotices(now, 2 * TOGETHER);
    const done = { state: 'delivered', next_attempt_at: now } as const;
    await Promise.all(due.map((notice) => store.notices.recordAttempt(notice, attempt('delivered', 200), done)));
    const events = await store.events.dueEvents(now, 2 * TOGETHER);
    await Promise.all(events.map(({ sequence }) => store.events.saveEvent(sequence, { state: 'done' })));
  }
  await exchange(store, 2 * sales, now);
}

async function exchange(store: Store, count: number, at: number): Promise<void> {
  for (let first = 0; first < count; first += 100)
    await store.exchanges.recordExchanges(
      Array.from({ length: 100 }, () => newExchange({ at, legacy_id: randomUUID(), fired: FIRED })),
    );
}

/** As many as in a usual create. */
const FIRED = Array.from({ length: 16 }, (_, row) => `point.create.request#${row}`);

async function tidyExchanges({ store }: Ground, before: number): Promise<number> {
  let gone = 0;
  for (let rows = EXCHANGE_ROWS; rows === EXCHANGE_ROWS; gone += rows)
    rows = await store.exchanges.tidyExchanges(before, before, EXCHANGE_ROWS);
  return gone;
}

/** Uses a time without a partition, so rows are deleted one by one. */
async function byRows(ground: Ground, count: number): Promise<RetentionResult['exchanges_by_rows']> {
  const long_ago = ground.clock.now - 1000 * DAY_MS;
  await exchange(ground.store, count, long_ago);
  const [since, logged] = [performance.now(), await ground.logged()];
  const gone = await tidyExchanges(ground, long_ago + 1);
  const per_second = gone / ((performance.now() - since) / 1000);
  await ground.bytes();
  const end = await ground.logged();
  return { per_second, log_bytes_each: logged === null || end === null ? null : (end - logged) / gone };
}

async function bySpan(ground: Ground, count: number): Promise<RetentionResult['exchanges_by_span']> {
  await ground.store.exchanges.tidyExchanges(ground.clock.now - KEPT_DAYS * DAY_MS, 0, EXCHANGE_ROWS);
  await exchange(ground.store, count, ground.clock.now);
  // Only exchanges too young to delete are left of the days before; they are deleted as well.
  ground.clock.now += (KEPT_DAYS + 2) * DAY_MS;
  const [since, logged] = [performance.now(), Number(await ground.logged())];
  await ground.store.exchanges.tidyExchanges(ground.clock.now - KEPT_DAYS * DAY_MS, 0, EXCHANGE_ROWS);
  const took_ms = performance.now() - since;
  return { rows: count, took_ms, log_bytes: Number(await ground.logged()) - logged };
}

/** Later than the times that a new database keeps outside of partitions. */
const BEGIN = (Math.floor(Date.now() / DAY_MS) + 10) * DAY_MS;

async function withFile<Result>(directory: string, work: (ground: Ground) => Promise<Result>): Promise<Result> {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, 'retention.db');
  const clock = { now: BEGIN };
  const store = await openSqliteStore({ path, create: true, now: () => clock.now });
  const ground: Ground = {
    store,
    clock,
    bytes: async () => statSync(path).size,
    logged: async () => null,
  };
  try {
    return await work(ground);
  } finally {
    await store.close();
  }
}

async function withServer<Result>(work: (ground: Ground) => Promise<Result>): Promise<Result> {
  const server = await startServerProcess();
  const { url } = server;
  const ask = async (sql: string) => Number(await askServer(url, `SELECT ${sql}`));
  const clock = { now: BEGIN };
  const store = await openPostgresStore({
    url: new Secret(url),
    now: () => clock.now,
    connections: 10,
    connect_timeout_ms: 60_000,
    statement_timeout_ms: 20_000,
  });
  const ground: Ground = {
    store,
    clock,
    async bytes() {
      // As autovacuum would do later.
      await askServer(url, 'VACUUM');
      return ask('pg_database_size(current_database())');
    },
    logged: () => ask(`pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')`),
  };
  try {
    return await work(ground);
  } finally {
    await store.close();
    await server.stop();
  }
}
