/** Makes a refund: row first, one at a time, own key, order read before a repeat (`docs/protocol.md` §3.9). */
import { createHash } from 'node:crypto';
import { stringifyJson } from '../../contract/json.ts';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { tickOf } from '../clock.ts';
import { markLimitation } from '../evidence/exchange.ts';
import {
  type Answered,
  type LegacyAnswer,
  type LegacyCall,
  merchantContext,
  refused,
  upstreamRefusal,
} from '../http/answer.ts';
import type { Ports } from '../ports.ts';
import type { Refund } from '../records/refunds.ts';
import { markKnown, storedNotes, storeNote } from '../sales/known-to-till.ts';
import type { Link } from '../sales/link.ts';
import { needRoom } from '../sales/new-link.ts';
import { cashOf, type Sums } from '../sales/order-transition.ts';
import { reportContradiction } from '../sales/settle.ts';
import { routeOf, sendUntilReady, type UpstreamOutcome } from '../upstream/upstream.ts';
import { asLastRead } from './made-refunds.ts';
import {
  expectRefund,
  isEverything,
  judgeRefund,
  type LookPlan,
  lookAtOrder,
  mayRepeat,
  type Recognised,
  recognise,
  sumsWithMade,
} from './refund-decisions.ts';

/** A refund that upstream made, or the answer for the till in any other case. */
export type Made = { kind: 'made'; refund: Refund; link: Link } | { kind: 'answer'; answer: LegacyAnswer };

/** With less time left a refund would only turn a known outcome into an unknown one. */
const SHORTEST_REFUND_MS = 250;

/**
 * Refunds minor units of a payment, or with null all that is left. Concurrent refunds of the payment wait.
 * @throws PuenteError refused, without room for the row; Error for a link without an order, a defect.
 */
export function makeRefund(ports: Ports, call: LegacyCall, link: Link, requested_minor: number | null): Promise<Made> {
  return ports.memory.mutex.run(link.legacy_id, () => refundNow(ports, call, link, requested_minor));
}

/**
 * Records when the whole answer is sent; before, an equal call counts longer as a repeat (`docs/protocol.md` §3.9).
 * Known is only what a receiver has acknowledged since this call arrived and the refund was made: the answer to a
 * repeat may be lost as that of the first was.
 */
export function answerRefund(ports: Ports, { received_at }: LegacyCall, refund: Refund, answer: Answered): Answered {
  const onClosed = async (whole: boolean): Promise<void> => {
    try {
      if (whole && refund.answered_at === null) {
        const answered_at = ports.clock.now();
        const since = Math.max(refund.updated_at, received_at);
        await storeNote(ports, refund.merchant_id, () => ports.store.refunds.saveAnswered(refund, answered_at, since));
      }
    } catch (error) {
      // Another answer about the same refund has been recorded.
      if (!(error instanceof PuenteError) || error.code !== 'conflict') throw error;
    }
  };
  return { ...answer, onClosed };
}

