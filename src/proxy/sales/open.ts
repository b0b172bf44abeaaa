/** The story of a new sale, whatever its family: row first, then the order, then the answer (`reliability.md` §3.3). */
import { PuenteError } from '../../error.ts';
import type { LegacyCall } from '../http/call.ts';
import { type LegacyAnswer, refused } from '../http/legacy-answer.ts';
import { legacyDoubts } from '../routing/legacy-ledger/doubts.ts';
import { isOver } from '../routing/legacy-ledger/over.ts';
import { isOnOrders } from '../routing/stage.ts';
import { hasOwnWork } from '../routing/unit-lane.ts';
import type { Runtime } from '../runtime.ts';
import { sendInTurn } from './flight.ts';
import { type Link, slotOf } from './link.ts';
import { newLink, spend, usableReference } from './new-link.ts';
import { answerOf, counted, isOwn, markOpening, noteId, noteLosses } from './open-answer.ts';
import { openRow } from './open-row.ts';
import { noteOwnDoubt } from './own-doubt.ts';
import type { Sale } from './sale.ts';
import type { SendPlan, Sent } from './send.ts';

/** Upstream is probed every second; what was not written can be tried again. */
const SOON = { 'retry-after': '1' };

/** How often one create may find its place taken by something that turns out to be over, and once that its reference is used. */
const MAX_ROUNDS = 5;

/** What one round knows. */
interface Round {
  /** Epoch ms. */
  deadline: number;
  /** False when the client's own reference was refused, so that a derived one goes. */
  own_reference: boolean;
  /** The client's own that goes upstream; null for one that is derived. */
  reference: string | null;
  /** By the stage as it is now; otherwise the call came for what is open on its unit. */
  on_orders: boolean;
}

/** `again`: what was in the way is over. `derived`: another system of this merchant used the reference; nothing exists. */
type Tried = LegacyAnswer | 'again' | 'derived';

/**
 * Opens a sale on the orders lane. Nothing is stored when the request is refused by a table; otherwise the row is
 * durable before a byte is sent, and the answer follows what was committed. A sale that is legacy's is carried.
 * @throws PuenteError refused, for a request the tables refuse.
 */
export async function openSale(runtime: Runtime, call: LegacyCall, sale: Sale): Promise<LegacyAnswer> {
  const { family } = call.operation;
  const deadline = call.received_at + runtime.settings.create.deadline_ms;
  // Asking whose token it is, or a slow client, took all the time: nothing is written that could not be sent.
  if (runtime.clock.now() >= deadline) return counted(runtime, 'late', refused(family, 'unavailable'));
  let own_reference = true;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const reference = own_reference ? usableReference(runtime, call.merchant.id, sale) : null;
    const place = await placeOf(runtime, call, sale);
    if (place === 'legacy') return { kind: 'carry' };
    const tried = await tryOpening(runtime, call, sale, {
      deadline,
      own_reference,
      reference,
      on_orders: place === 'orders',
    });
    if (tried === 'derived') own_reference = false;
    else if (tried !== 'again') return tried;
  }
  return counted(runtime, 'busy', refused(family, sale.busy_error));
}

