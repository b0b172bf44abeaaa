/** The blast radius of a move (units that change lane, and calls a day), and the drain that follows it. */
import { z } from 'zod';
import type { Spoken } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { type Merchant, type MerchantSettings, type RoutedKind, routedKinds } from '../../proxy/routing/merchant.ts';
import { isOnOrders, kindOfSlot, type RoutingRules } from '../../proxy/routing/stage.ts';
import { iso, lane, MINUTE_MS, said, time } from '../fields.ts';
import { merchantAnswer, viewMerchant } from '../merchants.ts';
import { type OpenSale, openSales } from '../open-sales.ts';
import type { Ports } from '../ports.ts';
import { merchant_name } from '../seen.ts';
import { type Facts, type HeldUnit, type Routing, routeText, routingOf } from './target.ts';

/** Units that are named; the counts include all. */
const NAMED_UNITS = 200;
const DAY_DECIMALS = 10;

type Side = HeldUnit['side'];

export const previewAnswer = z.object({
  changes: z.array(z.string()).describe('as `intents: shadow to canary 5 %`'),
  changes_said: z.array(said),
  notes: z.array(z.string()).describe('a share that is none or all of the units seen'),
  notes_said: z.array(said),
  units_seen: z.int(),
  units_now: z.int().describe('Units that change lanes at once.'),
  units_later: z.int().describe('Units that an open sale keeps where they are.'),
  units: z.array(
    z.object({
      slot: z.string(),
      to: lane,
      when: z.enum(['now', 'later']),
      why: z.string().nullable().describe("why it can't move yet"),
      why_said: said.nullable(),
      until: time.nullable().describe('when it can move at the latest'),
    }),
  ),
  calls_a_day: z.number().describe('of the kinds that change, over the last seven days'),
  calls_a_day_touched: z.number().describe('those whose side changes'),
  open_on_orders: z.int(),
  open_on_legacy: z.int(),
  worst_difference: z.string().nullable(),
  predicted_refusals: z.array(
    z.object({
      operation: z.string(),
      code: z.string().nullable(),
      error: z.string().nullable(),
      detail: z.string().nullable(),
      count: z.int().describe('calls that legacy did not refuse'),
      refused_on_legacy: z.int().describe('such calls that legacy refused, too: the move changes nothing for them'),
    }),
  ),
});
export type Preview = z.infer<typeof previewAnswer>;
type UnitMove = Preview['units'][number];

/**
 * What the move would change, by the facts of recent calls: pure. Calls a day are averages; at most `NAMED_UNITS` units
 * are named, while their counts include all.
 */
export function previewMove(rules: RoutingRules, before: Merchant, after: MerchantSettings, facts: Facts): Preview {
  const moved: Merchant = { ...before, settings: after };
  const [from, to] = [routingOf(rules, before.settings), routingOf(rules, after)];
  const units = unitMoves(rules, before, moved, facts);
  const changed = changesSaid(from, to);
  const kinds = routedKinds.filter((kind) => changes(from, to, kind));
  const notes = kinds.flatMap((kind) => shareNote(rules, moved, facts, kind));
  const calls = (of: (kind: RoutedKind) => number): number =>
    Math.round(kinds.reduce((sum, kind) => sum + of(kind), 0) * DAY_DECIMALS) / DAY_DECIMALS;
  return {
    changes: changed.map(({ text }) => text),
    changes_said: changed.map(({ said }) => said),
    notes: notes.map(({ text }) => text),
    notes_said: notes.map(({ said }) => said),
    units_seen: slotsOf(facts).length,
    units_now: units.filter(({ when }) => when === 'now').length,
    units_later: units.filter(({ when }) => when === 'later').length,
    units: units.toSorted((one, other) => one.when.localeCompare(other.when)).slice(0, NAMED_UNITS),
    calls_a_day: calls((kind) => facts.samples[kind].calls_a_day),
    calls_a_day_touched: calls(
      (kind) => facts.samples[kind].calls_a_day * touchedPart(rules, before, moved, facts, kind),
    ),
    open_on_orders: facts.open.filter(({ side }) => side === 'orders').length,
    open_on_legacy: facts.open.filter(({ side }) => side === 'legacy').length,
    worst_difference: facts.worst_difference,
    predicted_refusals: [...facts.predicted_refusals],
  };
}

/** A share of few units may be none or all of them, because a hash of each unit decides. */
function shareNote(rules: RoutingRules, after: Merchant, facts: Facts, kind: RoutedKind): Spoken[] {
  const { stage, share } = routingOf(rules, after.settings).kinds[kind];
  const mine = slotsOf(facts).filter((slot) => kindOfSlot(slot) === kind);
  if (stage !== 'canary' || share === 0 || share === 100 || mine.length === 0) return [];
  const taken = mine.filter((slot) => sideOf(rules, { ...after, trips: {} }, slot) === 'orders').length;
  if (taken > 0 && taken < mine.length) return [];
  return [say(taken === 0 ? 'share.none' : 'share.all', { share, kind, count: mine.length })];
}

