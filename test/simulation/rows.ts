/** The database's rows by plain SQL: the checker's view, without code of the product's store. */
import type { SaleThings } from './clients.ts';
import type { AuditRow, History, LinkRow, RecordedCall, RefundRow, RowThen, SaleFacts } from './history.ts';
import type { MemoryStore } from './store.ts';

export type WorkKind = 'links' | 'events' | 'notices';

export interface Rows {
  /** The committed row of a sale, by its id, or else the newest of its amount with a possibly sent order. */
  rowOf(sale: SaleFacts, legacy_id: string | null): RowThen | null;
  /** A row of the order since then (the product's wall clock, epoch ms), or a pending one. */
  hasEvent(order_id: string, since: number): boolean;
  orderOf(legacy_id: string): string | null;
  /** Rows of a sale, with their readable ids. */
  thingsOf(sale: SaleFacts): SaleThings[];
  /** When stored work is due, true epoch ms. @param toTrue converts from the product's wall clock. */
  workDue(toTrue: (wall: number) => number): number | null;
  /** The same for one kind of work, by the product's wall clock, epoch ms; null without work. */
  dueOf(kind: WorkKind): number | null;
  /** Rows that are not terminal, and pending work. */
  open(): { links: number; notices: number; events: number };
  openRefunds(): number;
  all(): Pick<History, 'links' | 'refunds' | 'events' | 'notices' | 'audits' | 'recorded' | 'merchants'>;
}

export function readRows({ database, version }: MemoryStore, trueNow: () => number): Rows {
  const byId = database.prepare<[string], RowThen>(
    'SELECT state, client_answer, order_id, legacy_state FROM links WHERE legacy_id = ?',
  );
  const byAmount = database.prepare<[string, number], RowThen>(
    `SELECT state, client_answer, order_id, legacy_state FROM links WHERE merchant_id = (SELECT ?) AND amount_minor = (SELECT ?)
     ORDER BY state IN ('NOT_SENT', 'REJECTED'), rowid DESC LIMIT 1`,
  );
  const event = database.prepare<[string, number], { found: number }>(
    "SELECT count(*) AS found FROM events WHERE order_id = ? AND (state = 'pending' OR received_at >= ?)",
  );
  const order = database.prepare<[string], { order_id: string | null }>(
    'SELECT order_id FROM links WHERE legacy_id = ?',
  );
  const things = database.prepare<[string, number], SaleThings>(
    `SELECT legacy_id, iif(order_id IS NULL, NULL, merchant_order_id) AS merchant_order_id,
       (SELECT payment_id FROM refunds WHERE refunds.legacy_id = links.legacy_id LIMIT 1) AS refunded_payment_id
     FROM links WHERE merchant_id = (SELECT ?) AND amount_minor = (SELECT ?)`,
  );
  const due = database.prepare<[], Record<WorkKind, number | null>>(
    `SELECT (SELECT min(next_check_at) FROM links WHERE next_check_at IS NOT NULL) AS links,
       (SELECT min(next_attempt_at) FROM events WHERE state = 'pending') AS events,
       (SELECT min(next_attempt_at) FROM notices WHERE state = 'pending') AS notices`,
  );
  const openRefunds = database.prepare<[], { found: number }>(
    "SELECT count(*) AS found FROM refunds WHERE state IN ('SENDING', 'IN_DOUBT')",
  );
  const open = database.prepare<[], { links: number; notices: number; events: number }>(
    `SELECT (SELECT count(*) FROM links WHERE state IN ('SENDING', 'IN_DOUBT', 'LIVE')) AS links,
       (SELECT count(*) FROM notices WHERE state = 'pending') AS notices,
       (SELECT count(*) FROM events WHERE state = 'pending') AS events`,
  );
  let known = { version: -1, ...NONE, first: null as number | null };
  const current = (): typeof known => {
    // Between two commits the answer stays the same.
    if (known.version === version()) return known;
    const found = due.get() ?? NONE;
    const moments = Object.values(found).filter((at) => at !== null);
    known = { version: version(), ...found, first: moments.length === 0 ? null : Math.min(...moments) };
    return known;
  };
  return {
    rowOf: ({ merchant_id, amount_minor }, legacy_id) =>
      (legacy_id === null ? byAmount.get(merchant_id, amount_minor) : byId.get(legacy_id)) ?? null,
    hasEvent: (order_id, since) => (event.get(order_id, since)?.found ?? 0) > 0,
    thingsOf: ({ merchant_id, amount_minor }) => things.all(merchant_id, amount_minor),
    orderOf: (legacy_id) => order.get(legacy_id)?.order_id ?? null,
    workDue(toTrue) {
      const { first } = current();
      return first === null ? null : toTrue(first);
    },
    dueOf: (kind) => current()[kind],
    openRefunds: () => openRefunds.get()?.found ?? 0,
    open: () => open.get() ?? { links: 0, notices: 0, events: 0 },
    all: allRows(database, trueNow),
  };
}

