/** Links: every change of one after its opening, and the ways to find it. */

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { PuenteError } from '../error.ts';
import { RANDOM_BYTES, takeRandom, uuidV7 } from '../proxy/ids.ts';
import type { NewNotice } from '../proxy/records/notices.ts';
import type { Link } from '../proxy/sales/link.ts';
import {
  type HandOut,
  noticesLock,
  type Reader,
  type Step,
  type StoreMethods,
  type Value,
  type Writer,
} from './engine.ts';
import { exactBytes, jsonOf, type LinkRow, linkOf, oneOf, valuesIn } from './rows.ts';
import { FINAL, LINK, LINK_CHANGE, LIVE, OVER, RETRIABLE } from './writes.ts';

export function linkMethods(reader: Reader, writer: Writer, now: () => number) {
  const reads = prepareReads(reader);
  return {
    async saveLink(link, change, extra = {}) {
      const next: Link = { ...link, updated_at: now(), ...change, revision: link.revision + 1 };
      const { notices = [] } = extra;
      const steps: Step[] = [
        { write: 'update_link', values: valuesOfChange(next, link), changes: 1 },
        ...notices.flatMap(noticeSteps),
        ...(next.order_id !== link.order_id || extra.recall_events === true ? [unparking(next, now())] : []),
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
    link: async (legacy_id) => oneOf(await reads.byId.get(legacy_id)),
    liveLink: async (merchant_id, slot) => oneOf(await reads.holder.get(merchant_id, slot)),
    hasWork: async (merchant_id, { slot, unit }, since, answered_since) =>
      (await reads.work.get(merchant_id, slot, merchant_id, since, unit, slot, answered_since)) !== undefined,
    linkByOrder: async (order_id) => oneOf(await reads.byOrder.get(order_id)),
    linkByReference: async (merchant_id, reference) => oneOf(await reads.byReference.get(merchant_id, reference)),
    linkByPayment: async (payment_id) => oneOf(await reads.byPayment.get(payment_id)),
    liveSlots: async (merchant_id) => (await reads.liveSlots.all(merchant_id)).map(({ slot }) => slot),
    linkByMerchantOrder: async (id) => oneOf(await reads.byMerchantOrder.get(id)),
    linksByClientReference: async (merchant_id, reference, limit) =>
      (await reads.byClientReference.all(merchant_id, reference, limit)).map(linkOf),
    linksOf: async (merchant_id, from, to, limit) =>
      (await reads.ofMerchant.all(merchant_id, from, to, limit)).map(linkOf),
    finishedLinks: async (merchant_id, from, to, limit) =>
      (await reads.finished.all(merchant_id, from, to, limit)).map(linkOf),
    liveLinks: async (merchant_id, limit) =>
      (await (merchant_id === null ? reads.live.all(limit) : reads.liveOf.all(merchant_id, limit))).map(linkOf),
    linksChangedSince: async (since, after, limit) =>
      (await reads.changed.all(since, after?.updated_at ?? since, after?.legacy_id ?? '', limit)).map(linkOf),
    async linkHistory(legacy_id) {
      const known = await reads.past.all(legacy_id);
      // A link from before the history began has its present state only.
      return known.length > 0 ? known : (await reads.byId.all(legacy_id)).map(presentOf);
    },
  } satisfies Partial<StoreMethods>;
}

type Past = Awaited<ReturnType<StoreMethods['linkHistory']>>[number];

function presentOf(row: LinkRow): Past {
  const { updated_at: at, state, legacy_state, order } = linkOf(row);
  return { at, state, legacy_state, order_status: order?.status ?? null };
}

const OLDEST_FIRST = 'ORDER BY created_at, legacy_id LIMIT ?';

export const FINISHED_LINKS = `SELECT ${LINK} FROM links WHERE merchant_id = ? AND ${FINAL} AND legacy_state_at >= ?
  AND legacy_state_at < ? ORDER BY legacy_state_at DESC, created_at DESC LIMIT (SELECT ?)`;

function prepareReads(reader: Reader) {
  return {
    byId: reader.prepare<[string], LinkRow>(`SELECT ${LINK} FROM links WHERE legacy_id = ?`, 'lookup'),
    byOrder: reader.prepare<[string], LinkRow>(`SELECT ${LINK} FROM links WHERE order_id = ?`, 'lookup'),
    // Builds that looked before they wrote could write one twice; the live one is meant if there is one. (SELECT ?) keeps
    // SQLite from planning this query anew for every value, which costs ten times the lookup; so does a bound LIMIT.
    byReference: reader.prepare<[string, string], LinkRow>(
      `SELECT ${LINK} FROM links WHERE merchant_id = (SELECT ?) AND reference_sent = (SELECT cover(?)) ORDER BY ${LIVE} DESC, created_at DESC LIMIT 1`,
      'lookup',
    ),
    byPayment: reader.prepare<[string], LinkRow>(
      `SELECT ${LINK} FROM links WHERE payment_id = (SELECT ?) ORDER BY created_at DESC LIMIT 1`,
      'lookup',
    ),
    work: reader.prepare<[string, string | null, string, number, string, string | null, number], { legacy_id: string }>(
      `SELECT legacy_id FROM links WHERE merchant_id = (SELECT ?) AND slot = (SELECT ?) AND ${LIVE}
       UNION ALL SELECT legacy_id FROM links WHERE merchant_id = (SELECT ?) AND created_at >= (SELECT ?)
         AND unit = (SELECT ?) AND slot IS NOT DISTINCT FROM (SELECT ?) AND ${RETRIABLE}
         AND (acknowledged_at IS NULL OR client_key IS NOT NULL OR acknowledged_at >= (SELECT ?)) LIMIT 1`,
      'lookup',
    ),
    liveSlots: reader.prepare<[string], { slot: string }>(
      `SELECT slot FROM links WHERE merchant_id = ? AND slot IS NOT NULL AND ${LIVE}`,
    ),
    byMerchantOrder: reader.prepare<[number], LinkRow>(
      `SELECT ${LINK} FROM links WHERE merchant_order_id = ?`,
      'lookup',
    ),
    byClientReference: reader.prepare<[string, string, number], LinkRow>(
      `SELECT ${LINK} FROM links WHERE merchant_id = (SELECT ?) AND client_reference = (SELECT cover(?))
       ORDER BY created_at DESC, legacy_id DESC LIMIT (SELECT ?)`,
    ),
    ofMerchant: reader.prepare<[string, number, number, number], LinkRow>(
      `SELECT ${LINK} FROM links WHERE merchant_id = (SELECT ?) AND created_at >= (SELECT ?) AND created_at < (SELECT ?)
       ORDER BY created_at DESC, legacy_id DESC LIMIT (SELECT ?)`,
    ),
    finished: reader.prepare<[string, number, number, number], LinkRow>(FINISHED_LINKS),
    holder: reader.prepare<[string, string], LinkRow>(
      `SELECT ${LINK} FROM links WHERE merchant_id = ? AND slot = ? AND ${LIVE}`,
      'lookup',
    ),
    live: reader.prepare<[number], LinkRow>(`SELECT ${LINK} FROM links WHERE ${LIVE} ${OLDEST_FIRST}`),
    liveOf: reader.prepare<[string, number], LinkRow>(
      `SELECT ${LINK} FROM links WHERE merchant_id = ? AND ${LIVE} ${OLDEST_FIRST}`,
    ),
    changed: reader.prepare<[number, number, string, number], LinkRow>(
      `SELECT ${LINK} FROM links WHERE updated_at >= (SELECT ?) AND (updated_at, legacy_id) > ((SELECT ?), (SELECT ?))
       ORDER BY updated_at, legacy_id LIMIT (SELECT ?)`,
    ),
    past: reader.prepare<[string], Past>(
      'SELECT at, state, legacy_state, order_status FROM link_states WHERE legacy_id = ? ORDER BY revision',
    ),
  };
}

// Links that are due: creates in doubt hold their terminals and go first; half of the places are left to the others.

const IN_DOUBT = `state IN ('SENDING', 'IN_DOUBT')`;

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
      const room = limit - doubtful.length - others.length;
      const more = doubtful.length < half || room === 0 ? doubtful : await find('inDoubt', half + room);
      return [...more.slice(0, limit - others.length), ...others];
    },
  };
}