async function refundNow(ports: Ports, call: LegacyCall, named: Link, requested_minor: number | null): Promise<Made> {
  const deadline = call.received_at + ports.settings.create.deadline_ms;
  if (deadline - ports.clock.now() < SHORTEST_REFUND_MS) return refusedAs(call, 'unavailable');
  const { order_id } = named;
  if (order_id === null) throw new Error(`the link ${named.legacy_id} has no order to refund`);
  const { exponent } = ports.tables.site(call.merchant.site);
  const plan = { token: call.token, exponent, deadline };
  // The sum that was refunded before resolves an unknown outcome later.
  const { link: seen_link, settled } = await lookAtOrder(ports, named, plan);
  const link = await markKnown(ports, seen_link);
  // The stored order never goes back in time; a lagging read may, and an old order can't be read.
  const sums = await sumsWithMade(ports, link, exponent);
  // Read beside `created_at`: the time until the row is stored would make the refund seem younger than it is.
  const requested_tick = tickOf(ports.clock);
  const requested = newRefund(ports, call, link, requested_minor, sums);
  // A part is one of the order's payment. A sale that is all cash has none, and one that was never read shows none.
  if (requested.amount_minor !== null && transactionOf(link) === undefined)
    return refusedAs(call, link.order === null ? 'unavailable' : 'partial_unsupported');
  const { received_at: arrived_at } = call;
  const { join_window_ms } = ports.settings.create;
  const result: { recognised: Recognised } = { recognised: { kind: 'new' } };
  await expectRefund(ports, link);
  await storedNotes(ports, link.merchant_id);
  const { opened, refund } = await ports.store.refunds.openRefund(requested, (earlier) => {
    // By the number that the payment had then: upstream may have named its own since.
    const isAlike = (one: Refund): boolean => one.fingerprint === fingerprintOf(one.payment_id, requested_minor);
    const terms = { arrived_at, decided_at: ports.clock.now(), join_window_ms, isAlike };
    // One that gave nothing back in the end is not repeated by an equal request (LIM-42).
    const isVoid = (one: Refund): boolean => isAlike(one) && asLastRead(one, link.order).upstream_status === 'failed';
    const given = earlier.filter((one) => !isVoid(one));
    result.recognised = recognise(given, requested, settled?.id ?? null, terms, (one) => ageOf(ports, one));
    if (result.recognised.kind !== 'new') return result.recognised.refund;
    needRoom(ports);
    return 'open';
  });
  if (opened) ports.memory.requested_at.set(refund.id, requested_tick);
  const { recognised } = result;
  if (recognised.kind === 'key_reused') return refusedAs(call, 'key_reused');
  if (recognised.kind === 'in_progress') return refusedAs(call, 'refund_in_progress');
  if (refund.state === 'DONE' && refund.answered_at !== null && refund.client_key === null)
    markLimitation(ports.exchange, 'LIM-59');
  if (refund.state === 'DONE') return { kind: 'made', refund, link };
  if (!opened && !mayRepeat(ports, refund)) return refusedAs(call, 'outcome_unknown');
  try {
    // Reads that did not show it before this repeat prove nothing about it, in any process.
    const sent = opened ? refund : await ports.store.refunds.saveRefund(refund, { state: 'SENDING' });
    ports.memory.failpoint('refund.row_written');
    return await sendRefund(ports, call, { refund: sent, link, order_id, plan, repeated: !opened });
  } catch (error) {
    // The request may have been sent, and the row is durable: the next read of the order finds the outcome.
    if (!(error instanceof PuenteError) || error.code === 'refused') throw error;
    ports.log.error('refund: outcome could not be stored', { legacy_id: link.legacy_id, cause: error.message });
    return refusedAs(call, 'outcome_unknown');
  }
}

/**
 * Ms since a refund was requested, by the monotonic clock where this process received it: a wall clock that is set
 * forward would turn a repetition into a new refund (`test/faults/README.md` F47).
 */
function ageOf(ports: Ports, { id, created_at }: Refund): number {
  const age_ms = ports.clock.now() - created_at;
  const requested_ms = ports.memory.requested_at.get(id);
  return requested_ms === undefined ? age_ms : Math.min(age_ms, tickOf(ports.clock) - requested_ms);
}

interface Sending {
  refund: Refund;
  link: Link;
  order_id: string;
  plan: LookPlan;
  repeated: boolean;
}

/** Sends once, and commits the outcome before the till is answered. */
async function sendRefund(ports: Ports, call: LegacyCall, sending: Sending): Promise<Made> {
  const { refund, link, order_id, plan, repeated } = sending;
  const outcome = await post(ports, call, sending);
  ports.memory.failpoint('refund.answer_read');
  const requested = {
    amount_minor: refund.amount_minor,
    transaction_id: transactionOf(link),
    has_cash: cashOf(link.order, link.amount_minor, plan.exponent) > 0,
  };
  const verdict = judgeRefund(outcome, order_id, requested, plan.exponent, repeated);
  if (verdict.kind === 'made') {
    const saved = await ports.store.refunds.saveRefund(refund, { ...verdict.facts, state: 'DONE' });
    ports.memory.failpoint('refund.settled');
    // Merchant orders and notices depend on the order.
    const result = await lookAtOrder(ports, link, plan);
    return { kind: 'made', refund: saved, link: result.link };
  }
  if (verdict.kind !== 'unknown') {
    const state = verdict.kind === 'refused' ? 'REFUSED' : 'NOT_SENT';
    await ports.store.refunds.saveRefund(refund, { state });
    return { kind: 'answer', answer: await upstreamRefusal(ports, call, 'refund', outcome) };
  }
  if (verdict.other) {
    const contradiction = { what: 'refund', message: say('contradiction.refund', {}) } as const;
    await reportContradiction(ports, link, order_id, contradiction, `refund ${refund.id}`);
  }
  return findOut(ports, call, sending, outcome);
}

