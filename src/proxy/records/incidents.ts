/** Incidents, and the alerts that go out for them. */

/** Conditions are read from the store; an incident of one closes when the condition no longer holds. */
export const conditionKinds = [
  'safety_stop',
  'create_in_doubt',
  'paid_unacknowledged',
  'notices_stuck',
  'move_waiting',
] as const;

/** Incidents made of lines that Puente wrote to the audit chain. */
export const lineKinds = [
  'mismatch',
  'terminal_held',
  'settlement',
  'safety_stop_observed',
  'bulk_stopped',
  'data_lost',
] as const;

export const incidentKinds = [...conditionKinds, ...lineKinds] as const;
export type IncidentKind = (typeof incidentKinds)[number];

export interface Incident {
  id: string;
  kind: IncidentKind;
  /** '' for the whole installation. */
  merchant_id: string;
  /** Groups a merchant's incidents of one kind: a kind of work or of mismatch, a terminal, a ramp; '' where nothing divides them. */
  subject: string;
  /** Epoch ms, as the others. */
  opened_at: number;
  last_at: number;
  /** Null while it is open. */
  closed_at: number | null;
  closed_by: string | null;
  /** Sales, notices, moves or lines that it is about. */
  count: number;
  /** One of them, for `puente trace`. */
  sample: string | null;
  /** An encoded message. */
  reason: string;
  /** Sequence of the newest audit line that it counts; 0 without one. */
  line: number;
}

export type NewIncident = Omit<Incident, 'closed_at' | 'closed_by'>;

/**
 * Paid sales and notices of a merchant are not counted beyond this; messages then say "or more". Operators need no more, and exact counts of a long outage kept tills waiting.
 */
export const MOST_COUNTED = 1_000;

/** A condition that holds now, of one merchant. */
export interface Condition {
  kind: (typeof conditionKinds)[number];
  merchant_id: string;
  subject: string;
  count: number;
  /** Epoch ms of the oldest. */
  since: number;
  sample: string | null;
  /** Of a safety stop: its reason, encoded. */
  why: string | null;
}

/** Paid sales that their tills do not know, of one merchant. `since`: epoch ms of the oldest; `sample`: its id or another's. */
export type PaidUnacknowledged = Pick<Condition, 'count' | 'since' | 'sample'>;

/** Epoch ms: what is older stands, and a paid sale until `paid_since` passes it. */
export interface ConditionLimits {
  in_doubt_before: number;
  paid_before: number;
  paid_since: number;
  notices_before: number;
  /** A proposed ramp that is older has expired. */
  ramps_since: number;
  now: number;
}

/** A missing field does not filter. `since`, `until`: epoch ms of its opening, [since, until). */
export interface IncidentFilter {
  id?: string;
  merchant_id?: string;
  kind?: IncidentKind;
  is_open?: boolean;
  since?: number;
  until?: number;
}

/** No attempt is put off for longer (`ops/incidents/alerts.ts`). */
export const LONGEST_WAIT_MS = 2 * 60 * 60_000;

/**
 * `grown`: the incident counts ten times what the last alert delivered to the receiver named. `unwatched`: it was closed because its rows are too old to be watched;
 * its condition may still hold.
 */
export const alertEvents = ['opened', 'grown', 'recovered', 'unwatched'] as const;
export type AlertEvent = (typeof alertEvents)[number];

/** How an incident is closed; with the reason, sample and count that it has from then on, where those are others. */
export interface Closing {
  event: Extract<AlertEvent, 'recovered' | 'unwatched'>;
  /** An encoded message. */
  reason?: string;
  sample?: string | null;
  count?: number;
}

/** One message to one receiver. */
export interface Alert {
  sequence: number;
  /** The same on every attempt. */
  id: string;
  incident_id: string;
  /** Name of the receiver in the settings. */
  receiver: string;
  event: AlertEvent;
  state: 'pending' | 'delivered' | 'failed';
  attempts: number;
  created_at: number;
  next_attempt_at: number;
  /** How the last attempt ended, an encoded message. */
  detail: string | null;
}

/** Their incoming webhooks take `text` alone, and check no signature: such a receiver needs no secret. */
const SLACK_HOSTS: readonly string[] = ['hooks.slack.com', 'hooks.slack-gov.com'];

/** True for the URL of a Slack webhook. */
export function isSlack(url: string): boolean {
  return SLACK_HOSTS.includes(URL.parse(url)?.hostname ?? '');
}
