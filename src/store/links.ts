/** Links: every change of one after its opening, and the ways to find it. */

import { PuenteError } from '../error.ts';
import { RANDOM_BYTES, takeRandom, uuidV7 } from '../proxy/random-ids.ts';
import type { NewNotice } from '../proxy/records/notices.ts';
import type { Link } from '../proxy/sales/link.ts';
import type { Store } from '../proxy/store.ts';
import { FINAL, LINK, LIVE, RETRIABLE } from './columns.ts';
import type { Reader, Writer } from './engine.ts';
import { noticesLock } from './locks.ts';
import { exactBytes, jsonOf, type LinkRow, linkOf, oneOf } from './rows.ts';
import type { Step, Value } from './unit.ts';

type LinkMethods = Pick<
  Store,
  | 'saveLink'
  | 'link'
  | 'liveLink'
  | 'hasWork'
  | 'linkByOrder'
  | 'linkByReference'
  | 'linkByPayment'
  | 'liveSlots'
  | 'linkByMerchantOrder'
  | 'linksByClientReference'
  | 'linksOf'
  | 'finishedLinks'
>;

export function linkMethods(reader: Reader, writer: Writer, now: () => number): LinkMethods {
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
  };
}

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
  };
}

/** Events that came before the order was known have waited for this commit. */
function unparking({ reference_sent, order_id }: Link, at: number): Step {
  return { write: 'unpark', values: [at, order_id, reference_sent] };
}

/** The values of `update_link`; large columns travel only when they changed. */
function valuesOfChange(next: Link, link: Link): Value[] {
  const bodyChanged = next.sealed_body !== link.sealed_body;
  const orderChanged = next.order !== link.order;
  return [
    next.state,
    next.attempts,
    next.first_sent_at,
    next.client_answer,
    next.order_id,
    next.order_version,
    next.payment_id,
    next.legacy_state,
    next.legacy_state_at,
    next.cancel,
    next.acknowledged_at,
    next.heard_by,
    next.expires_at,
    next.next_check_at,
    next.updated_at,
    bodyChanged ? 1 : 0,
    bodyChanged ? exactBytes(next.sealed_body) : null,
    orderChanged ? 1 : 0,
    orderChanged ? jsonOf(next.order) : null,
    link.legacy_id,
    link.revision,
  ];
}

/** A notice takes the place of undelivered ones of the same topic and id. */
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