/** The order decides; a refund that it does not show may still happen, and stays in doubt. */
async function findOut(
  ports: Ports,
  call: LegacyCall,
  { refund, link, plan }: Sending,
  outcome: UpstreamOutcome,
): Promise<Made> {
  const cause = outcome.kind === 'answered' ? `status ${outcome.status}` : outcome.cause;
  ports.log.warn('refund: outcome not known', { legacy_id: link.legacy_id, cause });
  if (outcome.kind === 'answered' && outcome.status === 401) await upstreamRefusal(ports, call, 'refund', outcome);
  const result = await lookAtOrder(ports, link, plan);
  if (result.settled?.state === 'DONE') return { kind: 'made', refund: result.settled, link: result.link };
  if (result.settled === null) await ports.store.refunds.saveRefund(refund, { state: 'IN_DOUBT' });
  return refusedAs(call, 'outcome_unknown');
}

/** Sends the key and the bytes of the row, the same at every repeat, until upstream is ready. */
function post(ports: Ports, call: LegacyCall, sending: Sending): Promise<UpstreamOutcome> {
  const { refund, link, order_id, plan } = sending;
  const { amount_minor, idempotency_key } = refund;
  const part = amount_minor === null ? {} : { refund_minor: amount_minor, transaction_id: transactionOf(link) };
  const { value } = ports.tables.request(
    call.operation,
    { path: call.path, query: call.query, headers: call.headers, body: call.body },
    { ...merchantContext(ports, call.merchant), order_id, ...part },
  );
  const body = value.body === undefined ? {} : { body: Buffer.from(stringifyJson(value.body), 'utf8') };
  return sendUntilReady(ports, plan.deadline, () => {
    const left_ms = Math.max(plan.deadline - ports.clock.now(), SHORTEST_REFUND_MS);
    return ports.upstreams.orders.send({
      ...routeOf('refund', order_id),
      ...body,
      token: call.token,
      idempotency_key,
      timeout_ms: Math.min(left_ms, ports.settings.create.attempt_timeout_ms),
    });
  });
}

function transactionOf({ order }: Link): string | undefined {
  return order?.transactions?.payments?.[0]?.id;
}

function newRefund(ports: Ports, call: LegacyCall, link: Link, requested_minor: number | null, sums: Sums): Refund {
  const now = ports.clock.now();
  const client_key = call.headers['x-idempotency-key'];
  const payment_id = link.payment_id ?? '';
  return {
    id: ports.memory.ids.legacyId(now),
    number: ports.memory.ids.number(now),
    legacy_id: link.legacy_id,
    merchant_id: link.merchant_id,
    payment_id,
    client_key: client_key === undefined ? null : ports.vault.keyed('client-key', client_key),
    fingerprint: fingerprintOf(payment_id, requested_minor),
    amount_minor: requested_minor === null || isEverything(requested_minor, sums) ? null : requested_minor,
    refunded_before_minor: sums.ever_refunded_minor,
    idempotency_key: ports.memory.ids.idempotencyKey(),
    state: 'SENDING',
    upstream_id: null,
    reference_id: null,
    refunded_minor: null,
    upstream_status: null,
    answered_at: null,
    known_at: null,
    created_at: now,
    updated_at: now,
    revision: 1,
  };
}

/** Equal for requests of one amount, minor units; null: all that is left. */
function fingerprintOf(payment_id: string, requested_minor: number | null): string {
  return createHash('sha256').update(`refund ${payment_id} ${requested_minor}`).digest('base64url');
}

function refusedAs(call: LegacyCall, error: Parameters<typeof refused>[1]): { kind: 'answer'; answer: Answered } {
  return { kind: 'answer', answer: refused(call.operation.family, error) };
}
