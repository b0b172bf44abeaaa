/** Is a refund a new one, one that was asked for before, or in the way of one? Pure (`reliability.md` §3.9, `legacy-qr.md` §3). */
import type { Refund } from './refund.ts';

export type Recognised =
  | { kind: 'new' }
  /** Asked for before: answered again when it is done, sent again with its own key when its outcome is not known. */
  | { kind: 'same'; refund: Refund }
  /** The client's key belongs to another request. */
  | { kind: 'key_reused'; refund: Refund }
  /** Another refund of the payment has no outcome yet, or nobody was told of it. */
  | { kind: 'in_progress'; refund: Refund };

/** How long a refund that nobody heard of waits for its till to repeat itself; a later equal one is a new one. */
const UNTOLD_FOR_MS = 15 * 60_000;
/** How long a client's key names the refund it was first sent with, as the vendor remembers its keys (`reliability.md` §3.1). */
const KEY_MEMORY_MS = 24 * 60 * 60_000;

/**
 * Two equal parts are two refunds, unless the client's key says otherwise, or the till has not shown that it knows the first: it was
 * not answered, or it was answered lately and may not have got that answer.
 * @param earlier refunds of the same payment, oldest first.
 * @param settled_id a refund whose outcome was found only now, on behalf of this call: nobody was told of it.
 * @param join_window_ms how long a refund whose till was answered may be repeated without a key.
 * @param ageOf how long ago a refund was asked for, ms.
 */
export function recognise(
  earlier: readonly Refund[],
  asked: Refund,
  settled_id: string | null,
  join_window_ms: number,
  ageOf: (refund: Refund) => number,
): Recognised {
  const held = earlier.filter((one) => one.state === 'DONE' || isOpen(one));
  const { client_key, fingerprint } = asked;
  if (client_key !== null) {
    const known = held.findLast((one) => one.client_key === client_key && (isOpen(one) || ageOf(one) < KEY_MEMORY_MS));
    if (known !== undefined) return { kind: known.fingerprint === fingerprint ? 'same' : 'key_reused', refund: known };
  }
  const isUntold = (one: Refund): boolean =>
    one.told_at === null && one.heard_at === null && ageOf(one) < UNTOLD_FOR_MS;
  const isUnheard = (one: Refund): boolean => {
    if (one.told_at === null || one.heard_at !== null || one.client_key !== null) return false;
    return ageOf(one) - (one.told_at - one.created_at) < join_window_ms;
  };
  const isAlike = (one: Refund): boolean => one.fingerprint === fingerprint;
  const untold =
    held.find((one) => isOpen(one)) ??
    held.filter((one) => isAlike(one) && (one.id === settled_id || isUntold(one))).toSorted(keylessFirst)[0] ??
    (client_key === null ? held.findLast((one) => isAlike(one) && isUnheard(one)) : undefined);
  // One with a new key asks for a new refund, as soon as none is under way.
  if (untold === undefined || (client_key !== null && !isOpen(untold))) return { kind: 'new' };
  // A till without keys repeats itself without one. Where the first had a key, to send a second one may give the money back
  // twice, and to tell the first one may hide a wish: neither is done, and the till can repeat the first with its key.
  const isRepeated = isAlike(untold) && client_key === null && untold.client_key === null;
  return { kind: isRepeated ? 'same' : 'in_progress', refund: untold };
}

function keylessFirst(one: Refund, other: Refund): number {
  return Number(one.client_key !== null) - Number(other.client_key !== null);
}

/** No outcome is known, so that no other refund of the payment may be sent. */
export function isOpen(refund: Refund): boolean {
  return refund.state === 'SENDING' || refund.state === 'IN_DOUBT';
}
