/** The exchange of a call while it is under way: opened when the call comes in, closed when its answer has left. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import type { Operation } from '../../mapping/tables.ts';
import { type ExchangeDraft, openDraft } from '../evidence/exchange.ts';
import { createRounds } from '../rounds.ts';
import type { CarriedSale } from '../routing/legacy-ledger/carry.ts';
import type { Merchant, Stage } from '../routing/merchant.ts';
import type { Runtime } from '../runtime.ts';
import type { Secret } from '../secret.ts';
import { type WatchedAnswer, watchAnswer } from './tee.ts';

/** What is known of a call by now. */
export interface Ongoing {
  readonly id: string;
  /** Epoch ms when the call came in. */
  readonly at: number;
  readonly draft: ExchangeDraft;
  operation: Operation | null;
  token: Secret | null;
  /** As the lane told it, which may be on the word of the token alone. */
  merchant_id: string | null;
  /** Whose the token is for certain; null until that is known. */
  proven_id: string | null;
  /** Null for a merchant without a row. */
  merchant: Merchant | null;
  lane: 'legacy' | 'orders';
  /** Orders have refused the token of a call that is carried. */
  is_token_refused: boolean;
  /** In force when the lane was chosen; null for a call of no lane. */
  stage: Stage | null;
  path: Record<string, string>;
  /** Slot of the unit that the call names. */
  unit: string | null;
  /** Parsed body, where it was read. */
  body: unknown;
  /** Refused by a brown-out: neither side failed. */
  is_drill: boolean;
  /** Epoch ms when the bytes began to be carried; null when they were not. */
  carried_at: number | null;
  /** Instants of the process's own clock, which nobody can set: durations come from these, never from epoch times. */
  carried_tick_ms: number | null;
  closed_tick_ms: number | null;
  /** The answer of legacy; null while there is none. */
  watched: WatchedAnswer | null;
  /** The row of a create that is being carried. */
  sale: CarriedSale | null;
  /** Epoch ms when the till had its answer, or had gone. */
  closed_at: number | null;
  /** Settles when the call has been served, which may be after the till has left. */
  work: Promise<void>;
}

export interface Exchanges {
  /** Stands before everything whose calls are exchanges. */
  open: RequestHandler;
  /** Until what follows the answers that have left is done. */
  settled(): Promise<void>;
}

/** @param over does what follows an answer that has left, off the request path. It may throw: that is logged. */
export function createExchanges(
  runtime: Runtime,
  over: (call: Ongoing, request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Exchanges {
  const following = createRounds();
  const follow = async (call: Ongoing, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const ticket = following.begin();
    try {
      await call.work;
      // Nobody waits for what is asked from here on.
      call.draft.is_payment = false;
      await runtime.inExchange(call.draft, () => over(call, request, response));
    } catch (error) {
      const cause = error instanceof Error ? error.message : 'unknown';
      const { legacy_id } = call.draft;
      runtime.log.error('what follows an answer failed', {
        ...(legacy_id === null ? {} : { legacy_id }),
        operation: call.operation?.name ?? 'none',
        cause,
      });
    } finally {
      following.done(ticket);
    }
  };
  return {
    open: (request, response, next) => {
      const call = openCall(runtime);
      (request as Called)[CALL] = call;
      response.once('close', () => {
        call.closed_at = runtime.clock.now();
        call.closed_tick_ms = performance.now();
        const done = follow(call, request, response);
        // A till that has left early may leave work behind that takes its time; nobody counts that call yet.
        if (response.writableFinished) runtime.evidence.coming(done);
      });
      runtime.inExchange(call.draft, () => next());
    },
    settled: following.settled,
  };
}

/**
 * On the request itself: what a WeakMap holds outlives a young collection whatever becomes of its key, and the collector's
 * threads take a third more for each read of a final sale.
 */
const CALL = Symbol('call');
type Called = IncomingMessage & { [CALL]?: Ongoing };

/** The exchange of a request. @throws Error for a request of a door without exchanges. */
export function ongoingOf(request: IncomingMessage): Ongoing {
  const call = (request as Called)[CALL];
  if (call === undefined) throw new Error('the request came by no door that opens exchanges');
  return call;
}

/** By what a call is found again (`puente trace`); null for a request of a door without exchanges. */
export function callIdOf(request: IncomingMessage): string | null {
  return (request as Called)[CALL]?.id ?? null;
}

/** Settles when the call of a request has been served; at once for a request that opened no exchange. */
export function workOf(request: IncomingMessage): Promise<void> {
  return (request as Called)[CALL]?.work ?? Promise.resolve();
}

/** Looks at the answer that is carried for a request. Called from a hook of the carrier, so it can't throw. */
export function watchCall(request: IncomingMessage, answer: IncomingMessage): void {
  const call = (request as Called)[CALL];
  if (call !== undefined) call.watched = watchAnswer(answer);
}

const NOTHING_YET = Promise.resolve();

function openCall(runtime: Runtime): Ongoing {
  const at = runtime.clock.now();
  return {
    id: runtime.ids.legacyId(at),
    at,
    draft: openDraft(performance.now()),
    operation: null,
    token: null,
    merchant_id: null,
    proven_id: null,
    merchant: null,
    lane: 'legacy',
    is_token_refused: false,
    stage: null,
    path: {},
    unit: null,
    body: undefined,
    is_drill: false,
    carried_at: null,
    carried_tick_ms: null,
    closed_tick_ms: null,
    watched: null,
    sale: null,
    closed_at: null,
    work: NOTHING_YET,
  };
}