/** A unit with an open sale stays on its lane until the sale ends (`docs/glossary.md` Unit), so it moves later. */
function unitMoves(rules: RoutingRules, before: Merchant, after: Merchant, facts: Facts): UnitMove[] {
  const held = new Map(facts.open.flatMap((sale) => (sale.slot === null ? [] : [[sale.slot, sale] as const])));
  return slotsOf(facts).flatMap((slot): UnitMove[] => {
    const to = sideOf(rules, after, slot);
    const holder = held.get(slot);
    if (holder !== undefined) return holder.side === to ? [] : [later(slot, to, holder)];
    return sideOf(rules, before, slot) === to
      ? []
      : [{ slot, to, when: 'now', why: null, why_said: null, until: null }];
  });
}

function later(slot: string, to: Side, holder: HeldUnit): UnitMove {
  const { text, said } = say(`held.${holder.side}`, { id: holder.legacy_id });
  return { slot, to, when: 'later', why: text, why_said: said, until: iso(holder.ends_at) };
}

function slotsOf(facts: Facts): string[] {
  const slots = [...facts.units.map(({ slot }) => slot), ...facts.open.flatMap(({ slot }) => slot ?? [])];
  return [...new Set(slots)].sort();
}

function sideOf(rules: RoutingRules, merchant: Merchant, slot: string, kind: RoutedKind = kindOfSlot(slot)): Side {
  return isOnOrders(rules, merchant, merchant.id, kind, slot) ? 'orders' : 'legacy';
}

/** The part of a kind's calls that changes lane: all, or the share of the changing units in all calls so far. */
function touchedPart(rules: RoutingRules, before: Merchant, after: Merchant, facts: Facts, kind: RoutedKind): number {
  const noUnit = (merchant: Merchant): boolean => isOnOrders(rules, merchant, merchant.id, kind, null);
  if (noUnit(before) !== noUnit(after) && !isCanary(rules, before, kind) && !isCanary(rules, after, kind)) return 1;
  const mine = facts.units.filter(({ slot }) => (kindOfSlot(slot) === 'qr') === (kind === 'qr'));
  const all = mine.reduce((sum, { calls }) => sum + calls, 0);
  const touched = mine.filter(({ slot }) => sideOf(rules, before, slot, kind) !== sideOf(rules, after, slot, kind));
  return all === 0 ? 0 : touched.reduce((sum, { calls }) => sum + calls, 0) / all;
}

function isCanary(rules: RoutingRules, merchant: Merchant, kind: RoutedKind): boolean {
  return routingOf(rules, merchant.settings).kinds[kind].stage === 'canary';
}

function changes(from: Routing, to: Routing, kind: RoutedKind): boolean {
  if (routeText(from.kinds[kind]) !== routeText(to.kinds[kind])) return true;
  return to.kinds[kind].stage === 'canary' && unitsSaid(from, to).length > 0;
}

/** What a move changes, in the reader's words. */
export function changesSaid(from: Routing, to: Routing): Spoken[] {
  const stages = routedKinds
    .filter((kind) => routeText(from.kinds[kind]) !== routeText(to.kinds[kind]))
    .map((kind) => {
      const [before, after] = [from.kinds[kind], to.kinds[kind]];
      const facts = { from: before.stage, from_share: before.share, to: after.stage, to_share: after.share };
      return say('change.stage', { kind, ...facts });
    });
  return [...stages, ...unitsSaid(from, to)];
}

function unitsSaid(from: Routing, to: Routing): Spoken[] {
  return (['units_in', 'units_out'] as const).flatMap((list) => {
    const [before, after] = [new Set(from[list]), new Set(to[list])];
    const gained = to[list].filter((slot) => !before.has(slot)).length;
    const left = from[list].filter((slot) => !after.has(slot)).length;
    return gained + left === 0 ? [] : [say(`change.${list}`, { gained, left })];
  });
}

// Drain: what is still open on each lane after a move, per unit, since when, and its latest end.

/** Waiting notices that are counted by unit; of further ones only the total is known. */
const MOST_NOTICES = 500;

const openSide = z.object({
  open: z.int(),
  oldest_at: time.nullable(),
  latest_end_at: time.nullable().describe('of the last of them, by its lifetime'),
  in_doubt: z.int().describe('Creates whose outcome is not known yet.'),
});
const openUnit = z.object({
  unit: z.string().describe('`point:<terminal>` or `qr:<point of sale>`'),
  ...openSide.shape,
});
type OpenUnit = z.infer<typeof openUnit>;

