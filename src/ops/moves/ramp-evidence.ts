/** What a step of a ramp has shown: open findings, paid sales, and the calls of both lanes; read part by part. */
import { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { yieldToEventLoop } from '../../proxy/concurrency.ts';
import type { CallSeen, ExchangeFilter, StoredExchange } from '../../proxy/records/evidence.ts';
import type { Merchant } from '../../proxy/routing/merchant.ts';
import { isOnOrders, kindOfSlot } from '../../proxy/routing/stage.ts';
import type { Person } from '../api/person.ts';
import { callsAfter, DAY_MS, HOUR_MS, iso, said, time } from '../fields.ts';
import type { Ports, SalePlace } from '../ports.ts';
import type { Finding, Readiness } from '../readiness/facts.ts';
import { merchantReadiness } from '../readiness/readiness.ts';
import { merchant_name, merchantOf } from '../seen.ts';
import { isWaiting } from './bulk-decision.ts';
import { judgeFor } from './judged.ts';
import { foundRamp, type Ramp, type RampItem, stageOf, stopOf, targetOf } from './ramp.ts';
import {
  conditionsOf,
  type RampCalls,
  type RampEvidence,
  type RampFacts,
  rampConditions,
  routeAt,
} from './ramp-decision.ts';
import { routeText } from './target.ts';

/** Calls per page, and sales per page, which are larger; payments run between two pages. */
const PAGE = 2_000;
const PAGE_OF_SALES = 200;
/** A shop with few sales a day has enough of them in this time, and any weekly rhythm fits in it. */
const LEGACY_WITHIN_DAYS = 14;
/** Calls are written in groups, and of several processes not in the order of their sequence: none is passed over after this. */
const RECORDED_WITHIN_MS = 5_000;
/** A step that waits longer is counted anew once. */
const LONGEST_STEP_MS = 90 * DAY_MS;

/** Reads one part of the evidence. @param merchant as it is now. */
export async function readEvidence(
  ports: Ports,
  ramp: Ramp,
  item: RampItem,
  merchant: Merchant,
  part: keyof RampEvidence,
): Promise<RampEvidence> {
  switch (part) {
    case 'open':
      return { open: await openOf(ports, ramp, item, merchant) };
    case 'sales':
      if (await isUntouched(ports, merchant)) return { sales: null };
      return { sales: await paidSales(ports, item.merchant_id, item.ramp.since, ramp.ramp.min_sales) };
    case 'calls':
      return { calls: await callsIn(ports, item) };
  }
}

/** What the decision needs besides the evidence, a stop and the place. */
export function rulesOf({ settings }: Ports): Pick<RampFacts, 'stop_share' | 'slow_ms' | 'min_sample'> {
  const { fault_share, slow_ms } = settings.safety;
  return { stop_share: fault_share, slow_ms, min_sample: settings.moves.min_sample };
}

// Findings: of the next move, or after the last step of the merchant itself.

async function openOf(
  ports: Ports,
  ramp: Ramp,
  { merchant_id, ramp: place }: RampItem,
  merchant: Merchant,
): Promise<NonNullable<RampEvidence['open']>> {
  const { steps } = ramp.ramp;
  const next = place.step + 1;
  if (next === steps.length) return gravesOf(await merchantReadiness(ports, merchant_id));
  const person: Person = { name: ramp.who, role: 'operator' };
  const target = targetOf(steps, next, place, stageOf(ports, merchant));
  const { judgement, situation } = await judgeFor(ports, merchant, target, person);
  // With a gate that only advises, missing evidence does not hold a ramp, as it holds no move.
  const lacks = judgement.allowed ? [] : judgement.missing.map(sentenceOf);
  const open = [...lacks, ...gravesOf(situation.readiness)];
  // What the move lacks may be a finding of the merchant, too.
  return [...new Map(open.map((one) => [one.text, one])).values()];
}

/** Findings that hold a ramp whatever the gate: what nobody has judged, sales in doubt, sales that do not agree. */
function gravesOf({ blockers, unproven, remarks }: Readiness): NonNullable<RampEvidence['open']> {
  const grave = [...unproven, ...remarks].filter(({ code }) => code === 'in_doubt' || code.startsWith('mismatch_'));
  // Sales that are open on legacy are about switching legacy off: a ramp ends before that.
  return [...blockers.filter(({ code }) => code !== 'legacy_open'), ...grave].map(sentenceOf);
}

function sentenceOf({ what, said: code }: Finding): NonNullable<RampEvidence['open']>[number] {
  return { text: what, said: code };
}

/** Whether none of its units that were seen is on orders, as on a small share of a few: no sale can come there. */
async function isUntouched({ store, settings }: Ports, merchant: Merchant): Promise<boolean> {
  const units = await store.evidence.units(merchant.id);
  const isThere = (slot: string): boolean => isOnOrders(settings, merchant, merchant.id, kindOfSlot(slot), slot);
  return units.length > 0 && !units.some(({ slot }) => isThere(slot));
}

/** Paid sales of a merchant that were created on orders since then (epoch ms); counts no further than `most`. */
async function paidSales({ store, clock }: Ports, merchant_id: string, since: number, most: number): Promise<number> {
  const now = clock.now();
  // One that is dated later was made before the clock was set back.
  const filter = { merchant_id, state: 'paid', since, until: now, now } as const;
  let sales = 0;
  for (let before: SalePlace | null = null; sales < most; ) {
    const page = await store.history.listLinks(filter, before, Math.min(PAGE_OF_SALES, most - sales));
    sales += page.rows.length;
    if (page.next === null) return sales;
    before = page.next;
    await yieldToEventLoop();
  }
  return sales;
}

/**
 * Of the step, before the first from a day before the ramp on. Where that has too little of legacy, as on a last step or in
 * a small shop, legacy is measured by earlier days, unless an earlier step has measured it.
 */
async function callsIn(ports: Ports, { merchant_id, ramp: place }: RampItem): Promise<RampCalls> {
  const now = ports.clock.now();
  const seen = await callsSince(ports, merchant_id, place.step < 0 ? place.since - DAY_MS : place.since, now);
  if (seen.legacy_p95_ms !== null) return seen;
  if (place.legacy_p95_ms !== null) return { ...seen, legacy_p95_ms: place.legacy_p95_ms };
  const earlier = (): Promise<Legacy> => legacyLately(ports, merchant_id, now);
  const isMeasured = ({ legacy_p95_ms }: Legacy): boolean => legacy_p95_ms !== null;
  const legacy = await ports.memory.cache.get(`legacy ${merchant_id}`, now, HOUR_MS, earlier, isMeasured);
  return { ...seen, ...legacy };
}

/** Calls that were counted; creates that were answered 2xx also by how long they took: whole ms, rounded up. */
interface Tally {
  last: CallSeen | null;
  calls: number;
  faults: number;
  waits: Record<StoredExchange['lane'], Map<number, number>>;
}

function newTally(): Tally {
  return { last: null, calls: 0, faults: 0, waits: { legacy: new Map(), orders: new Map() } };
}

/** Each call is counted once in a process, however often its step is looked at. @param since epoch ms. */
function callsSince(ports: Ports, merchant_id: string, since: number, now: number): Promise<RampCalls> {
  const { memory, settings } = ports;
  const key = `calls ${merchant_id} ${since}`;
  return memory.mutex.run(key, async () => {
    const tally = await memory.cache.get(key, now, LONGEST_STEP_MS, async () => newTally());
    await count(ports, tally, { merchant_id, since }, now - RECORDED_WITHIN_MS, now);
    const { calls, faults, waits } = tally;
    const { count: orders_creates, p95_ms: orders_p95_ms } = measured(waits.orders, settings.moves.min_sample);
    const { count: legacy_creates, p95_ms: legacy_p95_ms } = measured(waits.legacy, settings.moves.min_sample);
    return { calls, faults, orders_creates, legacy_creates, orders_p95_ms, legacy_p95_ms };
  });
}

type Legacy = Pick<RampCalls, 'legacy_creates' | 'legacy_p95_ms'>;

/** By the newest days of the last fortnight that have enough creates: their daily sums tell which, before a call is read. */
async function legacyLately(ports: Ports, merchant_id: string, now: number): Promise<Legacy> {
  const { store, tables, settings } = ports;
  const creates = createsOf(tables);
  const today = Math.floor(now / DAY_MS);
  const sums = await store.evidence.traffic({ merchant_id, since_day: today - LEGACY_WITHIN_DAYS });
  let legacy_creates = 0;
  for (let day = today; day >= today - LEGACY_WITHIN_DAYS; day--) {
    for (const sum of sums)
      if (sum.day === day && sum.lane === 'legacy' && sum.outcome === 'ok' && creates.has(sum.operation))
        legacy_creates += sum.calls;
    if (legacy_creates < settings.moves.min_sample) continue;
    const tally = newTally();
    await count(ports, tally, { merchant_id, since: day * DAY_MS, lane: 'legacy' }, now, now);
    const { count: found, p95_ms } = measured(tally.waits.legacy, settings.moves.min_sample);
    return { legacy_creates: found, legacy_p95_ms: p95_ms };
  }
  return { legacy_creates, legacy_p95_ms: null };
}

/**
 * Adds the calls after the last one, up to the first that is younger than `until` (epoch ms). One from after `now` was
 * recorded before the clock was set back, and is passed over.
 */
async function count(
  { store, tables }: Ports,
  tally: Tally,
  filter: ExchangeFilter,
  until: number,
  now: number,
): Promise<void> {
  const creates = createsOf(tables);
  const forget = (): void => void Object.assign(tally, newTally());
  for await (const page of callsAfter(store.exchanges, filter, PAGE, tally.last, forget))
    for (const call of page) {
      const { at, lane, operation, outcome, duration_ms } = call;
      const is_ahead = at > now + RECORDED_WITHIN_MS;
      if (at > until && !is_ahead) return;
      tally.last = call;
      if (is_ahead) continue;
      const wait = Math.ceil(duration_ms);
      if (operation !== null && creates.has(operation) && outcome === 'ok')
        tally.waits[lane].set(wait, (tally.waits[lane].get(wait) ?? 0) + 1);
      if (lane === 'legacy') continue;
      tally.calls++;
      if (outcome === 'fault') tally.faults++;
    }
}

function createsOf({ operations }: Ports['tables']): Set<string> {
  return new Set(operations.filter(({ upstream }) => upstream === 'create').map(({ name }) => name));
}

/** @param least of a lane that is measured. */
function measured(waits: ReadonlyMap<number, number>, least: number): { count: number; p95_ms: number | null } {
  const total = [...waits.values()].reduce((sum, times) => sum + times, 0);
  let above = total;
  for (const [wait, times] of [...waits].toSorted(([one], [other]) => one - other)) {
    above -= times;
    if (above <= total * 0.05 && total >= least) return { count: total, p95_ms: wait };
  }
  return { count: total, p95_ms: null };
}

// For people: what one merchant's step waits for, and how near each condition is.

export const rampStepView = z.object({
  id: z.string().describe('the ramp'),
  merchant_id: z.string(),
  merchant_name,
  step: z.int().describe('0 before the first'),
  of: z.int(),
  now: z.string().describe('where the ramp has put it, such as canary 25 %'),
  next: z.string().nullable().describe('where the next step leads; null on the last'),
  since_at: time,
  conditions: z
    .array(
      z.object({ condition: z.enum(rampConditions), is_met: z.boolean(), what: z.string(), said: said.nullable() }),
    )
    .describe('that the next step, or the end, waits for; empty when the merchant has ended its steps'),
});
export type RampStepView = z.infer<typeof rampStepView>;

/** Reads all evidence of one merchant's step. @throws PuenteError not_found. */
export async function viewRampStep(ports: Ports, id: string, merchant_id: string): Promise<RampStepView> {
  const ramp = await foundRamp(ports, id);
  const item = ramp.items.find((one) => one.merchant_id === merchant_id);
  if (item?.ramp === undefined)
    throw new PuenteError('not_found', say('refusal.not_in_ramp', { id, merchant: merchant_id.slice(0, 60) }));
  const place = item.ramp;
  const { steps } = ramp.ramp;
  const merchant = await merchantOf(ports, merchant_id);
  return {
    ...{ id, merchant_id, merchant_name: merchant.settings.name, step: place.step + 1, of: steps.length },
    now: routeText(routeAt(steps, place.step, place)),
    next: place.step + 1 < steps.length ? routeText(routeAt(steps, place.step + 1, place)) : null,
    since_at: iso(place.since),
    conditions: isWaiting(item) ? await conditionsNow(ports, ramp, { ...item, ramp: place }, merchant) : [],
  };
}

async function conditionsNow(
  ports: Ports,
  ramp: Ramp,
  item: RampItem,
  merchant: Merchant,
): Promise<RampStepView['conditions']> {
  let evidence: RampEvidence = {};
  for (const part of ['open', 'sales', 'calls'] as const)
    evidence = { ...evidence, ...(await readEvidence(ports, ramp, item, merchant, part)) };
  const { step, start, since } = item.ramp;
  const facts = { plan: ramp.ramp, step, start, since, now: ports.clock.now(), elsewhere: null, evidence };
  const stop = stopOf(merchant);
  const all = [...conditionsOf({ ...facts, stop, is_tripped: stop !== null, ...rulesOf(ports) })];
  return all.flatMap((one) =>
    'look' in one ? [] : [{ condition: one.name, is_met: one.is_met, what: one.what.text, said: one.what.said }],
  );
}
