/** Reads an intent and its last status, and answers the refund on the terminal. */
import { INTENT_ID } from '../../contract/identifiers.ts';
import { createRefundIntentBody } from '../../contract/legacy-point.ts';
import type { MappingContext } from '../../mapping/tables.ts';
import { markLimitation } from '../evidence/exchange.ts';
import { answered, type LegacyAnswer, type LegacyCall, merchantContext, refused } from '../http/answer.ts';
import type { Ports } from '../ports.ts';
import type { Merchant } from '../routing/merchant.ts';
import { markKnown } from '../sales/known-to-till.ts';
import { type Link, slotOf } from '../sales/link.ts';
import { readLink } from '../sales/refresh.ts';
import { freeUnit } from './create.ts';

/** `GET …/payment-intents/{id}`: the later of the stored state and upstream's, in legacy form. */
export async function getIntent(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const link = await currentLink(ports, call);
  if (link === null) return refused('point', 'intent_not_found');
  markShown(ports, link, true);
  const { value } = ports.tables.answer(call.operation, link.order ?? {}, intentContext(ports, call, link));
  return answered(200, value.body);
}

/** `GET …/payment-intents/{id}/events`: the last state under the name `status` (`docs/field-notes.md` Point §1.7). */
export async function lastStatus(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const link = await currentLink(ports, call);
  if (link === null) return refused('point', 'intent_not_found');
  markShown(ports, link, false);
  const { value } = ports.tables.answer(call.operation, NOTHING, intentContext(ports, call, link));
  return answered(200, value.body);
}

/** The link of the call, refreshed while it is live; null when the till may see no such intent. */
async function currentLink(ports: Ports, call: LegacyCall): Promise<Link | null> {
  const { link } = call;
  const { device_id = link?.unit } = call.path;
  if (link === null || link.unit !== device_id || !INTENT_ID.test(call.path.intent_id ?? '')) return null;
  if (link.state === 'REJECTED' || link.state === 'NOT_SENT') return null;
  return markRead(ports, link.state === 'LIVE' ? await readLink(ports, link, call.token) : link);
}

/** A call by id makes the sale known to the till; but where no answer to its create was delivered, only others can know the id. */
export function markRead(ports: Ports, link: Link): Promise<Link> | Link {
  return link.acknowledged_at === null || link.known_by === 'till' ? link : markKnown(ports, link);
}

const NOTHING = {};
const contexts = new WeakMap<Link, { merchant: Merchant; context: MappingContext }>();

/** One object per cached row, by which the tables cache the answer of the last poll. */
function intentContext(ports: Ports, call: LegacyCall, link: Link): MappingContext {
  const { merchant } = call;
  const before = contexts.get(link);
  if (before !== undefined && before.merchant === merchant) return before.context;
  const context = contextOf(ports, call, link);
  if (Object.isFrozen(link) && Object.isFrozen(merchant))
    contexts.set(link, { merchant, context: Object.freeze(context) });
  return context;
}

function contextOf(ports: Ports, call: LegacyCall, link: Link): MappingContext {
  return {
    ...merchantContext(ports, call.merchant),
    intent_id: link.legacy_id,
    device_id: link.unit,
    state: link.legacy_state,
    state_at: link.legacy_state_at,
    held: link.held,
    amount_minor: link.amount_minor,
  };
}

/** Detail of a payment failed by an error, not a refusal (`docs/field-notes.md` Orders §3.2, Point transactions). */
const BY_ERROR = 'processing_error';

/**
 * Marks the limitations of a shown intent: an order that waits for a person shows late (LIM-09), and a failed one with
 * a payment differs from legacy (LIM-01, LIM-10).
 * @param with_payment the answer has the payment's number, not only the state.
 */
export function markShown(ports: Ports, { order, legacy_state, payment_id }: Link, with_payment: boolean): void {
  const draft = ports.exchange;
  if (order === null) return;
  if (order.status === 'action_required') markLimitation(draft, 'LIM-09');
  if (order.status !== 'failed' || payment_id === null) return;
  // Legacy showed ERROR without a payment after an error, and FINISHED with one after a refused card.
  const is_error = legacy_state === 'ERROR';
  if (order.transactions?.payments?.[0]?.status_detail !== BY_ERROR) {
    if (is_error) markLimitation(draft, 'LIM-01');
  } else if (with_payment || !is_error) markLimitation(draft, 'LIM-10');
}

/**
 * `POST …/devices/{device}/refund`: refused for a payment of an order, naming the alternative, because orders refund
 * without the terminal (LIM-03); proxied for any other payment (`docs/field-notes.md` Point §1.8).
 */
export async function refundIntent(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const body = createRefundIntentBody.safeParse(call.body);
  if (!body.success) return { kind: 'proxy' };
  const link = await ports.store.links.linkByPayment(String(body.data.payment_id));
  if (link?.merchant_id === call.merchant.id) {
    return refused('point', 'refund_on_terminal', String(body.data.payment_id));
  }
  // A terminal takes one operation at a time, from either API.
  const holder = await ports.store.links.liveLink(call.merchant.id, slotOf('point', call.path.device_id ?? ''));
  const deadline = call.received_at + ports.settings.create.deadline_ms;
  const freed = holder === null ? 'freed' : await freeUnit(ports, call, holder, deadline);
  return freed === 'freed' ? { kind: 'proxy' } : freed;
}
