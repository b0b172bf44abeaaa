/** The input of the soak's judge: the tills' log, upstream's books, the receivers' log, and the database. */

/** One sale as its till wanted it, with all its retries. */
export interface SaleFacts {
  merchant: string;
  /** `static` includes hybrid: it blocks its counter, and the next sale replaces it. A `dynamic` one does not. */
  kind: 'point' | 'static' | 'dynamic';
  /** The till's reference, used once per merchant. */
  reference: string;
  /** Minor units of the merchant's currency; null for a body without a sum. */
  amount_minor: number | null;
  /** One per create; 0 for no answer. */
  statuses: number[];
  /** Legacy ids in 2xx answers of the Point API. */
  ids: string[];
}

/** A read by legacy id; a read that began after another had ended may not return an older state. */
export interface ReadFacts {
  subject: string;
  state: string;
  /** Ticks of the tills' shared clock. */
  began: number;
  ended: number;
}

export interface RefundFacts {
  payment_id: string;
  /** Sum confirmed by answers, minor units. */
  told_minor: number;
  /** Requests whose outcome or sum the till does not know. */
  open: number;
}

export interface BookedOrder {
  id: string;
  merchant: string;
  reference: string;
  amount_minor: number;
  status: string;
  /** Status detail, which names the party that canceled. */
  detail: string | null;
  payment_id: string | null;
  refunded_minor: number;
}

/** Facts from upstream's process. */
export interface Books {
  orders: BookedOrder[];
  /** Webhooks answered 2xx, as `<order> <action>`. */
  taken: string[];
  /** POSTs to `/v1/orders` by idempotency key. */
  tries: [key: string, count: number][];
  calls: number;
  /** Faults that took effect, by kind. */
  faults: Record<string, number>;
}

export interface LinkFacts {
  legacy_id: string;
  merchant_id: string;
  family: 'point' | 'qr';
  unit: string;
  slot: string | null;
  /** Null where it is covered on disk because its digits could be a card's; the soak cannot read it then. */
  reference_sent: string | null;
  client_reference: string | null;
  idempotency_key: string;
  amount_minor: number;
  state: string;
  client_answer: string;
  order_id: string | null;
  payment_id: string | null;
  merchant_order_id: number | null;
  legacy_state: string;
  /** Epoch ms: expiry of the order, and last change of the row. */
  expires_at: number;
  updated_at: number;
}

/** Facts that the soak reads from the database file. */
export interface Database {
  /** Epoch ms. */
  read_at: number;
  links: LinkFacts[];
  proxied: { merchant_id: string; legacy_id: string | null; client_reference: string | null }[];
  /** Events in the inbox, as `<order> <action>`, with their state. */
  events: { event: string; state: string }[];
  /** Work that should have ended, in words. */
  waiting: string[];
  reported: string[];
}

/** A final read, compared with the books. */
export interface LastRead {
  legacy_id: string;
  status: number;
  state: unknown;
}

export interface History {
  sales: SaleFacts[];
  reads: ReadFacts[];
  refunds: RefundFacts[];
  canceled: string[];
  /** Acknowledged notices, as `<topic> <id> <state>`; no state where the notice has none. */
  told: string[];
  books: Books;
  database: Database;
  last_reads: LastRead[];
  /** A final create on every used unit. */
  probes: { unit: string; status: number }[];
  /** Work that had not ended in time, in words. */
  unsettled: string[];
  /** Faults of the process and its file, in words: integrity check, audit chain, exit code. */
  house: string[];
}
