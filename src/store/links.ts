/** Links: opening (a unit never has live work in both lanes), changes, and the reads of calls and workers. */

import { PuenteError } from '../error.ts';
import { uuidV7 } from '../proxy/ids.ts';
import type { NewNotice } from '../proxy/records/notices.ts';
import { ANY_POINT_OF_SALE, type LegacySale } from '../proxy/records/routing.ts';
import type { Link } from '../proxy/sales/link.ts';
import type { Met, Opening } from '../proxy/store.ts';
import { HOLDING, LINK, LINK_WRITES, LIVE, NEWEST_RETRIABLE, namesIn, RETRIABLE, SALE } from './conditions.ts';
import type { HandOut, Locks, Reader, ReadKind, Step, StoreMethods, Value, Writer } from './engine.ts';
import { endOfEvent } from './notices.ts';
import {
  asItIs,
  exactBytes,
  jsonOf,
  type LinkRow,
  linkOf,
  merchantLock,
  noticesLock,
  readsOf,
  referenceLock,
  requestLock,
  slotLock,
  valuesIn,
  valuesOfLink,
} from './rows.ts';

/**
 * Each lost race is another sale of the unit that was committed, or ended between the refusal and the read: five in a
 * row have been seen. More than this are a defect, not traffic; each costs the till a commit.
 */
const OPENING_ATTEMPTS = 20;
/** Without a slot every equal sale that is opened makes the others read again: a burst of them needs more attempts. */
const UNSLOTTED_ATTEMPTS = 100;

/** The rule that one link holds a unit, as the errors of the engines name it. */
const UNIT_IS_HELD = /links\.merchant_id, links\.slot|links_live/;
/** The rule that one sale has a merchant order's number, likewise: two processes make the same one in a millisecond. */
const NUMBER_IS_TAKEN = /links\.merchant_order_id|links_by_merchant_order/;

/**
 * Each opening is one transaction, whose conditions keep a terminal or QR from having live sales in both lanes
 * (`docs/protocol.md` §3.10). @throws PuenteError conflict after too many lost races, or when the id exists.
 */
export function openingMethods(
  reader: Reader,
  writer: Writer,
): Pick<StoreMethods, 'openLink' | 'openLegacySale' | 'heldByLegacy'> {
  const reads = prepareOpeningReads(reader);
  return {
    openLink: (link, decide, revision) => openLink(reads, writer, link, decide, revision),
    openLegacySale: (sale) => openLegacySale(reads, writer, sale),
    heldByLegacy: async (merchant_id, slot, now, which = 'any') => {
      const read = which === 'proven' ? reads.elsewhereProven : reads.elsewhere;
      return read(merchant_id, slot, anyOf(slot), now);
    },
  };
}

/**
 * Most units are free and most sales are no retry, so the insert assumes both, guarded by the unique index of the unit
 * and by conditions: other lane, equal sale, merchant's revision, reference. When it fails, the obstacle is read and
 * `decide` runs again.
 */
async function openLink(
  reads: OpeningReads,
  writer: Writer,
  requested: Link,
  decide: (met: Met) => Opening,
  revision: number | undefined,
): ReturnType<StoreMethods['openLink']> {
  let link = requested;
  let cause = '';
  let met: InTheWay | null = null;
  const attempts = link.slot === null ? UNSLOTTED_ATTEMPTS : OPENING_ATTEMPTS;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const opening = decide(met ?? NOTHING_MET);
    if (opening.kind !== 'open' && met === null) {
      met = await inTheWay(reads, link);
      continue;
    }
    if (opening.kind === 'join' || opening.kind === 'busy') return { opening, link: opening.link, elsewhere: null };
    if (opening.kind === 'unwanted') return { opening, link, elsewhere: null };
    if (met?.is_used) return { opening: { kind: 'used' }, link, elsewhere: null };
    const steps = [insertLink(link, met?.retriable ?? null, revision)];
    const result = await writer.commit({ steps, locks: locksOfLink(link) });
    if (result.kind === 'done') return { opening, link, elsewhere: null };
    cause = result.kind === 'constraint' ? result.text : result.kind;
    if (NUMBER_IS_TAKEN.test(cause)) {
      link = { ...link, merchant_order_id: Number(link.merchant_order_id) + 1 };
      continue;
    }
    const before = met?.retriable?.legacy_id ?? null;
    met = await inTheWay(reads, link);
    if (revision !== undefined && met.revision !== revision)
      return { opening: { kind: 'moved' }, link, elsewhere: null };
    // A sale that this create may repeat is decided on first.
    if ((met.retriable?.legacy_id ?? null) !== before) continue;
    // The other lane holds the slot; or held it, and then the opening is tried again.
    if (result.kind === 'conflict' && met.elsewhere !== null) {
      return { opening: { kind: 'elsewhere' }, link, elsewhere: met.elsewhere };
    }
    if (result.kind === 'constraint' && !UNIT_IS_HELD.test(cause)) break;
  }
  const message = `The link ${link.legacy_id} was not opened (${cause}): send the sale again as a new one.`;
  throw new PuenteError('conflict', message, { facts: { unit: link.unit } });
}

