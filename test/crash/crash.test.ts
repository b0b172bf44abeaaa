/** kill -9 at each point of `reliability.md` §3.4: nothing lost, doubled or orphaned (promises P1 to P4, P11). */
import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { duringBackup } from './backups.ts';
import { type Outcome, runChain, summary } from './chain.ts';
import { killChildren } from './child.ts';
import { anyMoment, chainsOf, KILLS, PLAN } from './plan.ts';
import {
  atEvent,
  atPoint,
  backToOrders,
  beforeAnswerRead,
  beforeUpstreamActs,
  duringRecovery,
  duringToggle,
} from './points.ts';
import { createSlots } from './slots.ts';
import { bundleSources, removeBundle } from './stand.ts';

/** For all of them, because they wait for each other; a kill takes about a second. */
const LIMIT_MS = 240_000 + KILLS * 60_000;
const SEED = Number(process.env.CRASH_SEED ?? randomInt(1, 2 ** 31));
/** Polling comes too late for nearly all sales, so an order moves by its webhook, and a lost one shows. */
const EVENTS_ALONE = { PUENTE_RECONCILE_POINT_INTERVAL_MS: '25000', PUENTE_RECONCILE_MAX_INTERVAL_MS: '25000' };
/** An upstream that answers nobody is left alone after a while, and here it has to be called. */
const ALWAYS_SENT = { PUENTE_UPSTREAM_POOL_BREAKER_FAILURES: '0' };
/** New sales are carried, and noted before. */
const ON_LEGACY = { PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' };

const outcomes: Outcome[] = [];

type Chain = Parameters<typeof runChain>;
const crashes: [name: string, points: string[], killOnce: Chain[3], options?: Chain[4]][] = [
  ['C1 before the row is committed [F33]', PLAN.row, atPoint],
  ['C2 after the row, before bytes leave [F33]', PLAN.sending, atPoint],
  ['C3 bytes sent, upstream has not acted [F33]', anyMoment(KILLS), beforeUpstreamActs, { settings: ALWAYS_SENT }],
  ['C4 upstream acted, answer not read [F33]', anyMoment(KILLS), beforeAnswerRead, { settings: ALWAYS_SENT }],
  ['C5 answer read, not committed [F33]', PLAN.answer_read, atPoint],
  ['C6 committed, not answered [F33]', PLAN.settled, atPoint],
  ['C7 answered, not received [F33]', PLAN.answered, atPoint],
  ['C8 during recovery, 20 times in a row [F33 F34]', PLAN.recovery, duringRecovery],
  ['C9 webhook before the inbox [F33]', PLAN.before_inbox, atEvent, { settings: EVENTS_ALONE }],
  ['C10 webhook in the inbox, before 200 [F33]', PLAN.in_inbox, atEvent, { settings: EVENTS_ALONE }],
  ['C11 applied, before delivery [F33]', PLAN.applied, atEvent, { settings: EVENTS_ALONE }],
  ['C12 delivered, before the mark [F33 F119]', PLAN.delivered, atEvent, { settings: EVENTS_ALONE }],
  ['C13 during a toggle [F33]', PLAN.toggle, duringToggle, { settle: backToOrders }],
  ['C15 during a backup [F33 F61]', PLAN.backup, duringBackup],
  ['a sale that is carried, noted and not sent yet', PLAN.carried, atPoint, { settings: ON_LEGACY }],
];

describe('kill -9', { concurrent: true, timeout: LIMIT_MS }, () => {
  const slots = createSlots();
  for (const [index, [name, points, killOnce, options]] of crashes.entries()) {
    it(name, () =>
      slots(async () => {
        for (const part of chainsOf(points)) {
          const outcome = await runChain(name, SEED + index, part, killOnce, options);
          outcomes.push(outcome);
          expect(outcome.violations, `seed ${outcome.seed}`).toEqual([]);
        }
      }),
    );
  }
});

beforeAll(() => bundleSources(), LIMIT_MS);

afterAll(async () => {
  await killChildren();
  removeBundle();
  process.stdout.write(`${[`CRASH_SEED=${SEED}`, ...outcomes.map(summary)].join('\n')}\n`);
});
