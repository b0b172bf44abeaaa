/** Reads the rows of a running Puente: ids that are in no answer, and whether its work is finished. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createCover, createVault, Secret } from '../../src/proxy/vault.ts';

/** The columns of a link that have names in golden files. */
export interface Row {
  legacy_id: string;
  merchant_id: string;
  order_id: string | null;
  reference_sent: string;
  merchant_order_id: number | null;
  payment_id: string | null;
}

export interface Ledger {
  byOrder(order_id: string): Row;
  links(merchant_id: string): Row[];
  untilRead(): Promise<void>;
  untilTold(merchant_id: string): Promise<void>;
  close(): void;
}

/** @param secret_key with which Puente covers a reference whose digits could be a card number, as some are by chance. */
export function openLedger(data_dir: string, secret_key: string): Ledger {
  const cover = createCover(createVault(new Secret(secret_key)).coverKey());
  const opened = (row: Row): Row => ({ ...row, reference_sent: cover.open(row.reference_sent) });
  const database = new Database(join(data_dir, 'puente.db'), { readonly: true });
  const columns = 'legacy_id, merchant_id, order_id, reference_sent, merchant_order_id, payment_id';
  const byOrder = database.prepare<[string], Row>(`SELECT ${columns} FROM links WHERE order_id = ?`);
  const ofMerchant = database.prepare<[string], Row>(
    `SELECT ${columns} FROM links WHERE merchant_id = ? ORDER BY created_at, legacy_id`,
  );
  const unread = database.prepare<[], { count: number }>(
    "SELECT count(*) AS count FROM events WHERE state = 'pending'",
  );
  const untold = database.prepare<[string], { count: number }>(
    "SELECT count(*) AS count FROM notices WHERE state = 'pending' AND merchant_id = ?",
  );
  return {
    byOrder(order_id) {
      const row = byOrder.get(order_id);
      if (!row) throw new Error(`no link has the order ${order_id}`);
      return opened(row);
    },
    links: (merchant_id) => ofMerchant.all(merchant_id).map(opened),
    untilRead: () => until(() => unread.get()?.count === 0),
    untilTold: (merchant_id) => until(() => untold.get(merchant_id)?.count === 0),
    close: () => void database.close(),
  };
}

/** Polls; the test's own timeout ends a condition that never holds. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}
