/** Records that a till knows its sale (`docs/protocol.md` §3.9), except by notices (`store/notices.ts`). */
import { PuenteError } from '../../error.ts';
import type { Answered } from '../http/answer.ts';
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

/**
 * Adds to the answer of a read by a number that only a notice contains: once sent whole, it counts as an acknowledgement
 * of the notice of the end, and its refunds are known.
 */
export function noteRead(ports: Ports, link: Link, answer: Answered): Answered {
  if (!isNewsByNotice(link) && !showsRefund(link)) return answer;
  return onceSent(ports, link.merchant_id, answer, async (at) => {
    await Promise.all([markKnownByNotice(ports, link), markRefundsKnown(ports, link, at)]);
  });
}

/**
 * Adds to the answer of a search by the till's own reference, which it knows even if its create was not answered: once
 * sent whole, the sales in it are known.
 */
export function noteFound(ports: Ports, links: readonly Link[], answer: Answered): Answered {
  const news = links.filter((link) => link.known_by !== 'till' || showsRefund(link));
  if (news[0] === undefined) return answer;
  return onceSent(ports, news[0].merchant_id, answer, async (at) => {
    await Promise.all(news.map((link) => Promise.all([markKnown(ports, link), markRefundsKnown(ports, link, at)])));
  });
}

/** A till that lost the answer repeats its request as if it knew nothing: only a whole answer makes anything known. */
function onceSent(ports: Ports, merchant_id: string, answer: Answered, note: (at: number) => Promise<void>): Answered {
  const over = async (whole: boolean): Promise<void> => {
    const at = ports.clock.now();
    if (whole) await ports.memory.mutex.run(notesOf(merchant_id), () => note(at));
  };
  return { ...answer, over };
}

const notesOf = (merchant_id: string): string => `known:${merchant_id}`;

/** Resolves when what this process's answers have made known is stored: the next equal request is compared with it. */
export async function storedNotes({ memory }: Ports, merchant_id: string): Promise<void> {
  if (memory.mutex.busy(notesOf(merchant_id))) await memory.mutex.run(notesOf(merchant_id), async () => undefined);
}

function isNewsByNotice({ known_by, acknowledged_at, state }: Link): boolean {
  return known_by === null && acknowledged_at !== null && state === 'DONE';
}

async function markKnownByNotice(ports: Ports, link: Link): Promise<void> {
  const marked = changeLink(ports, link, (current) =>
    isNewsByNotice(current) ? { change: { known_by: 'notice' } } : null,
  );
  await unlessUnwritten(ports, link.legacy_id, marked);
}

function showsRefund({ order }: Link): boolean {
  return nodesOf(order).length > 0 || order?.transactions?.payments?.[0]?.refunded_amount !== undefined;
}

/** Once a till has read a refund, an equal one is a new refund (`docs/protocol.md` §3.9). @param at epoch ms. */
async function markRefundsKnown(ports: Ports, link: Link, at: number): Promise<void> {
  const { legacy_id } = link;
  if (showsRefund(link)) await unlessUnwritten(ports, legacy_id, ports.store.refunds.markRefundsKnown(legacy_id, at));
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
