/** The steps of a sale's story, from everything that the store has about it. */
import { z } from 'zod';
import type { Spoken } from '../../error.ts';
import { quoted, readStored, say } from '../../locales/message.ts';
import { decimalText } from '../../mapping/values.ts';
import type { AuditLine } from '../../proxy/audit.ts';
import { TILL_LEFT } from '../../proxy/evidence/exchange.ts';
import type { StoredExchange } from '../../proxy/records/evidence.ts';
import type { Attempt, InboxEvent, LoggedNotice } from '../../proxy/records/notices.ts';
import type { Refund } from '../../proxy/records/refunds.ts';
import type { LegacySale } from '../../proxy/records/routing.ts';
import { type Link, slotOf } from '../../proxy/sales/link.ts';
import { BY_ITSELF } from '../api/person.ts';
import { rounded, said, shown, time } from '../fields.ts';
import type { Ports } from '../ports.ts';
import { detailOf } from '../readiness/side.ts';
import { type Trouble, troubleOfLegacySale, troubleOfLink, upstreamSaid } from './trouble.ts';

/** A till that polls every second for an hour; later calls of one sale are left out, and the story says so. */
const MOST_EXCHANGES = 3_600;
const MOST_NOTICES = 200;
const MOST_EVENTS = 500;
const MOST_DECISIONS = 200;
/** A proxied create arrived at most this long before its row was written. */
const LONGEST_CALL_MS = 60_000;

interface Story {
  steps: TraceStep[];
  /** Table rows that fired in its calls, each once, in the order of firing. */
  fired: string[];
  trouble: Trouble | null;
}

/** The story of a sale created on orders. */
export async function storyOfLink(ports: Ports, link: Link): Promise<Story> {
  const { store } = ports;
  const { legacy_id } = link;
  const exchanges = await store.exchanges.exchanges({ legacy_id }, 0, MOST_EXCHANGES);
  const notices = await store.notices.notices({ legacy_id }, MOST_NOTICES);
  const events = await store.events.eventsOf(link.order_id, link.reference_sent, MOST_EVENTS);
  const decisions = await store.audit.auditsOf({ subject: legacy_id }, MOST_DECISIONS);
  const states = await store.history.linkHistory(legacy_id);
  const refunds = await store.refunds.refunds(legacy_id);
  const site = ports.tables.site((await store.merchants.merchant(link.merchant_id))?.site ?? null);
  const written = { create: [link.created_at], refund: refunds.map(({ created_at }) => created_at) };
  const state_times = states.map(({ at }) => at);
  const steps = [
    ...exchanges.flatMap((exchange) => stepsOfExchange(exchange, written)),
    ...states.map(stepOfState),
    ...events.filter((event) => isAbout(event, link)).map(stepOfEvent),
    ...(await Promise.all(notices.map((notice) => withAttempts(ports, notice)))).flatMap((notice) =>
      stepsOfNotice(notice, state_times),
    ),
    ...refunds.flatMap((refund) => stepsOfRefund(refund, site)),
    ...decisions.map(stepOfDecision),
    ...cutOf(exchanges, MOST_EXCHANGES, 'till', 'cut.calls'),
    ...cutOf(events, MOST_EVENTS, 'event', 'cut.events'),
    ...cutOf(notices, MOST_NOTICES, 'notice', 'cut.notices'),
    ...cutOf(decisions, MOST_DECISIONS, 'decision', 'cut.decisions'),
  ];
  const trouble = troubleOfLink(link, exchanges, decisions);
  return { steps: inOrder(steps), fired: firedIn(exchanges), trouble };
}

