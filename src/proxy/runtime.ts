/** What the stories are handed: everything that is not a decision. */
import type { Tables } from '../mapping/tables.ts';
import type { Cache } from './cache.ts';
import type { CapturedMessages, Exchange, ExchangeDraft } from './evidence/exchange.ts';
import type { Failpoint } from './failpoint.ts';
import type { Serial } from './keyed-mutex.ts';
import type { Passing, Recent } from './lru.ts';
import type { Unrecorded } from './routing/legacy-pending.ts';
import type { Dialect, PointPaymentNotices, QrNotices, SafetyMode, Stage, UnknownPolicy } from './routing/merchant.ts';
import type { Proofs, UnprovenTokens } from './routing/token-ownership.ts';
import type { SafetyWatch } from './safety/stop.ts';
import type { RecentReads } from './sales/refresh.ts';
import type { Flight, RetryBudget } from './sales/submit.ts';
import type { Secret } from './secret.ts';
import type { Store } from './store.ts';
import type { Upstream } from './upstream/upstream.ts';
import type { Vault } from './vault.ts';

export interface Clock {
  /** Wall clock, epoch ms. */
  now(): number;
  sleep(duration_ms: number): Promise<void>;
  /** Ms of a clock that nobody can set; without it nobody watches for the wall clock being set back. */
  monotonic?(): number;
  /** How far `now` was read ahead of `monotonic` at most, ms, since this was asked before; -Infinity without a reading. */
  furthest?(): number;
}

/** The only fields a log line may have; nothing a caller sent goes to the log by another name. */
export interface LogFields {
  merchant?: string;
  operation?: string;
  /** What a caller was told to name when asking about an error. */
  request_id?: string;
  legacy_id?: string;
  order_id?: string;
  unit?: string;
  lane?: string;
  status?: number;
  code?: string;
  cause?: string;
  attempts?: number;
  duration_ms?: number;
  action?: string;
  table?: string;
  path?: string;
  count?: number;
}

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** Names of the counters; labels are closed sets, never ids (`reliability.md` F102). */
export type CounterName =
  | 'creates' // outcome
  | 'default_rows' // call
  | 'losses' // table
  | 'unknown_states' // -
  | 'stale_versions' // -
  | 'late_approvals' // -
  | 'contradictions' // what
  | 'held_terminals' // by: late_order, legacy_sale, foreign
  | 'settlements' // outcome
  | 'silent_orders' // found without an event
  | 'lost_links' // -
  | 'events' // outcome
  | 'unknown' // what
  | 'refused_writes' // why: endpoint, spelling
  | 'shed' // shadow, evidence, or class and reason of a call
  | 'connections' // dropped
  | 'refused_heads' // what was wrong
  | 'shadow' // verdict
  | 'differences' // what
  | 'safety_stops' // mode
  | 'legacy_sales' // outcome
  | 'reconciled' // kind of mismatch
  | 'brownouts' // refused calls
  | 'backups' // made or failed
  | 'disk' // level, or the log
  | 'breaker' // calls and state
  | 'log_lines'; // dropped

export type Count = (name: CounterName, label?: string) => void;

/** Settings the stories need; each from `config/default.yaml`. */
export interface CoreSettings {
  create: {
    deadline_ms: number;
    attempt_timeout_ms: number;
    attempts: number;
    replay_window_ms: number;
    join_window_ms: number;
    settle_after_ms: number;
    unclaimed: 'cancel-unclaimed' | 'adopt';
    default_lifetime_ms: number;
  };
  /** `search_fresh_ms`: searches that poll are answered from the cache for so long. `pos_fresh_ms`: what a till's number stands for. */
  reads: { fresh_ms: number; timeout_ms: number; search_fresh_ms: number; pos_fresh_ms: number };
  tokens: { accepted_for_ms: number; kept_for_ms: number };
  reconcile: {
    point_interval_ms: number;
    qr_interval_ms: number;
    max_interval_ms: number;
    action_required_grace_ms: number;
  };
  merchants: {
    stage: Stage;
    dialect: Dialect;
    qr_notices: QrNotices;
    point_payment_notices: PointPaymentNotices;
    declined: 'error' | 'finished';
    cancel_on_terminal: boolean;
    voucher: 'refuse' | 'drop';
    notice_url: string | null;
    safety_stop: SafetyMode;
    unknown_endpoint: UnknownPolicy;
    unknown_write: 'refuse' | 'carry';
    unknown_field: UnknownPolicy;
    unknown_header: UnknownPolicy;
    capture: boolean;
  };
  /** What `source_news=ipn` in a notification URL asks for. */
  notices: { source_news_ipn: 'ipn' | 'webhook' };
  routing: {
    /** Salts the hash that chooses canary units. */
    canary_salt: string;
    /** How long a sale on legacy holds its unit when nobody can say that it is over. */
    legacy_hold_ms: number;
  };
  moves: {
    /** `advise`: missing evidence is told and does not stop a move. */
    gate: 'enforce' | 'advise';
    second_approver: boolean;
    /** When merchants may be moved forward, e.g. `Mon-Fri 09:00-17:00 America/Sao_Paulo`; null: at any time. */
    window: string | null;
    bulk_per_day: number;
    /** Calls of an operation below which its evidence is inconclusive. */
    min_sample: number;
    proposal_kept_ms: number;
  };
  safety: {
    window_ms: number;
    min_sample: number;
    /** Percent of faults, or of slow calls, at which the stop trips. */
    fault_share: number;
    slow_ms: number;
    slow_share: number;
  };
  sweep: { per_second: number; age_ms: number };
}

