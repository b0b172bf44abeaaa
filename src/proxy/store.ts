/** What Puente remembers, as an interface that any engine can keep: each method is one whole transaction. */

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
import type { LegacySale, LegacySaleChange } from './records/routing.ts';
import type { Heap, RestoredGap, Room } from './records/upkeep.ts';
import type { AcceptedToken, Merchant, MerchantWithToken, RoutedKind, Trip } from './routing/merchant.ts';
import type { Link, LinkChange } from './sales/link.ts';

/** Parked events kept at most; beyond it verified ones push out unverified ones, which leave no trace, oldest first (§3.11, step 5). */
export const PARKED_EVENTS_LIMIT = 10_000;
/** An event that no link matched for so long is reported, not tried (`docs/protocol.md` §3.11, step 5). */
export const PARKED_FOR_MS = 72 * 60 * 60_000;
/** The longest pause between two tries of an event. */
export const LONGEST_EVENT_WAIT_MS = 60_000;

/** What a new create meets. */
export interface Met {
  /** The live link of its slot. */
  holder: Link | null;
  /** The newest equal sale that it may be a retry of: not heard by its till, not refused; those with its client key first. */
  unheard: Link | null;
}

/**
 * What a create is: a new sale (`open`), a retry of `link` (`join`), one whose unit `link` holds (`busy`), or one that must not
 * be opened here (`unwanted`). `left`: the stage says legacy, and no sale on orders is in the way. `shut`: the circuit breaker
 * is open. `no_room`: the disk is nearly full.
 */
export type Opening =
  | { kind: 'open' }
  | { kind: 'join' | 'busy'; link: Link }
  | { kind: 'unwanted'; why: 'left' | 'shut' | 'no_room' };

/** What is committed together with a change of a link. */
export interface LinkExtra {
  notices?: NewNotice[];
  audit?: AuditEntry;
  /** Parked events of its reference are pending again, as they are when a link learns its order id. */
  recall_events?: boolean;
}

/** Ports of what Puente remembers; any engine implements them. Each method is one whole transaction. */
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
  close(): Promise<void>;
}

/** Merchants with their settings, and the tokens that upstream accepted. */
export interface MerchantStore {
  merchant(id: string): Promise<Merchant | null>;
  merchants(): Promise<Merchant[]>;
  /**
   * A merchant, and whether a token was accepted as its own. The merchant is never older than what is said of the token, so that
   * the one of a token that was accepted has the site that it was accepted with. Null for a merchant that is not stored.
   * `unit`: a slot and a time (epoch ms); whether legacy holds it then may be told too, as `is_free`.
   */
  merchantWithToken(
    merchant_id: string,
    fingerprint: string,
    unit: { slot: string; now: number } | null,
  ): Promise<MerchantWithToken | null>;
  /**
   * Writes a merchant and its audit line; its safety stops stay as they are. `expected_revision` 0 means: it must not exist yet.
   * @throws PuenteError conflict when the stored revision is another.
   */
  saveMerchant(
    merchant: Omit<Merchant, 'revision' | 'updated_at' | 'trips'>,
    expected_revision: number,
    audit: AuditEntry,
  ): Promise<Merchant>;
  /** Sets or clears (null) safety stops, with the audit line; the merchant's revision rises. @throws PuenteError conflict. */
  saveTrips(
    merchant_id: string,
    trips: Partial<Record<RoutedKind, Trip | null>>,
    revision: number,
    audit: AuditEntry,
  ): Promise<Merchant>;
  /** Remembers an accepted token, and the merchant with its site if it is new (settings all default). */
  acceptToken(token: AcceptedToken, site: string | null): Promise<void>;
  token(fingerprint: string): Promise<AcceptedToken | null>;
  /** The merchant's token seen last; one that the upstream refused since comes after all others. Null when none is kept. */
  latestToken(merchant_id: string): Promise<AcceptedToken | null>;
  forgetToken(fingerprint: string): Promise<void>;
}

