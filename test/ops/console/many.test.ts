/** The board of five thousand merchants in a real browser: search, sort, pages, refresh, one store read for all. */
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium } from '../../chromium.ts';
import { ANA, eventually, PEOPLE, POINT, startBench } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { type Opened, openConsole } from './browser.ts';

const MERCHANTS = 5_000;

/** Copies one merchant many times: its row (without its token) and today's calls. */
function multiply(path: string): void {
  const database = new Database(path);
  const columnsOf = (table: string): string[] =>
    database.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table);
  const copy = (table: string, own: Readonly<Record<string, string>>): void => {
    const columns = columnsOf(table).filter((name) => name !== 'sequence');
    database
      .prepare(
        `WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ${MERCHANTS - 1})
         INSERT INTO ${table} (${columns.join(', ')})
         SELECT ${columns.map((name) => own[name] ?? name).join(', ')} FROM counted, (SELECT * FROM ${table})`,
      )
      .run();
  };
  const merchant = `'8' || printf('%08d', n)`;
  database.transaction(() => {
    copy('merchants', { id: merchant });
    copy('exchanges', { id: `id || '-' || n`, merchant_id: merchant });
    copy('traffic', { merchant_id: merchant });
  })();
  database.close();
}

function callsIn(path: string): number {
  const database = new Database(path, { readonly: true });
  const calls = database.prepare<[], number>('SELECT count(*) FROM exchanges').pluck().get() ?? 0;
  database.close();
  return calls;
}

describe.skipIf(!hasChromium)('a fleet of five thousand', () => {
  let console_: Opened;
  const took: string[] = [];
  /** Durations are printed only; no assertion depends on them. */
  const timed = async <Made>(what: string, work: () => Promise<Made>): Promise<Made> => {
    const began = performance.now();
    const made = await work();
    took.push(`${what} ${Math.round(performance.now() - began)} ms`);
    return made;
  };
  const bench = openForAll(() => startBench({ ...PEOPLE, PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' }));
  beforeAll(async () => {
    for (let call = 0; call < 5; call++) await bench.till(`${POINT}/devices`);
    const path = join(bench.data_dir, 'puente.db');
    await eventually(
      async () => callsIn(path),
      (calls) => calls === 5,
    );
    multiply(path);
    console_ = await openConsole(bench, ANA);
  });
  afterAll(async () => {
    process.stdout.write(`the board of ${MERCHANTS} merchants: ${took.join(', ')}\n`);
    await console_.close();
  });

  it('is shown by pages, and found by a part of its number', async () => {
    const { page, go } = console_;
    await timed('first page', () => go('/'));
    expect(await page.locator('#board').textContent()).toContain('5,000');
    expect(await page.locator('#board tbody tr').count()).toBe(50);
    await timed('a search as it is typed', async () => {
      await page.getByLabel('Merchant', { exact: true }).fill('800004321');
      await eventually(
        () => page.locator('#board tbody tr').count(),
        (rows) => rows === 1,
      );
    });
    expect(await page.locator('#board tbody tr').textContent()).toContain('800004321');
    await timed('sorted by rate, page 100', () => go('/?sort=rate&page=100'));
    expect(await page.locator('#board tbody tr').count()).toBe(50);
  });

  it('is read once for all who look at once, and a till is answered meanwhile', async () => {
    const late = monitorEventLoopDelay({ resolution: 1 });
    late.enable();
    const views = timed('twenty who look at once', () =>
      Promise.all(Array.from({ length: 20 }, () => bench.ops('/api/fleet?per_page=500&sort=p99'))),
    );
    const tills = await Promise.all(Array.from({ length: 20 }, () => bench.till(`${POINT}/devices`)));
    const seen = await views;
    late.disable();
    took.push(`a turn of the process meanwhile ${Math.round(late.max / 1e6)} ms at most`);
    expect(tills.map(({ status }) => status)).toEqual(tills.map(() => 200));
    const bodies = seen.map(({ body }) => body as { at: string; totals: { merchants: number }; merchants: unknown[] });
    // A page that refreshes itself may have read just before.
    expect(new Set(bodies.map(({ at }) => at)).size).toBeLessThanOrEqual(3);
    for (const { totals, merchants } of bodies) expect([totals.merchants, merchants.length]).toEqual([MERCHANTS, 500]);
  });
});
