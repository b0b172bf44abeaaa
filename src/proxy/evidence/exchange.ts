/** An exchange: one answered call, what it did and what it showed; the unit of all evidence (`docs/glossary.md` Exchange). */

import type { MarkedLimitation } from '../../mapping/limitations.ts';
import type { Loss, Operation } from '../../mapping/tables.ts';
import type { LogFields } from '../log.ts';
import type { RoutedKind, Stage, UnknownPolicy } from '../routing/merchant.ts';
import type { Secret } from '../vault.ts';
import { type CapturedMessages, redactName } from './redact.ts';

export type OperationKind = Operation['kind'];

/**
 * How a call ended, for sums and for the safety stop. `ok`: 2xx. `business`: declines, bad requests, busy terminals,
 * unknown ids. `auth`: the token was not accepted. `fault`, Puente's or upstream's: 5xx, timeouts, unreadable answers,
 * outcomes in doubt.
 */
export const outcomes = ['ok', 'business', 'auth', 'fault'] as const;
export type Outcome = (typeof outcomes)[number];

/** One call that Puente made for an exchange. */
export interface UpstreamNote {
  /** `create`, `get`, …; `legacy` for a proxied call. */
  name: string;
  /** Null: no complete answer. */
  status: number | null;
  /** `already_queued_order_for_terminal`, …: the code of an upstream error body; null where there is none. */
  code: string | null;
  duration_ms: number;
  /** Ms from the arrival of the call to the start of this one; missing in exchanges of earlier versions. */
  began_ms?: number;
}

/** `refused_here`: a table refuses it; `refused_there`: upstream would. */
export const shadowVerdicts = ['accepted', 'refused_here', 'refused_there'] as const;
export type ShadowVerdict = (typeof shadowVerdicts)[number];

/** The shadow of a legacy create: the order that would have been sent, and its predicted answer. */
export interface ShadowFinding {
  verdict: ShadowVerdict;
  /** Upstream status and exact code (`docs/field-notes.md` Spec Errors) for `refused_there`; else null. */
  status: number | null;
  code: string | null;
  /** Legacy error that the till would be answered; null when accepted. */
  error: string | null;
  /** One sentence: which rule, on which field. */
  detail: string | null;
  /** The would-be order, redacted; null when a table refused it. */
  order: unknown;
  fired: string[];
  losses: Loss[];
  /** Time to compute it, ms with fractions. */
  took_ms: number;
}

/** Facts gathered while a call is served. */
export interface ExchangeDraft {
  /** `performance.now()` when the call arrived. */
  readonly started_tick_ms: number;
  legacy_id: string | null;
  upstream: UpstreamNote[];
  /** Rows that fired, as `table#row`. */
  fired: string[];
  losses: Loss[];
  /** Headers, fields or endpoints that no table knows. */
  unknown: UnknownHit[];
  /** Numbers of limitations: those marked by code; once the exchange is recorded, all that the call met. */
  limitations: string[];
  /** Filled only while the merchant's exchanges are captured. */
  sent: CapturedMessages['upstream'];
  /** The till was refused because an earlier create of Puente's is in doubt. */
  by_doubt?: boolean;
  /** The call makes, cancels or refunds something: its upstream requests have priority. */
  is_payment?: boolean;
  /** From the merchant's settings; missing until the merchant is known. */
  rules?: { captured: boolean; unknown_field: UnknownPolicy };
}

export interface UnknownHit {
  what: 'endpoint' | 'field' | 'header';
  /** `PUT /stores/:id`, `body.tip`, `x-shop`: ids replaced, at most 200 characters. */
  name: string;
}

/** An answered call, ready to be evaluated and recorded. */
export interface Exchange
  extends Omit<ExchangeDraft, 'started_tick_ms' | 'sent' | 'rules' | 'by_doubt' | 'is_payment'> {
  /** UUID v7. */
  id: string;
  /** Epoch ms when the call arrived. */
  at: number;
  /** Null unless the token is proven to be this merchant's (`proxy/routing/token-ownership.ts`): a claim alone counts for no merchant. */
  merchant_id: string | null;
  /** Null: Puente has no operation for it. */
  operation: string | null;
  kind: OperationKind | null;
  lane: 'legacy' | 'orders';
  /** In force for the call, safety stop included. */
  stage: Stage;
  /** Slot of the unit, where the call names one. */
  unit: string | null;
  status: number;
  /** `error` of the body that the till was answered; null on success. */
  error: string | null;
  outcome: Outcome;
  /** The till's wait. */
  duration_ms: number;
  tables_revision: string;
  shadow: ShadowFinding | null;
  /** Null unless captured. */
  messages: CapturedMessages | null;
}

/** The till disconnected before it was answered; the number that proxies log for it. */
export const TILL_LEFT = 499;

/** Longest name that is kept. */
const MAX_NAME = 200;
/** Kept of one call. */
const MAX_HITS = 50;
/** A part of a path as APIs name them; any other part counts as an id. */
const PATH_WORD = /^(v\d{1,2}|[a-z][a-z_.-]{0,31})$/;

/** Notes an endpoint, header or field that no table knows, once per call; list indices and long numbers are left out of names. */
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

/** Marks a limitation that only the calling code can see, once per call; its entry in `limitations.yaml` says when the mark counts. */
export function markLimitation(draft: Pick<ExchangeDraft, 'limitations'> | null, id: MarkedLimitation): void {
  if (draft !== null && !draft.limitations.includes(id)) draft.limitations.push(id);
}

/** A call that legacy has answered, with everything a shadow may use. */
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

/** The current window of one merchant and kind. */
export interface Watched {
  merchant_id: string;
  kind: RoutedKind;
  calls: number;
  faults: number;
  slow: number;
  /** Faults since the last good call. */
  in_a_row: number;
  /** The exchange that showed the last fault or slow call. */
  sample: string | null;
  /** Why it would trip now; null while it wouldn't. */
  why: string | null;
}

export interface SafetyWatch {
  /** Counts a finished exchange. Cheap, never throws, never waits. */
  note(exchange: Exchange): void;
  /** Windows with calls in them; of one merchant, or of all. */
  view(merchant_id?: string): Watched[];
  /** Resolves when the decisions so far are in the store. */
  settled(): Promise<void>;
}

/** Records finished exchanges off the request path. Never throws, never waits; sheds and counts when it is full. */
export interface Evidence {
  /** Watches finished exchanges for faults of the orders lane. */
  safety: SafetyWatch;
  /** @param came see `Found` in `evidence/findings.ts`. */
  finished(exchange: Exchange, came?: readonly string[]): void;
  /** The same, with the shadow computed first; when that is shed, the exchange is recorded without it. */
  shadowed(task: ShadowTask): void;
  /** `work`, which never rejects, ends in one of the two above: the answer has left, and its exchange is being made. */
  coming(work: Promise<void>): void;
  /** Resolves when every call answered so far is in the store. */
  settled(): Promise<void>;
}

/** The fields of a log line about an exchange. */
export function aboutExchange({ legacy_id, operation }: Exchange): LogFields {
  return { ...(legacy_id === null ? {} : { legacy_id }), operation: operation ?? 'none' };
}
