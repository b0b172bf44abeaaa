/** Ports of the operators' features: the proxy's ports, and a store with the lists and counts that operators need. */
import type { LoadedTables } from '../mapping/tables.ts';
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
import type {
  Alert,
  Closing,
  Condition,
  ConditionLimits,
  Incident,
  IncidentFilter,
  NewIncident,
  PaidUnacknowledged,
} from '../proxy/records/incidents.ts';
import type {
  Attempt,
  AttemptSum,
  InboxEvent,
  LoggedNotice,
  NoticeFilter,
  NoticeSum,
} from '../proxy/records/notices.ts';
import type { Refund } from '../proxy/records/refunds.ts';
import type { BulkChange, BulkMove, LegacySale, OpenCount, Proposal } from '../proxy/records/routing.ts';
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
import type { SaleState } from './sale-state.ts';

export interface Ports extends ProxyPorts {
  store: Store;
  tables: LoadedTables;
}

/** The whole store; both engines implement it. Each method is one transaction. */
export interface Store extends proxy.Store {
  merchants: MerchantStore;
  history: HistoryStore;
  refunds: RefundStore;
  events: EventStore;
  notices: NoticeStore;
  legacy_sales: LegacySaleStore;
  moves: MoveStore;
  incidents: IncidentStore;
  audit: AuditStore;
  exchanges: ExchangeStore;
  evidence: EvidenceStore;
  upkeep: UpkeepStore;
}

