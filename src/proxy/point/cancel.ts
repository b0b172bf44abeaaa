/** Canceling an intent: refused on the terminal as legacy did, never repeated blindly (`docs/protocol.md` §3.9). */
import type { Order } from '../../contract/orders.ts';
import { markLimitation } from '../evidence/exchange.ts';
import {
  answered,
  type LegacyAnswer,
  type LegacyCall,
  merchantContext,
  refused,
  upstreamRefusal,
} from '../http/answer.ts';
import type { Ports } from '../ports.ts';
import { isRefusal } from '../routing/legacy-ledger.ts';
import { markKnown } from '../sales/known-to-till.ts';
import type { Link } from '../sales/link.ts';
import { markSent, readableOrder, refreshLink, sendCancel } from '../sales/refresh.ts';
import { applyOrder, changeLink } from '../sales/settle.ts';
import { errorCode, isNotReady, type UpstreamOutcome } from '../upstream/upstream.ts';
import { markRead } from './read.ts';

/** With less time than this a cancel would only turn a known outcome into an unknown one. */
const SHORTEST_CANCEL_MS = 250;
/** Interval of reading the order; a terminal takes a second or two to confirm. */
const TERMINAL_PAUSE_MS = 500;

/** `DELETE …/devices/{device}/payment-intents/{id}`. Waits for a create that is still running, then cancels. */
export async function cancelIntent(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const { link } = call;
  if (link === null || link.unit !== call.path.device_id) return refused('point', 'intent_not_cancelable');
  return ports.memory.mutex.run(link.legacy_id, () => cancelNow(ports, call, link.legacy_id));
}

/**
 * `DELETE …/payment-intents/{id}` without the device: no legacy route, but a client calls it and tolerates only 404
 * (`docs/field-notes.md` Point §1.5). It cancels the intent if it can, and answers 404 otherwise (LIM-05).
 */
export async function cancelWithoutDevice(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const { link } = call;
  if (link === null) return refused('point', 'action_not_supported');
  const answer = await ports.memory.mutex.run(link.legacy_id, () => cancelNow(ports, call, link.legacy_id));
  return answer.kind === 'answer' && answer.status >= 400 && answer.status < 500
    ? refused('point', 'action_not_supported')
    : answer;
}

async function cancelNow(ports: Ports, call: LegacyCall, legacy_id: string): Promise<LegacyAnswer> {
  const stored = await ports.store.links.link(legacy_id);
  if (stored === null) return refused('point', 'intent_not_cancelable');
  const link = stored.state === 'LIVE' ? await markKnown(ports, stored) : stored;
  if (link.state === 'SENDING' || link.state === 'IN_DOUBT') return refused('point', 'cancel_blocked');
  if (link.state !== 'LIVE') return finalAnswer(ports, call, link);
  const deadline = call.received_at + ports.settings.create.deadline_ms;
  const left_ms = deadline - ports.clock.now();
  // A create before this call used up the time: an answer after the till's own limit would be lost.
  if (left_ms < SHORTEST_CANCEL_MS) return refused('point', 'unavailable');
  const allow = call.merchant.settings.cancel_on_terminal ?? ports.settings.merchants.cancel_on_terminal;
  const marked = await markSent(ports, link);
  const { value } = ports.tables.request(
    call.operation,
    { path: call.path, query: call.query, headers: call.headers },
    {
      ...merchantContext(ports, call.merchant),
      order_id: link.order_id,
      ...(allow ? { cancelable_status: 'at_terminal' } : {}),
    },
  );
  const outcome = await sendCancel(ports, marked, call.token, value.headers ?? {}, deadline);
  return judgeCancel(ports, call, { link: marked, sent_before: link.cancel === 'sent' }, outcome);
}

/**
 * The answer after a cancel attempt; the order decides when the outcome is unknown. Puente canceled a canceled order
 * when the answer to an earlier cancel was never delivered, or when this one got no clear refusal.
 */
