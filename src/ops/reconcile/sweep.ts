/** The continuous reconciliation: recent links, and events that nobody matched, compared with the upstream one by one at a bounded rate. */

import { type Loop, startLoop } from '../../proxy/loop.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import type { Link } from '../../proxy/sales/link.ts';
import type { Mismatch } from '../../proxy/sales/mismatch.ts';
import { adopt, findOrphan } from '../../proxy/sales/orphans.ts';
import type { InboxEvent } from '../../proxy/store.ts';
import { compare } from './compare.ts';
import { type Candidate, createRound, type Round } from './sweep-round.ts';

const SECOND_MS = 1_000;
/** The poll is a real timer, which a stop has to wait for. */
const LONGEST_PAUSE_MS = SECOND_MS;
/** With nothing to compare the store is asked again after so long. */
const REST_MS = 60_000;

/**
 * Walks the links changed within `sweep.age_ms`, oldest first. What only needs a read is repaired at once; everything
 * else is told in the log, in the counters, and once in the audit trail.
 * @param rests true while the service asked for fewer calls.
 */
export function startSweep(runtime: Runtime, rests: () => boolean): Loop {
  const { per_second } = runtime.settings.sweep;
  const round = createRound(runtime);
  let waiting: Candidate[] = [];
  let resume_at = 0;
  const take = async (): Promise<Candidate[]> => {
    const now = runtime.clock.now();
    // A clock that was set back must not silence it for longer than a rest.
    if (per_second === 0 || (now < resume_at && resume_at - now <= REST_MS)) return [];
    if (waiting.length === 0) waiting = await round.next();
    const candidate = waiting.shift();
    resume_at = now + (candidate === undefined ? REST_MS : SECOND_MS / per_second);
    return candidate === undefined ? [] : [candidate];
  };
  return startLoop({
    name: 'sweep',
    poll_ms: per_second === 0 ? REST_MS : Math.min(SECOND_MS / per_second, LONGEST_PAUSE_MS),
    concurrency: 1,
    rests,
    take,
    key: (candidate) => (candidate.kind === 'link' ? candidate.link.legacy_id : `event ${candidate.event.sequence}`),
    handle: (candidate) =>
      candidate.kind === 'link' ? lookAtLink(runtime, candidate.link) : lookAtEvent(runtime, candidate.event, round),
    log: runtime.log,
  });
}

async function lookAtLink(runtime: Runtime, link: Link): Promise<void> {
  const compared = await compare(runtime, link, true);
  if (compared === null || compared === 'unread' || compared.repaired) return;
  await report(runtime, compared.mismatch);
}

async function lookAtEvent(runtime: Runtime, event: InboxEvent, round: Round): Promise<void> {
  const orphan = await findOrphan(runtime, event);
  if (orphan === 'unread') round.leave(event);
  if (orphan === null || orphan === 'unread') return;
  await report(runtime, orphan);
  await adopt(runtime, orphan);
}

/** Told once for each kind and sale, however often the sweep comes by. */
async function report(runtime: Runtime, mismatch: Mismatch): Promise<void> {
  const { kind, legacy_id, merchant_id, order_id, what, unit } = mismatch;
  const subject = legacy_id ?? order_id ?? merchant_id;
  const told = await runtime.store.auditsOf({ subject, action: `mismatch ${kind}` }, 1);
  if (told.length > 0) return;
  runtime.log.error(`reconciliation: ${what}`, { merchant: merchant_id, legacy_id: legacy_id ?? '', action: kind });
  await runtime.store.appendAudit({
    at: runtime.clock.now(),
    who: 'puente',
    action: `mismatch ${kind}`,
    subject,
    reason: what,
    detail: { merchant: merchant_id, unit, order_id },
  });
}
