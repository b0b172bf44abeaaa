/** What operators' stories use: the proxy's ports, and a store that lists, counts and keeps what operators alone need. */
import type { AuditEntry, AuditLine } from '../proxy/audit.ts';
import type { Ports as ProxyPorts } from '../proxy/ports.ts';
import type {
  CallSeen,
  CoverageRow,
  DifferenceGroup,
  DifferenceState,
  ExchangeFilter,
  LedgerRow,
  MerchantDay,
  ReadinessDay,
  SeenUnit,
  StoredExchange,
  Traffic,
  UnknownRow,
  VerdictRow,
} from '../proxy/records/evidence.ts';
import type { Attempt, InboxEvent, LoggedNotice, NoticeFilter, NoticeSum } from '../proxy/records/notices.ts';
import type { Refund } from '../proxy/records/refunds.ts';
import type { BulkMove, LegacySale, OpenCount, Proposal } from '../proxy/records/routing.ts';
import type {
  BackupManifest,
  BackupNews,
  Holdings,
  OpenWork,
  RetentionKind,
  RetentionLimits,
  StoreCondition,
} from '../proxy/records/upkeep.ts';
import type { Link } from '../proxy/sales/link.ts';
import type * as proxy from '../proxy/store.ts';

export interface Ports extends ProxyPorts {
  store: Store;
}

/** The whole store; both engines implement it. Each method is one whole transaction. */
export interface Store extends proxy.Store {
  history: HistoryStore;
  refunds: RefundStore;
  events: EventStore;
  notices: NoticeStore;
  legacy_sales: LegacySaleStore;
  moves: MoveStore;
  audit: AuditStore;
  exchanges: ExchangeStore;
  evidence: EvidenceStore;
  upkeep: UpkeepStore;
}

/** Sales on orders, found and listed for operators. */
export interface HistoryStore extends proxy.HistoryStore {
  /** Links of all merchants with this reference of the client's own, newest first. */
  linksByAnyReference(reference: string, limit: number): Promise<Link[]>;
  /** What is open now, by merchant; those with nothing open are left out. */
  openCounts(now: number): Promise<OpenCount[]>;
  /** Live links of a merchant, oldest first; of all when null. */
  liveLinks(merchant_id: string | null, limit: number): Promise<Link[]>;
  /** Links made or changed since, by `updated_at`; after the cursor (`updated_at`, `legacy_id`), ascending. */
  linksChangedSince(
    since: number,
    after: { updated_at: number; legacy_id: string } | null,
    limit: number,
  ): Promise<Link[]>;
}

/** Refunds, found by any of their ids. */
export interface RefundStore extends proxy.RefundStore {
  /** By whatever it is called: Puente's id or number for it, or the service's (`REF…`, or its number). */
  refund(id: string): Promise<Refund | null>;
}

/** The inbox as a trace and a reconciliation read it. */
export interface EventStore extends proxy.EventStore {
  /** Events of an order or a reference, oldest first. */
  eventsOf(order_id: string | null, reference: string | null, limit: number): Promise<InboxEvent[]>;
  /** Events that found no link, newest first. */
  unmatchedEvents(limit: number): Promise<InboxEvent[]>;
}

/** The log of deliveries, and replays. */
export interface NoticeStore extends proxy.NoticeStore {
  /** Makes a merchant's pending notices due now, e.g. after its URL was set. */
  hastenNotices(merchant_id: string, now: number): Promise<void>;
  /** One notice with all its attempts, oldest first. */
  notice(id: string): Promise<{ notice: LoggedNotice; attempts: Attempt[] } | null>;
  countNotices(filter: NoticeFilter): Promise<number>;
  /** Notices created in [since, until), counted by how they stand; one that was superseded counts as the newer one. */
  sumNotices(filter: { merchant_id?: string; since: number; until: number }): Promise<NoticeSum[]>;
  /**
   * Makes notices due now, with the audit line in one transaction. One that is over (delivered, dead or superseded) becomes
   * pending once more, beside a newer one of the same topic and id.
   */
  replayNotices(ids: readonly string[], now: number, audit: AuditEntry): Promise<void>;
}

/** Sales on legacy, found for operators. */
export interface LegacySaleStore extends proxy.LegacySaleStore {
  /** Of all merchants together, those of tokens that were not accepted too; newest first. */
  legacySalesByAnyReference(client_reference: string, limit: number): Promise<LegacySale[]>;
}

/** Moves that wait for a second person, and bulk moves. */
export interface MoveStore {
  saveProposal(proposal: Proposal, audit: AuditEntry | null): Promise<void>;
  proposal(id: string): Promise<Proposal | null>;
  /** Newest first. */
  proposals(filter: { merchant_id?: string; state?: Proposal['state'] }, limit: number): Promise<Proposal[]>;
  /** `expected_revision` 0 writes a new one. @throws PuenteError conflict. */
  saveBulkMove(bulk: BulkMove, expected_revision: number, audit: AuditEntry | null): Promise<BulkMove>;
  bulkMove(id: string): Promise<BulkMove | null>;
  bulkMoves(states: readonly BulkMove['state'][], limit: number): Promise<BulkMove[]>;
}

