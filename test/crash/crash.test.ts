/** kill -9 at each point of `reliability.md` §3.4: nothing lost, doubled or orphaned (F33, F34; promises P1 to P4, P11). */
import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KILLS, type Outcome, runChain } from './chain.ts';
import { killChildren } from './child.ts';
import {
  anywhere,
  atEvent,
  atPoint,
  backToOrders,
  beforeAnswerRead,
  beforeUpstreamActs,
  duringRecovery,
  duringToggle,
} from './points.ts';
import { warmUp } from './stand.ts';

/** A start costs about a second of one core, and there are two. */
const CHAINS_AT_ONCE = 3;
/** For all of them, because they wait for each other; a kill takes about two seconds. */
const LIMIT_MS = 120_000 + KILLS * 60_000;
const SEED = Number(process.env.CRASH_SEED ?? randomInt(1, 2 ** 31));
/** Polling comes too late for nearly all sales, so an order moves by its webhook, and a lost one shows. */
const EVENTS_ALONE = { PUENTE_RECONCILE_POINT_INTERVAL_MS: '25000', PUENTE_RECONCILE_MAX_INTERVAL_MS: '25000' };

const outcomes: Outcome[] = [];

type Chain = Parameters<typeof runChain>;
const points: [name: string, run: Chain[2], options?: Chain[3]][] = [
  ['C1 before the row is committed', atPoint('create.before_row', 'store.group_posted')],
  ['C2 after the row, before bytes leave', atPoint('create.row_written', 'create.before_send')],
  ['C3 bytes sent, upstream has not acted', beforeUpstreamActs],
  ['C4 upstream acted, answer not read', beforeAnswerRead],
  ['C5 answer read, not committed', atPoint('create.answer_read')],
  ['C6 committed, not answered', atPoint('create.settled')],
  ['C7 answered, not received', atPoint('answer.sent')],
  ['C8 during recovery', duringRecovery],
  ['C9 webhook before the inbox', atEvent('event.before_inbox'), { settings: EVENTS_ALONE }],
  ['C10 webhook in the inbox, before 200', atEvent('event.received'), { settings: EVENTS_ALONE }],
  ['C11 applied, before delivery', atEvent('notices.committed'), { settings: EVENTS_ALONE }],
  ['C12 delivered, before the mark', atEvent('notice.sent'), { settings: EVENTS_ALONE }],
  ['C13 during a toggle', duringToggle, { settle: backToOrders }],
  ['any moment', anywhere],
];

describe('kill -9', { concurrent: true, timeout: LIMIT_MS }, () => {
  const slots = createSlots(CHAINS_AT_ONCE);
  for (const [index, [name, run, options]] of points.entries()) {
    it(name, () =>
      slots(async () => {
        const outcome = await runChain(name, SEED + index, run, options);
        outcomes.push(outcome);
        expect(outcome.violations, `seed ${outcome.seed}`).toEqual([]);
        expect(outcome.kills).toBe(KILLS);
      }),
    );
  }
});

beforeAll(() => warmUp(), LIMIT_MS);

afterAll(async () => {
  await killChildren();
  process.stdout.write(`${[`CRASH_SEED=${SEED}`, ...outcomes.map(summary)].join('\n')}\n`);
});

function summary(outcome: Outcome): string {
  const count = (...invariants: string[]) =>
    outcome.violations.filter(({ invariant }) => invariants.includes(invariant)).length;
  const { point, kills, creates, orders, settled } = outcome;
  return `${point}: ${kills} kills, ${creates} creates, ${orders} orders, ${settled} settled, ${count('I1')} lost, ${count('I3', 'I4')} orphaned, ${count('I2', 'I13')} doubled`;
}

/** At most `free` at a time, in the order of asking. */
function createSlots(free: number): <T>(work: () => Promise<T>) => Promise<T> {
  const tails: Promise<unknown>[] = Array.from({ length: free }, () => Promise.resolve());
  let next = 0;
  return (work) => {
    const slot = next++ % free;
    const mine = (tails[slot] ?? Promise.resolve()).then(work, work);
    tails[slot] = mine;
    return mine;
  };
}
