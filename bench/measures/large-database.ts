/** One Puente on a database with many links: filled, started, and ready. */
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { synchronise } from '../../src/store/sqlite/under-way.ts';
import { listen, shut } from '../../test/listen.ts';
import { prepareSales } from '../cases/prepare.ts';
import { createIntent } from '../cases/requests.ts';
import type { Ground } from '../contestants/contestants.ts';
import { databaseOf, startPuente } from '../contestants/puente.ts';
import { residentMb, untilQuiet } from '../machine.ts';
import type { Running } from '../processes.ts';
import { countIn } from './databases.ts';

export interface StartFigures {
  links: number;
  in_doubt: number;
  database_mb: number;
  /** From the start of the process until `/readyz` answers 200. */
  ready_ms: number;
  /** After the work that follows a start. */
  resident_mb: number | null;
}

export interface LargePuente {
  figures: StartFigures;
  running: Running;
  /** Legacy ids of some paid sales, spread over the table. */
  ids: string[];
}

/** Creates in doubt at the start, as the goal requires. */
const DOUBTS = 1000;
const START_LIMIT_MS = 120_000;
/** First number of the paid sales that are copied; above those of every measurement. */
const FIRST_MODEL = 4_000_000_000;

/** The file is in the system's cache when the process starts, as after a restart and unlike after a reboot. */
export async function startLarge(
  ground: Ground,
  links: number,
  progress: (text: string) => void,
): Promise<LargePuente> {
  mkdirSync(ground.directory, { recursive: true });
  const path = databaseOf(ground.directory);
  const unpinned = { ...ground, core: null };
  const small = await startPuente(unpinned);
  await prepareSales(small.said, 'F', FIRST_MODEL + links, 1);
  await small.stop();
  await makeDoubts(unpinned, DOUBTS);
  const ids = fillLinks(path, links, progress);
  const in_doubt = countIn(path, IN_DOUBT);
  const running = await startPuente(ground, {}, START_LIMIT_MS);
  const ready_ms = await untilReady(running);
  await untilResolved(path);
  await untilQuiet(running.pid);
  const database_mb = statSync(path).size / 2 ** 20;
  return { figures: { links, in_doubt, database_mb, ready_ms, resident_mb: residentMb(running.pid) }, running, ids };
}

async function untilReady(running: Running): Promise<number> {
  const ops = /ops door +(http:\/\/\S+)/.exec(readFileSync(running.log, 'utf8'))?.[1];
  const since = performance.now();
  while (!(await fetch(`${ops}/readyz`)).ok) await pause(5);
  return running.ready_ms + performance.now() - since;
}

/** Doubts are resolved at their own pace; the remaining ones would be measured with the creates. */
async function untilResolved(path: string): Promise<void> {
  for (const limit = Date.now() + START_LIMIT_MS; countIn(path, IN_DOUBT) > 0; await pause(200)) {
    if (Date.now() > limit) throw new Error('Creates in doubt are not resolved though the upstream answers.');
  }
}

const IN_DOUBT = "SELECT count(*) FROM links WHERE next_check_at IS NOT NULL AND state IN ('SENDING', 'IN_DOUBT')";

// Creates in doubt, made by an upstream that takes every order and never answers.

const DOUBTS_TOGETHER = 50;
/** Above the number of every other sale. */
const FIRST_DOUBT = 5_000_000_000;

/** Leaves `count` creates in doubt in the directory's database. */
async function makeDoubts(ground: Omit<Ground, 'upstream'>, count: number): Promise<void> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      if (request.method === 'POST') return request.socket.destroy();
      response.end('{"id":700100200,"nickname":"BENCH","site_id":"MLA","country_id":"AR"}');
    });
  });
  const port = await listen(server);
  const puente = await startPuente(
    { ...ground, upstream: `http://127.0.0.1:${port}` },
    {
      PUENTE_CREATE_ATTEMPTS: '1',
      PUENTE_CREATE_ATTEMPT_TIMEOUT_MS: '1000',
      PUENTE_UPSTREAM_POOL_BREAKER_FAILURES: '0',
      PUENTE_RECONCILE_CALLS_PER_SECOND: '10',
    },
  );
  for (let at = 0; at < count; at += DOUBTS_TOGETHER) {
    await Promise.all(
      Array.from({ length: Math.min(DOUBTS_TOGETHER, count - at) }, async (_, index) => {
        const { method, path, headers, body } = createIntent('N', FIRST_DOUBT + at + index);
        await (await fetch(puente.said + path, { method, headers, body })).arrayBuffer();
      }),
    );
  }
  await puente.stop();
  await shut(server);
}

// Large databases, made in bulk: copies of one paid sale, each with ids of its own.

/** Rows per transaction, so that the write-ahead log stays small. */
const ROWS_AT_ONCE = 100_000;
/** SQLite's page cache in KiB, so that indexes are not read again and again. */
const CACHE_KIB = 512 * 1024;

/** Columns with a value of their own; the rest is copied. Ids grow with time, as real ones do. */
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
 * Fills up to `rows` links. The table must hold a paid sale, and no other process may have it open.
 * @returns legacy ids of some of the rows, spread over all of them.
 * @throws Error without a paid sale to copy.
 */
export function fillLinks(path: string, rows: number, progress: (text: string) => void): string[] {
  const ids = fill(path, rows, progress);
  synchronise(path); // otherwise the first durable write of the measured process would wait for all of it
  return ids;
}

function fill(path: string, rows: number, progress: (text: string) => void): string[] {
  const database = new Database(path);
  try {
    database.pragma('synchronous = OFF'); // a temporary database
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
