/** Works on a bulk move: one merchant a step, each judged like a single move; what was done is written before the next. */
import { PuenteError } from '../../error.ts';
import type { AuditAction } from '../../proxy/audit.ts';
import { type Loop, startLoop } from '../../proxy/loop.ts';
import type { BulkItem, BulkMove } from '../../proxy/records/routing.ts';
import type { Person } from '../api/person.ts';
import type { Ports } from '../ports.ts';
import { bulkAudit, nextStep, type StopSeen, settled } from './bulk.ts';
import { judgeFor, makeMove, refuseUnlessAllowed } from './judged.ts';
import { propose } from './proposals.ts';
import { type MoveTarget, moveTarget } from './target.ts';

/** A window or a budget is looked at again after so long: a safety stop or an abort must be seen meanwhile. */
const REST_MS = 1000;

/**
 * One step. Does nothing when the bulk move was changed or ended by somebody else meanwhile.
 * @returns epoch ms before which another step is of no use; null: go on at once.
 */
export function stepBulk(ports: Ports, id: string): Promise<number | null> {
  return ports.memory.mutex.run(`bulk ${id}`, async () => {
    const bulk = await ports.store.moves.bulkMove(id);
    if (bulk === null || bulk.state !== 'running') return null;
    const now = ports.clock.now();
    const step = nextStep(bulk, await stopsOf(ports, bulk), now);
    switch (step.kind) {
      case 'stop':
        await end(ports, { ...bulk, state: 'stopped', detail: step.why }, 'bulk move stopped');
        return null;
      case 'done':
        await end(ports, { ...bulk, state: 'done', detail: step.why }, 'bulk move done');
        return null;
      case 'wait':
        await wait(ports, bulk, step.why);
        return Math.min(step.until, now + REST_MS);
      case 'move':
        return moveItem(ports, bulk, step.item);
    }
  });
}

async function moveItem(ports: Ports, bulk: BulkMove, item: BulkItem): Promise<number | null> {
  const done = await attempt(ports, bulk, item).catch((error: unknown) => refusalOf(error));
  const now = ports.clock.now();
  if (done.state === 'waiting') {
    await wait(ports, bulk, done.detail);
    return now + REST_MS;
  }
  await ports.store.moves.saveBulkMove(settled(bulk, item, done.state, done.detail, now), bulk.revision, null);
  return null;
}

interface Done {
  /** `waiting`: not now, but later. */
  state: BulkItem['state'];
  detail: string;
}

async function attempt(ports: Ports, bulk: BulkMove, item: BulkItem): Promise<Done> {
  const target = targetOf(bulk, item);
  // Who may start a bulk move may move each of its merchants; only an approver could start one with an override.
  const person: Person = { name: bulk.who, role: target.override ? 'approver' : 'operator' };
  const judged = await judgeFor(ports, item.merchant_id, target, person);
  const { judgement } = judged;
  const changes = judgement.preview.changes.join(', ');
  if (judgement.kind === 'same')
    return (await movedBefore(ports, bulk, item))
      ? { state: 'moved', detail: 'moved just before a restart' }
      : { state: 'skipped', detail: 'was there already' };
  const closed = judgement.missing.find(({ code }) => code === 'outside_window');
  if (!judgement.allowed && closed !== undefined && judgement.missing.length === 1)
    return { state: 'waiting', detail: closed.what };
  refuseUnlessAllowed(judged);
  if (judgement.needs === 'approval') {
    const { id } = await propose(ports, item.merchant_id, target, bulk.reason, person);
    return {
      state: 'proposed',
      detail: `${changes}: waits for a second person: puente moves approve ${id} --reason …`,
    };
  }
  await makeMove(ports, judged, bulk.reason, person, { bulk: bulk.id });
  return { state: 'moved', detail: changes };
}

function targetOf(bulk: BulkMove, item: BulkItem): MoveTarget {
  return moveTarget.parse({ ...bulk.move, ...item.own });
}

/** What a merchant's own refusal is goes on its line; anything else is a fault of ours and leaves it waiting. */
function refusalOf(error: unknown): Done {
  if (!(error instanceof PuenteError)) throw error;
  if (error.code === 'conflict') return { state: 'waiting', detail: error.message };
  if (error.code === 'refused' || error.code === 'bad_request') return { state: 'refused', detail: error.message };
  throw error;
}

/** The process may have ended between the merchant's commit and ours. */
async function movedBefore(ports: Ports, bulk: BulkMove, { merchant_id }: BulkItem): Promise<boolean> {
  const [last] = await ports.store.audit.auditsOf({ subject: merchant_id, action: 'stage' }, 1);
  return last?.detail.bulk === bulk.id;
}

async function stopsOf(ports: Ports, { items }: BulkMove): Promise<StopSeen[]> {
  const mine = new Set(items.map(({ merchant_id }) => merchant_id));
  const merchants = (await ports.store.merchants.merchants()).filter(({ id }) => mine.has(id));
  return merchants.flatMap(({ id, trips }) => Object.values(trips).map((trip) => ({ merchant_id: id, trip })));
}

async function end(ports: Ports, bulk: BulkMove, action: AuditAction): Promise<void> {
  await ports.store.moves.saveBulkMove(bulk, bulk.revision, bulkAudit(ports, bulk, action, 'puente', bulk.detail));
  ports.log.info(action, { action: bulk.state, count: bulk.items.length });
}

/** Tells why it stands still, once. */
async function wait(ports: Ports, bulk: BulkMove, why: string): Promise<void> {
  if (bulk.detail !== why) await ports.store.moves.saveBulkMove({ ...bulk, detail: why }, bulk.revision, null);
}

// Works off bulk moves, taken from the store: one merchant after the other, and again after a restart.

/** Nobody waits at a till for it. */
const POLL_MS = 500;
/** Each step judges a merchant and writes; payments come first. */
const CONCURRENCY = 1;
/** Running at once; more wait for their turn. */
const MOST_RUNNING = 100;

export function startBulkMoves(ports: Ports): Loop {
  /** Epoch ms before which a bulk move that waits for its window or its day is left alone. */
  const rests = new Map<string, number>();
  return startLoop({
    name: 'bulk moves',
    poll_ms: POLL_MS,
    concurrency: CONCURRENCY,
    take: async () => {
      const now = ports.clock.now();
      const running = await ports.store.moves.bulkMoves(['running'], MOST_RUNNING);
      return running.filter(({ id }) => (rests.get(id) ?? 0) <= now).toReversed();
    },
    key: ({ id }) => id,
    handle: async ({ id }) => {
      const rest = await stepBulk(ports, id);
      if (rest === null) rests.delete(id);
      else rests.set(id, rest);
    },
    log: ports.log,
  });
}
