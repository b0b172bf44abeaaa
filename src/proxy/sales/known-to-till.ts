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
    const is_own = own?.at === link.acknowledged_at;
    if (!whole) return is_own ? takeBack(ports, link) : undefined;
    if (is_own && own.fate !== 'taken back') own.fate = 'delivered';
    else if (own !== undefined || isRecent(ports, link)) await acknowledgeAgain(ports, link);
  };
  return { ...answer, onClosed };
}

/** Another process that answered so recently may still take it back. */
function isRecent({ clock, settings }: Ports, { acknowledged_at }: Link): boolean {
  return acknowledged_at !== null && clock.now() - acknowledged_at < settings.create.deadline_ms;
}

/** A delivered answer whose acknowledgement was taken back with a lost one, or may be taken back by another process. */
function acknowledgeAgain(ports: Ports, link: Link): Promise<void> {
  const at = acknowledging(ports, link);
  ports.memory.sales.acknowledged.set(link.legacy_id, { at, fate: 'delivered' });
  noteAnswered(ports, link);
  return saveAcknowledged(ports, link, at, (found) => found === null || found === link.acknowledged_at);
}

/** An answer with the sale was lost, and none was delivered: its next equal create is a retry. @throws PuenteError store_failed. */
export async function takeBack(ports: Ports, link: Link): Promise<void> {
  const { acknowledged, answered } = ports.memory.sales;
  const own = acknowledged.get(link.legacy_id);
  if (own?.fate !== 'under way') return;
  own.fate = 'taken back';
  answered.delete(requestOf(link));
  await saveAcknowledged(ports, link, null, (found) => found === own.at);
}

/** Before each attempt to store what became of a sale's answers; later, the next equal create tries. */
const SAVE_PAUSES_MS = [0, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000];

/** Again and again while the store can't write, unless another answer with the sale has ended since. */
async function saveAcknowledged(
  ports: Ports,
  link: Link,
  acknowledged_at: number | null,
  isMeant: (found: number | null) => boolean,
): Promise<void> {
  const { legacy_id, merchant_id } = link;
  const { unsaved } = ports.memory.sales;
  const request = requestOf(link);
  const of_request = unsaved.get(request) ?? new Map<string, () => Promise<void>>();
  const save = (): Promise<void> =>
    storeNote(ports, merchant_id, async () => {
      if (of_request.get(legacy_id) !== save) return;
      const latest = await ports.store.links.link(legacy_id);
      // Nothing is left to say of an erased sale.
      if (latest !== null)
        await changeLink(ports, latest, (current) =>
          isMeant(current.acknowledged_at) ? { change: { acknowledged_at } } : null,
        );
      if (of_request.get(legacy_id) === save) of_request.delete(legacy_id);
    });
  of_request.set(legacy_id, save);
  unsaved.set(request, of_request);
  let cause: unknown = null;
  for (const pause_ms of SAVE_PAUSES_MS) {
    if (pause_ms > 0) await ports.clock.sleep(pause_ms);
    cause = await save().then(
      () => null,
      (error: unknown) => error,
    );
    if (cause === null) return;
  }
  throw cause;
}

/** Stores what became of the answers with equal sales, if that failed before. @throws PuenteError store_failed. */
export async function savedAnswers({ memory }: Ports, link: Link): Promise<void> {
  for (const save of memory.sales.unsaved.get(requestOf(link))?.values() ?? []) await save();
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
export function storeNote<Noted>({ memory }: Ports, merchant_id: string, note: () => Promise<Noted>): Promise<Noted> {
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
