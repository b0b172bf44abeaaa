/** The settings that the proxy's and the operators' decisions use; each from `config/default.yaml`. */
import type { Dialect, PointPaymentNotices, QrNotices, SafetyMode, Stage, UnknownPolicy } from './routing/merchant.ts';

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
  /** How long cached answers are fresh; `pos_fresh_ms`: the point of sale behind a till's number. */
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
    unknown_write: 'refuse' | 'allow';
    unknown_field: UnknownPolicy;
    unknown_header: UnknownPolicy;
    capture: boolean;
  };
  /** The form that `source_news=ipn` in a notification URL means. */
  notices: { source_news_ipn: 'ipn' | 'webhook' };
  routing: {
    /** Salts the hash that chooses canary units. */
    canary_salt: string;
    /** How long a sale on legacy holds its unit when its end is unknown. */
    legacy_hold_ms: number;
  };
  moves: {
    /** `advise`: missing evidence is reported and does not stop a move. */
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
    /** Percent of faults at which the stop trips; `slow_share`: of slow calls. */
    fault_share: number;
    slow_ms: number;
    slow_share: number;
  };
  sweep: { per_second: number; age_ms: number };
  /** How long calls, and sales on legacy, are kept. */
  evidence: { kept_ms: number };
  /** How long finished sales on orders are kept, and the sums of calls by day. */
  retention: { links_ms: number; sums_ms: number };
}