const valuesOfSale = valuesIn(SALE);

const NOTHING_MET: Met = { holder: null, retriable: null };

/** @throws PuenteError conflict when its id exists, or after OPENING_ATTEMPTS lost races. */
async function openLegacySale(reads: OpeningReads, writer: Writer, sale: LegacySale): Promise<Link | null> {
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
    // The link that held the slot may have ended: then the insert is tried again.
    const holder = first === null || last === null ? null : await reads.between(sale.merchant_id, first, last);
    if (holder !== null) return holder;
  }
  const message = `The sale ${sale.id} was not written down (${cause}): send it again as a new one.`;
  throw new PuenteError('conflict', message, { facts: { unit: sale.unit } });
}

function insertLink(link: Link, retriable: Link | null, revision = WHICHEVER): Step {
  const { merchant_id, slot, reference_sent } = link;
  const on_legacy = [merchant_id, slot, slot === null ? null : anyOf(slot), link.created_at];
  const request = [...requestOf(link), retriable?.legacy_id ?? null];
  const values = [...valuesOfLink(link), ...on_legacy, ...request, revision, merchant_id, merchant_id, reference_sent];
  return { write: 'insert_link', values, changes: 1 };
}

/** The values of `NEWEST_RETRIABLE`, which identify equal requests. */
function requestOf({ merchant_id, fingerprint, client_key }: Link): RequestValues {
  return [merchant_id, fingerprint, client_key, merchant_id, fingerprint, client_key];
}
type RequestValues = [string, string, string | null, string, string, string | null];

/** These locks keep other work off the unit in both lanes, the reference unused and the merchant unchanged. */
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

/** `ANY_POINT_OF_SALE` excludes each point of sale; points of sale do not exclude each other. */
function locksOfSlot(merchant_id: string, slot: string): Required<Locks> {
  const any = anyOf(slot);
  const shared = [merchantLock(merchant_id), ...(any === slot ? [] : [slotLock(merchant_id, any)])];
  return { alone: [slotLock(merchant_id, slot)], shared };
}

const WHICHEVER = -1;
/** The range of all QR slots. */
const ALL_QR = ['qr:', 'qr;'] as const;

/** `ANY_POINT_OF_SALE` for the slot of a point of sale; other slots unchanged. */
function anyOf(slot: string): string {
  return slot.startsWith('qr:') ? ANY_POINT_OF_SALE : slot;
}

type OpeningReads = ReturnType<typeof prepareOpeningReads>;

type InTheWay = Awaited<ReturnType<typeof inTheWay>>;

async function inTheWay(reads: OpeningReads, link: Link) {
  const { merchant_id, slot, reference_sent, created_at } = link;
  const [revision, holder, retriable, elsewhere, used] = await Promise.all([
    reads.revision(merchant_id),
    slot === null ? null : reads.liveLink(merchant_id, slot),
    reads.retriable(...requestOf(link)),
    slot === null ? null : reads.elsewhere(merchant_id, slot, anyOf(slot), created_at),
    reads.used(merchant_id, reference_sent),
  ]);
  return { revision, holder, retriable, elsewhere, is_used: used !== null };
}

function prepareOpeningReads(reader: Reader) {
  const { one } = readsOf(reader);
  const { link } = linkReads(reader);
  return {
    /** Null for a merchant that is not stored. */
    revision: one<[string], { revision: number }, number>(
      'SELECT revision FROM merchants WHERE id = ?',
      ({ revision }) => revision,
      'lookup',
    ),
    liveLink: link<[string, string]>(HOLDER),
    used: link<[string, string]>(`merchant_id = (SELECT ?) AND reference_sent = (SELECT cover(?)) LIMIT 1`),
    retriable: link<RequestValues>(`legacy_id = (${NEWEST_RETRIABLE})`, 'search'),
    between: link<[string, string, string]>(`merchant_id = ? AND slot BETWEEN ? AND ? AND ${LIVE} LIMIT 1`, 'search'),
    /** The sale on legacy that holds the slot. */
    elsewhere: one<SlotValues, LegacySale, LegacySale>(newestHolding(''), asItIs, 'lookup'),
    elsewhereProven: one<SlotValues, LegacySale, LegacySale>(
      newestHolding(`AND (unproven_token IS NULL OR EXISTS (SELECT 1 FROM tokens
        WHERE fingerprint = unproven_token AND tokens.merchant_id = legacy_sales.merchant_id))`),
    ),
  };
}

