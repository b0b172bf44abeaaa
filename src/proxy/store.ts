/** The store port, which any engine can implement: each method is one whole transaction. */
import type { AuditEntry } from './audit.ts';
import type { RecordedExchange } from './records/evidence.ts';
import type {
  Attempt,
  InboxEvent,
  LoggedNotice,
  NewEvent,
  NewNotice,
  Notice,
  NoticeFilter,
  NoticesBehind,
  NoticeTurn,
} from './records/notices.ts';
import type { Refund, RefundChange } from './records/refunds.ts';
import type { LegacySale, LegacySaleChange, PartOf } from './records/routing.ts';
import type { Heap, RestoredGap, Room } from './records/upkeep.ts';
import type { AcceptedToken, Merchant, MerchantWithToken, RoutedKind, Trip } from './routing/merchant.ts';
import type { Link, LinkChange } from './sales/link.ts';

/** Parked events at most; then verified ones replace the oldest unverified ones (`docs/protocol.md` §3.11, step 5). */
export const PARKED_EVENTS_LIMIT = 10_000;
/** An event without a link for so long is reported and not tried again (`docs/protocol.md` §3.11, step 5). */
export const PARKED_FOR_MS = 72 * 60 * 60_000;
/** The longest pause between two tries of one event. */
export const LONGEST_EVENT_WAIT_MS = 60_000;

/** What a new create finds in the store. */
export interface Met {
  /** The live link of the slot; null when the slot is free, or the create has none. */
  holder: Link | null;
  /** The newest equal sale that the till does not know and that was not refused; one with its client key first. */
  retriable: Link | null;
}

/**
 * What a create is: a new sale (`open`), a retry of `link` (`join`), one whose unit `link` holds (`busy`), or
 * `unwanted`. `left`: it belongs to legacy. `shut`: the circuit breaker is open. `no_room`: the disk is nearly full.
 */
export type Opening =
  | { kind: 'open' }
  | { kind: 'join' | 'busy'; link: Link }
  | { kind: 'unwanted'; why: 'left' | 'shut' | 'no_room' };

/** What `saveLink` writes in the transaction of the link. */
export interface LinkExtra {
  notices?: NewNotice[];
  audit?: AuditEntry | readonly AuditEntry[];
  /** Makes parked events of its reference pending again, as a newly known order id does. */
  recall_events?: boolean;
  /** The event whose read led to the change: it is done. */
  event?: InboxEvent;
}

/** All ports of one engine. Ids are texts; times are epoch ms. A method rejects with PuenteError store_failed on a fault. */
export interface Store {
  merchants: MerchantStore;
  links: LinkStore;
  history: HistoryStore;
  refunds: RefundStore;
  events: EventStore;
  notices: NoticeStore;
  legacy_sales: LegacySaleStore;
  audit: AuditStore;
  exchanges: ExchangeStore;
  upkeep: UpkeepStore;
  /** True when the last write succeeded and the file is usable. */
  healthy(): boolean;
  /** Ends background work, finishes the writes in the queue and releases the file or the connections. May be repeated. */
  close(): Promise<void>;
}

