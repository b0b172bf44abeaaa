/** What shows that a till knows its sale, so that an equal create is a new one (`reliability.md` §3.9); notices: `store/notices.ts`. */
import { PuenteError } from '../../error.ts';
import { nodesOf } from '../payments/refund-decisions.ts';
import type { Runtime } from '../runtime.ts';
import type { Link } from './link.ts';
import { changeLink } from './settle.ts';

/**
 * Writes that the till has shown that it knows a sale, so that an equal create is a new one from now on (`reliability.md` §3.9). Where
 * the store can't write, a read is answered all the same, and this process alone remembers it.
 * @returns the link as stored afterwards.
 */
export async function markHeard(runtime: Runtime, link: Link): Promise<Link> {
  if (link.heard_by === 'till') return link;
  const marked = changeLink(runtime, link, (current) =>
    current.heard_by === 'till' ? null : { change: { heard_by: 'till' } },
  );
  const written = await unlessUnwritten(runtime, link.legacy_id, marked);
  if (written === null) runtime.known.set(link.legacy_id, true);
  return written ?? link;
}

/**
 * The same for a read by the sale's own id. While the till was answered an error or nothing it can't know that id: who reads it then
 * is the receiver of a notice, or a person.
 */
export function markRead(runtime: Runtime, link: Link): Promise<Link> | Link {
  return link.acknowledged_at === null ? link : markHeard(runtime, link);
}

/**
 * A read of a sale's payment or merchant order by its number, and of the refunds that it shows. No answer to a create tells that number:
 * whoever reads has it from a notice, and shows as much as a receiver that acknowledges the notice of the end.
 */
export async function noteRead(runtime: Runtime, link: Link): Promise<void> {
  await Promise.all([hearNotice(runtime, link), hearRefunds(runtime, link)]);
}

async function hearNotice(runtime: Runtime, link: Link): Promise<void> {
  const marked = changeLink(runtime, link, ({ heard_by, acknowledged_at, state }) =>
    heard_by === null && acknowledged_at !== null && state === 'DONE' ? { change: { heard_by: 'notice' } } : null,
  );
  await unlessUnwritten(runtime, link.legacy_id, marked);
}

/** The same for a search by the till's own reference, which it knows whatever its create was answered. */
export async function noteFound(runtime: Runtime, link: Link): Promise<void> {
  await Promise.all([markHeard(runtime, link), hearRefunds(runtime, link)]);
}

/** An equal refund that comes after this one was read is a new one (`reliability.md` §3.9). */
async function hearRefunds(runtime: Runtime, { legacy_id, order }: Link): Promise<void> {
  const shows_refund = nodesOf(order).length > 0 || order?.transactions?.payments?.[0]?.refunded_amount !== undefined;
  if (shows_refund)
    await unlessUnwritten(runtime, legacy_id, runtime.store.hearRefunds(legacy_id, runtime.clock.now()));
}

/** A read is answered all the same where the store can't write; null then. */
async function unlessUnwritten<Result>(
  { log }: Runtime,
  legacy_id: string,
  written: Promise<Result>,
): Promise<Result | null> {
  try {
    return await written;
  } catch (error) {
    if (!(error instanceof PuenteError)) throw error;
    log.warn('it could not be written down that a till knows its sale', { legacy_id, cause: error.message });
    return null;
  }
}
