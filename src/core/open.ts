/** The story of a new sale, whatever its family: row first, then the order, then the answer (`reliability.md` §3.3). */
import { createHash } from 'node:crypto';
import { stringifyJson } from '../contract/json.ts';
import type { LegacyErrorName } from '../contract/legacy-errors.ts';
import { PuenteError } from '../error.ts';
import { minorUnits } from '../mapping/amount.ts';
import type { LinkFamily, Loss, MappingContext } from '../mapping/tables.ts';
import { type Answered, type LegacyAnswer, refused } from './answer.ts';
import { errorAnswer, type LegacyCall, merchantContext } from './call.ts';
import { isHeld } from './change.ts';
import { distrust } from './identity.ts';
import { stageOf } from './lane.ts';
import { type HeldFields, type Link, slotOf } from './link.ts';
import { durationMs } from './moment.ts';
import { judgeOpening } from './opening.ts';
import { derivedReference, fitsUpstream } from './reference.ts';
import type { Runtime } from './runtime.ts';
import { type SendPlan, type Sent, sendLink } from './send.ts';

/** How often one create may find its place taken by something that turns out to be over. */
const MAX_ROUNDS = 4;

/** What a family's create knows of its sale; everything else is the protocol's. */
export interface Sale {
  family: LinkFamily;
  unit: string;
  /** False for a dynamic QR: any number of them may be live on one till. */
  holds_unit: boolean;
  /** The client's own reference; null when it gave none. */
  client_reference: string | null;
  held: HeldFields;
  notice_url: string | null;
  /** Further context of the request table. */
  context: MappingContext;
  /** Told when the sale before this one is not known yet, or is in the way. */
  busy_error: LegacyErrorName;
  /** Something live is on the unit and is no retry: make room (`freed`), or say why not. */
  makeRoom(holder: Link, deadline: number): Promise<'freed' | Answered>;
  /** The answer for a created order whose link is committed. */
  created(link: Link): LegacyAnswer;
}

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
    if (stageOf(runtime, call.merchant) === 'legacy' && !(await unitIsHeld(runtime, call, sale)))
      return { kind: 'carry' };
    const { link, body } = await newLink(runtime, call, sale, own_reference);
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

async function newLink(
  runtime: Runtime,
  call: LegacyCall,
  sale: Sale,
  own_reference: boolean,
): Promise<{ link: Link; body: Uint8Array }> {
  const now = runtime.clock.now();
  const legacy_id = runtime.ids.legacyId(now);
  const reference = await chooseReference(runtime, call, sale, legacy_id, own_reference);
  const context = { ...merchantContext(runtime, call.merchant), ...sale.context, reference };
  const translated = runtime.tables.request(
    call.operation,
    { path: call.path, query: call.query, headers: call.headers, body: call.body },
    context,
  );
  noteLosses(runtime, call, translated.losses);
  const order = translated.value.body as OrderBody; // the target schema has just been checked
  const bytes = Buffer.from(stringifyJson(order), 'utf8');
  const client_key = call.headers['x-idempotency-key'];
  const { vault } = runtime;
  const link: Link = {
    ...blankLink(runtime, now),
    legacy_id,
    merchant_id: call.merchant.id,
    family: sale.family,
    unit: sale.unit,
    slot: sale.holds_unit ? slotOf(sale.family, sale.unit) : null,
    client_key: client_key === undefined ? null : vault.keyed('client-key', client_key),
    fingerprint: fingerprintOf(call),
    reference_sent: reference,
    client_reference: sale.client_reference,
    held: sale.held,
    amount_minor: amountOf(order, runtime.tables.site(call.merchant.site).exponent),
    merchant_order_id: sale.family === 'qr' ? runtime.ids.number(now) : null,
    sealed_notice_url: sale.notice_url === null ? null : vault.seal(sale.notice_url, 'notice-url'),
    sealed_body: vault.seal(bytes, 'body'),
    tables_revision: runtime.tables.revision,
    legacy_state: sale.family === 'qr' ? 'payment_required' : 'OPEN',
    expires_at: now + (durationMs(order.expiration_time) ?? runtime.settings.create.default_lifetime_ms),
  };
  return { link, body: bytes };
}

/** What every new link begins with. */
function blankLink(runtime: Runtime, now: number) {
  const { deadline_ms, attempt_timeout_ms } = runtime.settings.create;
  return {
    lane: 'orders',
    idempotency_key: runtime.ids.idempotencyKey(),
    state: 'SENDING',
    attempts: 0,
    first_sent_at: now,
    boot_id: runtime.boot_id,
    client_answer: 'none',
    order_id: null,
    order: null,
    order_version: null,
    payment_id: null,
    legacy_state_at: now,
    cancel: null,
    // The completer looks after it only when this call can't any more.
    next_check_at: now + deadline_ms + attempt_timeout_ms,
    created_at: now,
    updated_at: now,
    revision: 1,
  } as const;
}

/** What the protocol reads of the order that goes upstream. */
interface OrderBody {
  expiration_time?: string;
  total_amount?: string;
  transactions: { payments?: { amount: string }[] };
}

/** The whole amount in minor units; QR orders say it as a total, Point orders as their one payment. */
function amountOf(order: OrderBody, exponent: number): number {
  const minor = minorUnits(order.total_amount ?? order.transactions.payments?.[0]?.amount, exponent);
  if (minor === undefined) throw new PuenteError('bad_tables', 'the request table wrote an amount that is none');
  return minor;
}

/** The client's reference when it fits the new rules and was never used upstream by us; a derived one otherwise. */
async function chooseReference(
  runtime: Runtime,
  call: LegacyCall,
  sale: Sale,
  legacy_id: string,
  own: boolean,
): Promise<string> {
  const said = sale.client_reference ?? undefined;
  if (!own || !fitsUpstream(said)) return derivedReference(legacy_id);
  const used = await runtime.store.linkByReference(call.merchant.id, said);
  return used === null ? said : derivedReference(legacy_id);
}

/** Method, path and canonical body: what makes two calls the same request (`legacy-point.md` finding 11). */
export function fingerprintOf(call: LegacyCall): string {
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

function counted(runtime: Runtime, outcome: string, answer: LegacyAnswer): LegacyAnswer {
  runtime.count('creates', outcome);
  return answer;
}