/** Merchants with their settings, and the tokens that upstream has accepted as theirs. */
export interface MerchantStore {
  /** Null for a merchant that is not stored. */
  merchant(id: string): Promise<Merchant | null>;
  /** All merchants, by id. */
  merchants(): Promise<Merchant[]>;
  /**
   * A merchant, and whether a token was accepted as its own. The merchant is never older than the fact about the token,
   * so that it has the site that the token was accepted with. Null for a merchant that is not stored.
   * @param unit a slot and a time (epoch ms): `is_free` may say whether legacy holds the slot at that time.
   */
  merchantWithToken(
    merchant_id: string,
    fingerprint: string,
    unit: { slot: string; now: number } | null,
  ): Promise<MerchantWithToken | null>;
  /**
   * Writes all but the safety stops. @param expected_revision 0: a new merchant. @param part_of is written with it.
   * @throws PuenteError conflict of either: then neither is written.
   */
  saveMerchant(
    merchant: Omit<Merchant, 'revision' | 'updated_at' | 'trips'>,
    expected_revision: number,
    audit: AuditEntry,
    part_of?: PartOf,
  ): Promise<Merchant>;
  /** Sets or clears (null) safety stops, with the audit line, as a new revision. @throws PuenteError conflict. */
  saveTrips(
    merchant_id: string,
    trips: Partial<Record<RoutedKind, Trip | null>>,
    revision: number,
    audit: AuditEntry,
  ): Promise<Merchant>;
  /** Stores an accepted token, and a new merchant with its site and default settings. */
  acceptToken(token: AcceptedToken, site: string | null): Promise<void>;
  /** An accepted token, even after `accepted_until`. Null once it was forgotten, or was never accepted. */
  token(fingerprint: string): Promise<AcceptedToken | null>;
  /** The merchant's last seen token; tokens that upstream has refused since come last. Null without one. */
  latestToken(merchant_id: string): Promise<AcceptedToken | null>;
  /** For a token that upstream refused: deletes its row, so that it proves no merchant. Nothing happens without a row. */
  forgetToken(fingerprint: string): Promise<void>;
}

/** Sales on orders: their opening, their changes, and the ids by which calls and events find them. */
export interface LinkStore {
  /**
   * Step 1 of the create protocol. `decide` is pure and may be called several times, first with nothing met; its last
   * decision counts. Only `open` writes the row; `join` and `busy` return their link. Nothing is written either when a
   * sale on legacy holds the slot (`elsewhere`), or when another row of the merchant has the `reference_sent` (`used`).
   * @param revision of the merchant when the lane was chosen; if it has changed by the commit, nothing is written
   * (`moved`): each sale is wholly before or after a move (`docs/protocol.md` §3.10). Without it no stage is checked.
   * @throws PuenteError store_failed when the row is not proved to be durable: then nothing may be sent.
   */
  openLink(
    link: Link,
    decide: (met: Met) => Opening,
    revision?: number,
  ): Promise<{ opening: Opening | { kind: 'elsewhere' | 'moved' | 'used' }; link: Link; elsewhere: LegacySale | null }>;
  /** By legacy id, of any merchant: the caller compares `merchant_id`. */
  link(legacy_id: string): Promise<Link | null>;
  /** The one sale that holds the slot: SENDING, IN_DOUBT or LIVE. Null for a free slot. */
  liveLink(merchant_id: string, slot: string): Promise<Link | null>;
  /**
   * True while a live link holds the slot, or a till may repeat a sale of the slot and unit; null slot: without one.
   * @param since epoch ms; older sales are not repeated. @param answered_since the same for answers without a client
   * key.
   */
  hasWork(
    merchant_id: string,
    at: { slot: string | null; unit: string },
    since: number,
    answered_since: number,
  ): Promise<boolean>;
  /** The same for QR sales on any point of sale's own code: its number is not known yet. */
  hasQrWork(merchant_id: string, since: number, answered_since: number): Promise<boolean>;
  /** By the synthetic merchant order number of a QR sale (`ids.ts`), of any merchant. */
  linkByMerchantOrder(merchant_order_id: number): Promise<Link | null>;
  /** By upstream's order id, of any merchant. */
  linkByOrder(order_id: string): Promise<Link | null>;
  /** By the reference that upstream got, which is not always the till's own. A live link goes before an older one. */
  linkByReference(merchant_id: string, reference_sent: string): Promise<Link | null>;
  /** By payment number, of any merchant. */
  linkByPayment(payment_id: string): Promise<Link | null>;
  /**
   * One transaction with notices and audit line. A new order id makes parked events of the order, or of the reference,
   * pending again. @throws PuenteError conflict when the stored revision is not `link.revision`.
   */
  saveLink(link: Link, change: LinkChange, extra?: LinkExtra): Promise<Link>;
  /** Oldest first; creates without an outcome come before, in at most half of the places while other links wait. */
  dueLinks(now: number, limit: number, except_merchants?: readonly string[]): Promise<Link[]>;
}

