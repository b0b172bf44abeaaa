/** An exchange: one answered call, with what it did; the unit of all evidence (`docs/glossary.md` Exchange). */
import type { MarkedLimitation } from '../../mapping/limitations.ts';
import type { Loss, Operation } from '../../mapping/tables.ts';
import type { LogFields } from '../log.ts';
import type { RoutedKind, Stage, UnknownPolicy } from '../routing/merchant.ts';
import type { Secret } from '../vault.ts';
import { type CapturedMessages, redactName } from './redact.ts';

export type OperationKind = Operation['kind'];

/**
 * How a call ended, for sums and the safety stop. `ok`: 2xx. `business`: declines, bad requests, busy terminals,
 * unknown ids. `auth`: token refused. `fault`, Puente's or upstream's: 5xx, timeouts, unreadable answers, outcomes in
 * doubt.
 */
export const outcomes = ['ok', 'business', 'auth', 'fault'] as const;
export type Outcome = (typeof outcomes)[number];

/** Refusals that depend on more than the request: token, unit, existence, a request received in part, work in progress, rate. */
const OF_STATE = new Set([401, 403, 404, 408, 409, 429]);

/** True for a status that refuses what a request says, so that it would be refused again. */
export function isRefusalOfRequest(status: number): boolean {
  return status >= 400 && status < 500 && status !== TILL_LEFT && !OF_STATE.has(status);
}

/** One call that Puente made for an exchange. */
export interface UpstreamNote {
  /** `create`, `get`, …; `legacy` for a proxied call. */
  name: string;
  /** Null: no complete answer. */
  status: number | null;
  /** The code of an upstream error body, such as `already_queued_order_for_terminal`; null without one. */
  code: string | null;
  duration_ms: number;
  /** Ms from the arrival of the till's call to the start of this one; missing in exchanges of earlier versions. */
  began_ms?: number;
}

/** `refused_here`: a table refuses the create; `refused_there`: upstream would. */
export const shadowVerdicts = ['accepted', 'refused_here', 'refused_there'] as const;
export type ShadowVerdict = (typeof shadowVerdicts)[number];

/** What a predicted refusal follows from. */
interface RefusalCause {
  /**
   * Of `refused_here`: the row, as `table#row`; `contract`, `body` or `path` without one. Of `refused_there`: the rule's
   * path and number, as `total_amount#2`.
   */
  by: string;
  /** Of `refused_here`: the name in the catalogue of legacy errors; null: another, or none. */
  error: string | null;
  /** The property, or what else the error names, redacted and without indexes. */
  names: string;
}

/** The shadow of a legacy create: the order that would have been sent, and its predicted answer. */
export interface ShadowFinding {
  verdict: ShadowVerdict;
  /** Upstream status and exact code (`docs/field-notes.md` Spec Errors) for `refused_there`; else null. */
  status: number | null;
  code: string | null;
  /** The legacy error that the till would get; null when accepted. */
  error: string | null;
  /** One sentence: the rule and the field. */
  detail: string | null;
  /** The same without a sentence; null when accepted, missing where an older build stored it. */
  cause?: RefusalCause | null;
  /** The would-be order, redacted; null when a table refused it. */
  order: unknown;
  fired: string[];
  losses: Loss[];
  took_ms: number;
}

/** Facts collected while a call is served. */
export interface ExchangeDraft {
  /** `performance.now()` when the call arrived. */
  readonly started_tick_ms: number;
  legacy_id: string | null;
  upstream: UpstreamNote[];
  /** Rows that fired, as `table#row`. */
  fired: string[];
  losses: Loss[];
  unknown: UnknownHit[];
  /** Numbers of limitations: those that code marked; in a recorded exchange, all that the call met. */
  limitations: string[];
  /** Empty unless the merchant's exchanges are captured. */
  sent: CapturedMessages['upstream'];
  /** What failed: the legacy id of the create in doubt because of which the till was refused, and the amount of another sale. */
  doubt_of?: string;
  /** Unit and amount of a create whose sale is not known to be made: its till tries it again. */
  not_made?: string;
  /** A create, cancel or refund: its upstream requests have priority. */
  is_payment?: boolean;
  /** From the merchant's settings; missing until the merchant is known. */
  rules?: { captured: boolean; unknown_field: UnknownPolicy };
}

/** A header, field or endpoint that no table has. */
export interface UnknownHit {
  what: 'endpoint' | 'field' | 'header';
  /** `PUT /stores/:id`, `body.tip`, `x-shop`: ids replaced, at most 200 characters. */
  name: string;
}

