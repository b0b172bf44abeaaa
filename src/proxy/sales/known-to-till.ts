/** Records that a till knows its sale (`docs/protocol.md` §3.9), except by notices (`store/notices.ts`). */
import { PuenteError } from '../../error.ts';
import type { Ports } from '../ports.ts';
import type { Link } from './link.ts';
import { nodesOf } from './order-transition.ts';
import { changeLink } from './settle.ts';

/** Marks a sale as known to its till (`docs/protocol.md` §3.9); only in memory when the store can't write. */
export async function markKnown(ports: Ports, link: Link): Promise<Link> {
  if (link.known_by === 'till') return link;
  const marked = changeLink(ports, link, (current) =>
    current.known_by === 'till' ? null : { change: { known_by: 'till' } },
  );
  const written = await unlessUnwritten(ports, link.legacy_id, marked);
  if (written === null) ports.memory.sales.known.set(link.legacy_id, true);
  return written ?? link;
}

/** Notes a read by a number that only a notice contains: it counts as an acknowledgement of the notice of the end. */
export async function noteRead(ports: Ports, link: Link): Promise<void> {
  await Promise.all([markKnownByNotice(ports, link), markRefundsKnown(ports, link)]);
}

async function markKnownByNotice(ports: Ports, link: Link): Promise<void> {
  const marked = changeLink(ports, link, ({ known_by, acknowledged_at, state }) =>
    known_by === null && acknowledged_at !== null && state === 'DONE' ? { change: { known_by: 'notice' } } : null,
  );
  await unlessUnwritten(ports, link.legacy_id, marked);
}

/** The same for a search by the till's own reference, which it knows even if its create was not answered. */
export async function noteFound(ports: Ports, link: Link): Promise<void> {
  await Promise.all([markKnown(ports, link), markRefundsKnown(ports, link)]);
}

/** Once a till has read a refund, an equal one is a new refund (`docs/protocol.md` §3.9). */
async function markRefundsKnown(ports: Ports, { legacy_id, order }: Link): Promise<void> {
  const shows_refund = nodesOf(order).length > 0 || order?.transactions?.payments?.[0]?.refunded_amount !== undefined;
  if (shows_refund)
    await unlessUnwritten(ports, legacy_id, ports.store.refunds.markRefundsKnown(legacy_id, ports.clock.now()));
}

/** Null when the store can't write: the read is answered all the same. */
async function unlessUnwritten<Result>(
  { log }: Ports,
  legacy_id: string,
  written: Promise<Result>,
): Promise<Result | null> {
  try {
    return await written;
  } catch (error) {
    if (!(error instanceof PuenteError)) throw error;
    log.warn('a sale could not be marked as known to its till', { legacy_id, cause: error.message });
    return null;
  }
}