const NONE: Record<WorkKind, number | null> = { links: null, events: null, notices: null };

/**
 * Records the merchant's stage in the transaction of each new link, because it can't be read reliably from outside;
 * and, by the true clock, when its create was in doubt.
 */
function watchBirths(database: MemoryStore['database'], trueNow: () => number): void {
  database.function('true_now', () => Math.floor(trueNow()));
  database.exec(`CREATE TEMP TABLE births (legacy_id TEXT PRIMARY KEY, stage TEXT, born_at INTEGER, known_at INTEGER, doubted_at INTEGER) STRICT;
    CREATE TEMP TRIGGER watch_births AFTER INSERT ON main.links BEGIN
      INSERT OR REPLACE INTO births VALUES (new.legacy_id, (SELECT settings ->> 'stage' FROM merchants WHERE id = new.merchant_id),
        true_now(), iif(new.state IN ('SENDING', 'IN_DOUBT'), NULL, true_now()), NULL);
    END;
    CREATE TEMP TRIGGER watch_doubts AFTER UPDATE OF state ON main.links
      WHEN (old.state IN ('SENDING', 'IN_DOUBT')) <> (new.state IN ('SENDING', 'IN_DOUBT')) BEGIN
      UPDATE births SET known_at = iif(new.state IN ('SENDING', 'IN_DOUBT'), NULL, true_now()) WHERE legacy_id = new.legacy_id;
    END;
    CREATE TEMP TRIGGER watch_new_doubts AFTER UPDATE OF state ON main.links
      WHEN new.state = 'IN_DOUBT' AND old.state <> 'IN_DOUBT' BEGIN
      UPDATE births SET doubted_at = true_now() WHERE legacy_id = new.legacy_id;
    END`);
}

function allRows(database: MemoryStore['database'], trueNow: () => number): Rows['all'] {
  watchBirths(database, trueNow);
  const forget = database.prepare('DELETE FROM temp.births');
  const links = database.prepare<[], LinkRow>(
    `SELECT legacy_id, merchant_id, family, unit, slot, reference_sent, idempotency_key, amount_minor, state,
       client_answer, order_id, order_version, legacy_state, merchant_order_id, payment_id, created_at, expires_at,
       births.stage AS stage_at_birth, births.born_at, births.known_at, births.doubted_at
     FROM links LEFT JOIN temp.births USING (legacy_id) ORDER BY created_at, legacy_id`,
  );
  const events = database.prepare<[], History['events'][number]>(
    'SELECT order_id, reference, state, received_at FROM events',
  );
  // Own numbers fit in a double; upstream's are text.
  const refunds = database.prepare<[], RefundRow>(
    `SELECT id, CAST(number AS TEXT) AS number, legacy_id, payment_id, idempotency_key, state, upstream_id, reference_id,
       refunded_minor, created_at
     FROM refunds ORDER BY rowid`,
  );
  const notices = database.prepare<[], History['notices'][number]>('SELECT legacy_id, state, topic FROM notices');
  const audits = database.prepare<[], Omit<AuditRow, 'detail'> & { detail: string }>(
    'SELECT sequence, at, who, action, subject, reason, detail, hash FROM audit ORDER BY sequence',
  );
  const recorded = database.prepare<[], RecordedCall>(
    `SELECT merchant_id, operation, lane, outcome, at, duration_ms FROM exchanges
     WHERE merchant_id IS NOT NULL AND operation IS NOT NULL ORDER BY sequence`,
  );
  const merchants = database.prepare<[], { id: string; settings: string }>('SELECT id, settings FROM merchants');
  const linksAndBirths = (): LinkRow[] => {
    const found = links.all();
    forget.run();
    return found;
  };
  return () => ({
    links: linksAndBirths(),
    refunds: refunds.all(),
    events: events.all(),
    notices: notices.all(),
    audits: audits.all().map((row) => ({ ...row, detail: JSON.parse(row.detail) as unknown })),
    recorded: recorded.all(),
    merchants: merchants.all().map(({ id, settings }) => {
      const { stage } = JSON.parse(settings) as { stage?: string | null }; // the column is JSON with that field
      return { id, stage: stage ?? null };
    }),
  });
}
