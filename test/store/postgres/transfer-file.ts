/** A file with rows in every table, odd ones among them, for transfers without a running Puente. */
import Database from 'better-sqlite3';
import { accepted, messages, newDifference, newExchange, newLoss } from '../contract/evidence-kit.ts';
import {
  auditOf,
  finished,
  MERCHANT,
  NOON,
  newEvent,
  newMerchant,
  newNotice,
  newSale,
  opened,
  orderId,
} from '../contract/harness.ts';
import { openStore } from '../sqlite/kit.ts';

export const KEY_MARK = 'a mark of the tests';
/** More than two batches of a copy. */
export const EXCHANGES = 2_300;
/** Text that PostgreSQL refuses, and text that looks like its replacement. */
export const ODD = ['mesa\0 4', 'mesa\uFDD0 4', 'mesa\uFDD00 4', 'mesa 4', 'méso ü 🍕', '\\u0000'];

export async function fillFile(path: string): Promise<void> {
  const store = await openStore(path, { key_mark: KEY_MARK });
  await store.merchants.saveMerchant(newMerchant(), 0, auditOf('made', { text: ODD }));
  const over = await finished(store, { client_reference: ODD[0] ?? null });
  await store.links.saveLink(over, { order: { id: orderId(7), status: 'processed' } });
  for (const unit of ODD) {
    const link = await opened(store, { unit, client_reference: unit });
    await store.links.saveLink(link, {}, { notices: [newNotice(link, unit), newNotice(link, 'second')] });
    await store.events.receiveEvent(newEvent({ reference: unit }));
  }
  await store.legacy_sales.openLegacySale(newSale({ client_reference: ODD[1] ?? null }));
  const unknown = ODD.map((name) => ({ what: 'field' as const, name }));
  const odd = newExchange({
    error: ODD[0] ?? null,
    unknown,
    shadow: { ...accepted, fired: [...accepted.fired], losses: [] },
    messages,
    duration_ms: 0.1 + 0.2,
    lost: [newLoss()],
    differences: [newDifference()],
    cells: [],
    compared: true,
  });
  const plain = Array.from({ length: EXCHANGES - 1 }, (_, at) =>
    newExchange({ at: NOON + at * 60_000, unit: `point:${ODD[at % 6]}` }),
  );
  await store.exchanges.recordExchanges([odd, ...plain]);
  await store.close();
  change(path, (database) => {
    for (const sql of OTHERS) database.exec(sql);
  });
}

/** As Puente or its retention changes it. */
export function change(path: string, work: (database: Database.Database) => void): void {
  const database = new Database(path);
  try {
    work(database);
  } finally {
    database.close();
  }
}

/** Rows of this file that no store method above writes. */
const OTHERS = [
  `INSERT INTO tokens VALUES ('print', '${MERCHANT}', x'00ff', ${NOON}, ${NOON})`,
  `INSERT INTO notice_attempts SELECT id, ${NOON}, 7, 'theirs', 500, 'as it went', NULL FROM notices`,
  `INSERT INTO refunds SELECT 'refund ' || rowid, 9007199254740991 - rowid, legacy_id, merchant_id, 'payment', NULL, 'print', NULL, 0,
     'key ' || rowid, 'SENDING', NULL, NULL, NULL, NULL, NULL, ${NOON}, ${NOON}, 1, NULL FROM links`,
  `INSERT OR IGNORE INTO coverage VALUES ('${MERCHANT}', 'point.create', 'amount', 3, 1, ${NOON})`,
  `INSERT OR IGNORE INTO verdicts VALUES ('${MERCHANT}', 'point.create', 'refused_here', '', '', 'odd' || char(0), 3, ${NOON}, 'sample', 2)`,
  `INSERT OR IGNORE INTO readiness_days VALUES ('${MERCHANT}', ${Math.floor(NOON / 86_400_000)}, 'ready')`,
  `INSERT INTO shed VALUES (20000, 'shadow', 4)`,
  `INSERT INTO proposals VALUES (5, 'proposal', '${MERCHANT}', '{}', 'why', 'ana', ${NOON}, ${NOON}, 'waiting', NULL, NULL)`,
  `INSERT INTO bulk_runs VALUES (6, 'bulk', '{}', 'why', 'ana', 3, 'done', '', ${NOON}, ${NOON}, 1, NULL)`,
  `INSERT INTO bulk_items VALUES ('bulk', 0, '${MERCHANT}', 'moved', '{"merchant_id":"${MERCHANT}"}')`,
  `INSERT INTO incidents VALUES ('incident', 'mismatch', '${MERCHANT}', 'amount', ${NOON}, ${NOON}, NULL, NULL, 2, 'sale', 'why', 3)`,
  `INSERT INTO alerts VALUES (7, 'alert', 'incident', 'ops', 'opened', 'pending', 1, ${NOON}, ${NOON}, NULL, 1)`,
];