/** Past sales, for searches and lists of the legacy API. */
export interface HistoryStore {
  /** Newest first. */
  linksByClientReference(merchant_id: string, client_reference: string, limit: number): Promise<Link[]>;
  /** Links created in [from, to), newest first. */
  linksOf(merchant_id: string, from: number, to: number, limit: number): Promise<Link[]>;
  /** Point links that reached their final `legacy_state` in [from, to), newest first. */
  finishedLinks(merchant_id: string, from: number, to: number, limit: number): Promise<Link[]>;
  /** Every change of state, oldest first; the store records them in each write. */
  linkHistory(
    legacy_id: string,
  ): Promise<{ at: number; state: Link['state']; legacy_state: string; order_status: string | null }[]>;
}

/** Refunds of sales on orders. */
export interface RefundStore {
  /**
   * Step 1 of a refund: writes its row, unless the pure `decide` returns an earlier refund (equal, or under way).
   * @throws PuenteError store_failed when the row is not proved to be durable: then nothing may be sent.
   */
  openRefund(
    refund: Refund,
    decide: (earlier: Refund[]) => Refund | 'open',
  ): Promise<{ opened: boolean; refund: Refund }>;
  /** The till has read the link's refunds, at `at` (epoch ms), as far as they are in the refunded sum that it was shown. */
  markRefundsKnown(legacy_id: string, at: number, shown_minor: number): Promise<void>;
  /** @throws PuenteError conflict when the stored revision is another. */
  saveRefund(refund: Refund, change: RefundChange): Promise<Refund>;
  /**
   * Its answer was sent whole. It is known to its till, too, when a receiver acknowledged a newer notice in between.
   * @param since epoch ms: earlier acknowledgements do not count. @throws PuenteError conflict as `saveRefund`.
   */
  saveAnswered(refund: Refund, answered_at: number, since: number): Promise<void>;
  /** Oldest first. */
  refunds(legacy_id: string): Promise<Refund[]>;
}

/** The inbox: events are committed before they are answered. */
export interface EventStore {
  /** Commits an event to the inbox, or merges it with an identical unread one (`docs/protocol.md` §3.11, step 2). */
  receiveEvent(event: NewEvent): Promise<void>;
  /** Pending events that are due, oldest first; parked events wait for their link, and expire. */
  dueEvents(now: number, limit: number): Promise<InboxEvent[]>;
  /**
   * Changes the given fields of an event. Also keeps the inbox within its limits: `PARKED_EVENTS_LIMIT` when the event
   * becomes parked, the number of finished unverified events of its order when it becomes done.
   */
  saveEvent(
    sequence: number,
    change: Partial<Pick<InboxEvent, 'state' | 'attempts' | 'next_attempt_at'>>,
  ): Promise<void>;
}

/** The outbox of notices to merchants, and the log of their attempts. */
export interface NoticeStore {
  /**
   * Due notices, oldest first. When several processes share the store, and a notice supersedes one whose attempt is
   * running, only the process of that attempt gets the new notice: its notifier keeps the two in order.
   */
  dueNotices(now: number, limit: number): Promise<Notice[]>;
  /**
   * The same by merchant, so that one backlog does not hide the others: of each merchant the oldest, at most `each`;
   * merchants by id after `after_merchant`, without `except_merchants`, at most `merchants`. The next turn starts after
   * `last_merchant`; null: this was the last turn.
   */
  dueNoticesInTurn(turn: NoticeTurn): Promise<{ notices: Notice[]; last_merchant: string | null }>;
  /** Due notices of one merchant, oldest first, behind those that wait for a place of their receiver. */
  dueNoticesBehind(backlog: NoticesBehind): Promise<Notice[]>;
  /**
   * Writes an attempt and the notice's new state; only here a notice becomes delivered. A superseded one that was not
   * delivered stays superseded. @throws PuenteError conflict when another attempt was recorded meanwhile.
   */
  recordAttempt(
    notice: Notice,
    attempt: Attempt,
    next: { state: Notice['state']; next_attempt_at: number },
  ): Promise<void>;
  /** Newest first. */
  notices(filter: NoticeFilter, limit: number): Promise<LoggedNotice[]>;
}

