/** Removing the order of a point of sale: for a cancel, and before the next order, because legacy replaced it and orders refuses. */

import { type Answered, answered, type LegacyAnswer, refused } from '../http/answer.ts';
import { type LegacyCall, merchantContext, upstreamRefusal } from '../http/call.ts';
import type { Ports } from '../ports.ts';
import { isStillOnOrders } from '../routing/lane.ts';
import { type Link, slotOf } from '../sales/link.ts';
import { markSent, readableOrder, refreshLink, sendCancel } from '../sales/refresh.ts';
import { applyOrder } from '../sales/settle.ts';
import { sendLink } from '../sales/submit.ts';
import { errorCode } from '../upstream/upstream.ts';
import { pointOfSaleOf } from './point-of-sale.ts';

/**
 * `DELETE` of v1, v2 and hybrid: 204 without a body, also where there is nothing, which satisfies the clients that
 * expect 400 there and those that expect 404 (`docs/field-notes.md` QR §1.2).
 */
export async function cancelPointOfSale(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const place = await pointOfSaleOf(ports, call);
  if (place.kind === 'refused') return place.answer;
  const slot = slotOf('qr', place.external_pos_id);
  return inTurn(ports, call.merchant.id, slot, async () => {
    const holder = await ports.store.links.liveLink(call.merchant.id, slot);
    if (holder === null) {
      return (await isStillOnOrders(ports, call, slot)) ? answered(204, undefined) : { kind: 'carry' };
    }
    const deadline = call.received_at + ports.settings.create.deadline_ms;
    const room = await clearPointOfSale(ports, call, holder, deadline);
    return room === 'freed' ? answered(204, undefined) : room;
  });
}

// Cancels the live order of a point of sale, for a cancel and before its next order: legacy replaced it, orders refuses.

/** A call with less time than this left would only turn a known outcome into an unknown one. */
const SHORTEST_CALL_MS = 250;

/**
 * Cancels what a till has. `freed`: it holds nothing any more, whatever became of its order. An order that is being
 * paid stays, and so does one whose create is not known yet; the till is told so (LIM-22).
 * @param deadline epoch ms at which the till has to be answered.
 */
export async function clearPointOfSale(
  ports: Ports,
  call: LegacyCall,
  holder: Link,
  deadline: number,
): Promise<'freed' | Answered> {
  return ports.memory.mutex.run(holder.legacy_id, async () => {
    const link = await known(ports, call, holder.legacy_id, deadline);
    if (link === null) return refused(call.operation.family, 'order_in_doubt');
    if (link.state !== 'LIVE') return 'freed';
    return cancelLive(ports, call, link, deadline);
  });
}

/** Runs what changes a point of sale after whatever is changing it now. */
export function inTurn<Result>(
  ports: Ports,
  merchant_id: string,
  slot: string,
  change: () => Promise<Result>,
): Promise<Result> {
  return ports.memory.mutex.run(`slot:${merchant_id}:${slot}`, change);
}

/** The link with its order known, by finishing its create where that is needed; null while it can't be known. */
async function known(ports: Ports, call: LegacyCall, legacy_id: string, deadline: number): Promise<Link | null> {
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
  // Whatever was said, the order itself decides: it may have been paid, canceled or over before the cancel came.
  const seen = await refreshLink(ports, marked, call.token, { force: true, deadline });
  if (seen.state !== 'LIVE') return 'freed';
  if (outcome.kind === 'answered' && outcome.status >= 400 && outcome.status < 500) {
    return upstreamRefusal(ports, call, 'cancel', outcome);
  }
  return refused(family, outcome.kind === 'not_sent' ? 'bad_gateway' : 'outcome_unknown');
}

/** A cancel of the till's own is what its table makes of it; one that makes room has no legacy call behind it. */
function cancelHeaders(ports: Ports, call: LegacyCall, link: Link): Record<string, string> {
  if (call.operation.upstream !== 'cancel') return {};
  const source = { path: call.path, query: call.query, headers: call.headers };
  const context = { ...merchantContext(ports, call.merchant), order_id: link.order_id };
  return ports.tables.request(call.operation, source, context).value.headers ?? {};
}
