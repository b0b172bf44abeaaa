/** An exchange: one answered call, with what it did and what was learnt from it; the unit of all evidence (DESIGN, Words). */
import type { Loss, Operation } from '../../mapping/tables.ts';
import type { Stage, UnknownPolicy } from '../routing/merchant.ts';

export type OperationKind = Operation['kind'];

/**
 * How a call came out, for sums and for the safety stop. `ok`: 2xx. `business`: what a shop does wrong or a card refuses:
 * declines, bad requests, busy terminals, unknown ids. `auth`: the token was not accepted. `fault`: ours or the service's:
 * 5xx, timeouts, answers nobody can read, outcomes in doubt.
 */
export const outcomes = ['ok', 'business', 'auth', 'fault'] as const;
export type Outcome = (typeof outcomes)[number];

/** One call that Puente made for an exchange. */
export interface UpstreamNote {
  /** `create`, `get`, …; `legacy` for a carried call. */
  name: string;
  /** Null: no complete answer. */
  status: number | null;
  /** `already_queued_order_for_terminal`, …: the code of an upstream error body; null where there is none. */
  code: string | null;
  duration_ms: number;
  /** Ms from when the call came in to when this one began; missing in exchanges of earlier versions. */
  began_ms?: number;
}

/** The messages of an exchange, redacted when they were captured; bodies are parsed JSON, or text. */
export interface CapturedMessages {
  request: { method: string; target: string; headers: Record<string, string>; body: unknown };
  answer: { status: number; headers: Record<string, string>; body: unknown };
  /** What went to the orders API and came back, or would have gone (shadow: no answer). */
  upstream: { method: string; path: string; body: unknown; status: number | null; answer: unknown }[];
}

/** What the shadow of a legacy create found: the order that would have been sent, and what would have become of it. */
export interface ShadowFinding {
  /** `accepted`; `refused_here`: a table refuses it; `refused_there`: the service would. */
  verdict: 'accepted' | 'refused_here' | 'refused_there';
  /** Upstream status and exact code (`interface.md` Errors) for `refused_there`; else null. */
  status: number | null;
  code: string | null;
  /** Legacy error that the till would be told; null when accepted. */
  error: string | null;
  /** One sentence: which rule, on which field. */
  detail: string | null;
  /** The would-be order, redacted; null when a table refused it. */
  order: unknown;
  fired: string[];
  losses: Loss[];
  /** Computing it took so long, ms with fractions. */
  took_ms: number;
}

/** What is gathered while a call is served; the door makes it, stories and clients add to it. */
export interface ExchangeDraft {
  /** Instant of the process's own clock when the call came in. */
  readonly started_tick_ms: number;
  legacy_id: string | null;
  upstream: UpstreamNote[];
  /** Rows that fired, as `table#row`. */
  fired: string[];
  losses: Loss[];
  /** Headers, fields or endpoints that no table knows. */
  unknown: UnknownHit[];
  /** Numbers of limitations: what code has marked, and once the exchange is recorded, all that the call met. */
  limitations: string[];
  /** Filled only while the merchant's exchanges are captured. */
  sent: CapturedMessages['upstream'];
  /** True when the till was refused because an earlier create of ours is in doubt: no shop did that. */
  by_doubt?: boolean;
  /** True while a call is served that makes, cancels or refunds something: what it asks upstream goes first. */
  is_payment?: boolean;
  /** What the merchant's settings ask of whoever adds to the draft; missing until the merchant is known. */
  rules?: { captured: boolean; unknown_field: UnknownPolicy };
}

/** @param started_tick_ms of `performance.now()`. */
export function openDraft(started_tick_ms: number): ExchangeDraft {
  return {
    started_tick_ms,
    legacy_id: null,
    upstream: [],
    fired: [],
    losses: [],
    unknown: [],
    limitations: [],
    sent: [],
  };
}

export interface UnknownHit {
  what: 'endpoint' | 'field' | 'header';
  /** `PUT /stores/:id`, `body.tip`, `x-shop`: ids replaced, at most 200 characters. */
  name: string;
}

/** An answered call, ready to be evaluated and kept. */
export interface Exchange
  extends Omit<ExchangeDraft, 'started_tick_ms' | 'sent' | 'rules' | 'by_doubt' | 'is_payment'> {
  /** UUID v7. */
  id: string;
  /** Epoch ms when the call came in. */
  at: number;
  /** Null unless the token is proven to be this merchant's (`proxy/routing/token-ownership.ts`): what one only claims counts for nobody. */
  merchant_id: string | null;
  /** Null: Puente has no operation for it. */
  operation: string | null;
  kind: OperationKind | null;
  lane: 'legacy' | 'orders';
  /** In force for the call, safety stop included. */
  stage: Stage;
  /** Slot of the unit, where the call names one. */
  unit: string | null;
  /** What the till was answered. */
  status: number;
  /** The legacy error that the till was told: the body's `error`; null on success. */
  error: string | null;
  outcome: Outcome;
  /** The till's wait. */
  duration_ms: number;
  tables_revision: string;
  shadow: ShadowFinding | null;
  /** Null unless captured. */
  messages: CapturedMessages | null;
}
