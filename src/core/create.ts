/** The story of a legacy create: row first, then the order, then the answer (`reliability.md` §3.3). */
import { createHash } from 'node:crypto';
import { stringifyJson } from '../contract/json.ts';
import { createPointOrder } from '../contract/orders.ts';
import { PuenteError } from '../error.ts';
import type { Loss } from '../mapping/tables.ts';
import { answered, type LegacyAnswer, refused } from './answer.ts';
import { errorAnswer, type LegacyCall, merchantContext } from './call.ts';
import { isHeld, releaseHeld } from './change.ts';
import { distrust } from './identity.ts';
import { stageOf } from './lane.ts';
import type { HeldFields, Link } from './link.ts';
import { durationMs } from './moment.ts';
import { judgeOpening } from './opening.ts';
import { refreshLink } from './read.ts';
import { derivedReference, fitsUpstream } from './reference.ts';
import type { Runtime } from './runtime.ts';
import { type SendPlan, type Sent, sendLink } from './send.ts';

/** How often one create may find its place taken by something that turns out to be over. */
const MAX_ROUNDS = 4;

/**
 * `POST …/devices/{device}/payment-intents` on the orders lane. Nothing is stored when the request is refused by a
 * table; otherwise the row is durable before a byte is sent, and the answer follows what was committed.
 * @throws PuenteError refused, for a request the tables refuse.
 */
export async function createIntent(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const deadline = call.received_at + runtime.settings.create.deadline_ms;
  // Asking whose token it is, or a slow client, took all the time: nothing is written that could not be sent.
  if (runtime.clock.now() >= deadline) return countedAnswer(runtime, 'late', refused('unavailable'));
  let own_reference = true;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    // The stage is legacy: the call came for what is open on its unit, and once that is over it is legacy's.
    if (stageOf(runtime, call.merchant) === 'legacy' && !(await unitIsHeld(runtime, call))) return { kind: 'carry' };
    const { link, body } = await newLink(runtime, call, own_reference);
    const window_ms = runtime.settings.create.join_window_ms;
    runtime.failpoint('create.before_row');
    const { opening, link: stored } = await runtime.store.openLink(link, (holder) =>
      holder !== null && isHeld(runtime, holder) ? { kind: 'busy' } : judgeOpening(holder, link, window_ms),
    );
    if (opening.kind === 'busy') {
      if (await stillHolds(runtime, call, stored, deadline))
        return countedAnswer(runtime, 'busy', refused('queued_intent'));
      continue;
    }
    runtime.failpoint('create.row_written');
    const plan = { token: call.token, deadline, body: opening.kind === 'open' ? body : null };
    const sent = await sendOrDoubt(runtime, stored, plan);
    if (sent.kind === 'over') continue; // the row to join had ended: this is a new sale
    if (sent.kind === 'refused' && isOwn(sent.link) && namesReference(sent)) {
      own_reference = false; // another system of this merchant used the reference: nothing exists, so try with ours
      continue;
    }
    return answerOf(runtime, call, sent);
  }
  return countedAnswer(runtime, 'busy', refused('queued_intent'));
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
  sent: Exclude<Sent, { kind: 'over' }>,
): Promise<LegacyAnswer> {
  switch (sent.kind) {
    case 'created':
      return countedAnswer(runtime, 'created', createdAnswer(runtime, call, sent.link));
    case 'refused': {
      if (sent.status === 401) await distrust(runtime, call.token);
      const answer = errorAnswer(runtime, call, 'create', sent.status, sent.body, sent.retry_after_ms);
      return countedAnswer(runtime, 'refused', answer);
    }
    case 'not_sent':
      return countedAnswer(runtime, 'not_sent', refused('bad_gateway'));
    case 'in_doubt': {
      const support = { 'x-puente-intent': sent.link.legacy_id };
      return countedAnswer(
        runtime,
        'in_doubt',
        refused(sent.busy ? 'queued_intent' : 'outcome_unknown', null, support),
      );
    }
  }
}

/** What the till sees of a created intent: no `state`, the fields as it sent them (`legacy-point.md` §1.3). */
function createdAnswer(runtime: Runtime, call: LegacyCall, link: Link): LegacyAnswer {
  const { value } = runtime.tables.answer(call.operation, link.order ?? {}, {
    ...merchantContext(runtime, call.merchant),
    intent_id: link.legacy_id,
    device_id: link.unit,
    held: link.held,
    amount_minor: link.amount_minor,
  });
  return answered(200, value.body);
}

