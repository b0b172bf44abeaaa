/** The blast radius of a move: which units change side now, which can't yet and why, and how many calls a day that is: pure. */
import type { Said, Spoken } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import { type Merchant, type MerchantSettings, type RoutedKind, routedKinds } from '../../proxy/routing/merchant.ts';
import { isOnOrders, kindOfSlot, type RoutingRules } from '../../proxy/routing/stage.ts';
import type { Facts, OpenSale } from './facts.ts';
import { type Routing, routeText, routingOf } from './target.ts';

/** Units that are named; the counts hold all. More than that nobody reads. */
const NAMED_UNITS = 200;
const DAY_DECIMALS = 10;

type Side = OpenSale['side'];

export interface UnitMove {
  slot: string;
  to: Side;
  /** `later`: an open sale keeps it where it is. */
  when: 'now' | 'later';
  /** Why it can't move yet; null when it moves now. */
  why: string | null;
  why_said: Said | null;
  /** RFC 3339, when it can move at the latest. */
  until: string | null;
}

export interface Preview {
  /** `intents: shadow to canary 5 %`, for what changes. */
  changes: string[];
  changes_said: Said[];
  /** Units that any call has named, or that hold open work. */
  units_seen: number;
  units_now: number;
  units_later: number;
  /** The first two hundred, later ones first. */
  units: UnitMove[];
  /** Of the kinds that change, over the last seven days. */
  calls_a_day: number;
  /** Of those the ones whose side changes, by what their units did so far. */
  calls_a_day_touched: number;
  open_on_orders: number;
  open_on_legacy: number;
  worst_difference: string | null;
  predicted_refusals: {
    operation: string;
    code: string | null;
    error: string | null;
    detail: string | null;
    count: number;
  }[];
}

export function previewMove(rules: RoutingRules, before: Merchant, after: MerchantSettings, facts: Facts): Preview {
  const moved: Merchant = { ...before, settings: after };
  const [from, to] = [routingOf(rules, before.settings), routingOf(rules, after)];
  const units = unitMoves(rules, before, moved, facts);
  const changed = changesSaid(from, to);
  const kinds = routedKinds.filter((kind) => changes(from, to, kind));
  const calls = (of: (kind: RoutedKind) => number): number =>
    Math.round(kinds.reduce((sum, kind) => sum + of(kind), 0) * DAY_DECIMALS) / DAY_DECIMALS;
  return {
    changes: changed.map(({ text }) => text),
    changes_said: changed.map(({ said }) => said),
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

/** A unit with open work stays on its side until that is over (DESIGN, Words: Unit), so it moves later, or was there already. */
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

function later(slot: string, to: Side, holder: OpenSale): UnitMove {
  const { text, said } = say(`held.${holder.side}`, { id: holder.legacy_id });
  return { slot, to, when: 'later', why: text, why_said: said, until: new Date(holder.ends_at).toISOString() };
}

function slotsOf(facts: Facts): string[] {
  const slots = [...facts.units.map(({ slot }) => slot), ...facts.open.flatMap(({ slot }) => slot ?? [])];
  return [...new Set(slots)].sort();
}

function sideOf(rules: RoutingRules, merchant: Merchant, slot: string, kind: RoutedKind = kindOfSlot(slot)): Side {
  return isOnOrders(rules, merchant, merchant.id, kind, slot) ? 'orders' : 'legacy';
}

/** Which part of a kind's calls changes side: all of them, or what the units that change did of all calls so far. */
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

function changesSaid(from: Routing, to: Routing): Spoken[] {
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
