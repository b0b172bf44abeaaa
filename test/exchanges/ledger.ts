/** A look at the rows of a running Puente, from the side: ids that no answer tells, and whether its work is done. */
import { join } from 'node:path';
import Database from 'better-sqlite3';

/** What of a link has a name in golden files. */
export interface Row {
  legacy_id: string;
  merchant_id: string;
  order_id: string | null;
  reference_sent: string;
  merchant_order_id: number | null;
  payment_id: string | null;
}

export interface Ledger {
  /** @throws Error when no link has the order. */
  byOrder(order_id: string): Row;
  /** Links of a merchant, oldest first. */
  links(merchant_id: string): Row[];
  /** Resolves when no event waits to be read. */
  untilRead(): Promise<void>;
  /** Resolves when a merchant's notices have been delivered. */
  untilTold(merchant_id: string): Promise<void>;
  close(): void;
}

/** @param data_dir of a Puente that runs; the file is only read. */
export function openLedger(data_dir: string): Ledger {
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
      return row;
    },
    links: (merchant_id) => ofMerchant.all(merchant_id),
    untilRead: () => until(() => unread.get()?.count === 0),
    untilTold: (merchant_id) => until(() => untold.get(merchant_id)?.count === 0),
    close: () => void database.close(),
  };
}

/** Looks again and again; the test's own time limit ends it otherwise. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}
