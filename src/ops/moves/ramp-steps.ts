/** The steps of ramps: looks at the merchants of a ramp, and moves them one step up or back. */
import { z } from 'zod';
import { PuenteError, type Spoken } from '../../error.ts';
import { encoded, say } from '../../locales/message.ts';
import type { BulkItem } from '../../proxy/records/routing.ts';
import type { Merchant, Stage } from '../../proxy/routing/merchant.ts';
import { BY_ITSELF, type Person } from '../api/person.ts';
import { DAY_MS, pagesOf } from '../fields.ts';
import type { Ports } from '../ports.ts';
import type { Finding } from '../readiness/facts.ts';
import { merchantReadiness } from '../readiness/readiness.ts';
import { merchantOf } from '../seen.ts';
import type { Judgement } from './judge.ts';
import { judgeFor, makeMove, refuseUnlessAllowed } from './judged.ts';
import { auditOf, isRamp, isWaiting, type Ramp, type RampItem, save, stopOf, targetOf } from './ramp.ts';
import { decideRamp, type RampEvidence, routeAt } from './ramp-decision.ts';
import { routeText, routingOf } from './target.ts';

/** Calls per page of evidence; payments run between two pages. */
const PAGE = 2_000;
/** Between two looks at a ramp: a safety stop takes work off orders by itself, and at once. */
const LOOK_MS = 30_000;

/**
 * Looks at each merchant of a ramp, and moves those whose decision is to advance or to go back. The merchant's revision
 * decides between processes: of two that make the same step, one is refused, and takes up the other's line.
 * @returns epoch ms before which another look is of no use.
 */
export function stepRamp(ports: Ports, id: string): Promise<number> {
  return ports.memory.mutex.run(`bulk ${id}`, async () => {
    try {
      const bulk = await ports.store.moves.bulkMove(id);
      if (bulk !== null && isRamp(bulk)) await stepMerchants(ports, bulk);
    } catch (error) {
      // Another process or person was faster; the next look sees what it did.
      if (!(error instanceof PuenteError && error.code === 'conflict')) throw error;
    }
    return ports.clock.now() + LOOK_MS;
  });
}

async function stepMerchants(ports: Ports, first: Ramp): Promise<void> {
  let ramp = first;
  for (const { merchant_id } of first.items) {
    const item = ramp.items.find((one) => one.merchant_id === merchant_id && isWaiting(one));
    if (ramp.state !== 'running') return;
    if (item?.ramp !== undefined) ramp = await stepMerchant(ports, ramp, { ...item, ramp: item.ramp });
  }
  if (ramp.state !== 'running' || ramp.items.some(isWaiting)) return;
  await save(ports, { ...ramp, state: 'done' }, 'ramp done', BY_ITSELF, encoded(say('ramp.done', {})));
}

async function stepMerchant(ports: Ports, ramp: Ramp, item: RampItem): Promise<Ramp> {
  const { steps } = ramp.ramp;
  const merchant = await merchantOf(ports, item.merchant_id);
  const here = routingOf(ports.settings, merchant.settings).merchant;
  const isAt = (step: number): boolean => routeText(routeAt(steps, step, item.ramp)) === routeText(here);
  if (!isAt(item.ramp.step)) {
    const made = await lastStep(ports, ramp, item);
    if (made !== null && isAt(made.step)) return taken(ports, ramp, item, made);
  }
  // Also one that a person has put back where the ramp left it: who rolled it back had a reason.
  const [rollback] = await ports.store.audit.auditsOf(
    { subject: merchant.id, action: 'rollback', since: ramp.created_at },
    1,
  );
  const facts = {
    ...{
      plan: ramp.ramp,
      step: item.ramp.step,
      start: item.ramp.start,
      since: item.ramp.since,
      now: ports.clock.now(),
    },
    stop: stopOf(merchant),
    elsewhere: isAt(item.ramp.step) && rollback === undefined ? null : routeText(here),
    stop_share: ports.settings.safety.fault_share,
  };
  let evidence: RampEvidence | null = null;
  let decision = decideRamp({ ...facts, evidence });
  if (decision.do === 'look') {
    evidence = await evidenceOf(ports, ramp, item, merchant);
    decision = decideRamp({ ...facts, evidence });
  }
  switch (decision.do) {
    case 'look':
      return ramp;
    case 'hold':
      return put(ports, ramp, item, { detail: encoded(decision.why) });
    case 'pause':
      return pause(
        ports,
        ramp,
        item,
        { detail: encoded(decision.why) },
        say('ramp.holds_at', { merchant: merchant.id, where: routeText(here), why: decision.why }),
      );
    case 'leave':
      return put(ports, ramp, item, { state: 'skipped', detail: encoded(decision.why), at: facts.now });
    case 'done':
      return put(ports, ramp, item, { state: 'moved', detail: '', at: facts.now });
    case 'advance':
    case 'back':
      return taken(ports, ramp, item, await makeStep(ports, ramp, item, decision, evidence, merchant));
  }
}

