/** The scenes of the migration, in their order. */
import type { Scene } from './journey.ts';
import { brownout } from './scenes/brownout.ts';
import { brazilAndChile, firstUnits, moreUnits } from './scenes/canary.ts';
import { onLegacy, tooEarly } from './scenes/legacy.ts';
import { oneTill } from './scenes/one-till.ts';
import { drained, lastStage, rollback, secondPerson } from './scenes/orders.ts';
import { reports, story } from './scenes/papers.ts';
import { onceAndOnlyOnce, toldOnce } from './scenes/proof.ts';
import { declinesAreBusiness, outage, resetByHand } from './scenes/safety.ts';
import { blocked, inbox, onPaper, twoADay } from './scenes/shadow.ts';

export const scenes: readonly Scene[] = [
  onLegacy,
  tooEarly,
  twoADay,
  onPaper,
  inbox,
  blocked,
  firstUnits,
  oneTill,
  moreUnits,
  brazilAndChile,
  declinesAreBusiness,
  outage,
  resetByHand,
  brownout,
  secondPerson,
  rollback,
  drained,
  lastStage,
  onceAndOnlyOnce,
  toldOnce,
  reports,
  story,
];
