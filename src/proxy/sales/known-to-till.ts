/** Records that a till knows its sale (`docs/protocol.md` §3.9), except by notices (`store/notices.ts`). */
import { PuenteError } from '../../error.ts';
import type { Answered } from '../http/answer.ts';
import type { Ports } from '../ports.ts';
import type { Link } from './link.ts';
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

/** A sale in an answer. `refunded_minor`: what the answer shows of its refunds, minor units, failed ones included. */
interface Shown {
  link: Link;
  refunded_minor: number;
}

/**
 * Adds to the answer of a read by a number that only a notice contains: once sent whole, it counts as an acknowledged
 * notice of the end, and the refunds in it are known.
 */
export function noteRead(ports: Ports, shown: Shown, answer: Answered): Answered {
  const { link, refunded_minor } = shown;
  if (!isNewsByNotice(link) && refunded_minor === 0) return answer;
  return onceSent(ports, link.merchant_id, answer, async (at) => {
    await Promise.all([markKnownByNotice(ports, link), markRefundsKnown(ports, shown, at)]);
  });
}

/**
 * Adds to the answer of a search by the till's own reference, which it knows even if its create was not answered: once
 * sent whole, the sales in it and their refunds are known.
 */
export function noteFound(ports: Ports, shown: readonly Shown[], answer: Answered): Answered {
  const news = shown.filter(({ link, refunded_minor }) => link.known_by !== 'till' || refunded_minor > 0);
  if (news[0] === undefined) return answer;
  return onceSent(ports, news[0].link.merchant_id, answer, async (at) => {
    await Promise.all(news.flatMap((one) => [markKnown(ports, one.link), markRefundsKnown(ports, one, at)]));
  });
}

/** A till that lost the answer repeats its request as if it knew nothing: only a whole answer makes anything known. */
function onceSent(ports: Ports, merchant_id: string, answer: Answered, note: (at: number) => Promise<void>): Answered {
  const onClosed = async (whole: boolean): Promise<void> => {
    const at = ports.clock.now();
    if (whole) await storeNote(ports, merchant_id, () => note(at));
  };
  return { ...answer, onClosed };
}

/** Stores what an answer has made known, so that `storedNotes` waits for it. */
export function storeNote({ memory }: Ports, merchant_id: string, note: () => Promise<unknown>): Promise<unknown> {
  return memory.mutex.run(notesOf(merchant_id), note);
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

/**
 * Once a till has read a refund, an equal one is a new refund (`docs/protocol.md` §3.9). A refund that the answer does
 * not show may be repeated: it was made meanwhile, or upstream's answer lagged. @param at epoch ms.
 */
async function markRefundsKnown(ports: Ports, { link, refunded_minor }: Shown, at: number): Promise<void> {
  if (refunded_minor === 0) return;
  const marked = ports.store.refunds.markRefundsKnown(link.legacy_id, at, refunded_minor);
  await unlessUnwritten(ports, link.legacy_id, marked);
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