/** Sales on legacy, so that a unit never has live work on both lanes. */
export interface LegacySaleStore {
  /** Writes the row of a proxied create, or returns the link that holds its slot (`ANY_POINT_OF_SALE`: any QR slot). */
  openLegacySale(sale: LegacySale): Promise<Link | null>;
  /**
   * A sale that becomes OPEN ends all earlier ones on its slot: a unit takes one at a time, and a QR is replaced.
   * Unanswered ones younger than `LATE_EFFECT_MS` stay, because their request may still arrive.
   */
  saveLegacySale(id: string, change: LegacySaleChange): Promise<void>;
  /** The newest with legacy's own id (intent id, `in_store_order_id`), of any merchant. */
  legacySale(legacy_id: string): Promise<LegacySale | null>;
  /** The newest, also as any point of sale. @param which `proven`: upstream or legacy has accepted its token. */
  heldByLegacy(merchant_id: string, slot: string, now: number, which?: 'any' | 'proven'): Promise<LegacySale | null>;
  /** Sales that hold a unit at `now`, oldest first. */
  openLegacySales(merchant_id: string, now: number, limit: number): Promise<LegacySale[]>;
  /** Newest first; `client_reference` as the till wrote it. */
  legacySalesByReference(merchant_id: string, client_reference: string, limit: number): Promise<LegacySale[]>;
  /** Deletes sales written before `before` that hold no unit at `now`, oldest first. @returns how many. */
  tidyLegacySales(before: number, now: number, limit: number): Promise<number>;
}

/** The audit chain: lines are only added. */
export interface AuditStore {
  /**
   * @param newest_seen sequence of the newest line about its subject that the decision rests on; 0 for none.
   * @throws PuenteError conflict when that subject has a newer line, whichever process wrote it.
   */
  appendAudit(audit: AuditEntry, newest_seen?: number): Promise<void>;
}

/** The evidence of answered calls. */
export interface ExchangeStore {
  /** Writes exchanges and adds to all sums in one transaction; exchanges with a known id are left out. */
  recordExchanges(batch: readonly RecordedExchange[]): Promise<void>;
  /** Deletes older exchanges and messages, at most `limit` rows. @returns rows touched. */
  tidyExchanges(exchanges_before: number, messages_before: number, limit: number): Promise<number>;
  /** Adds to the count of shed evidence, for reports. */
  noteShed(reason: 'shadow' | 'evidence', count: number, at: number): Promise<void>;
}

/** The store's own condition: disk, memory, backlog and clock. */
export interface UpkeepStore {
  /** The room on the disk as last measured, in bytes; `level` decides what may still be written. Does no I/O. */
  room(): Room;
  /** The writer thread's heap at the last call; null before the first answer, and without a writer thread. */
  writerHeap(): Heap | null;
  /** Null unless the file was restored from a backup. */
  restoredGap(): RestoredGap | null;
  /** Links by state, notices that wait for delivery, and events that are pending or parked. Its cost does not grow with history. */
  counts(): Promise<{ links: Record<string, number>; notices_pending: number; events_waiting: number }>;
  /**
   * Repairs the times of links, events and notices that a clock which ran ahead put off: from now on they wait, and
   * creates in doubt hold their unit, as long as was meant (`test/faults/README.md` F47). Other rows stay; a second
   * call changes nothing.
   * @param now epoch ms, by the corrected clock. @throws PuenteError store_failed
   */
  pullForward(now: number): Promise<void>;
  /**
   * Epoch ms of the newest stored moment: of a link's change, a notice or attempt, a waiting event, an exchange; 0
   * without any. A try of an event is dated by the next one that is due, less the pause: it was made then or later.
   */
  newestMoment(): Promise<number>;
}
