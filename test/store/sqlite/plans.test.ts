/** Which way SQLite takes through large tables: an index and its order, never a sort, whatever its statistics say. */
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noCover } from '../../../src/core/cover.ts';
import type { ExchangeFilter } from '../../../src/core/records/evidence.ts';
import { teachCover } from '../../../src/store/sqlite/cover.ts';
import { queryOf } from '../../../src/store/sqlite/exchanges.ts';
import { writes } from '../../../src/store/sqlite/writes.ts';
import { newExchange } from '../contract/evidence-kit.ts';
import { MERCHANT, NOON } from '../contract/harness.ts';
import { type Folder, newFolder, openStore } from './kit.ts';

describe('plans', () => {
  let folder: Folder;
  let database: Database.Database;
  beforeAll(async () => {
    folder = newFolder();
    const store = await openStore(folder.file('puente.db'));
    await store.recordExchanges(Array.from({ length: 2_000 }, (_, index) => newExchange({ at: NOON + index })));
    await store.close();
    database = new Database(folder.file('puente.db'));
    teachCover(database, noCover);
    // Statistics of a file with one merchant: they tempt SQLite to leave the merchant's index alone.
    database.exec('ANALYZE');
  });
  afterAll(() => {
    database?.close();
    folder?.remove();
  });

  const planOf = (sql: string, values: unknown[]) =>
    database
      .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...values)
      .map(({ detail }) => detail)
      .join('\n');

  const pages: [ExchangeFilter, string][] = [
    [{}, 'USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)'],
    [{ since: NOON, until: NOON + 5 }, 'USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)'],
    [{ lane: 'orders', operation: 'point.create' }, 'USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)'],
    [{ captured: true }, 'USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)'],
    [{ merchant_id: MERCHANT }, 'exchanges_by_merchant (merchant_id=? AND rowid>? AND rowid<?)'],
    [{ merchant_id: MERCHANT, since: NOON }, 'exchanges_by_merchant (merchant_id=? AND rowid>? AND rowid<?)'],
    [{ merchant_id: MERCHANT, captured: true }, 'exchanges_captured (merchant_id=? AND rowid>? AND rowid<?)'],
    [{ merchant_id: MERCHANT, legacy_id: 'x' }, 'exchanges_by_legacy (legacy_id=? AND rowid>? AND rowid<?)'],
  ];
  it.each(pages.map(([filter, way]) => [JSON.stringify(filter), filter, way] as const))(
    'a page of %s goes straight to its rows',
    (_, filter, way) => {
      const { sql, values } = queryOf(filter);
      const plan = planOf(sql, [...values, 0, 1_000_000, 2_000]);
      expect(plan).toContain(way);
      expect(plan).not.toContain('TEMP B-TREE');
    },
  );

  it('an opening looks for the other lane by one probe of an index', () => {
    const parameters = (sql: string) => Array(sql.split('?').length - 1).fill(null);
    const ofLink = planOf(writes.insert_link, parameters(writes.insert_link));
    expect(ofLink).toContain('INDEX legacy_sales_holding (merchant_id=? AND slot=? AND ends_at>?)');
    const ofSale = planOf(writes.insert_legacy_sale, parameters(writes.insert_legacy_sale));
    expect(ofSale).toContain('INDEX links_live (merchant_id=? AND slot>? AND slot<?)');
  });
});
