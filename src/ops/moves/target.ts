/** A move as it is asked for, and what it makes of a merchant's settings: pure. */
import { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { stageText } from '../../locales/sentences/facts.ts';
import { say } from '../../locales/sentences.ts';
import {
  type MerchantSettings,
  merchantSettings,
  type RoutedKind,
  routedKinds,
  type Stage,
  stages,
} from '../../proxy/routing/merchant.ts';
import type { RoutingRules } from '../../proxy/routing/stage.ts';

const { share, units_in } = merchantSettings.shape;

/** The word for the stage `null`: a kind follows its merchant again. */
export const FOLLOW = 'follow';

/** Where a merchant, or one kind of its work, is to go. Shared by single, proposed and bulk moves. */
export const moveTarget = z.strictObject({
  /** `null`, with a kind alone: the kind follows the merchant's stage again. */
  stage: z.enum(stages).nullable(),
  /** Percent of the units, for stage canary; left out it stays as it is. */
  share: share.unwrap().exactOptional(),
  /** Slots whose new work goes to orders on canary, and those whose doesn't, whatever the share. Lists replace lists. */
  units_in: units_in.unwrap().exactOptional(),
  units_out: units_in.unwrap().exactOptional(),
  /** Moves this kind alone. */
  kind: z.enum(routedKinds).exactOptional(),
  /** An approver moves without the evidence that is missing; the audit says what was. */
  override: z.boolean().default(false),
});
export type MoveTarget = z.infer<typeof moveTarget>;

/** Of one kind, or of the merchant as a whole. */
export interface Route {
  stage: Stage;
  /** Percent; 0 unless on canary. */
  share: number;
}

/** Where all of a merchant's work is meant to go, safety stops left aside. */
export interface Routing {
  /** For what is of no kind, and what payments follow. */
  merchant: Route;
  kinds: Record<RoutedKind, Route>;
  units_in: readonly string[];
  units_out: readonly string[];
}

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

/** What a move changes, for the audit: the stage and share, of a kind where only a kind moves, and the lists that change. */
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
 * The settings after the move. What belongs to a canary goes with it; units kept out stay kept out.
 * @throws PuenteError bad_request for a target that says too little, or contradicts itself.
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

/** A route in words, as `canary 5 %`. */
export function routeText({ stage, share: percent }: Route): string {
  return stageText(stage, percent);
}
