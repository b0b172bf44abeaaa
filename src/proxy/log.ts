/** Log lines and counters, with the only fields and labels that they may have. */

/** An allow-list: nothing that a caller sent is logged in another field. */
export interface LogFields {
  merchant?: string;
  operation?: string;
  /** Answered to the caller, for questions about an error. */
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

/** Names of the counters; labels are closed sets, never ids (`test/faults/README.md` F102). */
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
