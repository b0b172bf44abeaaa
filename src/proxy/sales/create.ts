/** Creates a sale: recognise a retry, write the row, send the order, answer (`docs/protocol.md` §3.1–3.4, §3.9). */
import { durationMs } from '../../contract/duration.ts';
import { PuenteError } from '../../error.ts';
import type { Loss } from '../../mapping/tables.ts';
import { tickOf } from '../clock.ts';
import { markLimitation } from '../evidence/exchange.ts';
import { answerUpstreamError, type LegacyAnswer, type LegacyCall, refused } from '../http/answer.ts';
import { isTerminalHeld, reportHeldTerminal } from '../point/held-terminal.ts';
import { noteId, type Ports } from '../ports.ts';
import type { Sent } from '../process-memory.ts';
import { hasEnded, legacyDoubts } from '../routing/legacy-sale-end.ts';
import { distrust } from '../routing/merchant-identity.ts';
import type { Met } from '../store.ts';
import { answerSale, savedAnswers, storedNotes, takeBack } from './known-to-till.ts';
import { type Link, requestOf, slotOf, terminalOf, wasCanceledByUs } from './link.ts';
import { derivedReference, hasRoom, newLink, noRoom, type Sale, spend, usableReference } from './new-link.ts';
import { type SendPlan, sendInTurn } from './submit.ts';

/** For a create that wrote nothing: the breaker lets a probe through every second. */
const RETRY_IN_1_S = { 'retry-after': '1' };

/** Rounds of one create: another one starts when the sale on its unit turns out to have ended, or its reference is in use. */
const MAX_ROUNDS = 5;

interface Round {
  /** Epoch ms. */
  deadline: number;
  /** Whether the till's own reference may be sent: not after upstream refused it. */
  own_reference: boolean;
  /** The till's own reference, if it is sent; null: a derived one is sent. */
  reference: string | null;
}

/** `again`: start another round. `derived`: the same with a derived reference, because upstream refused the till's. */
type Tried = LegacyAnswer | 'again' | 'derived';

/**
 * Opens a sale on the orders lane, or has it proxied when it belongs to legacy. The lane is decided before
 * (`routing/lane.ts`), and checked in the transaction that writes the row. The row is durable before a byte is sent,
 * and the answer follows from what was committed.
 * @throws PuenteError refused, for a request that the tables refuse; nothing is stored then.
 */
export async function openSale(ports: Ports, call: LegacyCall, sale: Sale): Promise<LegacyAnswer> {
  const { family } = call.operation;
  const deadline = call.received_at + ports.settings.create.deadline_ms;
  // A slow till, or identifying its token, used up the deadline: write no row that can't be sent.
  if (ports.clock.now() >= deadline) return counted(ports, 'late', refused(family, 'unavailable'));
  if (await isDoubtedOnLegacy(ports, call, sale)) return { kind: 'proxy' };
  let own_reference = true;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const reference = own_reference ? usableReference(ports, call.merchant.id, sale) : null;
    const tried = await tryOpening(ports, call, sale, { deadline, own_reference, reference });
    if (tried === 'derived') own_reference = false;
    else if (tried !== 'again') return tried;
  }
  return counted(ports, 'busy', refused(family, sale.busy_error));
}