function stageOf({ settings: rules }: Ports, { settings }: Merchant): Stage {
  return routingOf(rules, settings).merchant.stage;
}

interface StepMade {
  step: number;
  at: number;
  is_back: boolean;
  legacy_p95_ms: number | null;
}

/**
 * Moves the merchant, with one audit line. The ramp was approved as a whole, so no step waits for a second person.
 * @param merchant that was decided on. @throws PuenteError conflict when it was changed since, as by a rollback or a stop.
 */
async function makeStep(
  ports: Ports,
  ramp: Ramp,
  item: RampItem,
  { do: does, to }: { do: 'advance' | 'back'; to: number },
  evidence: RampEvidence | null,
  merchant: Merchant,
): Promise<StepMade> {
  const { steps, approved_by } = ramp.ramp;
  const is_back = does === 'back';
  // Its starter may make each of these moves; a step back is Puente's own.
  const person: Person = { name: is_back ? BY_ITSELF : ramp.who, role: 'operator' };
  const here = stageOf(ports, merchant);
  const judged = await judgeFor(ports, merchant, targetOf(steps, to, item.ramp, here), person);
  refuseUnlessAllowed(judged);
  const legacy_p95_ms = evidence?.legacy_p95_ms ?? item.ramp.legacy_p95_ms;
  const { open: _open, ...seen } = evidence ?? { open: [] };
  const told = { id: ramp.id, step: to + 1, of: steps.length, is_back, approved_by, ...seen, legacy_p95_ms };
  const stop = stopOf(merchant);
  const where = routeText(routeAt(steps, to, item.ramp));
  const why = stop === null ? ramp.reason : encoded(say('ramp.back', { where, kind: stop.kind, why: stop.why }));
  await makeMove(ports, judged, is_back ? why : ramp.reason, person, { ramp: told });
  return { step: to, at: ports.clock.now(), is_back, legacy_p95_ms };
}

/** The ramp's last move of the merchant, when its last move was one: the process may have ended before the next commit. */
async function lastStep(ports: Ports, ramp: Ramp, item: RampItem): Promise<StepMade | null> {
  const [line] = await ports.store.audit.auditsOf({ subject: item.merchant_id, action: 'stage' }, 1);
  const told = stepTold.safeParse(line?.detail.ramp).data;
  if (line === undefined || told === undefined || told.id !== ramp.id) return null;
  return { step: told.step - 1, at: line.at, is_back: told.is_back, legacy_p95_ms: told.legacy_p95_ms };
}

const stepTold = z.object({
  id: z.string(),
  step: z.int(),
  is_back: z.boolean(),
  legacy_p95_ms: z.number().nullable(),
});

/** Stores a step that was made. After a step back the whole ramp waits for a person: the others may be harmed, too. */
async function taken(ports: Ports, ramp: Ramp, item: RampItem, made: StepMade): Promise<Ramp> {
  const { step, at, is_back, legacy_p95_ms } = made;
  const place = { ...item.ramp, step, since: at, legacy_p95_ms };
  if (!is_back) return put(ports, ramp, item, { detail: '', at, ramp: place });
  const where = routeText(routeAt(ramp.ramp.steps, step, item.ramp));
  const why = say('ramp.went_back', { merchant: item.merchant_id, where });
  return pause(ports, ramp, item, { detail: encoded(why), at, ramp: place }, why);
}

async function pause(ports: Ports, ramp: Ramp, item: RampItem, change: Partial<BulkItem>, why: Spoken): Promise<Ramp> {
  const detail = encoded(why);
  const paused: Ramp = { ...changed(ramp, item, change), state: 'paused', detail };
  const { revision } = await ports.store.moves.saveBulkMove(
    paused,
    ramp.revision,
    auditOf(ports, paused, 'ramp paused', BY_ITSELF, detail),
  );
  return { ...paused, revision };
}