/** The story of a sale created on legacy: its proxied calls, and its end as far as Puente saw it. */
export async function storyOfSale(ports: Ports, sale: LegacySale): Promise<Story> {
  const exchanges = await callsOfSale(ports, sale);
  const { id, family, work, state, created_at, updated_at } = sale;
  const cut = cutOf(exchanges, MOST_EXCHANGES, 'till', 'cut.calls');
  const trouble = troubleOfLegacySale(sale);
  if (family === 'payments') {
    const written = step(updated_at, 'written', 'state', id, refundSaid(sale));
    const calls = exchanges.flatMap((exchange) => stepsOfExchange(exchange));
    return { steps: inOrder([...calls, written, ...cut]), fired: firedIn(exchanges), trouble };
  }
  const known = updated_at === created_at && state === 'SENDING' ? [] : [stepOfEnd(sale)];
  const written = say(work === 'refund' ? 'step.written_refund' : 'step.written_sale', {});
  const born = step(created_at, 'written', 'state', id, written);
  const steps = exchanges.flatMap((exchange) => stepsOfExchange(exchange, { legacy: [created_at] }));
  return { steps: inOrder([...steps, born, ...known, ...cut]), fired: firedIn(exchanges), trouble };
}

/** What Puente knows of a refund that legacy was called for. */
function refundSaid({ state, end_state }: LegacySale): Spoken {
  if (state === 'ENDED') return say('step.refund_answered', { status: end_state });
  return say(state === 'REFUSED' ? 'step.refund_refused' : 'step.refund_unanswered', {});
}

/** Calls that belong to no known sale. */
export function storyOfCalls(calls: readonly StoredExchange[]): Story {
  return { steps: inOrder(calls.flatMap((call) => stepsOfExchange(call))), fired: firedIn(calls), trouble: null };
}

/** For a sale without a legacy id: the calls that named its unit, from its create to its end. */
async function callsOfSale({ store, clock }: Ports, sale: LegacySale): Promise<StoredExchange[]> {
  const { id, legacy_id, merchant_id, family, unit, slot, state, created_at, updated_at, ends_at } = sale;
  if (legacy_id !== null) {
    const named = await store.exchanges.exchanges({ legacy_id }, 0, MOST_EXCHANGES);
    if (family !== 'payments' || legacy_id === id) return named;
    // The call of a refund that was not answered at first has the row's own id.
    const before = await store.exchanges.exchanges({ legacy_id: id }, 0, MOST_EXCHANGES);
    return [...before, ...named].slice(0, MOST_EXCHANGES);
  }
  const is_over = state === 'ENDED' || state === 'REFUSED';
  const until = 1 + (is_over ? updated_at : Math.min(clock.now(), ends_at));
  const near = await store.exchanges.exchanges(
    { merchant_id, since: created_at - LONGEST_CALL_MS, until },
    0,
    MOST_EXCHANGES,
  );
  const units = family === 'payments' ? [] : [slotOf(family, unit), slot];
  const own = near.filter((call) => call.lane === 'legacy' && call.unit !== null && units.includes(call.unit));
  const first = own.findLastIndex(({ at }) => at <= created_at);
  return own.slice(Math.max(0, first));
}

function stepOfEnd({ id, state, updated_at }: LegacySale): Step {
  return step(updated_at, 'moved', 'state', id, say(`step.known_${state.toLowerCase()}`, {}));
}

/** A reference may also be another merchant's, or an earlier sale's of the same merchant. */
function isAbout({ order_id, user_id }: InboxEvent, link: Link): boolean {
  if (order_id !== null && link.order_id !== null) return order_id === link.order_id;
  return user_id === null || user_id === link.merchant_id;
}

async function withAttempts(ports: Ports, notice: NoticeWithAttempts['notice']): Promise<NoticeWithAttempts> {
  return (await ports.store.notices.notice(notice.id)) ?? { notice, attempts: [] };
}

function firedIn(exchanges: readonly StoredExchange[]): string[] {
  return [...new Set(exchanges.flatMap(({ fired, shadow }) => [...fired, ...(shadow?.fired ?? [])]))];
}

type CutCode = 'cut.calls' | 'cut.events' | 'cut.notices' | 'cut.decisions';