async function tryOpening(runtime: Runtime, call: LegacyCall, sale: Sale, round: Round): Promise<Tried> {
  const { deadline } = round;
  const fresh = translated(runtime, call, sale, round);
  if (fresh === null) return leaveToLegacy(runtime, call, sale, deadline);
  runtime.failpoint('create.before_row');
  const { opening, link: stored, elsewhere } = await openRow(runtime, call, fresh.link, round.on_orders);
  if (opening.kind === 'left') return { kind: 'carry' };
  if (opening.kind === 'moved') return { kind: 'moved' };
  if (opening.kind === 'used') {
    spend(runtime, stored.merchant_id, stored.reference_sent);
    return 'again'; // with one that is derived
  }
  if (opening.kind === 'shut')
    return counted(runtime, 'shut', refused(call.operation.family, 'unavailable', null, SOON));
  if (elsewhere !== null) return (await isOver(runtime, elsewhere, call.token, deadline)) ? 'again' : { kind: 'carry' };
  if (opening.kind === 'busy') {
    const room = await sale.makeRoom(stored, deadline);
    if (room === 'freed') return 'again';
    await noteOwnDoubt(runtime, stored);
    return counted(runtime, 'busy', room);
  }
  // Opened once more with another reference it is the same sale.
  if (opening.kind === 'open' && round.own_reference) noteLosses(runtime, fresh.link, fresh.losses);
  markOpening(runtime, opening, fresh.link);
  noteId(runtime, stored);
  runtime.failpoint('create.row_written');
  const plan: SendPlan =
    opening.kind === 'open'
      ? { token: call.token, deadline, body: fresh.body, merchant: call.merchant }
      : { token: call.token, deadline, body: null };
  const sent = await sendOrDoubt(runtime, stored, plan);
  if (sent.kind === 'over') return 'again'; // the sale to repeat was refused, or canceled: this is a new sale
  if (sent.kind === 'refused' && isOwn(sent.link) && namesReference(sent)) return 'derived';
  return await answerOf(runtime, call, sale, sent);
}

/**
 * Where a sale belongs by the merchant that its lane was chosen by. `unit`: legacy's by the stage, but its unit has work on
 * orders that may be this very sale, or is in its way; that may be over by now.
 */
async function placeOf(runtime: Runtime, call: LegacyCall, sale: Sale): Promise<'orders' | 'unit' | 'legacy'> {
  const { merchant } = call;
  const { id } = merchant;
  const { kind } = call.operation;
  const slot = slotOf(sale.family, sale.unit);
  const own = (): Promise<boolean> =>
    hasOwnWork(runtime, id, { slot, work: sale.holds_unit ? 'sale' : 'beside' }, kind);
  if (!isOnOrders(runtime.settings, merchant, id, kind, slot)) return (await own()) ? 'unit' : 'legacy';
  if (!sale.holds_unit) {
    const doubts = await legacyDoubts(runtime, id, sale.unit, sale.client_reference);
    return doubts.length === 0 ? 'orders' : 'legacy';
  }
  const held = runtime.unrecorded.holds(id, slot, runtime.clock.now());
  return held && !(await own()) ? 'legacy' : 'orders';
}

/** Null for a request that orders refuse and legacy may take, where legacy is its place by the stage. */
function translated(
  runtime: Runtime,
  call: LegacyCall,
  sale: Sale,
  { reference, on_orders }: Round,
): ReturnType<typeof newLink> | null {
  try {
    return newLink(runtime, call, sale, reference);
  } catch (error) {
    if (on_orders || !(error instanceof PuenteError) || error.code !== 'refused') throw error;
    return null;
  }
}

/** What orders could never take is no retry of what they took: it goes to legacy as soon as its unit is free. */
async function leaveToLegacy(runtime: Runtime, call: LegacyCall, sale: Sale, deadline: number): Promise<Tried> {
  const slot = slotOf(sale.family, sale.unit);
  const holder = sale.holds_unit ? await runtime.store.liveLink(call.merchant.id, slot) : null;
  const room = holder === null ? 'freed' : await sale.makeRoom(holder, deadline);
  return room === 'freed' ? { kind: 'carry' } : counted(runtime, 'busy', room);
}

/** A store that fails after the bytes left means unknown: the row is durable, so recovery finds the truth. */
async function sendOrDoubt(runtime: Runtime, link: Link, plan: SendPlan): Promise<Sent> {
  try {
    return await sendInTurn(runtime, link, plan);
  } catch (error) {
    if (!(error instanceof PuenteError) || error.code !== 'store_failed') throw error;
    runtime.log.error('create: outcome could not be stored', { legacy_id: link.legacy_id, cause: error.message });
    return { kind: 'in_doubt', link, busy: false };
  }
}

/** A refusal about the reference itself: `property_value` naming `external_reference`. */
function namesReference(sent: Extract<Sent, { kind: 'refused' }>): boolean {
  return sent.status === 400 && JSON.stringify(sent.body ?? '').includes('external_reference');
}
