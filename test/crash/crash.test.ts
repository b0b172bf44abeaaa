/** kill -9 at each point of `docs/protocol.md` §3.4: no sale lost, doubled or orphaned (promises P1 to P4, P11). */
import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { duringBackup } from './backups.ts';
import { type Outcome, runChain, summary } from './chain.ts';
import { killChildren } from './child.ts';
import { anyMoment, chainsOf, IS_ON_SERVER, PLAN, REPEATS } from './plan.ts';
import { atEvent, atPoint, backToOrders, duringCall, duringRecovery, duringToggle } from './points.ts';
import { createSlots } from './slots.ts';
import { bundleSources } from './stand.ts';

/** Covers all chains, which queue for slots; a kill takes about a second. */
const LIMIT_MS = 240_000 + REPEATS * 60_000;
const SEED = Number(process.env.CRASH_SEED ?? randomInt(1, 2 ** 31));
/** Polling is too slow for nearly all sales, so orders change by their webhooks and a lost one shows. */
const EVENTS_ALONE = { PUENTE_RECONCILE_POINT_INTERVAL_MS: '25000', PUENTE_RECONCILE_MAX_INTERVAL_MS: '25000' };
/** Without a circuit breaker, which would stop calls to an upstream that does not answer. */
const ALWAYS_SENT = { PUENTE_UPSTREAM_POOL_BREAKER_FAILURES: '0' };
const ON_LEGACY = { PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' };

const outcomes: Outcome[] = [];

type Chain = Parameters<typeof runChain>;
const crashes: [name: string, points: string[], killOnce: Chain[3], options?: Chain[4]][] = [
  ['C1 C2 C5 C6 C7 from the row of a create to its answer [F33]', PLAN.create, atPoint],
  [
    'C3 C4 after the bytes are sent and before the answer is read [F33]',
    anyMoment(2 * REPEATS),
    duringCall,
    { settings: ALWAYS_SENT },
  ],
  ['C8 during recovery, again and again [F33 F34]', PLAN.recovery, duringRecovery],
  ['C9 C10 C11 C12 from a webhook to the delivered notice [F33 F119]', PLAN.event, atEvent, { settings: EVENTS_ALONE }],
  ['C13 during a toggle [F33]', PLAN.toggle, duringToggle, { settle: backToOrders }],
  ['a sale that is proxied, noted and not sent yet', PLAN.proxied, atPoint, { settings: ON_LEGACY }],
];
// A database server makes its own backups.
if (!IS_ON_SERVER) crashes.push(['C15 during a backup [F33 F61]', PLAN.backup, duringBackup]);

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
  const sum = (count: (outcome: Outcome) => number): number => outcomes.reduce((all, one) => all + count(one), 0);
  const kills = sum((one) => one.kills);
  const total = `kill -9 at named points and in calls: ${kills} kills, ${sum((one) => one.creates)} creates, ${sum((one) => one.violations.length)} violations`;
  process.stdout.write(`${[`CRASH_SEED=${SEED}`, ...outcomes.map(summary), total].join('\n')}\n`);
});