const HOLDER = `merchant_id = ? AND slot = ? AND ${LIVE}`;
/** Merchant, slot, the slot that also covers it, and epoch ms. */
type SlotValues = [string, string, string, number];

function newestHolding(which: string): string {
  return `SELECT ${SALE} FROM legacy_sales WHERE merchant_id = (SELECT ?) AND slot IN ((SELECT ?), (SELECT ?))
    AND ${HOLDING} AND ends_at > (SELECT ?) ${which} ORDER BY sequence DESC LIMIT 1`;
}

// Changes of a link after its opening, and how calls find it.

/** A sale that its till may repeat; the value is the epoch ms since when one answered without a client key counts. */
const REPEATED = `${RETRIABLE} AND (acknowledged_at IS NULL OR client_key IS NOT NULL OR acknowledged_at >= (SELECT ?))`;

/**
 * `saveLink` returns the link with its new revision. @throws PuenteError conflict when the stored revision is another,
 * or a rule of the schema refuses the change.
 */
export function linkMethods(reader: Reader, writer: Writer, now: () => number) {
  const { link } = linkReads(reader);
  const work = reader.prepare<[string, string | null, string, number, string, string | null, number], unknown>(
    `SELECT legacy_id FROM links WHERE merchant_id = (SELECT ?) AND slot = (SELECT ?) AND ${LIVE}
     UNION ALL SELECT legacy_id FROM links WHERE merchant_id = (SELECT ?) AND created_at >= (SELECT ?)
       AND unit = (SELECT ?) AND slot IS NOT DISTINCT FROM (SELECT ?) AND ${REPEATED} LIMIT 1`,
    'lookup',
  );
  const qr_work = reader.prepare<[string, string, number, number], unknown>(
    `SELECT legacy_id FROM links WHERE merchant_id = (SELECT ?) AND slot IS NOT NULL AND family = 'qr' AND ${LIVE}
     UNION ALL SELECT legacy_id FROM links WHERE merchant_id = (SELECT ?) AND created_at >= (SELECT ?)
       AND slot IS NOT NULL AND family = 'qr' AND ${REPEATED} LIMIT 1`,
    'lookup',
  );
  return {
    async saveLink(link, change, extra = {}) {
      const wanted: Link = { ...link, updated_at: now(), ...change, revision: link.revision + 1 };
      const write = narrowestWrite(wanted, link);
      const next = write === MARK ? { ...wanted, updated_at: link.updated_at } : wanted;
      const { notices = [] } = extra;
      const steps: Step[] = [
        stepOfChange(next, link, write),
        ...notices.flatMap(noticeSteps),
        ...(next.order_id !== link.order_id || extra.recall_events === true ? [unparking(next, now())] : []),
        ...(extra.event === undefined ? [] : endOfEvent(extra.event)),
      ];
      const result = await writer.commit({
        steps,
        ...(extra.audit === undefined ? {} : { audit: extra.audit }),
        ...(notices.length === 0 ? {} : { locks: { alone: [noticesLock(link.legacy_id)] } }),
      });
      if (result.kind === 'done') return next;
      const cause = result.kind === 'constraint' ? result.text : `its stored revision is not ${link.revision} any more`;
      throw new PuenteError('conflict', `The link ${link.legacy_id} was not changed: ${cause}. Read it again.`);
    },
    link: link(BY_ID),
    liveLink: link(HOLDER),
    hasWork: async (merchant_id, { slot, unit }, since, answered_since) =>
      (await work.get(merchant_id, slot, merchant_id, since, unit, slot, answered_since)) !== undefined,
    linkByOrder: link('order_id = ?'),
    // Earlier versions could store a reference twice: the live link goes first. Without (SELECT ?) SQLite plans this
    // query anew for every value, which costs ten times the lookup; a bound LIMIT does the same.
    linkByReference: link(
      `merchant_id = (SELECT ?) AND reference_sent = (SELECT cover(?)) ORDER BY ${LIVE} DESC, created_at DESC LIMIT 1`,
    ),
    linkByPayment: link('payment_id = (SELECT ?) ORDER BY created_at DESC LIMIT 1'),
    hasQrWork: async (merchant_id, since, answered_since) =>
      (await qr_work.get(merchant_id, merchant_id, since, answered_since)) !== undefined,
    linkByMerchantOrder: link('merchant_order_id = ?'),
  } satisfies Partial<StoreMethods>;
}