/** Links: legacy id ↔ order id, and what the create protocol writes. */
export interface LinkStore {
  /**
   * Step 1 of the create protocol. `decide` is pure and may be called again: with nothing met before anything was looked at, and
   * after a lost race; what it says last counts. Opening writes the row; join and busy write nothing and return their link,
   * unwanted writes nothing whatever was met.
   * While a sale created on legacy holds the slot nothing is written either, and that sale is returned as `elsewhere`.
   * A reference goes upstream once for each merchant: a row whose `reference_sent` another one has is not written (`used`).
   * `revision`: of the merchant, as it was when the lane was chosen; when it is another by the time of the commit, or the
   * merchant is gone, nothing is written (`moved`), so that each sale is wholly before a move or wholly after it
   * (`docs/protocol.md` §3.10). Without it the sale is opened whatever the merchant's stage is.
   * @throws PuenteError store_failed when it can't be proved that the row is durable: then nothing may be sent.
   */
  openLink(
    link: Link,
    decide: (met: Met) => Opening,
    revision?: number,
  ): Promise<{ opening: Opening | { kind: 'elsewhere' | 'moved' | 'used' }; link: Link; elsewhere: LegacySale | null }>;
  link(legacy_id: string): Promise<Link | null>;
  /** The link that holds a slot; null when it is free. */
  liveLink(merchant_id: string, slot: string): Promise<Link | null>;
  /**
   * True while a live link holds the slot, or one of the slot and unit may be repeated by its till; a null slot: of those that hold none.
   * @param since epoch ms; older ones are not repeated.
   * @param answered_since epoch ms; a sale without a client key whose till was answered earlier is not repeated.
   */
  hasWork(
    merchant_id: string,
    at: { slot: string | null; unit: string },
    since: number,
    answered_since: number,
  ): Promise<boolean>;
  /** The slots that a merchant's live links hold. */
  liveSlots(merchant_id: string): Promise<string[]>;
  linkByMerchantOrder(merchant_order_id: number): Promise<Link | null>;
  linkByOrder(order_id: string): Promise<Link | null>;
  linkByReference(merchant_id: string, reference_sent: string): Promise<Link | null>;
  /** By the number of the payment, whoever's it is. */
  linkByPayment(payment_id: string): Promise<Link | null>;
  /**
   * Changes a link and writes its notices and audit line in one transaction; the stored revision must be `link.revision`.
   * A link that learns its order id makes parked events of that order, or of its reference, pending again.
   * @throws PuenteError conflict when it is another.
   */
  saveLink(link: Link, change: LinkChange, extra?: LinkExtra): Promise<Link>;
  /**
   * Links whose `next_check_at` is due, oldest first, and creates without an outcome before the others, in half of the
   * places at most while others wait; those of `except_merchants` are left out.
   */
  dueLinks(now: number, limit: number, except_merchants?: readonly string[]): Promise<Link[]>;
}

/** Links as operators look at them. */
export interface HistoryStore {
  /** Links of a merchant with this reference of the client's own, newest first. */
  linksByClientReference(merchant_id: string, client_reference: string, limit: number): Promise<Link[]>;
  /** Links of a merchant made in [from, to), newest first. */
  linksOf(merchant_id: string, from: number, to: number, limit: number): Promise<Link[]>;
  /** Point links of a merchant whose final `legacy_state` was reached in [from, to), newest first. */
  finishedLinks(merchant_id: string, from: number, to: number, limit: number): Promise<Link[]>;
  /** Every change of state of a link, oldest first; the store notes them by itself. */
  linkHistory(
    legacy_id: string,
  ): Promise<{ at: number; state: Link['state']; legacy_state: string; order_status: string | null }[]>;
}

/** Refunds that tills asked for. */
export interface RefundStore {
  /**
   * Step 1 of a refund: writes its row, unless `decide` recognises one of the payment's earlier ones as the same request,
   * or finds one that is still under way. It is pure and may be called again after a lost race.
   * @throws PuenteError store_failed when it can't be proved that the row is durable: then nothing may be sent.
   */
  openRefund(
    refund: Refund,
    decide: (earlier: Refund[]) => Refund | 'open',
  ): Promise<{ opened: boolean; refund: Refund }>;
  /** The till has read what was refunded of a link, at `at` (epoch ms). */
  hearRefunds(legacy_id: string, at: number): Promise<void>;
  /** @throws PuenteError conflict when the stored revision is another. */
  saveRefund(refund: Refund, change: RefundChange): Promise<Refund>;
  /** Refunds of a link, oldest first. */
  refunds(legacy_id: string): Promise<Refund[]>;
}

/** The inbox: events are committed before they are acknowledged. */
export interface EventStore {
  /** Commits an event to the inbox; an identical hint that is still unread is merged (`docs/protocol.md` §3.11, step 2). */
  receiveEvent(event: NewEvent): Promise<void>;
  /** Pending events whose next attempt is due, oldest first; parked ones wait for their link, and expire. */
  dueEvents(now: number, limit: number): Promise<InboxEvent[]>;
  saveEvent(
    sequence: number,
    change: Partial<Pick<InboxEvent, 'state' | 'attempts' | 'next_attempt_at'>>,
  ): Promise<void>;
}