/** A step at the end of a story that was cut; nothing where nothing was left out. */
function cutOf(all: readonly unknown[], most: number, kind: TraceStep['kind'], code: CutCode): Step[] {
  return all.length < most ? [] : [step(Number.POSITIVE_INFINITY, 'decided', kind, null, say(code, { most }))];
}

// The steps of one answered call: the till's answer, losses, the shadow's findings, and the calls to upstream.

/** Epoch ms at which the rows before a call to upstream were written, by the name of the call. */
type Written = Partial<Record<string, readonly number[]>>;

/** The call, what was lost in translation, the shadow, and the calls to upstream with the rows written before them. */
export function stepsOfExchange(exchange: StoredExchange, written: Written = {}): Step[] {
  const { at, id, lost } = exchange;
  const losses = lost.map(({ path, why, would_be }) => {
    const sentence = say(would_be ? 'step.would_be_lost' : 'step.lost', { path, why: quoted(why) });
    return step(at, 'translated', 'loss', id, sentence);
  });
  return [
    step(at, 'call', 'till', id, tillSaid(exchange)),
    ...losses,
    ...shadowSteps(exchange),
    ...upstreamSteps(exchange, written),
  ];
}

function tillSaid({ operation, lane, stage, status, error, duration_ms }: StoredExchange): Spoken {
  const called = { operation, stage, lane, took_ms: rounded(duration_ms, 1) };
  if (status === TILL_LEFT) return say('step.till_left', called);
  return say('step.till_answered', { ...called, status, error: error === String(status) ? null : error });
}

function shadowSteps({ at, id, shadow, signatures }: StoredExchange): Step[] {
  if (shadow === null && signatures.length === 0) return [];
  const verdict = shadow === null ? [] : [verdictSaid(shadow)];
  const differed = signatures.length === 0 ? [] : [say('step.paper_differed', { signatures: signatures.join(', ') })];
  return [step(at, 'translated', 'shadow', id, ...verdict, ...differed)];
}

function verdictSaid({ verdict, code, error, detail: why }: NonNullable<StoredExchange['shadow']>): Spoken {
  if (verdict === 'accepted') return say('step.paper_accepted', {});
  const detail = why === null ? null : detailOf(why);
  if (verdict === 'refused_here') return say('step.paper_refused_here', { error, detail });
  return say('step.paper_refused_there', { code, error, detail });
}

/**
 * Only the duration of an upstream call is stored. Its start is taken as the end of the call before it, not before its
 * row was written, and not after the till had its answer.
 */
function upstreamSteps({ at, id, upstream, duration_ms }: StoredExchange, written: Written): Step[] {
  const end = at + duration_ms;
  let next = at;
  return upstream.map((note) => {
    const row_at = written[note.name]?.find((one) => one >= at && one <= end) ?? at;
    const asked_at = Math.min(end, Math.max(next, row_at));
    next = asked_at + note.duration_ms;
    return step(asked_at, 'called', 'upstream', id, upstreamSaid(note));
  });
}

// Steps of a sale on orders beside its calls: states, events, notices with their attempts, refunds, decisions.

interface NoticeWithAttempts {
  notice: LoggedNotice;
  attempts: Attempt[];
}

/** SENDING is written before a byte leaves; every other state is a result. */
export function stepOfState(seen: {
  at: number;
  state: string;
  legacy_state: string;
  order_status: string | null;
}): Step {
  const { at, state, legacy_state, order_status } = seen;
  const rank = state === 'SENDING' ? 'written' : 'moved';
  return step(at, rank, 'state', null, say('step.state', { state, order_status, legacy_state }));
}

function stepOfEvent({ sequence, received_at, action, verified, state }: InboxEvent): Step {
  return step(received_at, 'reported', 'event', String(sequence), say('step.event', { action, verified, state }));
}