async function tryOpening(ports: Ports, call: LegacyCall, sale: Sale, round: Round): Promise<Tried> {
  const { deadline } = round;
  const fresh = translated(ports, call, sale, round.reference);
  if (fresh === null) return leaveToLegacy(ports, call, sale, deadline);
  ports.memory.failpoint('create.before_row');
  const {
    opening,
    link: stored,
    elsewhere,
  } = await openRow(ports, call, fresh.link).catch((error: unknown) => {
    noteNotMade(ports, fresh.link);
    throw error;
  });
  if (opening.kind === 'unwanted') {
    if (opening.why === 'left') return { kind: 'proxy' };
    noteNotMade(ports, fresh.link);
    return counted(ports, 'shut', refused(call.operation.family, 'unavailable', null, RETRY_IN_1_S));
  }
  if (opening.kind === 'moved') return { kind: 'moved' };
  if (opening.kind === 'used') {
    spend(ports, stored.merchant_id, stored.reference_sent);
    return 'again'; // the next round finds the reference in use, and derives one
  }
  if (elsewhere !== null) return (await hasEnded(ports, elsewhere, call.token, deadline)) ? 'again' : { kind: 'proxy' };
  if (opening.kind === 'busy') {
    const freed = await sale.freeUnit(stored, deadline);
    if (freed === 'freed') return 'again';
    await noteOwnDoubt(ports, stored, fresh.link);
    return counted(ports, 'busy', freed);
  }
  // A round with a derived reference opens the same sale again; its losses are noted once.
  if (opening.kind === 'open' && round.own_reference) noteLosses(ports, fresh.link, fresh.losses);
  markOpening(ports, opening, fresh.link);
  noteId(ports, stored.legacy_id);
  ports.memory.failpoint('create.row_written');
  const plan: SendPlan =
    opening.kind === 'open'
      ? { token: call.token, deadline, body: fresh.body, merchant: call.merchant }
      : { token: call.token, deadline, body: null };
  const sent = await sendOrDoubt(ports, stored, plan);
  if (sent.kind === 'terminal') return 'again'; // the repeated sale was refused or canceled: open a new one
  if (sent.kind === 'refused' && sentOwnReference(sent.link) && namesReference(sent)) return 'derived';
  return await answerOf(ports, call, sale, sent);
}

/** A dynamic code of this reference was requested from legacy with an unknown outcome: it is tried there again. */
async function isDoubtedOnLegacy(ports: Ports, call: LegacyCall, sale: Sale): Promise<boolean> {
  if (sale.holds_unit || call.is_by_unit) return false;
  return (await legacyDoubts(ports, call.merchant.id, sale.unit, sale.client_reference)).length > 0;
}

/** The new link; null when the tables refuse the request and the stage routes it to legacy, which may accept it. */
function translated(
  ports: Ports,
  call: LegacyCall,
  sale: Sale,
  reference: string | null,
): ReturnType<typeof newLink> | null {
  try {
    return newLink(ports, call, sale, reference);
  } catch (error) {
    if (!call.is_by_unit || !(error instanceof PuenteError) || error.code !== 'refused') throw error;
    return null;
  }
}

/** A request that the tables refuse can't be a retry of a sale on orders: it is proxied once its unit is free. */
async function leaveToLegacy(ports: Ports, call: LegacyCall, sale: Sale, deadline: number): Promise<Tried> {
  const slot = slotOf(sale.family, sale.unit);
  const holder = sale.holds_unit ? await ports.store.links.liveLink(call.merchant.id, slot) : null;
  const freed = holder === null ? 'freed' : await sale.freeUnit(holder, deadline);
  return freed === 'freed' ? { kind: 'proxy' } : counted(ports, 'busy', freed);
}

/** A store failure once the row is durable leaves the outcome to recovery (`docs/protocol.md` §3.3 a). */
async function sendOrDoubt(ports: Ports, link: Link, plan: SendPlan): Promise<Sent> {
  try {
    return await sendInTurn(ports, link, plan);
  } catch (error) {
    if (!(error instanceof PuenteError) || error.code !== 'store_failed') throw error;
    const { legacy_id } = link;
    ports.log.error('create: outcome could not be stored', { legacy_id, cause: error.message });
    // The commit may be durable all the same, and the till is answered an error.
    void takeBack(ports, link).catch((cause: unknown) =>
      ports.log.error('create: answer could not be taken back', { legacy_id, cause: String(cause) }),
    );
    return { kind: 'in_doubt', link, busy: false };
  }
}

/** A 400 whose body names `external_reference`: another system of this merchant used the reference (`docs/field-notes.md` Spec Errors, `property_value`). */
function namesReference(sent: Extract<Sent, { kind: 'refused' }>): boolean {
  return sent.status === 400 && JSON.stringify(sent.body ?? '').includes('external_reference');
}