interface MerchantStore extends proxy.MerchantStore {
  /** Of those among these merchants that have one, by id. */
  merchantNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** A page of a merchant's rows created in [since, until) (epoch ms), ascending by creation and id; `after`: a cursor. */
export interface CreatedPage {
  merchant_id: string;
  since: number;
  until: number;
  after: { created_at: number; id: string } | null;
  limit: number;
}

interface HistoryStore extends proxy.HistoryStore {
  /** Open work by merchant; merchants without any are left out. */
  openCounts(now: number): Promise<OpenCount[]>;
  /** Newest first, before a place of the list; null: from the newest. */
  listLinks(filter: SaleFilter, before: SalePlace | null, limit: number): Promise<SalePage<Link>>;
  /** Live links of a merchant, or of all for null, oldest first. */
  liveLinks(merchant_id: string | null, limit: number): Promise<Link[]>;
  /** Oldest first, by `created_at` and id; a short page is the last. */
  linksMade(page: CreatedPage): Promise<Link[]>;
  /** Links made or changed since, by `updated_at`; after the cursor (`updated_at`, `legacy_id`), ascending. */
  linksChangedSince(
    since: number,
    after: { updated_at: number; legacy_id: string } | null,
    limit: number,
  ): Promise<Link[]>;
}

/** A refund with the family of its sale. */
export type FamilyRefund = Refund & Pick<Link, 'family'>;

interface RefundStore extends proxy.RefundStore {
  /** As `linksMade`. */
  refundsMade(page: CreatedPage): Promise<FamilyRefund[]>;
  /** Of the sales of one page, oldest first. */
  refundsOf(legacy_ids: readonly string[]): Promise<Refund[]>;
  /** By any id: Puente's id or number, or upstream's (`REF…`, or its number). */
  refund(id: string): Promise<Refund | null>;
}

interface EventStore extends proxy.EventStore {
  /** Events of an order or a reference, oldest first. */
  eventsOf(order_id: string | null, reference: string | null, limit: number): Promise<InboxEvent[]>;
  /** Events that match no link, newest first. */
  unmatchedEvents(limit: number): Promise<InboxEvent[]>;
}

/** The delivery log of notices, and redelivery. */
interface NoticeStore extends proxy.NoticeStore {
  /** Makes a merchant's pending notices due now, e.g. after its URL was set. */
  hastenNotices(merchant_id: string, now: number): Promise<void>;
  /** One notice with all its attempts, oldest first. */
  notice(id: string): Promise<{ notice: LoggedNotice; attempts: Attempt[] } | null>;
  /** Superseded ones too, unless the filter's states leave them out. */
  countNotices(filter: NoticeFilter): Promise<number>;
  /** Notices created in [since, until), counted by state; a superseded one counts as the newer one. */
  sumNotices(filter: { merchant_id?: string; since: number; until: number }): Promise<NoticeSum[]>;
  /** Attempts at notices created in [since, until), by merchant, receiver and outcome. */
  sumAttempts(filter: { merchant_id?: string; since: number; until: number }): Promise<AttemptSum[]>;
  /**
   * Makes notices due now, with the audit line in one transaction. A terminal one (delivered, dead or superseded)
   * becomes pending again, beside a newer one of the same topic and id.
   */
  redeliverNotices(ids: readonly string[], now: number, audit: AuditEntry): Promise<void>;
}

interface LegacySaleStore extends proxy.LegacySaleStore {
  /** As `linksMade`. */
  legacySalesMade(page: CreatedPage): Promise<LegacySale[]>;
  /** As `listLinks`, without refunds. */
  listLegacySales(filter: SaleFilter, before: SalePlace | null, limit: number): Promise<SalePage<LegacySale>>;
  /** Takes a turn to ask legacy, of which all processes on the store together have one in `every_ms`. @returns ms until it. */
  turnToAsk(every_ms: number): Promise<number>;
}

/** A missing field does not filter. */
export interface SaleFilter {
  merchant_id?: string;
  /** Of any of these. */
  merchant_ids?: readonly string[];
  unit?: string;
  family?: Link['family'];
  /** Exactly this reference of the till's. */
  reference?: string;
  /** Also sales on legacy of tokens that are not proven to be the merchant's. */
  with_unproven?: boolean;
  state?: SaleState;
  /** Epoch ms of creation, [since, until). */
  since?: number;
  until?: number;
  /** Both included: minor units of links, decimals of sales on legacy. */
  amount_from?: number;
  amount_to?: number;
  /** Epoch ms: a sale on legacy is open until its latest end. */
  now: number;
}

/** Of a row in a list of sales: when it was created, epoch ms, and its id. */
export interface SalePlace {
  at: number;
  id: string;
}

/** `next`: the place to continue before, also after a page that found fewer rows than it may; null at the end. */
export interface SalePage<Row> {
  rows: Row[];
  next: SalePlace | null;
}

export interface MoveStore {
  /**
   * @param newest_seen of a new one: as for `appendAudit`. @param bulk that proposes it: both are written, or neither.
   * @throws PuenteError conflict.
   */
  saveProposal(proposal: Proposal, audit: AuditEntry | null, newest_seen?: number, bulk?: BulkChange): Promise<void>;
  proposal(id: string): Promise<Proposal | null>;
  /** Newest first. */
  proposals(filter: { merchant_id?: string; state?: Proposal['state'] }, limit: number): Promise<Proposal[]>;
  /**
   * Of its merchants those that are others than in `before` are written. @param before as it was read; null writes a new one.
   * @param newest of a new ramp: the id of the newest ramp that its start rests on, empty
   * for none. @throws PuenteError conflict, also when another ramp was started since.
   */
  saveBulkMove(bulk: BulkMove, before: BulkMove | null, audit: AuditEntry | null, newest?: string): Promise<BulkMove>;
  bulkMove(id: string): Promise<BulkMove | null>;
  /** Newest first. */
  bulkMoves(filter: BulkFilter, limit: number): Promise<BulkMove[]>;
  /** The same without their merchants, which take some 10 ms to read when they are ten thousand. */
  bulkLines(filter: BulkFilter, limit: number): Promise<Pick<BulkMove, 'id' | 'created_at'>[]>;
}

/** A missing field does not filter. */
interface BulkFilter {
  states: readonly BulkMove['state'][];
  /** Ramps alone, or bulk moves alone. */
  is_ramp?: boolean;
  /** Those that name this merchant. */
  merchant_id?: string;
  /** Those that have not ended, and are to move this merchant. */
  awaited_by?: string;
  /** Those that were started before the one of this id; none for an unknown one. */
  before?: string;
}

/** Incidents and their alerts; of several processes one opens, closes, notes a line, or sends. */
interface IncidentStore {
  /** What stands now; of a large backlog only its count is read. */
  conditions(limits: ConditionLimits): Promise<Condition[]>;
  /** Of one merchant: what was paid after `since` up to `before` (epoch ms), and its till does not know; null: nothing. */
  paidUnacknowledgedOf(merchant_id: string, before: number, since: number): Promise<PaidUnacknowledged | null>;
  /** Newest first. */
  incidents(filter: IncidentFilter, limit: number): Promise<Incident[]>;
  /**
   * Opens it with an alert for each receiver, or adds it to the open one of its kind, merchant and subject: the count of
   * a condition is replaced, a line of the audit chain is added. A line counts once. One that counts ten
   * times what the last delivered alert said is announced to its receiver again, unless an alert of it waits for that receiver. A
   * condition that falls grows from there.
   */
  noteIncident(incident: NewIncident, receivers: readonly string[]): Promise<void>;
  /** With an alert for the receivers that were sent one of it. @returns false when it was closed already. */
  closeIncident(id: string, at: number, by: string, audit: AuditEntry | null, closing?: Closing): Promise<boolean>;
  /** Sequence of the newest audit line that was looked at; 0 before the first. It stays when incidents are deleted. */
  lastIncidentLine(): Promise<number>;
  /** The lines up to this sequence have been looked at; an older one changes nothing. */
  passLines(sequence: number): Promise<void>;
  /** Of each receiver the oldest alert that is due, and no earlier one of its incident waits: those arrive in order. */
  dueAlerts(now: number): Promise<Alert[]>;
  /**
   * Counts an attempt and puts the next one off, before it is sent. @param count of the incident, as the attempt names it.
   * @returns false: another process was first.
   */
  takeAlert(alert: Alert, next_attempt_at: number, count: number): Promise<boolean>;
  /**
   * How the attempt that was taken ended; `pending` is tried again. After `delivered`, an incident that has grown since
   * it was taken is announced. @param at epoch ms.
   */
  endAlert(alert: Alert, state: Alert['state'], detail: string, at: number): Promise<void>;
  /** By receiver: how many wait, and the last one that was tried. */
  alertsOf(receiver: string): Promise<{ waiting: number; last: Alert | null }>;
}

export interface AuditStore extends proxy.AuditStore {
  /** Newest first. */
  audits(limit: number): Promise<AuditLine[]>;
  /** Ascending by sequence, after the cursor. */
  auditsAfter(sequence: number, limit: number): Promise<AuditLine[]>;
  /** Of a subject and/or action, newest first, written in [since, until), with a sequence above `after` and below `before`. */
  auditsOf(
    filter: { subject?: string; action?: string; since?: number; until?: number; after?: number; before?: number },
    limit: number,
  ): Promise<AuditLine[]>;
}

export interface ExchangeStore extends proxy.ExchangeStore {
  /** Ascending by sequence, after the cursor (0: from the start); a short page is the last. */
  exchanges(filter: ExchangeFilter, after: number, limit: number): Promise<StoredExchange[]>;
  /** Null also for one that was deleted by age. */
  exchange(id: string): Promise<StoredExchange | null>;
  /** As `exchanges`, with only the fields that counting needs. */
  calls(filter: ExchangeFilter, after: number, limit: number): Promise<CallSeen[]>;
  /** Ids of all merchants with a call whose token was accepted, ascending. */
  calledMerchants(): Promise<string[]>;
  /** Newest sequence, 0 when there is none. */
  lastExchange(): Promise<number>;
  /** Exchanges shed on the days [since_day, until_day), by reason. */
  shed(since_day: number, until_day: number): Promise<{ shadow: number; evidence: number }>;
}

/** Sums over exchanges, and readiness verdicts by day. */
interface EvidenceStore {
  traffic(filter: { merchant_id?: string; since_day?: number; until_day?: number }): Promise<Traffic[]>;
  units(merchant_id: string): Promise<SeenUnit[]>;
  /** Money first, then by count. */
  ledger(merchant_id?: string): Promise<LedgerRow[]>;
  coverage(merchant_id?: string): Promise<CoverageRow[]>;
  /** Groups whose acceptance has ended by `now` (epoch ms) are `new`. */
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
  /** At most one row per merchant and day; a later verdict of the day replaces the earlier one. */
  keepReadiness(rows: readonly MerchantDay[]): Promise<void>;
  /** Of one merchant or all, days [since, until), ascending. */
  readinessDays(filter: { merchant_id?: string; since_day: number; until_day: number }): Promise<ReadinessDay[]>;
  /** The first day with a stored verdict; null for none. */
  readinessSince(): Promise<number | null>;
  /** Ids of the merchants with a verdict of the day, ascending. */
  judgedOn(day: number): Promise<string[]>;
}

export interface UpkeepStore extends proxy.UpkeepStore {
  /** Engine, schema, sizes and room of this moment. */
  condition(): Promise<StoreCondition>;
  /** Reads the whole file. @returns `ok`, or what is wrong with it. */
  integrity(): Promise<string>;
  /**
   * Makes a checked copy while payments continue, and yields its progress. A reader that stops ends it.
   * @throws PuenteError conflict while another backup runs; store_failed: nothing is left of it.
   */
  backup(): AsyncGenerator<BackupNews, BackupManifest, undefined>;
  /** The complete backups, newest first; those dated in the future come last. */
  backups(): Promise<BackupManifest[]>;
  /** Deletes all but the newest `keep`. @returns the files deleted. */
  trimBackups(keep: number): Promise<string[]>;
  /** Deletes or blanks at most `limit` old terminal rows per kind (`sums`: per table); no live row, no audit line. */
  tidyOld(limits: RetentionLimits, limit: number): Promise<Record<RetentionKind, number>>;
  /** Counts what an erase would delete. */
  holdings(merchant_id: string): Promise<Holdings>;
  /** What stands in the way of an erase. */
  openWork(merchant_id: string): Promise<OpenWork>;
  /**
   * Deletes everything of a merchant except its audit lines, in steps; last the merchant itself, with `audit`. Then the
   * bytes are gone from the file and its log.
   * @throws PuenteError conflict when work began meanwhile: deleted rows stay deleted, and the call can be repeated.
   */
  eraseMerchant(merchant_id: string, audit: (gone: Holdings) => AuditEntry): Promise<Holdings>;
}

/** What views of evidence read: of a store, or of a file of calls. */
export interface EvidenceReader {
  evidence: Pick<EvidenceStore, 'traffic' | 'units' | 'ledger' | 'coverage' | 'differences' | 'unknowns' | 'verdicts'>;
  exchanges: Pick<ExchangeStore, 'exchanges' | 'calls'>;
}