export const drainView = z.object({
  merchant_id: z.string(),
  merchant_name,
  at: time,
  in_force: merchantAnswer.shape.in_force,
  orders: openSide.extend({
    notices_pending: z.int(),
    units: z.array(openUnit.extend({ notices_pending: z.int() })),
  }),
  legacy: openSide.extend({ units: z.array(openUnit) }),
  safe_to_close_at: time
    .nullable()
    .describe('When the orders open now have ended; null while one is open beyond its lifetime.'),
  says: z.string(),
  said: z.array(said),
});
export type DrainView = z.infer<typeof drainView>;

/** `safe_to_close_at`: by then the orders open now have ended; null while a sale outlives its lifetime. */
export async function viewDrain(ports: Ports, merchant_id: string): Promise<DrainView> {
  const { name, in_force } = await viewMerchant(ports, merchant_id);
  const { store, clock, settings } = ports;
  const now = clock.now();
  const [open_sales, notices_pending, waiting] = await Promise.all([
    openSales(ports, merchant_id),
    store.notices.countNotices({ merchant_id, states: ['pending'] }),
    noticesByUnit(ports, merchant_id),
  ]);
  const orders = open_sales.filter(({ side }) => side === 'orders');
  const legacy = open_sales.filter(({ side }) => side === 'legacy');
  const closes = safeToClose(orders, settings.reconcile.action_required_grace_ms, now);
  const sentences = waitedFor(orders, notices_pending, closes, now);
  const units = unitsOf(orders);
  const open = new Set(units.map(({ unit }) => unit));
  for (const unit of waiting.keys())
    if (!open.has(unit)) units.push({ unit, open: 0, oldest_at: null, latest_end_at: null, in_doubt: 0 });
  return {
    merchant_id,
    merchant_name: name,
    at: iso(now),
    in_force,
    orders: {
      ...sumOf(orders),
      notices_pending,
      units: units.map((unit) => ({ ...unit, notices_pending: waiting.get(unit.unit) ?? 0 })),
    },
    legacy: { ...sumOf(legacy), units: unitsOf(legacy) },
    safe_to_close_at: iso(closes),
    says: sentences.map(({ text }) => text).join(' '),
    said: sentences.map(({ said }) => said),
  };
}

function unitName({ slot, family, unit }: Pick<OpenSale, 'slot' | 'family' | 'unit'>): string {
  return slot ?? `${family}:${unit}`;
}

/** Waiting notices by the unit of their sale; the first few hundred show where they are stuck. */
async function noticesByUnit(ports: Ports, merchant_id: string): Promise<Map<string, number>> {
  const pending = await ports.store.notices.notices({ merchant_id, states: ['pending'] }, MOST_NOTICES);
  const units = new Map<string, string | null>();
  const counts = new Map<string, number>();
  for (const { legacy_id } of pending) {
    if (!units.has(legacy_id)) {
      const link = await ports.store.links.link(legacy_id);
      units.set(legacy_id, link === null ? null : unitName(link));
    }
    const unit = units.get(legacy_id) ?? null;
    if (unit !== null) counts.set(unit, (counts.get(unit) ?? 0) + 1);
  }
  return counts;
}

function unitsOf(open: readonly OpenSale[]): OpenUnit[] {
  const units = Map.groupBy(open, unitName);
  return [...units].map(([unit, mine]) => ({ unit, ...sumOf(mine) }));
}

function sumOf(open: readonly OpenSale[]): Omit<OpenUnit, 'unit'> {
  const oldest = open.reduce((least, { created_at }) => Math.min(least, created_at), Number.POSITIVE_INFINITY);
  const latest = open.reduce((most, { ends_at }) => Math.max(most, ends_at), 0);
  return {
    open: open.length,
    oldest_at: open.length === 0 ? null : iso(oldest),
    latest_end_at: open.length === 0 ? null : iso(latest),
    in_doubt: open.filter(({ state }) => state === 'SENDING' || state === 'IN_DOUBT').length,
  };
}

/** An order that waits for an action is not final until a grace after its lifetime (`docs/field-notes.md` Point §2). */
function safeToClose(open: readonly OpenSale[], grace_ms: number, now: number): number | null {
  if (open.length === 0) return now;
  const end = open.reduce((last, { ends_at }) => Math.max(last, ends_at), 0) + grace_ms;
  return end > now ? end : null;
}

function waitedFor(open: readonly OpenSale[], notices: number, closes: number | null, now: number): Spoken[] {
  const pending = notices === 0 ? [] : [say('drain.notices', { count: notices })];
  if (open.length === 0) return [say('drain.nothing', {}), ...pending];
  if (closes === null) return [say('drain.overdue', { open: open.length }), ...pending];
  const minutes = Math.ceil((closes - now) / MINUTE_MS);
  return [say('drain.closes', { open: open.length, minutes, closes_at: iso(closes) }), ...pending];
}
