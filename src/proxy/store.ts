/** What Puente remembers, as an interface that any engine can keep: each method is one whole transaction. */

import type { AuditEntry, AuditLine } from './audit.ts';
import type { DeliveryStore } from './records/delivery.ts';
import type { EvidenceStore } from './records/evidence.ts';
import type { InboxEvent, NewEvent, NewNotice, NoticeStore } from './records/notices.ts';
import type { Refund, RefundChange } from './records/refunds.ts';
import type { LegacySale, RoutingStore } from './records/routing.ts';
import type { UpkeepStore } from './records/upkeep.ts';
import type { AcceptedToken, Merchant, MerchantWithToken } from './routing/merchant.ts';
import type { Link, LinkChange } from './sales/link.ts';

/** Parked events kept at most; beyond it verified ones push out unverified ones, which leave no trace, oldest first (§3.11.5). */
export const PARKED_EVENTS_LIMIT = 10_000;
/** An event that no link matched for so long is reported, not tried (`reliability.md` §3.11.5). */
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

/** What `openLink`'s decision makes of a create: a new sale, a retry of `link`, or one that `link` is in the way of. */
export type Opening = { kind: 'open' } | { kind: 'join' | 'busy'; link: Link } | { kind: 'unwanted' };

/** What is committed together with a change of a link. */
export interface LinkExtra {
  notices?: NewNotice[];
  audit?: AuditEntry;
  /** Parked events of its reference are pending again, as they are when a link learns its order id. */
  recall_events?: boolean;
}

export interface Store extends DeliveryStore, EvidenceStore, NoticeStore, RoutingStore, UpkeepStore {
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

  /** Remembers an accepted token, and the merchant with its site if it is new (settings all default). */
  acceptToken(token: AcceptedToken, site: string | null): Promise<void>;
  token(fingerprint: string): Promise<AcceptedToken | null>;
  /** The merchant's token seen last; one that the upstream refused since comes after all others. Null when none is kept. */
  latestToken(merchant_id: string): Promise<AcceptedToken | null>;
  forgetToken(fingerprint: string): Promise<void>;

  /**
   * Step 1 of the create protocol. `decide` is pure and may be called again: with nothing met before anything was looked at, and
   * after a lost race; what it says last counts. Opening writes the row; join and busy write nothing and return their link,
   * unwanted writes nothing whatever was met.
   * While a sale born on legacy holds the slot nothing is written either, and that sale is returned as `elsewhere`.
   * A reference goes upstream once for each merchant: a row whose `reference_sent` another one has is not written (`used`).
   * `revision`: of the merchant, as it was when the lane was chosen; when it is another by the time of the commit, or the
   * merchant is gone, nothing is written (`moved`), so that each sale is wholly before a move or wholly after it
   * (`reliability.md` §3.10). Without it the sale is opened whatever the merchant's stage is.
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
  /** Links of a merchant with this reference of the client's own, newest first. */
  linksByClientReference(merchant_id: string, client_reference: string, limit: number): Promise<Link[]>;
  /** The same of all merchants together. */
  linksByAnyReference(reference: string, limit: number): Promise<Link[]>;
  /** Links of a merchant made in [from, to), newest first. */
  linksOf(merchant_id: string, from: number, to: number, limit: number): Promise<Link[]>;
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
  /** Point links of a merchant whose final `legacy_state` was reached in [from, to), newest first. */
  finishedLinks(merchant_id: string, from: number, to: number, limit: number): Promise<Link[]>;

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
  /** By whatever it is called: Puente's id or number for it, or the service's (`REF…`, or its number). */
  refund(id: string): Promise<Refund | null>;

  /** Commits an event to the inbox; an identical hint that is still unread is merged (`reliability.md` §3.11.2). */
  receiveEvent(event: NewEvent): Promise<void>;
  /** Pending events whose next attempt is due, oldest first; parked ones wait for their link, and expire. */
  dueEvents(now: number, limit: number): Promise<InboxEvent[]>;
  saveEvent(
    sequence: number,
    change: Partial<Pick<InboxEvent, 'state' | 'attempts' | 'next_attempt_at'>>,
  ): Promise<void>;

  audits(limit: number): Promise<AuditLine[]>;
  /** Counts for metrics and readiness. */
  counts(): Promise<{ links: Record<string, number>; notices_pending: number; events_waiting: number }>;
  /**
   * Links, events and notices that were put off by a clock that ran ahead wait from now on as long as they were meant to
   * (`reliability.md` F47), and what was opened by it and is in doubt holds its unit no longer than it was meant to. What a
   * right clock wrote stays as it is, and a second time changes nothing.
   * @param now epoch ms, by the clock as it is now. @throws PuenteError store_failed
   */
  pullForward(now: number): Promise<void>;
  /**
   * Epoch ms of the newest thing written: a link's change, a notice or its attempt, an event that waits, an exchange; 0
   * without any. A try of an event leaves only when the next one is due, and was made that pause before it or later.
   */
  newestMoment(): Promise<number>;
  /** True when the last write succeeded and the file is usable. */
  healthy(): boolean;
  close(): Promise<void>;
}
