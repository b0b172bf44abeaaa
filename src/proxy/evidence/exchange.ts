/** An exchange: one answered call, with what it did and what was learnt from it; the unit of all evidence (`docs/glossary.md` Exchange). */

import type { MarkedLimitation } from '../../mapping/limitations.ts';
import type { Loss, Operation } from '../../mapping/tables.ts';
import { createLru } from '../lru.ts';
import type { RoutedKind, Stage, UnknownPolicy } from '../routing/merchant.ts';
import type { Secret } from '../vault.ts';
import { type CapturedMessages, redactName } from './redact.ts';

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

/** What the shadow of a legacy create found: the order that would have been sent, and what would have become of it. */
export interface ShadowFinding {
  /** `accepted`; `refused_here`: a table refuses it; `refused_there`: the service would. */
  verdict: 'accepted' | 'refused_here' | 'refused_there';
  /** Upstream status and exact code (`docs/field-notes.md` Spec Errors) for `refused_there`; else null. */
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

// How a call came out (the words of `Outcome`): one pure rule for sums, verdicts and the safety stop.

/** The till went away before it was told anything, which no HTTP answer says; the number that proxies log for it. */
export const TILL_LEFT = 499;

/** Calls that ask whose a token is: what they say of it is told to the till by the status it gets. */
const ASKING_WHOSE: readonly string[] = ['users_me'];

/**
 * The outcome of a call. @param status what the till was told. @param upstream the calls that were made for it, in order.
 * @param by_doubt the refusal comes from a create of ours that is in doubt, which is part of the fault that left it so.
 *
 * A carried answer that broke off is a fault, whatever it began with. A till that stopped waiting is a fault, because somebody was too slow for it. The service's rate limit (429) is neither
 * a mistake of the till nor a fault: it is told as what it is, goes by itself, and must never move a merchant, so it counts
 * as business. A refusal (4xx) that only stands in for an upstream call which failed counts as the failure.
 */
export function outcomeOf(status: number, upstream: readonly UpstreamNote[], by_doubt = false): Outcome {
  if (upstream.some((note) => note.name === 'legacy' && note.status === null)) return 'fault';
  if (status < 400) return 'ok';
  if (status === 401 || status === 403) return 'auth';
  if (status >= 500 || status === TILL_LEFT) return 'fault';
  if (status === 429) return 'business';
  if (by_doubt) return 'fault';
  const last = upstream.findLast((note) => !ASKING_WHOSE.includes(note.name));
  return last !== undefined && (last.status === null || last.status >= 500) ? 'fault' : 'business';
}

// What no table knows of a call: an endpoint, a header or a field, noted by a name that has nobody's ids in it.

/** Longest name that is kept. */
const MAX_NAME = 200;
/** Kept of one call; a till that invents more is known by the first ones. */
const MAX_HITS = 50;
/** A part of a path as APIs name them; everything else is somebody's id. */
const PATH_WORD = /^(v\d{1,2}|[a-z][a-z_.-]{0,31})$/;

/** Notes a hit, once for a call; indices of lists and long numbers are not part of a name. */
export function noteUnknown(draft: Pick<ExchangeDraft, 'unknown'>, what: UnknownHit['what'], found: string): void {
  if (draft.unknown.length >= MAX_HITS) return;
  const name = nameOf(found);
  if (!draft.unknown.some((hit) => hit.what === what && hit.name === name)) draft.unknown.push({ what, name });
}

/** The same few come again with every call, and looking for what hides in one takes longer than all else that is noted. */
const KNOWN_NAMES = 1_000;
const names = createLru<string>(KNOWN_NAMES);

function nameOf(found: string): string {
  const known = names.get(found);
  if (known !== undefined) return known;
  const name = redactName(found)
    .replaceAll(/\[\d+\]/g, '[]')
    .replaceAll(/\d{6,}/g, '#')
    .slice(0, MAX_NAME)
    .toWellFormed();
  // Nothing longer than a name is kept, whatever somebody invents.
  if (found.length <= MAX_NAME) names.set(found, name);
  return name;
}

/** `PUT /stores/:id`. @param target path and query as they came. */
export function endpointName(method: string, target: string): string {
  const [path = ''] = target.split('?', 1);
  const parts = path.split('/').map((part) => (part === '' || PATH_WORD.test(part) ? part : ':id'));
  return `${method} ${parts.join('/')}`;
}

// Marks the exchange at hand with a limitation that only the code at hand sees being met.

/** Once for a call. Whether the mark counts is the entry's to say: its operations, and what else must hold (`evidence/limits.ts`). */
export function markLimitation(draft: Pick<ExchangeDraft, 'limitations'> | null, id: MarkedLimitation): void {
  if (draft !== null && !draft.limitations.includes(id)) draft.limitations.push(id);
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

/** What the watch sees of one merchant and kind now. */
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
  /** Why it would trip at this moment; null while it wouldn't. */
  why: string | null;
}

export interface SafetyWatch {
  /** Takes note of a finished exchange. Cheap, never throws, never waits. */
  note(exchange: Exchange): void;
  /** Windows with calls in them; of one merchant, or of all. */
  view(merchant_id?: string): Watched[];
  /** Until what was decided so far is in the store. */
  settled(): Promise<void>;
}

/** Takes finished exchanges off the request path. Never throws, never waits; sheds and counts when it is full. */
export interface Evidence {
  /** Watches finished exchanges for faults of the orders lane. */
  safety: SafetyWatch;
  /** @param came fields that the call had, as `Found` in `evidence/findings.ts` says. */
  finished(exchange: Exchange, came?: readonly string[]): void;
  /** The same, with the shadow computed first; when that is shed, the exchange is kept without it. */
  shadowed(task: ShadowTask): void;
  /** A call whose answer has left is being brought to one of the two above; `work` never rejects. */
  coming(work: Promise<void>): void;
  /** Until everything that was answered or handed over so far is in the store. */
  settled(): Promise<void>;
}
