/** The steps of a sale's story, gathered from everything the store kept of it. */

import { say } from '../../locales/sentences.ts';
import type { StoredExchange } from '../../proxy/records/evidence.ts';
import type { LegacySale } from '../../proxy/records/routing.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import { type Link, slotOf } from '../../proxy/sales/link.ts';
import type { InboxEvent } from '../../proxy/store.ts';
import { stepsOfExchange } from './exchange-steps.ts';
import { type NoticeWithAttempts, stepOfDecision, stepOfEvent, stepOfState, stepsOfNotice } from './link-steps.ts';
import { inOrder, type Step, type TraceStep, told } from './order.ts';
import { stepsOfRefund } from './refund-steps.ts';

/** A till that polls every second for an hour; later calls of one sale are left out, and the story says so. */
const MOST_EXCHANGES = 3_600;
const MOST_NOTICES = 200;
const MOST_EVENTS = 500;
const MOST_DECISIONS = 200;
/** A carried create came in at most so long before its row was written. */
const LONGEST_CALL_MS = 60_000;

export interface Story {
  steps: TraceStep[];
  /** Table rows that fired in its calls, each once, in the order in which they did. */
  fired: string[];
}

/** A sale born on orders. */
export async function storyOfLink(runtime: Runtime, link: Link): Promise<Story> {
  const { store } = runtime;
  const { legacy_id } = link;
  const exchanges = await store.exchanges({ legacy_id }, 0, MOST_EXCHANGES);
  const notices = await store.notices({ legacy_id }, MOST_NOTICES);
  const events = await store.eventsOf(link.order_id, link.reference_sent, MOST_EVENTS);
  const decisions = await store.auditsOf({ subject: legacy_id }, MOST_DECISIONS);
  const states = await store.linkHistory(legacy_id);
  const refunds = await store.refunds(legacy_id);
  const site = runtime.tables.site((await store.merchant(link.merchant_id))?.site ?? null);
  const written = { create: [link.created_at], refund: refunds.map(({ created_at }) => created_at) };
  const state_times = states.map(({ at }) => at);
  const steps: Step[] = [
    ...exchanges.flatMap((exchange) => stepsOfExchange(exchange, written)),
    ...states.map(stepOfState),
    ...events.filter((event) => isAbout(event, link)).map(stepOfEvent),
    ...(await Promise.all(notices.map((notice) => withAttempts(runtime, notice)))).flatMap((notice) =>
      stepsOfNotice(notice, state_times),
    ),
    ...refunds.flatMap((refund) => stepsOfRefund(refund, site)),
    ...decisions.map(stepOfDecision),
  ];
  const cuts = [
    cutOf(exchanges, MOST_EXCHANGES, 'till', 'cut.calls'),
    cutOf(events, MOST_EVENTS, 'event', 'cut.events'),
    cutOf(notices, MOST_NOTICES, 'notice', 'cut.notices'),
    cutOf(decisions, MOST_DECISIONS, 'decision', 'cut.decisions'),
  ];
  return { steps: withCuts(inOrder(steps), cuts), fired: firedIn(exchanges) };
}

/** A sale born on legacy: what was carried for it, and what became of it as far as Puente could see. */
export async function storyOfSale(runtime: Runtime, sale: LegacySale): Promise<Story> {
  const exchanges = await callsOfSale(runtime, sale);
  const { id, work, state, created_at, updated_at } = sale;
  const known = updated_at === created_at && state === 'SENDING' ? [] : [stepOfEnd(sale)];
  const born: Step = {
    at: created_at,
    rank: 'written',
    kind: 'state',
    ...told(say(work === 'refund' ? 'step.written_refund' : 'step.written_sale', {})),
    id,
  };
  const steps = exchanges.flatMap((exchange) => stepsOfExchange(exchange, { legacy: [created_at] }));
  const cuts = [cutOf(exchanges, MOST_EXCHANGES, 'till', 'cut.calls')];
  return { steps: withCuts(inOrder([...steps, born, ...known]), cuts), fired: firedIn(exchanges) };
}

/** Calls that belong to no sale that is known. */
export function storyOfCalls(calls: readonly StoredExchange[]): Story {
  return { steps: inOrder(calls.flatMap((call) => stepsOfExchange(call))), fired: firedIn(calls) };
}

/** Of one that legacy gave no id, those that named its unit from its create until it was over. */
async function callsOfSale({ store, clock }: Runtime, sale: LegacySale): Promise<StoredExchange[]> {
  const { legacy_id, merchant_id, family, unit, slot, state, created_at, updated_at, ends_at } = sale;
  if (legacy_id !== null) return store.exchanges({ legacy_id }, 0, MOST_EXCHANGES);
  const is_over = state === 'ENDED' || state === 'REFUSED';
  const until = 1 + (is_over ? updated_at : Math.min(clock.now(), ends_at));
  const near = await store.exchanges({ merchant_id, since: created_at - LONGEST_CALL_MS, until }, 0, MOST_EXCHANGES);
  const units = [slotOf(family, unit), slot];
  const own = near.filter((call) => call.lane === 'legacy' && call.unit !== null && units.includes(call.unit));
  const first = own.findLastIndex(({ at }) => at <= created_at);
  return own.slice(Math.max(0, first));
}

function stepOfEnd({ id, state, updated_at }: LegacySale): Step {
  const codes = {
    OPEN: 'step.known_open',
    ENDED: 'step.known_ended',
    REFUSED: 'step.known_refused',
    SENDING: 'step.known_sending',
    IN_DOUBT: 'step.known_in_doubt',
  } as const;
  return { at: updated_at, rank: 'moved', kind: 'state', ...told(say(codes[state], {})), id };
}

/** A reference may be another merchant's too, or an earlier sale's of the same one. */
function isAbout({ order_id, user_id }: InboxEvent, link: Link): boolean {
  if (order_id !== null && link.order_id !== null) return order_id === link.order_id;
  return user_id === null || user_id === link.merchant_id;
}

async function withAttempts(runtime: Runtime, notice: NoticeWithAttempts['notice']): Promise<NoticeWithAttempts> {
  return (await runtime.store.notice(notice.id)) ?? { notice, attempts: [] };
}

function firedIn(exchanges: readonly StoredExchange[]): string[] {
  return [...new Set(exchanges.flatMap(({ fired, shadow }) => [...fired, ...(shadow?.fired ?? [])]))];
}

type CutCode = 'cut.calls' | 'cut.events' | 'cut.notices' | 'cut.decisions';
type Cut = Pick<TraceStep, 'kind' | 'what' | 'said'>;

/** Null where nothing was left out. */
function cutOf(all: readonly unknown[], most: number, kind: TraceStep['kind'], code: CutCode): Cut | null {
  return all.length < most ? null : { kind, ...told(say(code, { most })) };
}

/** Said at the end of the story, wherever something is missing. */
function withCuts(steps: TraceStep[], cuts: readonly (Cut | null)[]): TraceStep[] {
  const at = steps.at(-1)?.at ?? new Date(0).toISOString();
  return [...steps, ...cuts.filter((cut) => cut !== null).map((cut) => ({ at, ...cut, id: null }))];
}