/** Makes events pending that arrived before the order was known. */
function unparking({ reference_sent, order_id }: Link, at: number): Step {
  return { write: 'unpark', values: [at, order_id, reference_sent] };
}

const changeValues = valuesIn(LINK_CHANGE);

/** The values of `update_link`; large columns travel only when they changed. */
function valuesOfChange(next: Link, link: Link): Value[] {
  const body = next.sealed_body === link.sealed_body ? [0, null] : [1, exactBytes(next.sealed_body)];
  const order = next.order === link.order ? [0, null] : [1, jsonOf(next.order)];
  return [...changeValues(next), ...body, ...order, link.legacy_id, link.revision];
}

/** A notice supersedes undelivered ones of the same topic and id. */
function noticeSteps(notice: NewNotice): Step[] {
  const { legacy_id, merchant_id, topic, form, subject, body, created_at, next_attempt_at } = notice;
  const id = uuidV7(created_at, takeRandom(RANDOM_BYTES));
  return [
    { write: 'supersede_notices', values: [legacy_id, form, topic, subject] },
    {
      write: 'insert_notice',
      values: [id, legacy_id, merchant_id, topic, form, subject, body, created_at, next_attempt_at, legacy_id],
      changes: 1,
    },
  ];
}

// Old links that need no more work, oldest first; those with a pending notice or an open refund are skipped once a round.

