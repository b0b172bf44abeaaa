/** Records which answers a till got, and that it knows its sale (`docs/protocol.md` §3.9), except by notices (`store/notices.ts`). */
import { PuenteError } from '../../error.ts';
import type { Answered } from '../http/answer.ts';
import type { Ports } from '../ports.ts';
import { type Link, requestOf } from './link.ts';
import { changeLink } from './settle.ts';

/**
 * The time of a 2xx that is about to be committed, epoch ms, unless the sale has been answered before. Remembered first:
 * a commit without proof may be durable.
 */
export function acknowledging({ clock, memory }: Ports, { legacy_id }: Link): number {
  const at = clock.now();
  memory.sales.acknowledged.set(legacy_id, { at, fate: 'under way' });
  return at;
}

/** For creates that were sent before this answer and wait (`answeredMeanwhile` in `create.ts`). */
export function noteAnswered({ memory }: Ports, link: Link): void {
  memory.sales.answered.set(requestOf(link), { legacy_id: link.legacy_id, at_ms: performance.now() });
}

/**
 * Adds to a 2xx of a create: the sale counts as answered (`acknowledged_at`) when any of its answers left whole, also
 * that of a retry which waited for the first or came to another process (`docs/protocol.md` §3.3, step 5).
 */
export function answerSale(ports: Ports, link: Link, answer: Answered): Answered {
  const onClosed = async (whole: boolean): Promise<void> => {
    const own = ports.memory.sales.acknowledged.get(link.legacy_id);
    if (!whole) return takeBack(ports, link);
    const is_kept = own !== undefined && own.fate !== 'taken back' && own.at === link.acknowledged_at;
    if (is_kept) own.fate = 'delivered';
    else if (own !== undefined || isRecent(ports, link)) await acknowledgeAgain(ports, link);
  };
  return { ...answer, onClosed };
}

/** Another process that answered so recently may still take it back. */
function isRecent({ clock, settings }: Ports, { acknowledged_at }: Link): boolean {
  return acknowledged_at !== null && clock.now() - acknowledged_at < settings.create.deadline_ms;
}

/** A delivered answer whose acknowledgement was taken back with a lost one, or may be taken back by another process. */
async function acknowledgeAgain(ports: Ports, link: Link): Promise<void> {
  const at = acknowledging(ports, link);
  ports.memory.sales.acknowledged.set(link.legacy_id, { at, fate: 'delivered' });
  noteAnswered(ports, link);
  await saveAcknowledged(ports, link, at, (found) => found === null || found === link.acknowledged_at);
}

/** Before each attempt to take an acknowledgement back, while the store can't write; the next equal create tries, too. */
const TAKE_BACK_PAUSES_MS = [0, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000];

/** An answer with the sale was lost, and none was delivered: its next equal create is a retry. @throws PuenteError store_failed. */
export async function takeBack(ports: Ports, link: Link): Promise<void> {
  const { acknowledged, answered, taken_back } = ports.memory.sales;
  const own = acknowledged.get(link.legacy_id);
  if (own?.fate !== 'under way') return;
  own.fate = 'taken back';
  const request = requestOf(link);
  answered.delete(request);
  const save = async (): Promise<void> => {
    await saveAcknowledged(ports, link, null, (found) => found === own.at);
    if (taken_back.get(request) === save) taken_back.delete(request);
  };
  taken_back.set(request, save);
  let cause: unknown = null;
  for (const pause_ms of TAKE_BACK_PAUSES_MS) {
    if (pause_ms > 0) await ports.clock.sleep(pause_ms);
    if (taken_back.get(request) !== save) return; // an equal create did it
    cause = await save().then(
      () => null,
      (error: unknown) => error,
    );
    if (cause === null) return;
  }
  throw cause;
}

function saveAcknowledged(
  ports: Ports,
  link: Link,
  acknowledged_at: number | null,
  isMeant: (found: number | null) => boolean,
): Promise<unknown> {
  return storeNote(ports, link.merchant_id, async () => {
    const latest = (await ports.store.links.link(link.legacy_id)) ?? link;
    await changeLink(ports, latest, (current) =>
      isMeant(current.acknowledged_at) ? { change: { acknowledged_at } } : null,
    );
  });
}

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