// The row of a new sale: the transaction that writes it checks what holds its unit (`docs/protocol.md` §3.3, step 1).

type Row = Awaited<ReturnType<Ports['store']['links']['openLink']>>;

/**
 * Writes the row of a sale, unless the create is a retry, its unit is held, or its lane has changed.
 * @throws PuenteError store_failed when the row is not proved to be durable; refused while the disk is low or full.
 */
async function openRow(
  ports: Ports,
  { token, merchant, is_by_unit, received_at }: Pick<LegacyCall, 'token' | 'merchant' | 'is_by_unit' | 'received_at'>,
  link: Link,
): Promise<Row> {
  const windows = windowsOf(ports, link);
  const { clock, memory } = ports;
  await storedNotes(ports, link.merchant_id);
  await savedAnswers(ports, link);
  const meanwhile = await answeredMeanwhile(ports, link, received_at);
  // Its till sent this create before any answer: what it came to know since then does not count.
  const retriable = meanwhile === null ? null : { ...meanwhile, acknowledged_at: null, known_by: null };
  if (meanwhile !== null && retriedSale({ holder: null, retriable }, link, windows) !== null)
    return { opening: { kind: 'join', link: meanwhile }, link: meanwhile, elsewhere: null };
  const row = await ports.store.links.openLink(
    link,
    (found) => {
      const is_known = found.retriable !== null && memory.sales.known.get(found.retriable.legacy_id) === true;
      const met = is_known ? { ...found, retriable: null } : found;
      const retried = retriedSale(met, link, windows);
      if (retried !== null) return { kind: 'join', link: retried };
      if (met.holder !== null) return { kind: 'busy', link: met.holder };
      const is_held = link.slot !== null && memory.unrecorded.holds(merchant.id, link.slot, clock.now());
      if (is_by_unit || is_held) return { kind: 'unwanted', why: 'left' };
      if (!hasRoom(ports)) return { kind: 'unwanted', why: 'no_room' };
      const is_shut = ports.upstreams.orders.isShut?.('POST', token) === true;
      return is_shut ? { kind: 'unwanted', why: 'shut' } : { kind: 'open' };
    },
    merchant.revision,
  );
  if (row.opening.kind === 'open') memory.sales.opened.set(link.legacy_id, tickOf(clock));
  if (row.opening.kind === 'unwanted' && row.opening.why === 'no_room') throw noRoom(ports);
  return row;
}

/** No sale is answered, paid and its notice acknowledged in less. */
const SHORTEST_SALE_MS = 1_000;
/** More than a merchant opens while one create waits. */
const SALES_LOOKED_AT = 100;

/**
 * The equal sale that was first answered 2xx after this create arrived, while it waited for its turn or its merchant.
 * What this process answered is known by the monotonic clock, what another one answered by the wall clock.
 */
async function answeredMeanwhile(
  { clock, memory, store, exchange }: Ports,
  link: Link,
  received_at: number,
): Promise<Link | null> {
  const own = memory.sales.answered.get(requestOf(link));
  if (own !== undefined && exchange !== null && own.at_ms >= exchange.started_tick_ms)
    return await store.links.link(own.legacy_id);
  const now = clock.now();
  if (now - received_at < SHORTEST_SALE_MS) return null;
  const isEqual = (one: Link): boolean => requestOf(one) === requestOf(link) && one.legacy_id !== own?.legacy_id;
  // Later than now: by a clock that was set back since.
  const isSince = (at: number | null): boolean => at !== null && at >= received_at && at <= now;
  const sales = await store.history.linksOf(link.merchant_id, 0, Number.MAX_SAFE_INTEGER, SALES_LOOKED_AT);
  return sales.find((one) => isEqual(one) && isSince(one.acknowledged_at)) ?? null;
}

