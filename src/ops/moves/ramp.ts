/** Ramps: merchants go up in steps, each as far as its own evidence allows; approved once, and stored as a bulk move. */
import { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { encoded, readStored, say } from '../../locales/message.ts';
import type { AuditAction, AuditEntry } from '../../proxy/audit.ts';
import type { BulkItem, BulkMove, RampPlan } from '../../proxy/records/routing.ts';
import { type Merchant, routedKinds, type Stage, type Trip } from '../../proxy/routing/merchant.ts';
import { BY_ITSELF, isEnough, type Person } from '../api/person.ts';
import { newestOf, whyOf } from '../audit.ts';
import { DAY_MS, defined, iso, reason, said, time } from '../fields.ts';
import type { Ports } from '../ports.ts';
import { inAnyCase, merchant_name, merchantOf, named } from '../seen.ts';
import { names_whom, selected, whom } from '../selection.ts';
import { bulkMovesOf, listedOf } from '../whose.ts';
import { bulkQuery, isSince, oneAtATime } from './bulk.ts';
import { isWaiting, OPEN } from './bulk-decision.ts';
import { judgementView } from './judge.ts';
import { judgeFor } from './judged.ts';
import { type RampPlace, type RampStop, routeAt } from './ramp-decision.ts';
import { type MoveTarget, routeSaid, routeText, routingOf } from './target.ts';

/** Each is judged anew at every look. */
const MOST_MERCHANTS = 500;
const MOST_STEPS = 20;
/** They are counted at a look that lacks nothing else; more would prove nothing more. */
const MOST_SALES = 10_000;
/** A fortnight holds any weekly rhythm of a shop. */
const LONGEST_SOAK_MS = 14 * DAY_MS;
const MOST_READ = 500;

/** What a ramp is about, for its preview too. */
const rampShape = z.strictObject({
  ...whom(MOST_MERCHANTS),
  steps: z
    .array(z.number().gt(0).max(100).multipleOf(0.01))
    .min(1)
    .max(MOST_STEPS)
    .refine((steps) => steps.every((share, nth) => share > (steps[nth - 1] ?? 0)), encoded(say('input.steps', {})))
    .describe('percent of the units, ascending; 100 is stage orders'),
  soak_ms: z.int().min(1_000).max(LONGEST_SOAK_MS).describe('how long each step is watched at least, ms'),
  min_sales: z.int().min(0).max(MOST_SALES).describe('paid sales on orders that each step needs'),
});
export const rampLook = rampShape.refine(...names_whom);
export const rampAsk = rampShape.extend({ reason }).refine(...names_whom);

export const rampStates = ['proposed', 'running', 'paused', 'done', 'aborted'] as const;
export const rampView = z.object({
  id: z.string(),
  state: z.enum(rampStates),
  why: z.string().describe('why it is paused or has ended; empty while it runs'),
  said: said.nullable(),
  steps: z.array(z.number()),
  soak_ms: z.int(),
  min_sales: z.int(),
  reason: z.string(),
  who: z.string(),
  approved_by: z.string().nullable(),
  created_at: time,
  expires_at: time.nullable().describe('when it ends unless somebody approves it; null when it waits for nobody'),
  merchants: z.array(
    z.object({
      merchant_id: z.string(),
      merchant_name,
      /** `waiting`: on its way. `moved`: at the end. `skipped`: left as it is. */
      state: z.enum(['waiting', 'moved', 'skipped']),
      step: z.int().describe('0 before the first'),
      now: z.string().describe('where the ramp has put it, such as canary 25 %'),
      since_at: time,
      why: z.string().describe('what it waits for, or why it ended'),
      said: said.nullable(),
    }),
  ),
});
export type RampView = z.infer<typeof rampView>;

export const rampPreview = z.object({
  merchants: z.array(
    z.object({
      merchant_id: z.string(),
      merchant_name,
      from: z.string(),
      steps: z.array(z.string()).describe('where it would go, in order'),
      judgement: judgementView.describe('of the first step'),
    }),
  ),
});
export type RampPreview = z.infer<typeof rampPreview>;

export const rampQuery = bulkQuery.extend({
  open: z.enum(['true', 'false']).default('false').describe('only those that have not ended'),
});

/** Where each merchant would go, and the judgement of its first step. @throws PuenteError as `startRamp`. */
export async function previewRamp(ports: Ports, ask: z.infer<typeof rampLook>, person: Person): Promise<RampPreview> {
  const items = await itemsOf(ports, ask);
  const merchants: RampPreview['merchants'] = [];
  for (const { merchant_id, ramp } of items) {
    const target = targetOf(ask.steps, ramp.step + 1, ramp, ramp.from.stage);
    const merchant = await merchantOf(ports, merchant_id);
    const { judgement } = await judgeFor(ports, merchant, target, person);
    const steps = ask.steps
      .slice(ramp.step + 1)
      .map((_, nth) => routeText(routeAt(ask.steps, ramp.step + 1 + nth, ramp)));
    const from = routeText(ramp.from);
    merchants.push({ merchant_id, merchant_name: merchant.settings.name, from, steps, judgement });
  }
  return { merchants };
}

/**
 * Stores a ramp; where moves need a second approver it waits for one approval of all its steps. Nothing is moved yet.
 * @throws PuenteError refused for a merchant on legacy or above the last step, or with another ramp that has not ended.
 */
export async function startRamp(ports: Ports, ask: z.infer<typeof rampAsk>, person: Person): Promise<RampView> {
  const start = async (): Promise<RampView> => {
    const [newest] = await ports.store.moves.bulkMoves({ states: rampStates, is_ramp: true }, 1);
    const items = await itemsOf(ports, ask);
    const taken = (await openRamps(ports)).flatMap((ramp) =>
      ramp.items.filter(isWaiting).map((one) => [one.merchant_id, ramp.id]),
    );
    const other = taken.find(([id]) => items.some(({ merchant_id }) => merchant_id === id));
    if (other !== undefined)
      throw new PuenteError('refused', say('refusal.ramp_twice', { merchant: other[0] ?? '', id: other[1] ?? '' }));
    const now = ports.clock.now();
    const needs_approval = ports.settings.moves.second_approver;
    const { steps, soak_ms, min_sales, reason: why } = ask;
    const ramp: BulkMove & { ramp: RampPlan } = {
      id: ports.memory.ids.legacyId(now),
      move: {},
      ramp: { steps, soak_ms, min_sales, approved_by: null },
      reason: why,
      who: person.name,
      per_day: items.length,
      items,
      state: needs_approval ? 'proposed' : 'running',
      detail: '',
      created_at: now,
      updated_at: now,
      revision: 0,
    };
    return save(
      ports,
      ramp,
      null,
      needs_approval ? 'ramp proposed' : 'ramp started',
      person.name,
      why,
      newest?.id ?? '',
    );
  };
  // Another process may start one of the same merchants meanwhile: it is looked at, too.
  return ports.memory.mutex.run('start ramp', () => inAnyCase(start));
}

/** Newest first. @throws PuenteError as `refuseUnseenRead`. */
export async function viewRamps(
  ports: Ports,
  { merchant, open, before, limit }: z.infer<typeof rampQuery>,
): Promise<RampView[]> {
  const states = open === 'true' ? OPEN : rampStates;
  const filter = defined({ states, is_ramp: true, before });
  const found = (await bulkMovesOf(ports, merchant, filter, limit)).filter(isRamp);
  const now = await asTheyStand(ports, found);
  const wanted = open === 'true' ? now.filter(({ state }) => state !== 'done') : now;
  return Promise.all((await listedOf(ports, merchant, wanted)).map((ramp) => viewOf(ports, ramp)));
}

/** Rollbacks while a ramp is open, many times over. */
const MOST_ROLLBACKS = 10_000;

/** What a rollback has ended since a ramp began is so at once, and not when the next look at the ramp writes it. */
async function asTheyStand(ports: Ports, ramps: readonly Ramp[]): Promise<Ramp[]> {
  const open = ramps.filter(({ state }) => OPEN.some((one) => one === state));
  const after = Math.min(...open.flatMap(({ items }) => items.filter(isWaiting).map(({ line = 0 }) => line)));
  const lines =
    after === Number.POSITIVE_INFINITY
      ? []
      : await ports.store.audit.auditsOf({ action: 'rollback', after }, MOST_ROLLBACKS);
  const of_merchants = Map.groupBy(lines, ({ subject }) => subject);
  const now = async (ramp: Ramp): Promise<Ramp> => {
    const items: BulkItem[] = [];
    for (const item of ramp.items) {
      const [newest] = of_merchants.get(item.merchant_id) ?? [];
      const is_back = isWaiting(item) && newest !== undefined && isSince(newest, item, ramp.created_at);
      items.push(is_back ? await outOf(ports, item) : item);
    }
    const is_done = ramp.state === 'running' && !items.some(isWaiting);
    return { ...ramp, items, state: is_done ? 'done' : ramp.state };
  };
  return Promise.all(ramps.map((ramp) => (open.includes(ramp) ? now(ramp) : ramp)));
}

async function outOf(ports: Ports, item: BulkItem): Promise<BulkItem> {
  const { settings } = await merchantOf(ports, item.merchant_id);
  const where = routeSaid(routingOf(ports.settings, settings).merchant);
  return { ...item, state: 'skipped', detail: encoded(say('ramp.elsewhere', { where })) };
}

/** As it stands now: a rollback since the last look counts. @throws PuenteError not_found. */
export async function viewRamp(ports: Ports, id: string): Promise<RampView> {
  const [ramp] = await asTheyStand(ports, [await foundRamp(ports, id)]);
  return viewOf(ports, ramp as Ramp); // of one there is one
}

const CHANGES = {
  approve: { from: ['proposed'], to: 'running', action: 'ramp approved' },
  pause: { from: ['running'], to: 'paused', action: 'ramp paused' },
  resume: { from: ['paused'], to: 'running', action: 'ramp resumed' },
  cancel: { from: ['proposed', 'running', 'paused'], to: 'aborted', action: 'ramp canceled' },
} as const satisfies Record<string, { from: BulkMove['state'][]; to: BulkMove['state']; action: AuditAction }>;

/**
 * Approves, pauses, resumes or cancels a ramp. Merchants stay where they are; a resumed step is watched anew.
 * @throws PuenteError forbidden for an approval by its proposer, refused in another state, or while a safety stop of one
 * of its merchants is in force.
 */
export function changeRamp(
  ports: Ports,
  id: string,
  change: keyof typeof CHANGES,
  why: string,
  person: Person,
): Promise<RampView> {
  return oneAtATime(ports, id, async () => {
    const ramp = await foundRamp(ports, id);
    const { from, to, action } = CHANGES[change];
    if (!from.some((state) => state === ramp.state))
      throw new PuenteError('refused', say('refusal.ramp_state', { id, state: ramp.state }));
    const now = ports.clock.now();
    if (change === 'approve') await refuseApproval(ports, ramp, person, now);
    if (change === 'resume') await refuseStopped(ports, ramp);
    const approved_by = change === 'approve' ? person.name : ramp.ramp.approved_by;
    const detail = to === 'running' ? '' : encoded(say('ramp.by', { action, name: person.name, reason: why }));
    const items = to === 'running' ? await watchedAnew(ports, ramp.items, now) : ramp.items;
    const changed = { ...ramp, state: to, detail, items, ramp: { ...ramp.ramp, approved_by } };
    return save(ports, to === 'aborted' ? left(changed, detail, now) : changed, ramp, action, person.name, why);
  });
}

async function refuseApproval(ports: Ports, ramp: Ramp, person: Person, now: number): Promise<void> {
  if (!isEnough(person.role, 'approver'))
    throw new PuenteError('forbidden', say('refusal.second_role', { name: person.name, role: person.role }));
  if (ramp.who === person.name)
    throw new PuenteError(
      'forbidden',
      say('refusal.own_proposal', { name: ramp.who, command: 'ramps cancel', id: ramp.id }),
    );
  if (expiresAt(ports, ramp) > now) return;
  throw new PuenteError('refused', say('refusal.ramp_state', { id: ramp.id, state: 'expired' }));
}

/** Epoch ms at which a proposed ramp ends when nobody has approved it. */
function expiresAt({ settings }: Ports, { created_at }: BulkMove): number {
  return created_at + settings.moves.proposal_kept_ms;
}

/** Ends a proposed ramp whose time is over: its merchants are free for another one. @throws PuenteError conflict. */
export async function expireRamp(ports: Ports, ramp: Ramp): Promise<void> {
  const now = ports.clock.now();
  if (expiresAt(ports, ramp) > now) return;
  const why = encoded(say('ramp.expired', {}));
  await save(ports, left({ ...ramp, state: 'aborted', detail: why }, why, now), ramp, 'ramp expired', BY_ITSELF, why);
}

async function refuseStopped(ports: Ports, { items }: BulkMove): Promise<void> {
  for (const { merchant_id } of items.filter(isWaiting)) {
    const stop = stopOf(await merchantOf(ports, merchant_id));
    if (stop !== null)
      throw new PuenteError('refused', say('refusal.ramp_stopped', { merchant: merchant_id, kind: stop.kind }));
  }
}

export interface RampItem extends BulkItem {
  ramp: RampPlace;
}
export type Ramp = BulkMove & { ramp: RampPlan };

/** The merchants at their place: a merchant on a canary begins above its share, and is watched there first. */
async function itemsOf(ports: Ports, ask: z.infer<typeof rampShape>): Promise<RampItem[]> {
  const now = ports.clock.now();
  const line = await newestOf(ports);
  const items: RampItem[] = [];
  for (const { id: merchant_id, settings } of await selected(ports, ask, null, MOST_MERCHANTS)) {
    const { merchant, units_in } = routingOf(ports.settings, settings);
    const from = { ...merchant, units_in };
    const first = ask.steps.findIndex((share) => from.stage === 'shadow' || share > from.share);
    if (from.stage === 'legacy' || from.stage === 'orders' || first < 0)
      throw new PuenteError('refused', say('refusal.ramp_from', { merchant: merchant_id, where: routeSaid(from) }));
    const ramp = { step: first - 1, start: first - 1, since: now, from, legacy_p95_ms: null };
    items.push({ merchant_id, state: 'waiting', detail: '', at: null, line, ramp });
  }
  return items;
}

/** Ramps are stored as bulk moves that have steps. */
export function isRamp(bulk: BulkMove): bulk is Ramp {
  return bulk.ramp !== null;
}

/** All that have not ended, however many, as they stand. */
export async function openRamps(ports: Ports): Promise<Ramp[]> {
  const all: Ramp[] = [];
  for (;;) {
    const before = all.at(-1)?.id;
    const page = await ports.store.moves.bulkMoves(defined({ states: OPEN, is_ramp: true, before }), MOST_READ);
    all.push(...page.filter(isRamp));
    if (page.length < MOST_READ) return asTheyStand(ports, all);
  }
}

/** @throws PuenteError not_found. */
export async function foundRamp(ports: Ports, id: string): Promise<Ramp> {
  const bulk = await ports.store.moves.bulkMove(id);
  if (bulk !== null && isRamp(bulk)) return bulk;
  throw new PuenteError('not_found', say('refusal.no_ramp', { id: id.slice(0, 60) }));
}

/** One whose stop tripped since its step began keeps its time: it steps back for it at the next look. */
async function watchedAnew(ports: Ports, items: readonly BulkItem[], now: number): Promise<BulkItem[]> {
  const anew: BulkItem[] = [];
  for (const item of items) {
    const { ramp } = item;
    if (ramp === undefined || !isWaiting(item)) anew.push(item);
    else {
      const is_owed = ramp.step > ramp.start && (await stopSince(ports, { ...item, ramp })) !== null;
      anew.push({ ...item, detail: '', ramp: is_owed ? ramp : { ...ramp, since: now } });
    }
  }
  return anew;
}

/** No merchant of an ended ramp waits for a step. */
function left(ramp: Ramp, detail: string, now: number): Ramp {
  const items = ramp.items.map((one) =>
    isWaiting(one) ? { ...one, state: 'skipped' as const, detail, at: now } : one,
  );
  return { ...ramp, items };
}

/**
 * With an audit line in the same transaction; wakes the loop that makes the steps.
 * @param newest of a new one: as for `saveBulkMove`. @throws PuenteError conflict when the stored revision is another.
 */
export async function save(
  ports: Ports,
  ramp: Ramp,
  before: Ramp | null,
  action: AuditAction,
  who: string,
  why: string,
  newest?: string,
): Promise<RampView> {
  const line = auditOf(ports, ramp, action, who, why);
  const saved = await ports.store.moves.saveBulkMove(ramp, before, line, newest);
  ports.log.info(action, { action: ramp.id, count: ramp.items.length });
  ports.memory.wakeups.bulk_moves.wake();
  return viewOf(ports, { ...saved, ramp: ramp.ramp });
}

/** Under the merchant's id when it is the only one, so that its page shows the line. */
export function auditOf(ports: Ports, ramp: Ramp, action: AuditAction, who: string, why: string): AuditEntry {
  const { id, items, ramp: plan } = ramp;
  const [first] = items;
  const subject = items.length === 1 && first !== undefined ? first.merchant_id : id;
  const detail = { ramp: id, ...plan, merchants: items.map(({ merchant_id }) => merchant_id) };
  return { at: ports.clock.now(), who, action, subject, reason: why, detail };
}

async function viewOf(ports: Ports, one: Ramp): Promise<RampView> {
  const { id, state, detail, ramp, reason: because, who, created_at } = one;
  const items = await named(ports, one.items);
  const { steps } = ramp;
  return {
    ...{ id, state: state === 'stopped' ? 'aborted' : state, ...whyOf(detail), ...ramp },
    ...{ reason: because, who, created_at: iso(created_at) },
    expires_at: state === 'proposed' ? iso(expiresAt(ports, one)) : null,
    merchants: items.flatMap(({ merchant_id, merchant_name: name, state: at, detail: why, ramp: place }) => {
      if (place === undefined) return [];
      const shown = at === 'waiting' || at === 'moved' ? at : 'skipped';
      const now = routeText(routeAt(steps, place.step, place));
      const where = { state: shown, step: place.step + 1, now, since_at: iso(place.since) } as const;
      return [{ merchant_id, merchant_name: name, ...where, ...whyOf(why) }];
    }),
  };
}

/** @param here the merchant's stage: back from orders it gets the list of units again that orders has emptied. */
export function targetOf(steps: readonly number[], step: number, place: RampPlace, here: Stage): MoveTarget {
  const { stage, share } = routeAt(steps, step, place);
  if (stage !== 'canary') return { stage, override: false };
  return { stage, share, override: false, ...(here === 'orders' ? { units_in: [...place.from.units_in] } : {}) };
}

/** The stage that an operator has set, whatever a safety stop does. */
export function stageOf({ settings: rules }: Ports, { settings }: Merchant): Stage {
  return routingOf(rules, settings).merchant.stage;
}

/** The newest stop since the step began, also when it was reset. */
export async function stopSince({ store }: Ports, item: RampItem): Promise<RampStop | null> {
  const [line] = await store.audit.auditsOf({ subject: item.merchant_id, action: 'safety stop' }, 1);
  const kind = routedKinds.find((one) => one === line?.detail.kind);
  if (line === undefined || kind === undefined || !isSince(line, item, item.ramp.since)) return null;
  return { kind, why: readStored(line.reason) };
}

/** A safety stop in force, of any kind. */
export function stopOf({ trips }: Merchant): RampStop | null {
  const [first] = routedKinds.flatMap((kind) => {
    const trip: Trip | undefined = trips[kind];
    return trip === undefined ? [] : [{ kind, why: readStored(trip.why) }];
  });
  return first ?? null;
}
