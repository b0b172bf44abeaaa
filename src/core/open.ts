/** The story of a new sale, whatever its family: row first, then the order, then the answer (`reliability.md` §3.3). */
import { PuenteError } from '../error.ts';
import type { Loss } from '../mapping/tables.ts';
import { type LegacyAnswer, refused } from './answer.ts';
import { errorAnswer, type LegacyCall } from './call.ts';
import { isHeld } from './change.ts';
import { distrust } from './identity.ts';
import { stageOf } from './lane.ts';
import { type Link, slotOf } from './link.ts';
import { newLink } from './new-link.ts';
import { judgeOpening } from './opening.ts';
import { derivedReference } from './reference.ts';
import { refreshLink } from './refresh.ts';
import type { Runtime } from './runtime.ts';
import type { Sale } from './sale.ts';
import { type SendPlan, type Sent, sendLink } from './send.ts';

/** How often one create may find its place taken by something that turns out to be over. */
const MAX_ROUNDS = 4;

/**
 * Opens a sale on the orders lane. Nothing is stored when the request is refused by a table; otherwise the row is
 * durable before a byte is sent, and the answer follows what was committed.
 * @throws PuenteError refused, for a request the tables refuse.
 */
export async function openSale(runtime: Runtime, call: LegacyCall, sale: Sale): Promise<LegacyAnswer> {
  const { family } = call.operation;
  const deadline = call.received_at + runtime.settings.create.deadline_ms;
  // Asking whose token it is, or a slow client, took all the time: nothing is written that could not be sent.
  if (runtime.clock.now() >= deadline) return counted(runtime, 'late', refused(family, 'unavailable'));
  let own_reference = true;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    // The stage is legacy: the call came for what is open on its unit, and once that is over it is legacy's.
    const legacy = stageOf(runtime, call.merchant) === 'legacy';
    if (legacy && !(sale.holds_unit && (await unitIsHeld(runtime, call, sale)))) return { kind: 'carry' };
    const { link, body, losses } = await newLink(runtime, call, sale, own_reference);
    const window_ms = runtime.settings.create.join_window_ms;
    runtime.failpoint('create.before_row');
    const { opening, link: stored } = await runtime.store.openLink(link, (holder) => {
      if (holder !== null && isHeld(runtime, holder)) return { kind: 'busy' };
      const judged = judgeOpening(holder, link, window_ms);
      // What holds no unit is in nobody's way: it was only looked at as a possible retry.
      return judged.kind === 'busy' && !sale.holds_unit ? { kind: 'open' } : judged;
    });
    if (opening.kind === 'busy') {
      const room = await sale.makeRoom(stored, deadline);
      if (room !== 'freed') return counted(runtime, 'busy', room);
      continue;
    }
    if (opening.kind === 'join' && (await isOver(runtime, call, stored, deadline))) continue; // paid, so this is a new sale
    if (opening.kind === 'open') noteLosses(runtime, link, losses);
    runtime.failpoint('create.row_written');
    const plan = { token: call.token, deadline, body: opening.kind === 'open' ? body : null };
    const sent = await sendOrDoubt(runtime, stored, plan);
    if (sent.kind === 'over') continue; // the row to join had ended: this is a new sale
    if (sent.kind === 'refused' && isOwn(sent.link) && namesReference(sent)) {
      own_reference = false; // another system of this merchant used the reference: nothing exists, so try with ours
      continue;
    }
    return answerOf(runtime, call, sale, sent);
  }
  return counted(runtime, 'busy', refused(family, sale.busy_error));
}

/**
 * A sale that its till was told of is joined by its retry, but not by the next equal sale: the order says which it is,
 * because the event of its payment may be late or lost (`legacy-qr.md` §0 row 17). What can't be read is joined.
 */
async function isOver(runtime: Runtime, call: LegacyCall, holder: Link, deadline: number): Promise<boolean> {
  if (holder.state !== 'LIVE' || holder.client_answer !== 'maybe') return false;
  const seen = await refreshLink(runtime, holder, call.token, { force: true, deadline });
  return seen.state !== 'LIVE';
}

/** A store that fails after the bytes left means unknown: the row is durable, so recovery finds the truth. */
async function sendOrDoubt(runtime: Runtime, link: Link, plan: SendPlan): Promise<Sent> {
  try {
    return await runtime.serial.run(link.legacy_id, () => sendLink(runtime, link.legacy_id, plan));
  } catch (error) {
    if (!(error instanceof PuenteError) || error.code !== 'store_failed') throw error;
    runtime.log.error('create: outcome could not be stored', { legacy_id: link.legacy_id, cause: error.message });
    return { kind: 'in_doubt', link, busy: false };
  }
}

/** The legacy answer for a create whose outcome has been committed. */
async function answerOf(
  runtime: Runtime,
  call: LegacyCall,
  sale: Sale,
  sent: Exclude<Sent, { kind: 'over' }>,
): Promise<LegacyAnswer> {
  const { family } = call.operation;
  switch (sent.kind) {
    case 'created':
      return counted(runtime, 'created', sale.created(sent.link));
    case 'refused': {
      if (sent.status === 401) await distrust(runtime, call.token);
      return counted(
        runtime,
        'refused',
        errorAnswer(runtime, call, 'create', sent.status, sent.body, sent.retry_after_ms),
      );
    }
    case 'not_sent':
      return counted(runtime, 'not_sent', refused(family, 'bad_gateway'));
    case 'in_doubt': {
      const support = { 'x-puente-intent': sent.link.legacy_id };
      const error = sent.busy ? sale.busy_error : 'outcome_unknown';
      return counted(runtime, 'in_doubt', refused(family, error, null, support));
    }
  }
}

async function unitIsHeld(runtime: Runtime, call: LegacyCall, sale: Sale): Promise<boolean> {
  return (await runtime.store.liveLink(call.merchant.id, slotOf(sale.family, sale.unit))) !== null;
}

/** The client's own reference went upstream, not a derived one. */
function isOwn(link: Link): boolean {
  return link.reference_sent !== derivedReference(link.legacy_id);
}

/** A refusal about the reference itself: `property_value` naming `external_reference`. */
function namesReference(sent: Extract<Sent, { kind: 'refused' }>): boolean {
  return sent.status === 400 && JSON.stringify(sent.body ?? '').includes('external_reference');
}

/** Once for each sale that is opened; its retries lose nothing more. */
function noteLosses(runtime: Runtime, { merchant_id, legacy_id }: Link, losses: Loss[]): void {
  for (const loss of losses) {
    runtime.count('losses', loss.table);
    runtime.log.info('a field did not reach the order', {
      merchant: merchant_id,
      legacy_id,
      table: loss.table,
      path: loss.path,
    });
  }
}

function counted(runtime: Runtime, outcome: string, answer: LegacyAnswer): LegacyAnswer {
  runtime.count('creates', outcome);
  return answer;
}