async function newLink(
  runtime: Runtime,
  call: LegacyCall,
  own_reference: boolean,
): Promise<{ link: Link; body: Uint8Array }> {
  const now = runtime.clock.now();
  const legacy_id = runtime.ids.legacyId(now);
  const body = call.body as CreateBody; // the request table checks the shape before anything of it is used upstream
  const reference = await chooseReference(runtime, call, legacy_id, own_reference);
  const translated = runtime.tables.request(
    call.operation,
    { path: call.path, query: call.query, headers: call.headers, body: call.body },
    { ...merchantContext(runtime, call.merchant), reference },
  );
  noteLosses(runtime, call, translated.losses);
  const bytes = Buffer.from(stringifyJson(translated.value.body), 'utf8');
  const client_key = call.headers['x-idempotency-key'];
  const link: Link = {
    legacy_id,
    merchant_id: call.merchant.id,
    lane: 'orders',
    unit: call.path.device_id ?? '',
    client_key: client_key === undefined ? null : runtime.vault.keyed('client-key', client_key),
    fingerprint: fingerprintOf(call),
    reference_sent: reference,
    held: heldFields(body),
    amount_minor: body.amount,
    idempotency_key: runtime.ids.idempotencyKey(),
    sealed_body: runtime.vault.seal(bytes, 'body'),
    tables_revision: runtime.tables.revision,
    state: 'SENDING',
    attempts: 0,
    first_sent_at: now,
    boot_id: runtime.boot_id,
    client_answer: 'none',
    order_id: null,
    order: null,
    order_version: null,
    payment_id: null,
    intent_state: 'OPEN',
    intent_state_at: now,
    cancel: null,
    expires_at: now + (lifetimeAsked(translated.value.body) ?? runtime.settings.create.default_lifetime_ms),
    // The completer looks after it only when this call can't any more.
    next_check_at: now + runtime.settings.create.deadline_ms + runtime.settings.create.attempt_timeout_ms,
    created_at: now,
    updated_at: now,
    revision: 1,
  };
  return { link, body: bytes };
}

/** The lifetime the order was asked to have, in ms; null when the service decides. */
function lifetimeAsked(order_body: unknown): number | null {
  const asked = createPointOrder.safeParse(order_body);
  return asked.success ? durationMs(asked.data.expiration_time) : null;
}

interface CreateBody {
  amount: number;
  description?: string;
  external_reference?: string;
  additional_info?: { external_reference?: string };
  payment?: unknown;
}

/** The client's reference when it fits the new rules and was never used upstream by us; a derived one otherwise. */
async function chooseReference(runtime: Runtime, call: LegacyCall, legacy_id: string, own: boolean): Promise<string> {
  const body = call.body as CreateBody | undefined; // as above: only read here, checked by the table
  const said = body?.additional_info?.external_reference;
  if (!own || typeof said !== 'string' || !fitsUpstream(said)) return derivedReference(legacy_id);
  const used = await runtime.store.linkByReference(call.merchant.id, said);
  return used === null ? said : derivedReference(legacy_id);
}

function heldFields(body: CreateBody): HeldFields {
  const held: HeldFields = {};
  if (body.additional_info !== undefined) held.additional_info = body.additional_info;
  if (body.payment !== undefined) held.payment = body.payment;
  if (body.description !== undefined) held.description = body.description;
  return held;
}

/** Method, path and canonical body: what makes two creates the same request (`legacy-point.md` finding 11). */
function fingerprintOf(call: LegacyCall): string {
  const text = `${call.operation.method} ${call.target} ${stringifyJson(sorted(call.body))}`;
  return createHash('sha256').update(text).digest('base64url');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  );
}

async function unitIsHeld(runtime: Runtime, call: LegacyCall): Promise<boolean> {
  return (await runtime.store.liveLink(call.merchant.id, call.path.device_id ?? '')) !== null;
}

/** The link in the way: looked at once, because a missed event must never block a terminal. */
async function stillHolds(runtime: Runtime, call: LegacyCall, holder: Link, deadline: number): Promise<boolean> {
  if (holder.order_id === null) return true;
  const read = await refreshLink(runtime, holder, call.token, { force: true, deadline });
  const seen = isHeld(runtime, read) ? await releaseHeld(runtime, read) : read;
  return seen.state === 'LIVE' || seen.state === 'SENDING' || seen.state === 'IN_DOUBT';
}

/** The client's own reference went upstream, not a derived one. */
function isOwn(link: Link): boolean {
  return link.reference_sent !== derivedReference(link.legacy_id);
}

/** A refusal about the reference itself: `property_value` naming `external_reference`. */
function namesReference(sent: Extract<Sent, { kind: 'refused' }>): boolean {
  return sent.status === 400 && JSON.stringify(sent.body ?? '').includes('external_reference');
}

function noteLosses(runtime: Runtime, call: LegacyCall, losses: Loss[]): void {
  for (const loss of losses) {
    runtime.count('losses', loss.table);
    runtime.log.info('a field did not reach the order', {
      merchant: call.merchant.id,
      table: loss.table,
      path: loss.path,
    });
  }
}

function countedAnswer(runtime: Runtime, outcome: string, answer: LegacyAnswer): LegacyAnswer {
  runtime.count('creates', outcome);
  return answer;
}