/** A call that legacy has answered, or is about to be compared with: what a shadow may look at. */
export interface ShadowTask {
  exchange: Exchange;
  request: {
    path: Record<string, string>;
    query: Record<string, string>;
    headers: Record<string, string>;
    body: unknown;
  };
  /** Parsed legacy answer; null when it could not be read. */
  legacy_body: unknown;
  /** For double reads alone. */
  token: Secret;
  site: string | null;
  voucher: 'refuse' | 'drop';
  messages: CapturedMessages | null;
}

/** Takes finished exchanges off the request path. Never throws, never waits; sheds and counts when it is full. */
export interface Evidence {
  /** @param came fields that the call had, as `Found` in `evidence/findings.ts` says. */
  finished(exchange: Exchange, came?: readonly string[]): void;
  /** The same, with the shadow computed first; when that is shed, the exchange is kept without it. */
  shadowed(task: ShadowTask): void;
  /** A call whose answer has left is being brought to one of the two above; `work` never rejects. */
  coming(work: Promise<void>): void;
  /** Until everything that was answered or handed over so far is in the store. */
  settled(): Promise<void>;
}

export interface Runtime {
  store: Store;
  upstream: Upstream;
  /** Where everything that is not ours is carried; searches are merged with what it finds. */
  legacy_upstream: Upstream;
  tables: Tables;
  vault: Vault;
  clock: Clock;
  /** [0, 1). */
  random: () => number;
  settings: CoreSettings;
  log: Log;
  count: Count;
  serial: Serial;
  budget: RetryBudget;
  /** Legacy ids whose create was sent by this process and not committed since. */
  unsettled: Passing<true>;
  /** Creates that a till of this process waits for now, by legacy id. */
  flights: Passing<Flight>;
  /**
   * Since when upstream says of a refund in doubt that it has none, by its id; and when the events of a create in doubt
   * were called for, by legacy id: monotonic ms.
   */
  missing: Recent<number>;
  /** Orders that the last read of this process did not find, by their id: since which read, and the last one; monotonic ms. */
  unfound: Recent<{ since_ms: number; last_ms: number }>;
  /** Sales whose order is not what was asked for, by the last answer about it; by legacy id: since which answer, and the last one. */
  contradicted: Recent<{ what: string; since_ms: number; last_ms: number }>;
  /** What holds a terminal on which no sale went well since, by merchant and terminal (`proxy/point/held-terminal.ts`). */
  held_terminals: Recent<'late_order' | 'legacy_sale' | 'foreign'>;
  /** Since when this process looks at orders that are shown as over and may yet be paid, by legacy id: monotonic ms. */
  awaited: Recent<number>;
  /** The unsigned event, by its sequence, that is tried again for a link in doubt while its order is not there; by legacy id. */
  absent: Recent<number>;
  /** References that are used upstream, by merchant and reference (`proxy/sales/new-link.ts`). */
  spent: Recent<true>;
  /** When this process opened sales without a key, by legacy id: monotonic ms. */
  opened: Recent<number>;
  /** Sales that their tills know, although this could not be written, by legacy id (`proxy/sales/heard.ts`). */
  known: Recent<true>;
  /** When refunds were asked for of this process, by their id: monotonic ms. */
  asked: Recent<number>;
  reads: RecentReads;
  cache: Cache;
  ids: {
    /** A lower-case UUID, unused. @param now epoch ms. */
    legacyId(now: number): string;
    /** For merchant orders and refunds: rises, and never meets a real number (`proxy/sales/minted.ts`). */
    number(now: number): number;
    /** For `X-Idempotency-Key`: one per row, never made again. */
    idempotencyKey(): string;
  };
  /** What the rules of outgoing calls say of the URLs that tills name for their notices. */
  notice_urls: {
    /** Of a URL that names none: plain where that may be called, as clients do without one. */
    scheme: 'http' | 'https';
    /** False for a URL that the rules, as they are set, never let a notice go to. */
    mayCall(url: string): boolean;
  };
  /** Units that a carried create holds on legacy though the store could not be told. */
  unrecorded: Unrecorded;
  /** Tokens of carried creates in doubt that nobody could judge. */
  unproven_tokens: UnprovenTokens;
  /** Tokens that legacy has taken lately. */
  proofs: Proofs;
  evidence: Evidence;
  /** Watches the orders lane for faults. */
  safety: SafetyWatch;
  /** The draft of the exchange that the code at hand works for; null outside of one. */
  exchange(): ExchangeDraft | null;
  /** Runs work for an exchange: whatever it awaits finds the draft. */
  inExchange<T>(draft: ExchangeDraft, work: () => T): T;
  /** Identifies this run of the process. */
  boot_id: string;
  /** Notices were committed: deliver them now. */
  noticesWaiting(): void;
  failpoint: Failpoint;
}