async function judgeCancel(
  ports: Ports,
  call: LegacyCall,
  { link, sent_before }: { link: Link; sent_before: boolean },
  outcome: UpstreamOutcome,
): Promise<LegacyAnswer> {
  if (outcome.kind === 'answered' && (outcome.status === 200 || outcome.status === 202)) {
    const order = readableOrder(outcome, link.order_id);
    if (order !== null) return accepted(ports, call, link, order);
  }
  const known =
    outcome.kind === 'answered' &&
    isRefusal(outcome.status) &&
    errorCode(outcome.body) !== 'idempotency_key_already_used' &&
    !isNotReady(outcome);
  const already = outcome.kind === 'answered' && errorCode(outcome.body) === 'order_already_canceled';
  const deadline = call.received_at + ports.settings.create.deadline_ms;
  const latest = await refreshLink(ports, link, call.token, { force: true, deadline });
  const canceled = already || latest.legacy_state === 'CANCELED';
  if (canceled && (sent_before || !known)) return succeeded(ports, call, latest);
  if (known) {
    // No cancel of Puente is in flight any more: a later one at the terminal is not Puente's.
    await changeLink(ports, latest, (current) => (current.cancel === 'sent' ? { change: { cancel: null } } : null));
    return upstreamRefusal(ports, call, 'cancel', outcome);
  }
  // The cancel may still take effect, so it stays marked as sent.
  if (isNotReady(outcome)) return upstreamRefusal(ports, call, 'cancel', outcome);
  if (outcome.kind === 'answered' && outcome.status === 409) return refused('point', 'cancel_blocked');
  return outcome.kind === 'not_sent' ? refused('point', 'bad_gateway') : refused('point', 'outcome_unknown');
}

/**
 * 200: canceled. 202: requested from the terminal, which may still accept a payment (`docs/field-notes.md` Orders
 * §3.1): the till gets the order's terminal state, or `outcome_unknown` when that takes too long.
 */
async function accepted(ports: Ports, call: LegacyCall, link: Link, order: Order): Promise<LegacyAnswer> {
  const deadline = call.received_at + ports.settings.create.deadline_ms;
  let latest = await applyOrder(ports, link, order);
  while (latest.state === 'LIVE' && ports.clock.now() + TERMINAL_PAUSE_MS + SHORTEST_CANCEL_MS < deadline) {
    await ports.clock.sleep(TERMINAL_PAUSE_MS);
    latest = await refreshLink(ports, latest, call.token, { force: true, deadline });
  }
  if (latest.legacy_state === 'CANCELED') return succeeded(ports, call, latest);
  return refused('point', latest.state === 'DONE' ? 'cancel_blocked' : 'outcome_unknown');
}

/** Cancels succeed again until the sale is known to the till: answers may be lost (`docs/protocol.md` §3.9, F29). */
async function finalAnswer(ports: Ports, call: LegacyCall, link: Link): Promise<LegacyAnswer> {
  if (link.legacy_state === 'CANCELED') {
    if (link.cancel === 'sent') return succeeded(ports, call, link);
    if (link.cancel === null || link.known_by !== null) {
      // Canceled at the terminal, or known to be canceled: the till's next equal create is another sale.
      await markRead(ports, link);
      return refused('point', 'intent_not_cancelable');
    }
    markLimitation(ports.exchange, 'LIM-90');
    return canceledAnswer(ports, call, link);
  }
  if (link.state !== 'DONE') return refused('point', 'intent_not_cancelable');
  // Tills cancel a paid sale to free its terminal for the next one, which may be equal.
  await markRead(ports, link);
  return refused('point', 'cancel_blocked');
}

async function succeeded(ports: Ports, call: LegacyCall, link: Link): Promise<LegacyAnswer> {
  // The till knows of the cancel once it reads the sale.
  const saved = await changeLink(ports, link, () => ({ change: { cancel: 'acknowledged', known_by: null } }));
  return canceledAnswer(ports, call, saved);
}

function canceledAnswer(ports: Ports, call: LegacyCall, link: Link): LegacyAnswer {
  const { value } = ports.tables.answer(call.operation, link.order ?? {}, {
    ...merchantContext(ports, call.merchant),
    intent_id: link.legacy_id,
  });
  return answered(200, value.body);
}