/** Ages by the wall or the monotonic clock, whichever is smaller: a clock set forward makes no retry a new sale (`test/faults/README.md` F47). */
function windowsOf({ memory, clock, settings }: Ports, candidate: Link): RetryWindows {
  const since = ({ legacy_id }: Link, at: number): number => {
    const wall_ms = candidate.created_at - at;
    const opened_at = memory.sales.opened.get(legacy_id);
    return opened_at === undefined ? wall_ms : Math.min(wall_ms, tickOf(clock) - opened_at);
  };
  const { join_window_ms, replay_window_ms } = settings.create;
  return {
    join_window_ms,
    replay_window_ms,
    age_ms: (link) => since(link, link.created_at),
    // A known order's own duration: its `expires_at` is by upstream's clock, and `created_at` by Puente's.
    lifetime_ms: ({ order, expires_at, created_at }) =>
      order === null
        ? expires_at - created_at
        : (durationMs(order.expiration_time, created_at) ?? settings.create.default_lifetime_ms),
    answer_delivered_ms: (link) => since(link, link.acknowledged_at ?? link.created_at),
  };
}

// Is a create a new sale, or a retry? Pure (`docs/protocol.md` §3.9, `docs/field-notes.md` Point finding 11).

interface RetryWindows {
  /** How long a create whose answer was delivered may be repeated without a client key, ms. */
  join_window_ms: number;
  /** How long after its order's end a create without a delivered answer, or one with a client key, may be repeated, ms. */
  replay_window_ms: number;
  age_ms(link: Link): number;
  /** How long the order can be paid, ms. */
  lifetime_ms(link: Link): number;
  /** How long ago the till was first answered 2xx, ms. */
  answer_delivered_ms(link: Link): number;
}

/**
 * The sale that a create repeats, in any state, paid included; null for a new sale. Two equal coffees in a row are two
 * sales: before the second, the till has read the first one, or its receiver has acknowledged the notice of its end.
 */
export function retriedSale({ retriable }: Met, candidate: Link, windows: RetryWindows): Link | null {
  if (retriable === null || wasCanceledByUs(retriable)) return null;
  return isRetry(retriable, candidate, windows) ? retriable : null;
}

/**
 * Receiver and till are two programs: the receiver may acknowledge the notice while the till's client library still
 * repeats the create, whose answer was lost, with its key. The official SDK repeats after 1 s, three times
 * (`docs/field-notes.md` Point §4.2). Later, or without a key, a retry and the next equal sale look the same.
 */
export const CLIENT_PATIENCE_MS = 15_000;

function isRetry(sale: Link, candidate: Link, windows: RetryWindows): boolean {
  const same_key_or_none = sale.client_key === candidate.client_key;
  const is_keyed = sale.client_key !== null && candidate.client_key !== null;
  // `known_by` is never `till` here: the store leaves such sales out.
  if (sale.known_by === 'notice')
    return is_keyed && same_key_or_none && windows.answer_delivered_ms(sale) < CLIENT_PATIENCE_MS;
  const is_live = sale.state !== 'DONE';
  const may_be_repeated = is_live || windows.age_ms(sale) < windows.lifetime_ms(sale) + windows.replay_window_ms;
  if (sale.acknowledged_at === null) {
    const is_dynamic_qr = candidate.slot === null;
    // A dynamic QR in an answer that was not delivered was never shown: it can't be paid, and it holds no unit.
    if (is_dynamic_qr && is_keyed && !same_key_or_none) return false;
    // The till was answered an error, or nothing: its next equal create is the retry, with any key.
    return may_be_repeated;
  }
  if (!same_key_or_none) return false;
  return is_keyed ? may_be_repeated : windows.answer_delivered_ms(sale) < windows.join_window_ms;
}