/** Read at once, between two event-loop ticks. */
const PAGE_ROWS = 200;

/** `coalesce` keeps the index of states away: it would read everything that is pending, for each link. */
export const OLD_LINKS = `SELECT legacy_id, updated_at,
  CASE WHEN EXISTS (SELECT 1 FROM notices WHERE notices.legacy_id = links.legacy_id AND coalesce(notices.state, '') = 'pending')
  OR EXISTS (SELECT 1 FROM refunds WHERE refunds.legacy_id = links.legacy_id AND refunds.state IN ('SENDING', 'IN_DOUBT'))
  THEN 1 ELSE 0 END AS is_held FROM links INDEXED BY links_by_change
  WHERE updated_at < (SELECT ?) AND (updated_at, legacy_id) > ((SELECT ?), (SELECT ?)) AND ${OVER} AND next_check_at IS NULL
  ORDER BY updated_at, legacy_id LIMIT ?`;

interface OldLink {
  legacy_id: string;
  updated_at: number;
  /** 1 when a notice is pending or a refund is open. */
  is_held: number;
}

const BEFORE_ALL = { updated_at: Number.MIN_SAFE_INTEGER, legacy_id: '' };

/**
 * Each call continues where the one before ended, and starts at the oldest again after the last. All sales of a merchant
 * without a notice URL are held: a round that began with them at every step would not end.
 * @returns a function that finds at most `limit` links to delete, fewer only at the end.
 */
export function oldLinks(reader: Reader): (before: number, limit: number) => Promise<string[]> {
  const page = reader.prepare<[number, number, string, number], OldLink>(OLD_LINKS);
  let place = BEFORE_ALL;
  return async (before, limit) => {
    const free: string[] = [];
    while (free.length < limit) {
      const wanted = Math.min(PAGE_ROWS, limit - free.length);
      const found = await page.all(before, place.updated_at, place.legacy_id, wanted);
      free.push(...found.filter(({ is_held }) => is_held === 0).map(({ legacy_id }) => legacy_id));
      const last = found.at(-1);
      place = last === undefined || found.length < wanted ? BEFORE_ALL : last;
      if (place === BEFORE_ALL) break;
      await yieldToEventLoop();
    }
    return free;
  };
}
