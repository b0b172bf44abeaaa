/** The story of a new payment intent: an order of type `point` on its terminal. */

import { tickOf } from '../clock.ts';
import { type Answered, answered, type LegacyAnswer, refused } from '../http/answer.ts';
import { type LegacyCall, merchantContext } from '../http/call.ts';
import type { Ports } from '../ports.ts';
import { openSale } from '../sales/create.ts';
import type { HeldFields, Link } from '../sales/link.ts';
import { lookAtLink } from '../sales/refresh.ts';
import { isHeld, releaseHeld } from '../sales/settle.ts';

/**
 * `POST …/devices/{device}/payment-intents` on the orders lane.
 * @throws PuenteError refused, for a request the tables refuse.
 */
export function createIntent(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const body = call.body as CreateBody; // only read here; the request table checks the shape before anything is used
  const said = body.additional_info?.external_reference;
  return openSale(ports, call, {
    family: 'point',
    unit: call.path.device_id ?? '',
    holds_unit: true,
    client_reference: typeof said === 'string' ? said : null,
    held: heldFields(body),
    notice_url: null,
    context: {},
    busy_error: 'queued_intent',
    makeRoom: (holder, deadline) => makeRoom(ports, call, holder, deadline),
    created: (link) => createdAnswer(ports, call, link),
  });
}

interface CreateBody {
  description?: string;
  additional_info?: { external_reference?: unknown };
  payment?: unknown;
}

function heldFields(body: CreateBody): HeldFields {
  const held: HeldFields = {};
  if (body.additional_info !== undefined) held.additional_info = body.additional_info;
  if (body.payment !== undefined) held.payment = body.payment;
  if (body.description !== undefined) held.description = body.description;
  return held;
}

/**
 * The link in the way: looked at once, because a missed event must never block a terminal. A till whose token turns out
 * to be none at that is told so, as its create would have been: nobody has said that the terminal is busy.
 */
export async function makeRoom(
  ports: Ports,
  call: LegacyCall,
  holder: Link,
  deadline: number,
): Promise<'freed' | Answered> {
  const busy = refused('point', 'queued_intent');
  if (holder.order_id === null) return busy;
  const { link: read, found } = await lookAtLink(ports, holder, call.token, { force: true, deadline });
  const seen = isHeld(ports, read) ? await releaseHeld(ports, read) : read;
  const holds = seen.state === 'LIVE' || seen.state === 'SENDING' || seen.state === 'IN_DOUBT';
  if (holds) return found === 'refused' ? refused('point', 'unauthorized') : busy;
  return (await isNotified(ports, seen, deadline)) ? 'freed' : busy;
}

/** How long a create waits for the notice of the sale before it, and how often it looks. */
const NOTIFIED_WITHIN_MS = 2_000;
const NOTIFIED_LOOK_MS = 25;
/** No sale has more that nobody has tried to deliver yet. */
const MOST_NOTICES = 20;

/**
 * True when every notice of an ended sale was tried once. Tills such as Odoo's take any notice as one of the sale that they
 * wait for: one that this call has just caused must not arrive after the next sale was answered, or that one is given up.
 */
async function isNotified({ store, clock }: Ports, { legacy_id }: Link, deadline: number): Promise<boolean> {
  const until_tick = tickOf(clock) + Math.min(NOTIFIED_WITHIN_MS, deadline - clock.now());
  for (;;) {
    const pending = await store.notices.notices({ legacy_id, states: ['pending'], topic: 'point' }, MOST_NOTICES);
    if (pending.every(({ tries }) => tries > 0)) return true;
    if (tickOf(clock) >= until_tick) return false;
    await clock.sleep(NOTIFIED_LOOK_MS);
  }
}

/**
 * What the till sees of a created intent: no `state`, the fields as it sent them (`docs/field-notes.md` Point §1.3). 201 as the
 * official SDKs' live tests want it, for a retry that is joined too; every other Point call is answered 200.
 */
function createdAnswer(ports: Ports, call: LegacyCall, link: Link): Answered {
  const { value } = ports.tables.answer(call.operation, link.order ?? {}, {
    ...merchantContext(ports, call.merchant),
    intent_id: link.legacy_id,
    device_id: link.unit,
    held: link.held,
    amount_minor: link.amount_minor,
  });
  return answered(201, value.body);
}
