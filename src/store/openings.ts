/** Opens sales on orders and on legacy: a unit never has live work in both lanes. */
import { PuenteError } from '../error.ts';
import { ANY_POINT_OF_SALE, type LegacySale } from '../proxy/records/routing.ts';
import type { Link } from '../proxy/sales/link.ts';
import type { Met, Opening } from '../proxy/store.ts';
import {
  type Locks,
  merchantLock,
  type Reader,
  referenceLock,
  requestLock,
  type Step,
  type StoreMethods,
  slotLock,
  type Writer,
} from './engine.ts';
import { valuesOfSale } from './routing.ts';
import { type LinkRow, oneOf, valuesOfLink } from './rows.ts';
import { HOLDING, LINK, LIVE, NEWEST_RETRIABLE, SALE } from './writes.ts';

/**
 * Each lost race means that another sale of the unit was committed, or ended between the refusal and the read: five in a row
 * have been seen. More than this is a defect, not traffic, and costs a till so many commits.
 */
const OPENING_ATTEMPTS = 20;
/** Without a slot every equal sale that is opened makes the others read again, so a whole burst of them may have to. */
const UNSLOTTED_ATTEMPTS = 100;

/** The rule that one link holds a unit, as the engines name it. */
const UNIT_IS_HELD = /links\.merchant_id, links\.slot|links_live/;

export function openingMethods(
  reader: Reader,
  writer: Writer,
): Pick<StoreMethods, 'openLink' | 'openLegacySale' | 'heldByLegacy'> {
  const reads = prepareReads(reader);
  return {
    openLink: (link, decide, revision) => openLink(reads, writer, link, decide, revision),
    openLegacySale: (sale) => openLegacySale(reads, writer, sale),
    heldByLegacy: async (merchant_id, slot, now, which = 'any') => {
      const read = which === 'proven' ? reads.elsewhereProven : reads.elsewhere;
      return (await read.get(merchant_id, slot, anyOf(slot), now)) ?? null;
    },
  };
}

/**
 * Most units are free and most sales are no retry: the row is inserted under that assumption, guarded by the unique index of the
 * unit and by conditions: no sale of the other lane holds the unit, there is no equal sale to repeat, the merchant is unchanged
 * and the reference is unused. When the insert fails, the obstacle is read, and the decision is made again.
 */
async function openLink(
  reads: Reads,
  writer: Writer,
  link: Link,
  decide: (met: Met) => Opening,
  revision: number | undefined,
): ReturnType<StoreMethods['openLink']> {
  let cause = '';
  /** Null before anything was read. */
  let seen: InTheWay | null = null;
  const attempts = link.slot === null ? UNSLOTTED_ATTEMPTS : OPENING_ATTEMPTS;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const opening = decide(seen ?? NOTHING_MET);
    if (opening.kind !== 'open' && seen === null) {
      seen = await inTheWay(reads, link);
      continue;
    }
    if (opening.kind === 'join' || opening.kind === 'busy') return { opening, link: opening.link, elsewhere: null };
    if (opening.kind === 'unwanted') return { opening, link, elsewhere: null };
    if (seen?.is_used) return { opening: { kind: 'used' }, link, elsewhere: null };
    const steps = [insertLink(link, seen?.unheard ?? null, revision)];
    const result = await writer.commit({ steps, locks: locksOfLink(link) });
    if (result.kind === 'done') return { opening, link, elsewhere: null };
    cause = result.kind === 'constraint' ? result.text : result.kind;
    const before = seen?.unheard?.legacy_id ?? null;
    seen = await inTheWay(reads, link);
    if (revision !== undefined && seen.revision !== revision)
      return { opening: { kind: 'moved' }, link, elsewhere: null };
    // A sale that this one may repeat is decided on before anything else.
    if ((seen.unheard?.legacy_id ?? null) !== before) continue;
    // The other lane holds the slot; or held it, and then the opening is tried again.
    if (result.kind === 'conflict' && seen.elsewhere !== undefined) {
      return { opening: { kind: 'elsewhere' }, link, elsewhere: seen.elsewhere };
    }
    if (result.kind === 'constraint' && !UNIT_IS_HELD.test(cause)) break;
  }
  const message = `The link ${link.legacy_id} was not opened (${cause}): send the sale again as a new one.`;
  throw new PuenteError('conflict', message, { facts: { unit: link.unit } });
}

const NOTHING_MET: Met = { holder: null, unheard: null };

/** @throws PuenteError conflict when its id is known already. */
async function openLegacySale(reads: Reads, writer: Writer, sale: LegacySale): Promise<Link | null> {
  let cause = '';
  const [first, last] = sale.slot === ANY_POINT_OF_SALE ? ALL_QR : [sale.slot, sale.slot];
  const steps: Step[] = [
    { write: 'insert_legacy_sale', values: [...valuesOfSale(sale), sale.merchant_id, first, last], changes: 1 },
  ];
  for (let attempt = 0; attempt < OPENING_ATTEMPTS; attempt++) {
    const result = await writer.commit({ steps, locks: locksOfSale(sale) });
    if (result.kind === 'done') return null;
    cause = result.kind === 'constraint' ? result.text : result.kind;
    if (result.kind === 'constraint') break;
    // The link that held the slot may have ended by now: then the insert is tried again.
    const between = first === null || last === null ? undefined : reads.between.get(sale.merchant_id, first, last);
    const holder = oneOf(await between);
    if (holder !== null) return holder;
  }
  const message = `The sale ${sale.id} was not written down (${cause}): send it again as a new one.`;
  throw new PuenteError('conflict', message, { facts: { unit: sale.unit } });
}

