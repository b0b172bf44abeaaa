/** A new payment intent: an order of type `point` on its terminal. */
import { tickOf } from '../clock.ts';
import {
  type Answered,
  answered,
  type LegacyAnswer,
  type LegacyCall,
  merchantContext,
  refused,
} from '../http/answer.ts';
import type { Ports } from '../ports.ts';
import { openSale } from '../sales/create.ts';
import type { HeldFields, Link } from '../sales/link.ts';
import { lookAtLink } from '../sales/refresh.ts';
import { isHeld, releaseHeld } from '../sales/settle.ts';

/** `POST …/devices/{device}/payment-intents` on the orders lane. @throws PuenteError refused, by the request table. */
export function createIntent(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const body = call.body as CreateBody; // the request table checks the shape before anything is used
  const reference = body.additional_info?.external_reference;
  return openSale(ports, call, {
    family: 'point',
    unit: call.path.device_id ?? '',
    holds_unit: true,
    client_reference: typeof reference === 'string' ? reference : null,
    held: heldFields(body),
    notice_url: null,
    context: {},
    busy_error: 'queued_intent',
    freeUnit: (holder, deadline) => freeUnit(ports, call, holder, deadline),
    created: (link) => createdAnswer(ports, call, link),
  });
}

interface CreateBody {
  description?: string | null;
  additional_info?: { external_reference?: unknown } | null;
  payment?: unknown;
}

function heldFields(body: CreateBody): HeldFields {
  const held: HeldFields = {};
  if (body.additional_info != null) held.additional_info = body.additional_info;
  if (body.payment != null) held.payment = body.payment;
  if (body.description != null) held.description = body.description;
  return held;
}

/**
 * Reads the order of the sale that occupies the terminal, because a missed event must never block it. When upstream
 * refuses the token, the answer is that of a create with it: nothing has shown that the terminal is busy.
 */
export async function freeUnit(
  ports: Ports,
  call: LegacyCall,
  holder: Link,
  deadline: number,
): Promise<'freed' | Answered> {
  const busy = refused('point', 'queued_intent');
  if (holder.order_id === null) return busy;
  const { link: read, found } = await lookAtLink(ports, holder, call.token, { force: true, deadline });
  const latest = isHeld(ports, read) ? await releaseHeld(ports, read) : read;
  const holds = latest.state === 'LIVE' || latest.state === 'SENDING' || latest.state === 'IN_DOUBT';
  if (holds) return found === 'refused' ? refused('point', 'unauthorized') : busy;
  return (await isNotified(ports, latest, deadline)) ? 'freed' : busy;
}

/** Longest wait of a create for the notice of the previous sale, and the interval of its checks. */
const NOTIFIED_WITHIN_MS = 2_000;
const NOTIFIED_LOOK_MS = 25;
/** No sale has more untried notices. */
const MOST_NOTICES = 20;

/**
 * True when every notice of a terminal sale was tried once. Tills such as Odoo's take any notice for one of the sale
 * that they wait for: a notice of the old sale after this answer would make them give up the new one.
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
 * A created intent: no `state`, the fields as sent (`docs/field-notes.md` Point §1.3). 201, also for a joined retry, as
 * the live tests of the official SDKs expect; every other Point call is answered 200.
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