function changed(ramp: Ramp, item: RampItem, change: Partial<BulkItem>): Ramp {
  const items = ramp.items.map((one) => (one.merchant_id === item.merchant_id ? { ...one, ...change } : one));
  return { ...ramp, items };
}

/** Writes only what is new: a ramp that holds is looked at often. */
async function put(ports: Ports, ramp: Ramp, item: RampItem, change: Partial<BulkItem>): Promise<Ramp> {
  const is_same = Object.keys(change).length === 1 && change.detail === item.detail;
  if (is_same) return ramp;
  const after = changed(ramp, item, change);
  const { revision } = await ports.store.moves.saveBulkMove(after, ramp.revision, null);
  return { ...after, revision };
}

// Evidence of a step.

async function evidenceOf(ports: Ports, ramp: Ramp, item: RampItem, merchant: Merchant): Promise<RampEvidence> {
  const { merchant_id, ramp: place } = item;
  const { steps } = ramp.ramp;
  // Before the first step the day before it is the measure of legacy.
  const since = place.step < 0 ? ports.clock.now() - DAY_MS : place.since;
  const seen = await callsOf(ports, merchant_id, since);
  const next = place.step + 1;
  const person: Person = { name: ramp.who, role: 'operator' };
  if (next === steps.length) {
    const { blockers, unproven, remarks } = await merchantReadiness(ports, merchant_id);
    return {
      ...seen,
      legacy_p95_ms: seen.legacy_p95_ms ?? place.legacy_p95_ms,
      open: openOf(blockers, [...unproven, ...remarks]),
    };
  }
  const { judgement, situation } = await judgeFor(
    ports,
    merchant,
    targetOf(steps, next, place, stageOf(ports, merchant)),
    person,
  );
  const { blockers, unproven, remarks } = situation.readiness;
  const open = [...lacksOf(judgement), ...openOf(blockers, [...unproven, ...remarks])];
  return { ...seen, legacy_p95_ms: seen.legacy_p95_ms ?? place.legacy_p95_ms, open };
}

/** With a gate that only advises, missing evidence does not hold a ramp, as it holds no move. */
function lacksOf({ allowed, missing }: Judgement): RampEvidence['open'] {
  return allowed ? [] : missing.map(sentenceOf);
}

/** Findings that hold a ramp whatever the gate: what nobody has judged, sales in doubt, sales that do not agree. */
function openOf(blockers: readonly Finding[], others: readonly Finding[]): RampEvidence['open'] {
  const grave = others.filter(({ code }) => code === 'in_doubt' || code.startsWith('mismatch_'));
  return [...blockers, ...grave].map(sentenceOf);
}

function sentenceOf({ what, said: code }: Finding): RampEvidence['open'][number] {
  return { text: what, said: code };
}

/** Sales, faults and waits of a merchant's calls since then (epoch ms); creates are compared with creates. */
async function callsOf(ports: Ports, merchant_id: string, since: number): Promise<Omit<RampEvidence, 'open'>> {
  const { store, tables, settings } = ports;
  const creates = new Set(tables.operations.filter(({ upstream }) => upstream === 'create').map(({ name }) => name));
  const waits = { legacy: [] as number[], orders: [] as number[] };
  const sums = { sales: 0, calls: 0, faults: 0 };
  const read = (after: number, size: number) => store.exchanges.calls({ merchant_id, since }, after, size);
  for await (const page of pagesOf(read, PAGE)) {
    for (const { lane, operation, outcome, duration_ms } of page) {
      const is_create = operation !== null && creates.has(operation);
      if (is_create && outcome === 'ok') waits[lane].push(duration_ms);
      if (lane === 'legacy') continue;
      sums.calls++;
      if (outcome === 'fault') sums.faults++;
      if (is_create && outcome === 'ok') sums.sales++;
    }
  }
  const p95 = (all: number[]): number | null =>
    all.length < settings.moves.min_sample
      ? null
      : Math.ceil(all.toSorted((one, other) => one - other)[Math.ceil(all.length * 0.95) - 1] ?? 0);
  return { ...sums, orders_p95_ms: p95(waits.orders), legacy_p95_ms: p95(waits.legacy) };
}