/** A notice is made and committed with its state. @param state_times epoch ms of the link's states, ascending. */
export function stepsOfNotice({ notice, attempts }: NoticeWithAttempts, state_times: readonly number[]): Step[] {
  const { id, topic, form, created_at, state } = notice;
  const first_attempt = attempts[0]?.at ?? Number.POSITIVE_INFINITY;
  const committed_at = state_times.find((at) => at >= created_at && at <= created_at + LONGEST_COMMIT_MS) ?? created_at;
  const made = say('step.notice', { topic, form: form === topic ? null : form, state });
  const tried = attempts.map(({ at, outcome, detail }) =>
    step(at, 'delivered', 'notice', id, say(attemptCodes[outcome], { why: readStored(detail) })),
  );
  return [step(Math.min(committed_at, first_attempt), 'noticed', 'notice', id, made), ...tried];
}
/** The store gives up a commit sooner. */
const LONGEST_COMMIT_MS = 10_000;

const attemptCodes = {
  delivered: 'step.delivered',
  theirs: 'step.not_delivered_theirs',
  ours: 'step.not_delivered_ours',
} as const;

function stepOfDecision({ at, who, action, reason, sequence }: AuditLine): Step {
  const why = who === BY_ITSELF ? readStored(reason) : reason;
  return step(at, 'decided', 'decision', String(sequence), say('step.decided', { who, action, why }));
}

function stepsOfRefund(refund: Refund, { exponent, currency }: { exponent: number; currency: string }): Step[] {
  const { id, number, amount_minor, refunded_minor, reference_id, upstream_id, state, created_at, updated_at } = refund;
  const sumOf = (minor: number | null): string | null =>
    minor === null ? null : `${decimalText(minor, exponent) ?? '?'} ${currency}`;
  const opened = step(created_at, 'written', 'refund', id, say('step.refund_requested', { sum: sumOf(amount_minor) }));
  if (state === 'SENDING') return [opened];
  const facts = { state, sum: sumOf(refunded_minor), number: String(reference_id ?? number), order: upstream_id };
  return [opened, step(updated_at, 'settled', 'refund', id, say('step.refund_ended', facts))];
}

// The order of a story: by time, and at the same time causes before their effects.

export const traceStep = z.object({
  at: time,
  kind: z.enum(['till', 'upstream', 'shadow', 'state', 'event', 'notice', 'refund', 'loss', 'decision']),
  what: z.string(),
  said: z.array(said),
  id: z.string().nullable().describe('of an exchange, a notice, a refund, an event or an audit line'),
});
type TraceStep = z.infer<typeof traceStep>;

/**
 * `called`: upstream is called. `reported`: upstream reports a change. `moved`, `settled`: a sale's or refund's new state.
 */
const RANKS = {
  call: 0,
  translated: 1,
  written: 2,
  called: 3,
  reported: 4,
  moved: 5,
  settled: 6,
  noticed: 7,
  delivered: 8,
  decided: 9,
} as const;

interface Step extends Omit<TraceStep, 'at'> {
  /** Epoch ms. */
  at: number;
  rank: keyof typeof RANKS;
}

/** By time; steps of one instant by rank. A time that is not known (Infinity) becomes that of the last known step. */
export function inOrder(steps: readonly Step[]): TraceStep[] {
  const last_at = steps.reduce((last, { at }) => (Number.isFinite(at) ? Math.max(last, at) : last), 0);
  return steps
    .toSorted((first, second) => first.at - second.at || RANKS[first.rank] - RANKS[second.rank])
    .map(({ rank: _rank, ...one }) => shown({ ...one, at: Math.min(one.at, last_at) }));
}

function step(
  at: number,
  rank: Step['rank'],
  kind: Step['kind'],
  id: string | null,
  ...sentences: readonly Spoken[]
): Step {
  const what = sentences.map(({ text }) => text).join('; ');
  return { at, rank, kind, what, said: sentences.map(({ said }) => said), id };
}
