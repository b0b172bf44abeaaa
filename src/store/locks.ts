/** What changes one after the other where several processes write: the names that units take their locks by. */

/** A merchant's revision: whoever opens a sale shares it, whoever changes the merchant has it alone. */
export function merchantLock(merchant_id: string): string {
  return `merchant ${merchant_id}`;
}

/** A unit's work in both lanes. */
export function slotLock(merchant_id: string, slot: string): string {
  return `slot ${merchant_id} ${slot}`;
}

/** Equal sales without a unit. */
export function requestLock(merchant_id: string, fingerprint: string): string {
  return `request ${merchant_id} ${fingerprint}`;
}

/** What goes upstream once for each merchant. */
export function referenceLock(merchant_id: string, reference: string): string {
  return `reference ${merchant_id} ${reference}`;
}

/** The order of a link's notices. */
export function noticesLock(legacy_id: string): string {
  return `notices ${legacy_id}`;
}

/** A row that is changed by its id alone. */
export function rowLock(id: string): string {
  return `row ${id}`;
}

/** Exchanges: their sequences then rise in the order in which they can be read, and sums meet in no two orders. */
export const EXCHANGES_LOCK = 'exchanges';