/** The audit chain, read. */
export interface AuditStore extends proxy.AuditStore {
  audits(limit: number): Promise<AuditLine[]>;
  /** Audit lines ascending by sequence, after the cursor. */
  auditsAfter(sequence: number, limit: number): Promise<AuditLine[]>;
  /** Lines of a subject and/or action, newest first, at in [since, until). */
  auditsOf(
    filter: { subject?: string; action?: string; since?: number; until?: number },
    limit: number,
  ): Promise<AuditLine[]>;
}

/** Answered calls, read one by one. */
export interface ExchangeStore extends proxy.ExchangeStore {
  /** Ascending by sequence, after the cursor (0: from the start); a short page is the last. */
  exchanges(filter: ExchangeFilter, after: number, limit: number): Promise<StoredExchange[]>;
  exchange(id: string): Promise<StoredExchange | null>;
  /** As `exchanges`, of each only what counting needs. */
  calls(filter: ExchangeFilter, after: number, limit: number): Promise<CallSeen[]>;
  /** Ids of all merchants that traffic was counted of, ascending: those with a call whose token was accepted. */
  calledMerchants(): Promise<string[]>;
  /** Newest sequence, 0 when there is none. */
  lastExchange(): Promise<number>;
  /** Shed since a day, by reason. */
  shed(since_day: number, until_day: number): Promise<{ shadow: number; evidence: number }>;
}

/** What exchanges have shown, summed; and verdicts by day. */
export interface EvidenceStore {
  traffic(filter: { merchant_id?: string; since_day?: number; until_day?: number }): Promise<Traffic[]>;
  units(merchant_id: string): Promise<SeenUnit[]>;
  /** Money first, then by count. */
  ledger(merchant_id?: string): Promise<LedgerRow[]>;
  coverage(merchant_id?: string): Promise<CoverageRow[]>;
  /** `now`: groups whose acceptance has ended are shown as `new`. */
  differences(
    filter: { merchant_id?: string; states?: readonly DifferenceState[] },
    now: number,
  ): Promise<DifferenceGroup[]>;
  unknowns(merchant_id?: string): Promise<UnknownRow[]>;
  verdicts(merchant_id?: string): Promise<VerdictRow[]>;
  /** @throws PuenteError conflict when the stored revision is another; not_found. */
  saveDifference(
    merchant_id: string,
    signature: string,
    change: Pick<DifferenceGroup, 'state' | 'accepted_until' | 'note' | 'who'>,
    revision: number,
    audit: AuditEntry,
  ): Promise<DifferenceGroup>;
  /** One row for a merchant and day at most; a later verdict of the day takes the place of the earlier one. */
  keepReadiness(rows: readonly MerchantDay[]): Promise<void>;
  /** Of one merchant or all, days [since, until), ascending. */
  readinessDays(filter: { merchant_id?: string; since_day: number; until_day: number }): Promise<ReadinessDay[]>;
  /** The first day that a verdict was kept of; null for none. */
  readinessSince(): Promise<number | null>;
  /** Ids of the merchants with a verdict of the day, ascending. */
  judgedOn(day: number): Promise<string[]>;
}

/** Condition, backups, retention and erasure. */
export interface UpkeepStore extends proxy.UpkeepStore {
  condition(): Promise<StoreCondition>;
  /** Reads the whole file. @returns `ok`, or what is wrong with it. */
  integrity(): Promise<string>;
  /**
   * Makes a checked copy while the work goes on, and reports its progress; one at a time. A reader that stops ends it.
   * @throws PuenteError conflict while another one runs, store_failed when it could not be made: then nothing is left of it.
   */
  backup(): AsyncGenerator<BackupNews, BackupManifest, undefined>;
  /** Those of the backup directory that are whole, newest first; at the end those whose time is still to come. */
  backups(): Promise<BackupManifest[]>;
  /** Deletes all but the newest `keep`. @returns the files deleted. */
  trimBackups(keep: number): Promise<string[]>;
  /** Deletes or blanks at most `limit` rows of each kind (of `sums`: of each table) that are old and over. Never a live row, never an audit line. */
  tidyOld(limits: RetentionLimits, limit: number): Promise<Record<RetentionKind, number>>;
  holdings(merchant_id: string): Promise<Holdings>;
  openWork(merchant_id: string): Promise<OpenWork>;
  /**
   * Deletes everything of a merchant but its audit lines, in steps, and at last the merchant with `audit`; then the bytes
   * are gone from the file and its log.
   * @throws PuenteError conflict when work began meanwhile: what is deleted stays so, and it can be done again.
   */
  eraseMerchant(merchant_id: string, audit: (gone: Holdings) => AuditEntry): Promise<Holdings>;
}

/** What views of evidence read: a store's, or those of a file of calls. */
export interface EvidenceReader {
  evidence: Pick<EvidenceStore, 'traffic' | 'units' | 'ledger' | 'coverage' | 'differences' | 'unknowns' | 'verdicts'>;
  exchanges: Pick<ExchangeStore, 'exchanges'>;
}