/** The legacy answer for a committed outcome. */
async function answerOf(
  ports: Ports,
  call: LegacyCall,
  sale: Sale,
  sent: Exclude<Sent, { kind: 'terminal' }>,
): Promise<LegacyAnswer> {
  const { family } = call.operation;
  switch (sent.kind) {
    case 'created':
      ports.memory.sales.held_terminals.delete(terminalOf(sent.link)); // a sale succeeded there
      return counted(ports, 'created', answerSale(ports, sent.link, sale.created(sent.link)));
    case 'refused': {
      noteNotMade(ports, sent.link);
      if (sent.status === 401) await distrust(ports, call.token);
      if (isTerminalHeld(sent.status, sent.body)) await reportHeldTerminal(ports, sent.link);
      return counted(
        ports,
        'refused',
        answerUpstreamError(ports, call, 'create', sent.status, sent.body, sent.retry_after_ms),
      );
    }
    case 'not_sent':
      noteNotMade(ports, sent.link);
      return counted(ports, 'not_sent', refused(family, 'bad_gateway'));
    case 'in_doubt': {
      const support = { 'x-puente-intent': sent.link.legacy_id };
      const error = sent.busy ? sale.busy_error : 'outcome_unknown';
      await noteOwnDoubt(ports, sent.link);
      return counted(ports, 'in_doubt', refused(family, error, null, support));
    }
  }
}

/** Marks the limitations that the till meets: a derived reference upstream, and a retry recognised without a key. */
function markOpening(ports: Ports, opening: Row['opening'], requested: Link): void {
  const draft = ports.exchange;
  if (opening.kind === 'open' && requested.client_reference !== null && !sentOwnReference(requested))
    markLimitation(draft, 'LIM-08');
  if (opening.kind !== 'join') return;
  const is_keyed_retry = requested.client_key !== null && requested.client_key === opening.link.client_key;
  if (!is_keyed_retry) markLimitation(draft, requested.family === 'qr' ? 'LIM-29' : 'LIM-14');
}

/** The till's own reference was sent upstream, not a derived one. */
function sentOwnReference(link: Link): boolean {
  return link.reference_sent !== derivedReference(link.legacy_id);
}

/** Called once for each new sale, not for its retries; a field of a list is logged once, whatever its index. */
function noteLosses(ports: Ports, { merchant_id, legacy_id }: Link, losses: Loss[]): void {
  const reported = new Set<string>();
  for (const { table, path } of losses) {
    ports.count('losses', table);
    const name = path.replaceAll(/\[\d+\]/g, '[]');
    if (!reported.has(name))
      ports.log.info('a field did not reach the order', { merchant: merchant_id, legacy_id, table, path });
    reported.add(name);
  }
}

/** Passes the answer through, and counts its outcome in `puente_creates_total`. */
function counted(ports: Ports, outcome: string, answer: LegacyAnswer): LegacyAnswer {
  ports.count('creates', outcome);
  return answer;
}

/** Marks an exchange whose sale is not known to be made, for the safety stop. */
function noteNotMade({ exchange }: Ports, { unit, amount_minor }: Link): void {
  if (exchange !== null) exchange.not_made = `${unit} ${amount_minor}`;
}

/**
 * Marks an exchange whose till was refused because of a create in doubt or past its deadline: Puente's fault, not the
 * shop's. A create within its deadline is another till's sale, and its unit is busy in the ordinary way.
 * @param refused the sale that was refused; one of the same amount counts as the same sale tried again.
 */
export async function noteOwnDoubt(ports: Ports, { legacy_id, amount_minor }: Link, refused?: Link): Promise<void> {
  const draft = ports.exchange;
  // Where this call sent its own create, the outcome of that create counts.
  if (draft === null || draft.upstream.some(({ name }) => name === 'create')) return;
  const holder = await ports.store.links.link(legacy_id);
  if (holder === null) return;
  const late_at = holder.created_at + ports.settings.create.deadline_ms;
  const is_late = holder.state === 'SENDING' && ports.clock.now() >= late_at;
  const is_other = refused !== undefined && refused.amount_minor !== amount_minor;
  if (holder.state === 'IN_DOUBT' || is_late)
    draft.doubt_of = is_other ? `${legacy_id} ${refused.amount_minor}` : legacy_id;
}
