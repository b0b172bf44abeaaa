/** Cancels a till's live order, for a cancel or before the next order: legacy replaced it, the orders API refuses. */
import {
  type Answered,
  answered,
  type LegacyAnswer,
  type LegacyCall,
  merchantContext,
  refused,
  upstreamRefusal,
} from '../http/answer.ts';
import type { Ports } from '../ports.ts';
import { isStillOnOrders } from '../routing/lane.ts';
import { isRefusal } from '../routing/legacy-ledger.ts';
import { type Link, slotOf } from '../sales/link.ts';
import { markSent, readableOrder, refreshLink, sendCancel } from '../sales/refresh.ts';
import { applyOrder } from '../sales/settle.ts';
import { sendLink } from '../sales/submit.ts';
import { errorCode } from '../upstream/upstream.ts';
import { pointOfSaleOf } from './point-of-sale.ts';

/** 204 even without an order: clients that expect 400 or 404 there accept it (`docs/field-notes.md` QR §1.2). */
export async function cancelPointOfSale(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const place = await pointOfSaleOf(ports, call);
  if (place.kind === 'refused') return place.answer;
  const slot = slotOf('qr', place.external_pos_id);
  return inTurn(ports, call.merchant.id, slot, async () => {
    const holder = await ports.store.links.liveLink(call.merchant.id, slot);
    if (holder === null) {
      return (await isStillOnOrders(ports, call, slot)) ? answered(204, undefined) : { kind: 'proxy' };
    }
    const deadline = call.received_at + ports.settings.create.deadline_ms;
    const freed = await clearPointOfSale(ports, call, holder, deadline);
    return freed === 'freed' ? answered(204, undefined) : freed;
  });
}

/** With less time left a cancel would only turn a known outcome into an unknown one. */
const SHORTEST_CALL_MS = 250;

/**
 * `freed`: the till has no order any more. An order that is being paid, or whose create is in doubt, stays, and the
 * till gets that error (LIM-22).
 * @param deadline epoch ms by which the till must be answered.
 */
export async function clearPointOfSale(
  ports: Ports,
  call: LegacyCall,
  holder: Link,
  deadline: number,
): Promise<'freed' | Answered> {
  return ports.memory.mutex.run(holder.legacy_id, async () => {
    const link = await finished(ports, call, holder.legacy_id, deadline);
    if (link === null) return refused(call.operation.family, 'order_in_doubt');
    if (link.state !== 'LIVE') return 'freed';
    return cancelLive(ports, call, link, deadline);
  });
}

/** Runs changes of a point of sale one after the other. */
export function inTurn<Result>(
  ports: Ports,
  merchant_id: string,
  slot: string,
  change: () => Promise<Result>,
): Promise<Result> {
  return ports.memory.mutex.run(`slot:${merchant_id}:${slot}`, change);
}

/** The link after its create has ended; null while that is in doubt. */
async function finished(ports: Ports, call: LegacyCall, legacy_id: string, deadline: number): Promise<Link | null> {
  const link = await ports.store.links.link(legacy_id);
  if (link === null || (link.state !== 'SENDING' && link.state !== 'IN_DOUBT')) return link;
  const sent = await sendLink(ports, legacy_id, { token: call.token, deadline, body: null, for_client: false });
  return sent.kind === 'in_doubt' ? null : sent.link;
}

async function cancelLive(ports: Ports, call: LegacyCall, link: Link, deadline: number): Promise<'freed' | Answered> {
  const { family } = call.operation;
  const left_ms = deadline - ports.clock.now();
  if (left_ms < SHORTEST_CALL_MS) return refused(family, 'unavailable');
  const marked = await markSent(ports, link);
  const outcome = await sendCancel(ports, marked, call.token, cancelHeaders(ports, call, marked), deadline);
  const order = readableOrder(outcome, marked.order_id);
  if (order !== null) {
    const applied = await applyOrder(ports, marked, order, { extra: () => ({ change: { cancel: 'acknowledged' } }) });
    if (applied.state !== 'LIVE') return 'freed';
  }
  const locked = outcome.kind === 'answered' && errorCode(outcome.body) === 'instore_order_locked_error';
  if (locked) return refused(family, 'order_locked');
  // After any other answer the order decides: it may have been paid, canceled or expired before the cancel.
  const latest = await refreshLink(ports, marked, call.token, { force: true, deadline });
  if (latest.state !== 'LIVE') return 'freed';
  if (outcome.kind === 'answered' && isRefusal(outcome.status)) {
    return upstreamRefusal(ports, call, 'cancel', outcome);
  }
  return refused(family, outcome.kind === 'not_sent' ? 'bad_gateway' : 'outcome_unknown');
}

/** The table makes the headers of a till's own cancel; a cancel before the next order has no legacy call. */
function cancelHeaders(ports: Ports, call: LegacyCall, link: Link): Record<string, string> {
  if (call.operation.upstream !== 'cancel') return {};
  const source = { path: call.path, query: call.query, headers: call.headers };
  const context = { ...merchantContext(ports, call.merchant), order_id: link.order_id };
  return ports.tables.request(call.operation, source, context).value.headers ?? {};
}