export const BY_ID = 'legacy_id = ?';

/** Reads of whole links by a condition in SQL: `link` for the first or null, `links` for all. */
export function linkReads(reader: Reader) {
  const { one, list } = readsOf(reader);
  return {
    link: <Values extends Value[]>(condition: string, kind: ReadKind = 'lookup') =>
      one<Values, LinkRow, Link>(`SELECT ${LINK} FROM links WHERE ${condition}`, linkOf, kind),
    links: <Values extends Value[]>(condition: string) =>
      list<Values, LinkRow, Link>(`SELECT ${LINK} FROM links WHERE ${condition}`, linkOf),
  };
}

// Due links: creates in doubt hold their terminals and go first; half of the places are left to the others.

const IN_DOUBT = `state IN ('SENDING', 'IN_DOUBT')`;

/** At most `limit` links whose `next_check_at` is at or before `at` (epoch ms), each for one store only. */
export function dueLinkMethods(handOut: HandOut): Pick<StoreMethods, 'dueLinks'> {
  const dueWhere = (index: string, which: string) =>
    handOut<[number, string], LinkRow>(
      'link',
      `SELECT ${LINK} FROM links INDEXED BY ${index} WHERE ${which} AND next_check_at IS NOT NULL
       AND next_check_at <= (SELECT ?) AND merchant_id NOT IN (SELECT value FROM json_each(?))`,
      'next_check_at',
    );
  const reads = { inDoubt: dueWhere('links_in_doubt', IN_DOUBT), others: dueWhere('links_due', `NOT (${IN_DOUBT})`) };
  return {
    async dueLinks(at, limit, except_merchants = []) {
      const except = JSON.stringify(except_merchants);
      const find = async (which: keyof typeof reads, most: number): Promise<Link[]> =>
        most <= 0 ? [] : (await reads[which](at, except, most)).map(linkOf);
      const half = Math.ceil(limit / 2);
      const doubtful = await find('inDoubt', half);
      const others = await find('others', limit - doubtful.length);
      const places = limit - doubtful.length - others.length;
      const more = doubtful.length < half || places === 0 ? doubtful : await find('inDoubt', half + places);
      return [...more.slice(0, limit - others.length), ...others];
    },
  };
}

/** Makes events pending that arrived before the order was known. */
function unparking({ reference_sent, order_id }: Link, at: number): Step {
  return { write: 'unpark', values: [at, order_id, reference_sent] };
}

type LinkWrite = typeof MARK | typeof UPDATE | typeof PLACE;

const MARK = linkWrite('mark_link', LINK_WRITES.mark_link);
const UPDATE = linkWrite('update_link', LINK_WRITES.update_link);
const PLACE = linkWrite('place_link', LINK_WRITES.place_link);

function linkWrite<Columns extends string>(write: keyof typeof LINK_WRITES, columns: Columns) {
  return { write, columns: namesIn(columns), values: valuesIn(columns) };
}

/** The write that sets no more columns than it must. */
function narrowestWrite(next: Link, link: Link): LinkWrite {
  const changed = [...PLACE.columns, 'order', 'sealed_body'].filter(
    (name) => name !== 'updated_at' && Reflect.get(next, name) !== Reflect.get(link, name),
  );
  if (changed.length > 0 && changed.every((name) => MARK.columns.includes(name))) return MARK;
  return changed.includes('order_id') || changed.includes('payment_id') ? PLACE : UPDATE;
}

/** A large column is included only when it changed. */
function stepOfChange(next: Link, link: Link, { write, values }: LinkWrite): Step {
  const body = next.sealed_body === link.sealed_body ? [0, null] : [1, exactBytes(next.sealed_body)];
  const order = next.order === link.order ? [0, null] : [1, jsonOf(next.order)];
  const large = write === MARK.write ? [] : [...body, ...order];
  return { write, values: [...values(next), ...large, link.legacy_id, link.revision], changes: 1 };
}

/** A notice supersedes undelivered ones of the same topic and id. */
function noticeSteps(notice: NewNotice): Step[] {
  const { legacy_id, merchant_id, topic, form, subject, body, created_at, next_attempt_at } = notice;
  const id = uuidV7(created_at);
  return [
    { write: 'supersede_notices', values: [legacy_id, form, topic, subject] },
    {
      write: 'insert_notice',
      values: [id, legacy_id, merchant_id, topic, form, subject, body, created_at, next_attempt_at, legacy_id],
      changes: 1,
    },
  ];
}
