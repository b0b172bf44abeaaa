/** What the judge of a soak is handed: the tills' log, the upstream's books, the receivers' log, and the database. */

/** One sale as its till wanted it, however often the till asked for it. */
export interface SaleFacts {
  merchant: string;
  /** A static one, or a hybrid, holds its counter and is taken away by the next; a dynamic one is not. */
  kind: 'point' | 'static' | 'dynamic';
  /** The till's own, never used twice by one merchant. */
  reference: string;
  /** Minor units of the merchant's currency; null for a body that tells no sum. */
  amount_minor: number | null;
  /** One for each create; 0 when no answer came. */
  statuses: number[];
  /** Legacy ids of 2xx answers of the Point API. */
  ids: string[];
}

/** A read of one thing by its legacy id; what began after another had ended may not be older. */
export interface ReadFacts {
  /** Intent id, or `merchant_order:<id>`. */
  subject: string;
  state: string;
  /** Ticks of the tills' own clock. */
  began: number;
  ended: number;
}

/** What cashiers asked back of one payment. */
export interface RefundFacts {
  payment_id: string;
  /** Sum that answers confirmed, minor units. */
  told_minor: number;
  /** Requests whose outcome, or whose sum, the till does not know. */
  open: number;
}

/** An order in the upstream's books. */
export interface BookedOrder {
  id: string;
  merchant: string;
  reference: string;
  amount_minor: number;
  status: string;
  /** Says who canceled. */
  detail: string | null;
  payment_id: string | null;
  refunded_minor: number;
}

/** What only the upstream knows; collected in its own process. */
export interface Books {
  orders: BookedOrder[];
  /** Webhooks that were answered 2xx, as `<order> <action>`. */
  taken: string[];
  /** POSTs to `/v1/orders` by idempotency key. */
  tries: [key: string, count: number][];
  /** Calls of all kinds that reached the upstream. */
  calls: number;
  /** Faults that acted, by kind. */
  faults: Record<string, number>;
}

export interface LinkFacts {
  legacy_id: string;
  merchant_id: string;
  family: 'point' | 'qr';
  unit: string;
  slot: string | null;
  /** Null where it is covered on disk, because its digits could be a card's; nobody outside can read it then. */
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
  /** Epoch ms: when the order could not be paid any more, and the last change of the row. */
  expires_at: number;
  updated_at: number;
}

/** What an outsider reads in the file. */
export interface Database {
  /** Epoch ms. */
  read_at: number;
  links: LinkFacts[];
  /** Creates that were proxied to legacy. */
  carried: { merchant_id: string; legacy_id: string | null; client_reference: string | null }[];
  /** Events in the inbox, as `<order> <action>`, with what became of them. */
  events: { event: string; state: string }[];
  /** What is not over and should be, in words. */
  waiting: string[];
  /** Legacy ids and order ids that audit lines name. */
  reported: string[];
}

/** A read at the end, next to what the books say. */
export interface LastRead {
  legacy_id: string;
  status: number;
  state: unknown;
}

export interface History {
  sales: SaleFacts[];
  reads: ReadFacts[];
  refunds: RefundFacts[];
  /** Legacy ids that a till asked to cancel. */
  canceled: string[];
  /** Deliveries that a receiver took, as `<topic> <id> <state>`; no state where the notice tells none. */
  told: string[];
  books: Books;
  database: Database;
  last_reads: LastRead[];
  /** A last create on every unit that was used. */
  probes: { unit: string; status: number }[];
  /** What was not over in time at the end, in words. */
  unsettled: string[];
  /** What was found wrong with the process and its file, in words: its check, its audit chain, its end. */
  house: string[];
}
