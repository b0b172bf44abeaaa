/** What a step of a ramp has shown: open findings, paid sales, and the calls of both lanes; read part by part. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { Merchant } from '../../proxy/routing/merchant.ts';
import type { Person } from '../api/person.ts';
import { DAY_MS, iso, pagesOf, said, time } from '../fields.ts';
import type { Ports, SalePlace } from '../ports.ts';
import type { Finding } from '../readiness/facts.ts';
import { merchantReadiness } from '../readiness/readiness.ts';
import { merchantOf } from '../seen.ts';
import type { Judgement } from './judge.ts';
import { judgeFor } from './judged.ts';
import { foundRamp, isWaiting, type Ramp, type RampItem, stageOf, stopOf, targetOf } from './ramp.ts';
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
const LEGACY_WITHIN_MS = 14 * DAY_MS;

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
  return [...lacksOf(judgement), ...gravesOf(situation.readiness)];
}

/** With a gate that only advises, missing evidence does not hold a ramp, as it holds no move. */
function lacksOf({ allowed, missing }: Judgement): NonNullable<RampEvidence['open']> {
  return allowed ? [] : missing.map(sentenceOf);
}

interface Found {
  blockers: readonly Finding[];
  unproven: readonly Finding[];
  remarks: readonly Finding[];
}

/** Findings that hold a ramp whatever the gate: what nobody has judged, sales in doubt, sales that do not agree. */
function gravesOf({ blockers, unproven, remarks }: Found): NonNullable<RampEvidence['open']> {
  const grave = [...unproven, ...remarks].filter(({ code }) => code === 'in_doubt' || code.startsWith('mismatch_'));
  // Sales that are open on legacy are about switching legacy off: a ramp ends before that.
  return [...blockers.filter(({ code }) => code !== 'legacy_open'), ...grave].map(sentenceOf);
}

function sentenceOf({ what, said: code }: Finding): NonNullable<RampEvidence['open']>[number] {
  return { text: what, said: code };
}

/** Paid sales of a merchant that were created on orders since then (epoch ms); counts no further than `most`. */
async function paidSales({ store, clock }: Ports, merchant_id: string, since: number, most: number): Promise<number> {
  const filter = { merchant_id, state: 'paid', since, now: clock.now() } as const;
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
 * Of the step; before the first, of the last day. Where that has too little of legacy, as on a last step or in a small
 * shop, legacy is measured by the last fortnight, unless an earlier step has measured it.
 */
async function callsIn(ports: Ports, { merchant_id, ramp: place }: RampItem): Promise<RampCalls> {
  const now = ports.clock.now();
  const seen = await callsSince(ports, merchant_id, place.step < 0 ? now - DAY_MS : place.since);
  if (seen.legacy_p95_ms !== null) return seen;
  if (place.legacy_p95_ms !== null) return { ...seen, legacy_p95_ms: place.legacy_p95_ms };
  const earlier = await callsSince(ports, merchant_id, now - LEGACY_WITHIN_MS);
  if (place.step < 0) return earlier;
  const { legacy_creates, legacy_p95_ms } = earlier;
  return { ...seen, legacy_creates, legacy_p95_ms };
}

/** Calls, faults and waits since then (epoch ms); creates are compared with creates. */
async function callsSince({ store, tables, settings }: Ports, merchant_id: string, since: number): Promise<RampCalls> {
  const creates = new Set(tables.operations.filter(({ upstream }) => upstream === 'create').map(({ name }) => name));
  const waits = { legacy: [] as number[], orders: [] as number[] };
  const sums = { calls: 0, faults: 0 };
  const read = (after: number, size: number) => store.exchanges.calls({ merchant_id, since }, after, size);
  for await (const page of pagesOf(read, PAGE)) {
    for (const { lane, operation, outcome, duration_ms } of page) {
      const is_create = operation !== null && creates.has(operation);
      if (is_create && outcome === 'ok') waits[lane].push(duration_ms);
      if (lane === 'legacy') continue;
      sums.calls++;
      if (outcome === 'fault') sums.faults++;
    }
  }
  const p95 = (all: number[]): number | null =>
    all.length < settings.moves.min_sample
      ? null
      : Math.ceil(all.toSorted((one, other) => one - other)[Math.ceil(all.length * 0.95) - 1] ?? 0);
  return {
    ...sums,
    orders_creates: waits.orders.length,
    legacy_creates: waits.legacy.length,
    orders_p95_ms: p95(waits.orders),
    legacy_p95_ms: p95(waits.legacy),
  };
}

// For people: what one merchant's step waits for, and how near each condition is.

export const rampStepView = z.object({
  id: z.string().describe('the ramp'),
  merchant_id: z.string(),
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
  return {
    ...{ id, merchant_id, step: place.step + 1, of: steps.length },
    now: routeText(routeAt(steps, place.step, place)),
    next: place.step + 1 < steps.length ? routeText(routeAt(steps, place.step + 1, place)) : null,
    since_at: iso(place.since),
    conditions: isWaiting(item) ? await conditionsNow(ports, ramp, { ...item, ramp: place }) : [],
  };
}

async function conditionsNow(ports: Ports, ramp: Ramp, item: RampItem): Promise<RampStepView['conditions']> {
  const merchant = await merchantOf(ports, item.merchant_id);
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
