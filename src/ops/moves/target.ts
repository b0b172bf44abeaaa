/** A requested move, its direction, and the settings that it leads to: pure. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { PuenteError, type Spoken } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { SeenUnit, VerdictRow } from '../../proxy/records/evidence.ts';
import {
  type Merchant,
  type MerchantSettings,
  merchantSettings,
  type RoutedKind,
  routedKinds,
  type Stage,
  stages,
} from '../../proxy/routing/merchant.ts';
import type { RoutingRules } from '../../proxy/routing/stage.ts';
import type { CoreSettings } from '../../proxy/settings.ts';
import type { Person } from '../api/person.ts';
import type { OpenSale } from '../open-sales.ts';
import type { Readiness } from '../readiness/facts.ts';

const { share, units_in } = merchantSettings.shape;

/** The word for the stage `null` in a query: a kind follows its merchant again. */
export const FOLLOW = 'follow';

/** The target of a move, for a merchant or one kind of its work; shared by single, proposed and bulk moves. */
export const moveTarget = z.strictObject({
  stage: z
    .enum(stages)
    .nullable()
    .describe("where to; `null`, with a kind alone: it follows the merchant's stage again"),
  share: share.unwrap().exactOptional().describe('percent of the units, on canary; left out it stays as it is'),
  units_in: units_in
    .unwrap()
    .exactOptional()
    .describe('units that are on orders at any share, such as point:<terminal> or qr:<pos>; replaces the list'),
  units_out: units_in.unwrap().exactOptional().describe('units that are not, at any share; replaces the list'),
  kind: z.enum(routedKinds).exactOptional().describe('move this kind of work alone'),
  override: z.boolean().default(false).describe('as an approver, override missing evidence'),
});
export type MoveTarget = z.infer<typeof moveTarget>;

/** The units that a target names. */
export function unitsOf({
  units_in: into = [],
  units_out: out = [],
}: Pick<MoveTarget, 'units_in' | 'units_out'>): string[] {
  return [...into, ...out];
}

export interface Route {
  stage: Stage;
  /** Percent; 0 unless on canary. */
  share: number;
}

/** Where all new work of a merchant is meant to go, apart from safety stops. */
export interface Routing {
  /** For work of no kind, and for payments. */
  merchant: Route;
  kinds: Record<RoutedKind, Route>;
  units_in: readonly string[];
  units_out: readonly string[];
}

/**
 * A kind without a stage of its own follows the merchant; a merchant without one has the default
 * (`routing.default_stage`).
 */
export function routingOf(rules: RoutingRules, settings: MerchantSettings): Routing {
  const merchant = routeOf(settings.stage ?? rules.merchants.stage, settings.share);
  const of = (kind: RoutedKind): Route => {
    const own = settings.kinds[kind];
    return own === undefined ? merchant : routeOf(own.stage, own.share);
  };
  return {
    merchant,
    kinds: { devices: of('devices'), intents: of('intents'), qr: of('qr') },
    units_in: settings.units_in,
    units_out: settings.units_out,
  };
}

/** What a move changes, for the audit line: stage and share (of a kind where only a kind moves), and the unit lists. */
export function routingChange(from: Routing, to: Routing): { before: object; after: object } {
  const differ = (one: unknown, other: unknown): boolean => JSON.stringify(one) !== JSON.stringify(other);
  const kinds = routedKinds.filter((kind) => differ(from.kinds[kind], to.kinds[kind]));
  const together = differ(from.merchant, to.merchant) && kinds.length === routedKinds.length;
  const lists = (['units_in', 'units_out'] as const).filter((name) => differ(from[name], to[name]));
  const shown = (routing: Routing): object => ({
    ...(differ(from.merchant, to.merchant) || kinds.length === 0 ? routing.merchant : {}),
    ...(together ? {} : Object.fromEntries(kinds.map((kind) => [kind, routing.kinds[kind]]))),
    ...Object.fromEntries(lists.map((name) => [name, routing[name]])),
  });
  return { before: shown(from), after: shown(to) };
}

/**
 * The settings after the move. `units_in` is emptied when no kind is on canary; `units_out` stays.
 * @throws PuenteError bad_request for a target that is incomplete, or contradicts itself.
 */
export function settingsAfter(rules: RoutingRules, settings: MerchantSettings, target: MoveTarget): MerchantSettings {
  refuseNonsense(target);
  const before = routingOf(rules, settings);
  const now = target.kind === undefined ? before.merchant : before.kinds[target.kind];
  const lists = {
    units_in: target.units_in ?? settings.units_in,
    units_out: target.units_out ?? settings.units_out,
  };
  const route = routeOf(target.stage ?? before.merchant.stage, target.share ?? now.share);
  const moved = { ...settings, ...lists, ...placed(settings, target, route) };
  const canary = Object.values(routingOf(rules, moved).kinds).some(({ stage }) => stage === 'canary');
  if (target.stage === 'canary' && route.share === 0 && lists.units_in.length === 0)
    throw new PuenteError('bad_request', say('refusal.empty_canary', {}));
  return canary ? moved : { ...moved, units_in: [] };
}

/** Whether a move changes nothing. A merchant that follows the default is on that stage, as one that was set to it. */
export function isThere(rules: RoutingRules, before: MerchantSettings, after: MerchantSettings): boolean {
  const explicit = (settings: MerchantSettings) => ({ ...settings, stage: settings.stage ?? rules.merchants.stage });
  return isDeepStrictEqual(explicit(before), explicit(after));
}

