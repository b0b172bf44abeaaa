/** `npm run nightly:report`: a million exchanges in a real SQLite file, reported from a small heap; checks the sums. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tallyOf } from '../src/ops/report/gather.ts';
import type { RecordedExchange } from '../src/proxy/records/evidence.ts';
import { openSqliteStore } from '../src/store/sqlite/store.ts';

const COUNT = 1_000_000;
const BATCH = 500;
/** Heap of the report's process; the exchanges are some hundred megabytes. */
const HEAP_MB = 64;
const DAY_MS = 86_400_000;

if (process.argv[2] === 'report') await report(process.argv[3] ?? '');
else await fillAndReport();

async function fillAndReport(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'puente-million-'));
  try {
    const path = join(directory, 'puente.db');
    const store = await openSqliteStore({ path, create: true, now: Date.now });
    for (let first = 0; first < COUNT; first += BATCH) {
      await store.exchanges.recordExchanges(Array.from({ length: BATCH }, (_, index) => exchange(first + index)));
      if (first % 50_000 === 0) process.stderr.write(`${first} of ${COUNT} written\n`);
    }
    await store.close();
    const child = spawnSync(
      process.execPath,
      [`--max-old-space-size=${HEAP_MB}`, import.meta.filename, 'report', path],
      {
        encoding: 'utf8',
      },
    );
    process.stderr.write(child.stderr);
    process.stdout.write(child.stdout);
    process.exitCode = child.status ?? 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function report(path: string): Promise<void> {
  const store = await openSqliteStore({ path, create: false, now: Date.now });
  const tally = await tallyOf(store.exchanges, { merchant_id: null, since: 0, until: Date.now() + 400 * DAY_MS });
  await store.close();
  const calls = [...tally.traffic.values()].reduce((sum, line) => sum + line.calls, 0);
  const { heapUsed, rss } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ count: tally.count, calls, heap_bytes: heapUsed, rss_bytes: rss })}\n`);
  if (tally.count !== COUNT || calls !== COUNT) process.exitCode = 1;
}

function exchange(number: number): RecordedExchange {
  const orders = number % 2 === 0;
  return {
    id: `0199d2a5-0000-7000-8000-${String(number).padStart(12, '0')}`,
    at: Date.UTC(2026, 0, 1) + number * 60,
    merchant_id: number % 3 === 0 ? '700100300' : '700100200',
    operation: number % 5 === 0 ? 'point.get_intent' : 'point.create_intent',
    kind: 'intents',
    lane: orders ? 'orders' : 'legacy',
    stage: 'canary',
    unit: `point:T${number % 50}`,
    legacy_id: null,
    status: 200,
    error: null,
    outcome: 'ok',
    duration_ms: number % 300,
    tables_revision: 'r',
    upstream: [{ name: 'create', status: 201, code: null, duration_ms: 20 }],
    fired: ['point.create.request#1'],
    losses: [],
    unknown: [],
    limitations: [],
    cells: [{ operation: 'point.create_intent', field: 'body.amount', outcome: 'equal' }],
    lost: [],
    differences: [],
    compared: false,
    shadow: null,
    messages: null,
  };
}
