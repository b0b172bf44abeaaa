/** The openings of sales in SQLite, on orders and on legacy: a unit never has live work in both lanes. */
import type { Link } from '../../core/link.ts';
import { ANY_POINT_OF_SALE, type LegacySale } from '../../core/records/routing.ts';
import type { Opening, Store } from '../../core/store.ts';
import { PuenteError } from '../../error.ts';
import { SALE, valuesOfSale } from './legacy-sales.ts';
import type { WriteQueue } from './queue.ts';
import type { Reader } from './reader.ts';
import { LIVE, type LinkRow, oneOf, valuesOfLink } from './rows.ts';
import type { Step } from './unit.ts';
import { HOLDING } from './writes-routing.ts';

/** Each lost race means that another create of the unit was committed; more in a row is a fault, not traffic. */
const OPENING_ATTEMPTS = 5;
/** Without a slot every equal sale that is opened makes the others look again, so a whole burst of them may have to. */
const UNSLOTTED_ATTEMPTS = 100;

export function openingMethods(
  reader: Reader,
  queue: WriteQueue,
): Pick<Store, 'openLink' | 'openLegacySale' | 'heldByLegacy'> {
  const reads = prepareReads(reader);
  return {
    openLink: (link, decide, revision) => openLink(reads, queue, link, decide, revision),
    openLegacySale: (sale) => openLegacySale(reads, queue, sale),
    heldByLegacy: async (merchant_id, slot, now, which = 'any') => {
      const read = which === 'proven' ? reads.elsewhereProven : reads.elsewhere;
      return read.get(merchant_id, slot, anyOf(slot), now) ?? null;
    },
  };
}

/**
 * Reads the holder, decides, and writes under the unique index of the unit, and only while no sale of the other lane holds
 * it. Nothing is awaited between the read and the place in the writer's queue, so whatever was committed unseen makes the
 * insert fail, and the decision is made again.
 */
async function openLink(
  reads: Reads,
  queue: WriteQueue,
  link: Link,
  decide: (holder: Link | null) => Opening,
  revision: number | null | undefined,
): ReturnType<Store['openLink']> {
  let cause = '';
  const { slot, merchant_id } = link;
  const attempts = slot === null ? UNSLOTTED_ATTEMPTS : OPENING_ATTEMPTS;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const holder = holderOf(reads, link);
    const opening = decide(holder);
    if (opening.kind !== 'open' && holder !== null) return { opening, link: holder, elsewhere: null };
    const result = await queue.commit({ steps: [insertLink(link, holder, revision)] });
    if (result.kind === 'done') return { opening, link, elsewhere: null };
    if (revision !== undefined && (reads.revision.get(merchant_id)?.revision ?? null) !== revision)
      return { opening: { kind: 'moved' }, link, elsewhere: null };
    cause = result.kind === 'constraint' ? result.text : result.kind;
    // With a slot, no row was written because the other lane holds it; or held it, and then the opening is tried again.
    const elsewhere = slot === null ? undefined : reads.elsewhere.get(merchant_id, slot, anyOf(slot), link.created_at);
    if (result.kind === 'conflict' && elsewhere !== undefined) {
      return { opening: { kind: 'elsewhere' }, link, elsewhere };
    }
    if (result.kind === 'constraint' && !cause.includes('links.merchant_id, links.slot')) break;
  }
  const message = `The link ${link.legacy_id} was not opened (${cause}): send the sale again as a new one.`;
  throw new PuenteError('conflict', message, { facts: { unit: link.unit } });
}