function placed(
  settings: MerchantSettings,
  { kind, stage }: MoveTarget,
  route: Route,
): Partial<Pick<MerchantSettings, 'stage' | 'share' | 'kinds'>> {
  if (kind === undefined) return route;
  const { [kind]: _own, ...others } = settings.kinds;
  return { kinds: stage === null ? others : { ...others, [kind]: route } };
}

function refuseNonsense({ stage, kind, share: percent, units_in: into, units_out: out }: MoveTarget): void {
  if (stage === null && kind === undefined) throw new PuenteError('bad_request', say('refusal.no_stage', {}));
  if (stage !== 'canary' && (percent !== undefined || into !== undefined || out !== undefined))
    throw new PuenteError('bad_request', say('refusal.units_without_canary', {}));
  const both = (into ?? []).find((slot) => out?.includes(slot));
  if (both !== undefined) throw new PuenteError('bad_request', say('refusal.unit_twice', { unit: both }));
}

function routeOf(stage: Stage, percent: number): Route {
  return { stage, share: stage === 'canary' ? percent : 0 };
}

/** A route as text, as `canary 5 %`. */
export function routeText({ stage, share: percent }: Route): string {
  return stage === 'canary' ? `canary ${percent} %` : stage;
}

/** The same in the reader's words. */
export function routeSaid({ stage, share: percent }: Route): Spoken {
  return say('ramp.place', { stage, share: stage === 'canary' ? percent : null });
}

// The direction of a move: forward or back, for which kinds, and which stages it skips: pure.

export interface Direction {
  /** `forward`: some work may newly reach orders or shadow, whatever else the move does. */
  kind: 'forward' | 'back' | 'same';
  forward: { kind: RoutedKind; from: Stage; to: Stage }[];
  /** Stages that the merchant or any kind passes over. */
  skipped: Stage[];
}

type Sense = Direction['kind'];

/** A move that takes one kind forward and another back is `forward`: what goes forward needs evidence. */
export function directionOf(before: Routing, after: Routing): Direction {
  const senses: Sense[] = [senseOf(before.merchant, after.merchant, unitSense(before, after, null))];
  const forward: Direction['forward'] = [];
  const skipped = new Set<Stage>();
  for (const kind of routedKinds) {
    const [from, to] = [before.kinds[kind], after.kinds[kind]];
    const sense = senseOf(from, to, unitSense(before, after, kind));
    senses.push(sense);
    if (sense !== 'forward') continue;
    forward.push({ kind, from: from.stage, to: to.stage });
    for (const stage of between(from.stage, to.stage)) skipped.add(stage);
  }
  for (const stage of between(before.merchant.stage, after.merchant.stage)) skipped.add(stage);
  return { kind: strongest(senses), forward, skipped: stages.filter((stage) => skipped.has(stage)) };
}

function senseOf(from: Route, to: Route, units: Sense): Sense {
  const steps = stages.indexOf(to.stage) - stages.indexOf(from.stage);
  if (steps !== 0) return steps > 0 ? 'forward' : 'back';
  if (to.stage !== 'canary') return 'same';
  const share = to.share > from.share ? 'forward' : to.share < from.share ? 'back' : 'same';
  return strongest([share, units]);
}

/** @param kind null: all units count. */
function unitSense(before: Routing, after: Routing, kind: RoutedKind | null): Sense {
  const mine = (slot: string): boolean => kind === null || slot.startsWith('qr:') === (kind === 'qr');
  const gained = (from: readonly string[], to: readonly string[]): boolean =>
    to.some((slot) => mine(slot) && !from.includes(slot));
  if (gained(before.units_in, after.units_in) || gained(after.units_out, before.units_out)) return 'forward';
  return gained(after.units_in, before.units_in) || gained(before.units_out, after.units_out) ? 'back' : 'same';
}

function strongest(senses: readonly Sense[]): Sense {
  if (senses.includes('forward')) return 'forward';
  return senses.includes('back') ? 'back' : 'same';
}

function between(from: Stage, to: Stage): Stage[] {
  return stages.slice(stages.indexOf(from) + 1, Math.max(stages.indexOf(to), 0));
}

// What is known of a merchant when a move is judged; gathered before and handed in.

export type HeldUnit = Pick<OpenSale, 'side' | 'legacy_id' | 'slot' | 'ends_at'>;

export interface Sample {
  /** Accepted by legacy and translated in shadow, or read from both sides. */
  shadow: number;
  /** Served by the orders API without an error. */
  orders: number;
  /** All calls, on either lane. */
  seen: number;
  /** Mean per day over the last seven days; over fewer for a newer merchant. */
  calls_a_day: number;
}

export interface Facts {
  samples: Record<RoutedKind, Sample>;
  units: readonly Pick<SeenUnit, 'slot' | 'calls'>[];
  open: readonly HeldUnit[];
  worst_difference: string | null;
  /** Refusals by orders that the shadow predicts, of creates that legacy did not refuse, too. */
  predicted_refusals: readonly Pick<
    VerdictRow,
    'operation' | 'code' | 'error' | 'detail' | 'count' | 'refused_on_legacy'
  >[];
  /** Sequence of the newest exchange that the evidence rests on; 0 without one. */
  exchange_sequence: number;
}

export interface Situation {
  merchant: Merchant;
  target: MoveTarget;
  person: Person;
  /** Epoch ms. */
  now: number;
  rules: RoutingRules;
  settings: Pick<CoreSettings['moves'], 'gate' | 'second_approver' | 'window' | 'min_sample'>;
  readiness: Readiness;
  facts: Facts;
}