function insertLink(link: Link, unheard: Link | null, revision = WHICHEVER): Step {
  const { merchant_id, slot, reference_sent } = link;
  const on_legacy = [merchant_id, slot, slot === null ? null : anyOf(slot), link.created_at];
  const retriable = [...requestOf(link), unheard?.legacy_id ?? null];
  const values = [
    ...valuesOfLink(link),
    ...on_legacy,
    ...retriable,
    revision,
    merchant_id,
    merchant_id,
    reference_sent,
  ];
  return { write: 'insert_link', values, changes: 1 };
}

/** Identifies equal requests: the values of `NEWEST_RETRIABLE`. */
function requestOf({ merchant_id, fingerprint, client_key }: Link): RequestValues {
  return [merchant_id, fingerprint, client_key, merchant_id, fingerprint, client_key];
}
type RequestValues = [string, string, string | null, string, string, string | null];

/** No other work is opened on the unit, in either lane, the reference is not taken, and the merchant does not change. */
function locksOfLink({ merchant_id, slot, fingerprint, reference_sent }: Link): Locks {
  const { alone, shared } =
    slot === null ? { alone: [], shared: [merchantLock(merchant_id)] } : locksOfSlot(merchant_id, slot);
  return {
    alone: [...alone, requestLock(merchant_id, fingerprint), referenceLock(merchant_id, reference_sent)],
    shared,
  };
}

function locksOfSale({ merchant_id, slot }: LegacySale): Locks {
  return slot === null ? { shared: [merchantLock(merchant_id)] } : locksOfSlot(merchant_id, slot);
}

/** `ANY_POINT_OF_SALE` excludes each point of sale, and these do not exclude each other. */
function locksOfSlot(merchant_id: string, slot: string): Required<Locks> {
  const any = anyOf(slot);
  const shared = [merchantLock(merchant_id), ...(any === slot ? [] : [slotLock(merchant_id, any)])];
  return { alone: [slotLock(merchant_id, slot)], shared };
}

/** Any revision. */
const WHICHEVER = -1;
/** From the first slot of QR to the first that is none. */
const ALL_QR = ['qr:', 'qr;'] as const;

/** `ANY_POINT_OF_SALE` for the slot of a point of sale; other slots themselves. */
function anyOf(slot: string): string {
  return slot.startsWith('qr:') ? ANY_POINT_OF_SALE : slot;
}

type Reads = ReturnType<typeof prepareReads>;

/** Obstacles to an insert. */
interface InTheWay extends Met {
  /** Of the merchant; null for one that is not stored. */
  revision: number | null;
  /** On legacy. */
  elsewhere: LegacySale | undefined;
  /** Another row has its reference. */
  is_used: boolean;
}

async function inTheWay(reads: Reads, link: Link): Promise<InTheWay> {
  const { merchant_id, slot, reference_sent, created_at } = link;
  const [merchant, holder, unheard, elsewhere, used] = await Promise.all([
    reads.revision.get(merchant_id),
    slot === null ? undefined : reads.holder.get(merchant_id, slot),
    reads.unheard.get(...requestOf(link)),
    slot === null ? undefined : reads.elsewhere.get(merchant_id, slot, anyOf(slot), created_at),
    reads.used.get(merchant_id, reference_sent),
  ]);
  return {
    revision: merchant?.revision ?? null,
    holder: oneOf(holder),
    unheard: oneOf(unheard),
    elsewhere,
    is_used: used !== undefined,
  };
}

function prepareReads(reader: Reader) {
  return {
    revision: reader.prepare<[string], { revision: number }>('SELECT revision FROM merchants WHERE id = ?', 'lookup'),
    holder: reader.prepare<[string, string], LinkRow>(
      `SELECT ${LINK} FROM links WHERE merchant_id = ? AND slot = ? AND ${LIVE}`,
      'lookup',
    ),
    used: reader.prepare<[string, string], { legacy_id: string }>(
      `SELECT legacy_id FROM links WHERE merchant_id = (SELECT ?) AND reference_sent = (SELECT cover(?)) LIMIT 1`,
      'lookup',
    ),
    unheard: reader.prepare<RequestValues, LinkRow>(
      `SELECT ${LINK} FROM links WHERE legacy_id = (${NEWEST_RETRIABLE})`,
    ),
    between: reader.prepare<[string, string, string], LinkRow>(
      `SELECT ${LINK} FROM links WHERE merchant_id = ? AND slot BETWEEN ? AND ? AND ${LIVE} LIMIT 1`,
    ),
    elsewhere: reader.prepare<[string, string, string, number], LegacySale>(newestHolding(''), 'lookup'),
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