/** Notices: which are due, what came of each attempt, and the log of their delivery. */
export interface NoticeStore {
  /**
   * Due notices, oldest first, each on its own schedule. Where several processes share the store, one whose predecessor of the
   * same topic and id was superseded during an attempt is handed to the process of that attempt alone: the notifier there
   * keeps the two in order.
   */
  dueNotices(now: number, limit: number): Promise<Notice[]>;
  /**
   * The same in turns, for a backlog in which one merchant's notices would hide the others': of each merchant its oldest,
   * at most `each`; merchants in the order of their ids from after `after_merchant` on, without `except_merchants`, at
   * most `merchants`. `last_merchant` is where the next turn goes on; null when this was the last one.
   */
  dueNoticesInTurn(turn: NoticeTurn): Promise<{ notices: Notice[]; last_merchant: string | null }>;
  /** Due notices of one merchant, oldest first, for a merchant whose oldest have to wait for their receiver's place. */
  dueNoticesBehind(asked: NoticesBehind): Promise<Notice[]>;
  /**
   * Writes an attempt, and the notice's new state and next attempt, in one transaction: the one place in which a notice
   * becomes delivered. One that was superseded meanwhile stays so, unless it was delivered.
   * @throws PuenteError conflict when another attempt was recorded meanwhile.
   */
  recordAttempt(
    notice: Notice,
    attempt: Attempt,
    next: { state: Notice['state']; next_attempt_at: number },
  ): Promise<void>;
  /** Notices of the filter, newest first. */
  notices(filter: NoticeFilter, limit: number): Promise<LoggedNotice[]>;
}

/** Sales on legacy, so that a unit never has live work in both lanes. */
export interface LegacySaleStore {
  /**
   * Writes the row of a create that is about to be carried, unless a link of ours holds the slot, or any slot of QR that
   * `ANY_POINT_OF_SALE` stands for: then nothing is written, and that link is returned.
   */
  openLegacySale(sale: LegacySale): Promise<Link | null>;
  /**
   * One that is OPEN and has its slot ends every earlier one there: a unit takes one at a time, and a QR is replaced. Those
   * without an answer whose row is younger than `LATE_EFFECT_MS` stay: their request may still be on its way.
   */
  saveLegacySale(id: string, change: LegacySaleChange): Promise<void>;
  /** By the id that legacy gave. */
  legacySale(legacy_id: string): Promise<LegacySale | null>;
  /**
   * The newest that holds the slot at `now`, by itself or as any point of sale; null when none does.
   * @param which `proven`: of a token that was accepted as the merchant's, or taken by legacy.
   */
  heldByLegacy(merchant_id: string, slot: string, now: number, which?: 'any' | 'proven'): Promise<LegacySale | null>;
  /** Those that hold a unit at `now`, oldest first. */
  openLegacySales(merchant_id: string, now: number, limit: number): Promise<LegacySale[]>;
  legacySalesByReference(merchant_id: string, client_reference: string, limit: number): Promise<LegacySale[]>;
  /** Deletes those written before, oldest first, that hold nothing at `now`. @returns how many. */
  tidyLegacySales(before: number, now: number, limit: number): Promise<number>;
}

/** The audit chain. */
export interface AuditStore {
  /** One line that goes with no other change. */
  appendAudit(audit: AuditEntry): Promise<void>;
}

/** Answered calls, each recorded once with its sums. */
export interface ExchangeStore {
  /** Writes exchanges and adds to all sums, in one transaction; one whose id is known already is left out. */
  recordExchanges(batch: readonly RecordedExchange[]): Promise<void>;
  /** Deletes exchanges of before `exchanges_before`, and messages of before `messages_before`; at most `limit` rows. @returns rows touched. */
  tidyExchanges(exchanges_before: number, messages_before: number, limit: number): Promise<number>;
  /** Adds to what could not be kept, by reason, so that reports can say so. */
  noteShed(reason: 'shadow' | 'evidence', count: number, at: number): Promise<void>;
}

/** What keeps a store in order: room, condition, backups, retention, erasure, and clocks that ran ahead. */
export interface UpkeepStore {
  room(): Room;
  /** Of the thread that writes, as it was when this was asked last; null before the first answer, and without such a thread. */
  writerHeap(): Heap | null;
  /** Null unless the file was restored from a backup. */
  restoredGap(): RestoredGap | null;
  /** Counts for metrics and readiness. */
  counts(): Promise<{ links: Record<string, number>; notices_pending: number; events_waiting: number }>;
  /**
   * Links, events and notices that were put off by a clock that ran ahead wait from now on as long as they were meant to
   * (`test/faults/README.md` F47), and what was opened by it and is in doubt holds its unit no longer than it was meant to. What a
   * right clock wrote stays as it is, and a second time changes nothing.
   * @param now epoch ms, by the clock as it is now. @throws PuenteError store_failed
   */
  pullForward(now: number): Promise<void>;
  /**
   * Epoch ms of the newest thing written: a link's change, a notice or its attempt, an event that waits, an exchange; 0
   * without any. A try of an event leaves only when the next one is due, and was made that pause before it or later.
   */
  newestMoment(): Promise<number>;
}
