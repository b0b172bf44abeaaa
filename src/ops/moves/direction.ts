/** Whether a move goes forward or back, for which kinds, and which stages it skips: pure. */
import { type RoutedKind, routedKinds, type Stage, stages } from '../../proxy/routing/merchant.ts';
import type { Route, Routing } from './target.ts';

export interface Direction {
  /** `forward`: some work may reach orders, or its shadow, that didn't; whatever else the move does. */
  kind: 'forward' | 'back' | 'same';
  /** The kinds that go forward, with the stage they come from and the one they go to. */
  forward: { kind: RoutedKind; from: Stage; to: Stage }[];
  /** Stages between, of the merchant or of any kind. */
  skipped: Stage[];
}

type Sense = Direction['kind'];

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
