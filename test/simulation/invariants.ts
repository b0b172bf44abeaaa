/** The checker: every invariant of `docs/protocol.md` §5.3 over the observations from outside. */
import type { History } from './history.ts';
import {
  amountsEqual,
  committedFirst,
  deliveredResolve,
  nothingInDoubt,
  nothingOrphaned,
  oneOrderPerRow,
  ownersAlone,
} from './invariants/creates.ts';
import { evidenceOf, type Rule } from './invariants/evidence.ts';
import { everySaleMade, paidOnce } from './invariants/meant.ts';
import { rampsHold } from './invariants/ramps.ts';
import { refundedOnce, refundsEqual, refundsKnown } from './invariants/refunds.ts';
import { changesTold, eventsKept, neverBack, statesEqual } from './invariants/states.ts';
import { auditsHold, callsBounded, lanesKept, nothingLeaks, nothingLeft, unitsFree } from './invariants/traffic.ts';

/** I9 and I10 are fully checked in `test/proxy/notices/guard.test.ts` and the canary run, here as far as visible. */
export const invariants: readonly (readonly [name: string, rule: Rule, what: string])[] = [
  ['I1', deliveredResolve, 'every 2xx create resolves to one existing order'],
  ['I2', oneOrderPerRow, 'one order, one key and one body per row'],
  ['I3', nothingOrphaned, 'upstream orders are known rows'],
  ['I4', nothingInDoubt, 'no row is left in doubt without a reason'],
  ['I5', eventsKept, 'every 2xx webhook is in the inbox, and read or parked'],
  ['I6', changesTold, 'every visible change is told'],
  ['I7', neverBack, 'reads never go back in time'],
  ['I8', statesEqual, "final states equal upstream's"],
  ['I9 I10', nothingLeaks, 'notices go to receivers alone; no secret in logs and answers; nothing is thrown'],
  ['I11', lanesKept, 'every operation used the lane of birth'],
  ['I12', amountsEqual, 'amounts are equal as decimals'],
  ['I13', unitsFree, 'one live order per unit; no stale block'],
  ['I14', nothingLeft, 'nothing is left in memory'],
  ['I15', callsBounded, 'upstream calls are bounded, never blind'],
  ['I16', committedFirst, 'no 2xx before its commit'],
  ['P2', paidOnce, 'approved payments per sale that a cashier meant are at most one'],
  ['P2 swallowed', everySaleMade, 'a sale that was meant after the one before it was heard is made'],
  ['P2 refunds', refundedOnce, 'nothing is refunded more often than it was asked for, or beyond what was paid'],
  ['I12 refunds', refundsEqual, 'a refund whose answer was delivered exists, over its amount'],
  ['I4 refunds', refundsKnown, 'every refund is known, and none is in doubt without a reason'],
  ['P10', ownersAlone, "nobody reads another's intent"],
  ['P16', auditsHold, 'the audit chain is whole'],
  ['P16 ramps', rampsHold, 'a ramp makes the steps that its evidence allows, a line each'],
];

export interface Violation {
  invariant: string;
  text: string;
}

export function check(history: History): Violation[] {
  const evidence = evidenceOf(history);
  return invariants.flatMap(([invariant, rule]) => rule(evidence).map((text) => ({ invariant, text })));
}