/** @throws PuenteError conflict when its id is known already. */
async function openLegacySale(reads: Reads, queue: WriteQueue, sale: LegacySale): Promise<Link | null> {
  let cause = '';
  for (let attempt = 0; attempt < OPENING_ATTEMPTS; attempt++) {
    const [first, last] = sale.slot === ANY_POINT_OF_SALE ? ALL_QR : [sale.slot, sale.slot];
    const values = [...valuesOfSale(sale), sale.merchant_id, first, last];
    const result = await queue.commit({ steps: [{ write: 'insert_legacy_sale', values, changes: 1 }] });
    if (result.kind === 'done') return null;
    cause = result.kind === 'constraint' ? result.text : result.kind;
    if (result.kind === 'constraint') break;
    // The link that was in the way may be over by now: then the slot is asked for again.
    const holder = first === null || last === null ? null : oneOf(reads.between.get(sale.merchant_id, first, last));
    if (holder !== null) return holder;
  }
  const message = `The sale ${sale.id} was not written down (${cause}): send it again as a new one.`;
  throw new PuenteError('conflict', message, { facts: { unit: sale.unit } });
}

function insertLink(link: Link, seen: Link | null, revision: number | null | undefined): Step {
  const values = valuesOfLink(link);
  const still_there = [revision === undefined ? WHICHEVER : (revision ?? 0), link.merchant_id];
  if (link.slot !== null) {
    const guard = [link.merchant_id, link.slot, anyOf(link.slot), link.created_at];
    return { write: 'insert_link', values: [...values, ...guard, ...still_there], changes: 1 };
  }
  const key = link.client_key;
  const guard = [link.merchant_id, link.fingerprint, key, key, key, seen?.legacy_id ?? null];
  return { write: 'insert_unslotted_link', values: [...values, ...guard, ...still_there], changes: 1 };
}

/** No revision at all. */
const WHICHEVER = -1;
/** From the first slot of QR to the first that is none. */
const ALL_QR = ['qr:', 'qr;'] as const;

/** The slot that stands for a slot too; itself where none does. */
function anyOf(slot: string): string {
  return slot.startsWith('qr:') ? ANY_POINT_OF_SALE : slot;
}

type Reads = ReturnType<typeof prepareReads>;

function holderOf(reads: Reads, link: Link): Link | null {
  const { merchant_id, slot, fingerprint, client_key } = link;
  if (slot !== null) return oneOf(reads.holder.get(merchant_id, slot));
  return oneOf(reads.sameRequest.get(merchant_id, fingerprint, client_key, client_key, client_key));
}

function prepareReads(reader: Reader) {
  return {
    revision: reader.prepare<[string], { revision: number }>('SELECT revision FROM merchants WHERE id = ?'),
    holder: reader.prepare<[string, string], LinkRow>(
      `SELECT * FROM links WHERE merchant_id = ? AND slot = ? AND ${LIVE}`,
    ),
    sameRequest: reader.prepare<[string, string, string | null, string | null, string | null], LinkRow>(
      `SELECT * FROM links WHERE merchant_id = (SELECT ?) AND fingerprint = (SELECT ?) AND slot IS NULL AND ${LIVE}
         AND (client_key IS (SELECT ?) OR client_key IS NULL OR (SELECT ?) IS NULL)
       ORDER BY client_key IS (SELECT ?) DESC, created_at DESC, legacy_id DESC LIMIT 1`,
    ),
    between: reader.prepare<[string, string, string], LinkRow>(
      `SELECT * FROM links WHERE merchant_id = ? AND slot BETWEEN ? AND ? AND ${LIVE} LIMIT 1`,
    ),
    elsewhere: reader.prepare<[string, string, string, number], LegacySale>(newestHolding('')),
    elsewhereProven: reader.prepare<[string, string, string, number], LegacySale>(
      newestHolding(`AND (unproven_token IS NULL OR EXISTS (SELECT 1 FROM tokens
        WHERE fingerprint = unproven_token AND tokens.merchant_id = legacy_sales.merchant_id))`),
    ),
  };
}

function newestHolding(which: string): string {
  return `SELECT ${SALE} FROM legacy_sales WHERE merchant_id = (SELECT ?) AND slot IN ((SELECT ?), (SELECT ?))
    AND ${HOLDING} AND ends_at > (SELECT ?) ${which} ORDER BY sequence DESC LIMIT 1`;
}
