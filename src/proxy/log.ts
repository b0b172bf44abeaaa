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

/** Each method writes one line unless the configured level hides it. `message`: constant English. */
export interface Log {
  /** For developers: steps that are expected and frequent. */
  debug(message: string, fields?: LogFields): void;
  /** Normal work: a call, a sale that was recovered. */
  info(message: string, fields?: LogFields): void;
  /** A fault of one call, sale or receiver, or one that Puente repairs by itself. */
  warn(message: string, fields?: LogFields): void;
  /** A fault that an operator must look at. */
  error(message: string, fields?: LogFields): void;
}

/** Each is `puente_<name>_total`: what it counts, then its labels, closed sets and never ids (`test/faults/README.md` F102). */
export const counters = {
  creates: ['Creates on the orders lane', 'outcome'],
  default_rows: ['Errors of upstream that no row of an errors table has', 'call'],
  losses: ['Fields that did not reach an order', 'table'],
  unknown_states: ['Orders in a state that no row has'],
  stale_versions: ['Orders older than what is stored'],
  late_approvals: ['Approvals after the end of their sale'],
  contradictions: ['Answers of upstream that contradict their sale', 'what'],
  held_terminals: ['Creates refused because the terminal is held', 'by'],
  settlements: ['Creates in doubt that were settled', 'outcome'],
  silent_orders: ['Changes of orders found without an event'],
  lost_links: ['Creates in doubt that were given up'],
  events: ['Webhooks of upstream', 'outcome'],
  unknown_names: ['Endpoints, fields and headers that no table has', 'what'],
  refused_writes: ['Writes of no operation that were refused', 'reason'],
  shed: ['Calls and evidence refused under load', 'class', 'reason'],
  dropped_connections: ['Connections over the limit of a door', 'door'],
  refused_heads: ['Requests with an invalid head', 'fault'],
  shadows: ['Legacy creates translated on paper', 'verdict'],
  differences: ['Differences of legacy and orders', 'what'],
  safety_stops: ['Safety stops, armed or observed', 'mode'],
  legacy_sales: ['Changes of sales on legacy', 'state'],
  reconciled: ['Mismatches found by reconcile', 'kind'],
  brownout_refusals: ['Calls refused by a brown-out', 'operation'],
  alerts: ['Attempts to send an alert', 'outcome'],
  backups: ['Scheduled backups', 'outcome'],
  disk_changes: ['Changes of the room on the disk', 'level'],
  breaker_changes: ['Changes of the breaker of an upstream', 'service', 'calls', 'state'],
  dropped_log_lines: ['Log lines lost at a slow output'],
} as const satisfies Readonly<Record<string, readonly [help: string, ...labels: string[]]>>;

export type CounterName = keyof typeof counters;
type LabelsOf<Name extends CounterName> = (typeof counters)[Name] extends readonly [string, ...infer Labels]
  ? { [Label in keyof Labels]: string }
  : never;

/** Adds one; `labels` are values in the order of `counters`. */
export type Count = <Name extends CounterName>(name: Name, ...labels: LabelsOf<Name>) => unknown;
