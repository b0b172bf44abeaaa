/** SQLite's plans on large tables: an index and its order, never a sort, with any statistics. */
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExchangeFilter } from '../../../src/proxy/records/evidence.ts';
import { noCover } from '../../../src/proxy/vault.ts';
import { whereOf } from '../../../src/store/engine.ts';
import { OPEN_WORK } from '../../../src/store/erase.ts';
import { KNOWN_IDS } from '../../../src/store/evidence.ts';
import { queryOf } from '../../../src/store/exchanges.ts';
import { FINISHED } from '../../../src/store/history.ts';
import { NOTICES_STUCK, PAID_UNACKNOWLEDGED } from '../../../src/store/incidents.ts';
import { OLD_LINKS } from '../../../src/store/retention.ts';
import { legacySalesTable, linksTable, listingOf } from '../../../src/store/sales.ts';
import { teachCover } from '../../../src/store/sqlite/reader.ts';
import { LAST_OF_SUBJECT, writes } from '../../../src/store/writes.ts';
import { newExchange } from '../contract/evidence-kit.ts';
import { MERCHANT, NOON } from '../contract/harness.ts';
import { type Folder, newFolder, openStore } from './kit.ts';

describe('plans', () => {
  let folder: Folder;
  let database: Database.Database;
  beforeAll(async () => {
    folder = newFolder();
    const store = await openStore(folder.file('puente.db'));
    await store.exchanges.recordExchanges(
      Array.from({ length: 2_000 }, (_, index) => newExchange({ at: NOON + index })),
    );
    await store.close();
    database = new Database(folder.file('puente.db'));
    teachCover(database, noCover);
    // Statistics of a file with one merchant, which tempt SQLite not to use the merchant's index.
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

  it.each([
    ['delete_events_of_links', ['links_', 'events_by_order', 'events_by_reference'], ['SCAN events', 'SCAN links']],
    ['delete_attempts_of_links', ['notice_attempts_by_notice'], ['SCAN notices', 'SCAN notice_attempts']],
    ['delete_notices_of_links', ['sqlite_autoindex_notices_2 (legacy_id=?)'], ['SCAN notices']],
    ['delete_refunds_of_links', ['refunds_by_link (legacy_id=?)'], ['SCAN refunds']],
    ['delete_history_of_links', ['PRIMARY KEY (legacy_id=?)'], ['SCAN link_states']],
    ['delete_links', ['links_', 'legacy_id=?'], ['SCAN links']],
    ['insert_link', ['legacy_sales_holding (merchant_id=? AND slot=? AND ends_at>?'], ['SCAN legacy_sales']],
    ['end_earlier_legacy_sales', ['earlier USING INDEX legacy_sales_holding (merchant_id=? AND slot=?'], ['SCAN']],
    ['delete_traffic', ['traffic_by_day (day<?)'], []],
    ['erase_legacy_sales', ['INTEGER PRIMARY KEY (rowid=?)'], ['SCAN legacy_sales']],
    ['place_exchanges', ['exchanges USING INTEGER PRIMARY KEY (rowid>?)'], ['SCAN exchanges', 'INDEX exchanges_']],
    ['erase_tokens', ['tokens_latest (merchant_id=?)'], ['SCAN tokens']],
    ['erase_proposals', ['proposals_by_merchant (merchant_id=?)'], ['SCAN proposals']],
  ] as const)('%s goes straight to its rows, however many there are', (name, ways, never) => {
    const plan = planOf(writes[name].sql, Array(writes[name].sql.split('?').length - 1).fill(null));
    for (const way of ways) expect(plan).toContain(way);
    for (const scan of never) expect(plan).not.toContain(scan);
  });

  it.each([
    [linksTable, {}, 'sqlite_autoindex_links_1 (legacy_id>? AND legacy_id<?)'],
    [linksTable, { merchant_ids: [MERCHANT] }, 'sqlite_autoindex_links_1 (legacy_id>? AND legacy_id<?)'],
    [legacySalesTable, { merchant_ids: [MERCHANT] }, 'legacy_sales_by_age (created_at>? AND created_at<?)'],
    [linksTable, { merchant_id: MERCHANT }, 'links_by_merchant (merchant_id=? AND created_at>? AND created_at<?)'],
    [linksTable, { merchant_id: MERCHANT, state: 'paid' }, 'links_by_merchant (merchant_id=?'],
    [linksTable, { state: 'refused', merchant_id: MERCHANT }, 'links_by_merchant (merchant_id=?'],
    [linksTable, { state: 'in_doubt' }, 'links_live'],
    [linksTable, { state: 'lost' }, 'links_lost'],
    [
      linksTable,
      { state: 'lost', merchant_id: MERCHANT },
      'links_lost (merchant_id=? AND (created_at,legacy_id)>(?,?)',
    ],
    [linksTable, { merchant_id: MERCHANT, reference: 'a' }, 'links_by_client_reference (merchant_id=? AND client_ref'],
    [legacySalesTable, { merchant_id: MERCHANT, reference: 'a' }, 'legacy_sales_by_reference (merchant_id=? AND'],
    [legacySalesTable, {}, 'legacy_sales_by_age (created_at>? AND created_at<?)'],
    [legacySalesTable, { state: 'open' }, 'legacy_sales_holding'],
  ] as const)('a page of sales goes straight to its rows: %#', (table, filter, way) => {
    const listing = listingOf(table, { ...filter, now: NOON }, null);
    if (listing === null) throw new Error('no statement');
    const { where, values } = whereOf(listing.conditions);
    const range = listing.rangeOf(listing.top, listing.bottom);
    expect(planOf(listing.select(where), [...values, ...range, 50])).toContain(way);
  });

  it('what is old, and what is open of a merchant, is found without reading all that there is', () => {
    const old = planOf(OLD_LINKS, [NOON, NOON, '', 200]);
    expect(old).toContain('links_by_change ((updated_at,legacy_id)>(?,?) AND updated_at<?)');
    expect(old).toContain('sqlite_autoindex_notices_2 (legacy_id=?)');
    expect(old).not.toContain('TEMP B-TREE');
    const plan = planOf(OPEN_WORK, Array(8).fill(null));
    expect(plan).toContain('links_live (merchant_id=?)');
    expect(plan).toContain('bulk_moves_by_state (state=?)');
    expect(plan).not.toMatch(/SCAN (?!CONSTANT ROW|refunds USING INDEX refunds_open|item EXISTS VIRTUAL TABLE)/);
  });

  it('what a batch of exchanges may have told already is found by their ids', () => {
    const plan = planOf(KNOWN_IDS, ['[]', NOON, NOON]);
    expect(plan).toContain('sqlite_autoindex_exchanges_1 (id=?)');
    expect(plan).not.toContain('SCAN exchanges');
  });

  it('what is over for its till, and a sale that an equal create may repeat, are found by the indexes that are for it', () => {
    const finished = planOf(`SELECT * FROM links WHERE ${FINISHED}`, [MERCHANT, NOON, NOON, 1]);
    expect(finished).toContain('links_finished (merchant_id=? AND legacy_state_at>? AND legacy_state_at<?)');
    expect(finished).not.toContain('MULTI-INDEX OR');
    const same = planOf(writes.insert_link.sql, Array(writes.insert_link.sql.split('?').length - 1).fill(null));
    expect(same).toContain('links_retriable (merchant_id=? AND fingerprint=? AND <expr>=?)');
    expect(same).toContain('links_unacknowledged (merchant_id=? AND fingerprint=?)');
  });

  it.each([
    [NOTICES_STUCK, 'notices', 'COVERING INDEX notices_stuck (merchant_id=? AND created_at>? AND created_at<?)'],
    [
      PAID_UNACKNOWLEDGED,
      'links',
      'links_paid_unacknowledged (merchant_id=? AND legacy_state_at>? AND legacy_state_at<?)',
    ],
  ])('what stands for an incident is counted by an index of it, a merchant at a time: %#', (reads, table, way) => {
    const counted = planOf(reads.counted, [MERCHANT, NOON, 0]);
    const merchants = planOf(reads.merchants, [NOON, 0, '', 500]);
    for (const plan of [counted, merchants]) {
      expect(plan).toContain(way);
      expect(plan).not.toMatch(new RegExp(`SCAN ${table}|TEMP B-TREE`));
    }
    // Merchants are skipped to, not read through.
    expect(merchants).toMatch(/INDEX \w+ \(merchant_id>\?\)/);
  });

  it('the newest line about a subject is found by the index of subjects', () => {
    expect(planOf(LAST_OF_SUBJECT, ['x'])).toBe('SEARCH audit USING COVERING INDEX audit_by_subject (subject=?)');
  });

  it('parked events are looked for among those that are parked, with statistics and without', () => {
    const ways = () => planOf(writes.unpark.sql, [NOON, null, null]);
    const searched = [
      'events USING COVERING INDEX events_parked_order (order_id=?)',
      'events USING COVERING INDEX events_parked_reference (reference=?)',
    ];
    for (const way of searched) expect(ways()).toContain(way);
    const bare = new Database(folder.file('bare.db'));
    try {
      bare.exec(
        database
          .prepare<[], { sql: string }>("SELECT sql FROM sqlite_master WHERE tbl_name = 'events' AND sql IS NOT NULL")
          .all()
          .map(({ sql }) => sql)
          .join(';'),
      );
      const plan = bare.prepare<unknown[], { detail: string }>(
        `EXPLAIN QUERY PLAN ${writes.unpark.sql.replace('cover(?)', '?')}`,
      );
      const told = plan.all(NOON, null, null).map(({ detail }) => detail);
      for (const way of searched) expect(told.join('\n')).toContain(way);
    } finally {
      bare.close();
    }
  });

  it.each([
    ['supersede_notices', 'notices_legacy_id_sequence_key|sqlite_autoindex_notices_\\d', 'legacy_id=?'],
    ['mark_known_by_notice', 'PRIMARY KEY|sqlite_autoindex_links_1', 'legacy_id=?'],
    ['end_earlier_legacy_sales', 'sqlite_autoindex_legacy_sales_1', 'id=?'],
  ] as const)('%s goes to the rows of its sale by their key, not by the index of a state', (name, index, key) => {
    const { sql } = writes[name];
    const plan = planOf(sql, Array(sql.split('?').length - 1).fill(null));
    expect(plan).toMatch(new RegExp(`USING (?:COVERING )?(?:INDEX )?(?:${index}) \\(${key.replace('?', '\\?')}`));
  });

  it('an opening looks for the other lane by one probe of an index', () => {
    const parameters = (sql: string) => Array(sql.split('?').length - 1).fill(null);
    const ofLink = planOf(writes.insert_link.sql, parameters(writes.insert_link.sql));
    expect(ofLink).toContain('INDEX legacy_sales_holding (merchant_id=? AND slot=? AND ends_at>?)');
    const ofSale = planOf(writes.insert_legacy_sale.sql, parameters(writes.insert_legacy_sale.sql));
    expect(ofSale).toContain('INDEX links_live (merchant_id=? AND slot>? AND slot<?)');
  });
});