/** A finished exchange, as it is recorded. */
export interface Exchange
  extends Omit<ExchangeDraft, 'started_tick_ms' | 'sent' | 'rules' | 'doubt_of' | 'not_made' | 'is_payment'> {
  /** UUID v7. */
  id: string;
  /** Epoch ms when the call arrived. */
  at: number;
  /** Null unless the token is proven to be this merchant's (`proxy/routing/token-ownership.ts`). */
  merchant_id: string | null;
  /** Null: Puente has no operation for it. */
  operation: string | null;
  kind: OperationKind | null;
  lane: 'legacy' | 'orders';
  /** As in force for the call, safety stop included. */
  stage: Stage;
  /** Slot of the unit, if the call names one. */
  unit: string | null;
  status: number;
  /** `error` of the body that the till was answered; null on success. */
  error: string | null;
  outcome: Outcome;
  /** How long the till waited. */
  duration_ms: number;
  tables_revision: string;
  shadow: ShadowFinding | null;
  /** Null unless captured. */
  messages: CapturedMessages | null;
}

/** The status that proxies log for a caller that disconnected before it was answered. */
export const TILL_LEFT = 499;

const MAX_NAME = 200;
/** Unknown names kept of one call. */
const MAX_HITS = 50;
/** A part of a path as APIs name them; any other part counts as an id. */
const PATH_WORD = /^(v\d{1,2}|[a-z][a-z_.-]{0,31})$/;

/** Notes an unknown endpoint, header or field once per call, without list indices and long numbers. */
export function noteUnknown(draft: Pick<ExchangeDraft, 'unknown'>, what: UnknownHit['what'], found: string): void {
  if (draft.unknown.length >= MAX_HITS) return;
  const name = redactName(found)
    .replaceAll(/\[\d+\]/g, '[]')
    .replaceAll(/\d{6,}/g, '#')
    .slice(0, MAX_NAME)
    .toWellFormed();
  if (!draft.unknown.some((hit) => hit.what === what && hit.name === name)) draft.unknown.push({ what, name });
}

/** `PUT /stores/:id`. @param target path and query as received. */
export function endpointName(method: string, target: string): string {
  const [path = ''] = target.split('?', 1);
  const parts = path.split('/').map((part) => (part === '' || PATH_WORD.test(part) ? part : ':id'));
  return `${method} ${parts.join('/')}`;
}

/** Marks a limitation that only code can see, once per call; `limitations.yaml` says when the mark counts. */
export function markLimitation(draft: Pick<ExchangeDraft, 'limitations'> | null, id: MarkedLimitation): void {
  if (draft !== null && !draft.limitations.includes(id)) draft.limitations.push(id);
}

/** A call that legacy has answered, with everything that a shadow may use. */
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
  /** For double reads only. */
  token: Secret;
  site: string | null;
  voucher: 'refuse' | 'drop';
  messages: CapturedMessages | null;
}

/** The current window of one merchant and kind, in this process. */
export interface Watched extends Sums {
  merchant_id: string;
  kind: RoutedKind;
  /** How many more faults would trip the stop; 0 when it would trip now. `slow_left`: slow calls; null: no number. */
  faults_left: number;
  slow_left: number | null;
  /** Why the stop would trip now; null while it would not. */
  why: string | null;
}

/** Counts of the calls in one window of the safety stop. */
export interface Sums {
  /** Without calls that repeat a fault. */
  calls: number;
  /** A create that failed is one, with all its retries and all that it refuses. */
  faults: number;
  slow: number;
  /** Faults since the last good call. */
  in_a_row: number;
  /** Ids of the exchanges with the newest faults and slow calls, newest first. */
  exchanges: string[];
}

/** Judges finished exchanges for the safety stop. */
export interface SafetyWatch {
  /** Counts a finished exchange. Cheap, never throws, never waits. @param failed what failed, if it did. */
  note(exchange: Exchange, failed: Pick<ExchangeDraft, 'doubt_of' | 'not_made'>): void;
  /** Windows with calls; of one merchant, or of all. */
  view(merchant_id?: string): Watched[];
  /** Resolves when all decisions so far are stored. */
  settled(): Promise<void>;
}

/** Records finished exchanges off the request path. Never throws, never waits; sheds and counts when it is full. */
export interface Evidence {
  safety: SafetyWatch;
  /** @param came see `Found` in `evidence/findings.ts`. */
  finished(exchange: Exchange, came?: readonly string[]): void;
  /** The same after computing the shadow; if that is shed, without it. */
  shadowed(task: ShadowTask): void;
  /** The answer has left; `work`, which never rejects, makes its exchange and calls one of the two above. */
  coming(work: Promise<void>): void;
  /** Resolves when every call answered so far is stored. */
  settled(): Promise<void>;
}

/** What a log line says of an exchange: the sale's legacy id, where it has one, and the operation. */
export function aboutExchange({ legacy_id, operation }: Exchange): LogFields {
  return { ...(legacy_id === null ? {} : { legacy_id }), operation: operation ?? 'none' };
}
