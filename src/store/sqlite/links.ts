/** Links in SQLite: the opening of a sale, every later change of it, and the ways to find it. */
import { randomBytes } from 'node:crypto';
import { uuidV7 } from '../../core/identifier.ts';
import type { Link } from '../../core/link.ts';
import type { NewNotice, Opening, Store } from '../../core/store.ts';
import { PuenteError } from '../../error.ts';
import type { WriteQueue } from './queue.ts';
import type { Reader } from './reader.ts';
import { exactBytes, jsonOf, type LinkRow, linkOf, valuesOfLink } from './rows.ts';
import type { Step, Value } from './unit.ts';

/** Each lost race means that another create of the unit was committed; more in a row is a fault, not traffic. */
const OPENING_ATTEMPTS = 5;
/** Without a slot every equal sale that is opened makes the others look again, so a whole burst of them may have to. */
const UNSLOTTED_ATTEMPTS = 100;
const LIVE = `state IN ('SENDING', 'IN_DOUBT', 'LIVE')`;
const FINAL = `legacy_state IN ('FINISHED', 'CONFIRMATION_REQUIRED', 'CANCELED', 'ERROR', 'ABANDONED')`;

type LinkMethods = Pick<
  Store,
  | 'openLink'
  | 'saveLink'
  | 'link'
  | 'liveLink'
  | 'linkByOrder'
  | 'linkByReference'
  | 'linkByPayment'
  | 'liveSlots'
  | 'linkByMerchantOrder'
  | 'linksByClientReference'
  | 'linksOf'
  | 'dueLinks'
  | 'finishedLinks'
>;

export function linkMethods(reader: Reader, queue: WriteQueue, now: () => number): LinkMethods {
  const reads = prepareReads(reader);
  return {
    openLink: (link, decide) => openLink(reads, queue, link, decide),
    async saveLink(link, change, extra = {}) {
      const next: Link = { ...link, updated_at: now(), ...change, revision: link.revision + 1 };
      const steps: Step[] = [
        { write: 'update_link', values: valuesOfChange(next, link), changes: 1 },
        ...(extra.notices ?? []).map((notice) => insertNotice(notice)),
        ...(link.order_id === null && next.order_id !== null
          ? unparking(next.order_id, next.reference_sent, now())
          : []),
      ];
      const result = await queue.commit(extra.audit === undefined ? { steps } : { steps, audit: extra.audit });
      if (result.kind === 'done') return next;
      const cause = result.kind === 'constraint' ? result.text : `its stored revision is not ${link.revision} any more`;
      throw new PuenteError('conflict', `The link ${link.legacy_id} was not changed: ${cause}. Read it again.`);
    },
    link: async (legacy_id) => oneOf(reads.byId.get(legacy_id)),
    liveLink: async (merchant_id, slot) => oneOf(reads.holder.get(merchant_id, slot)),
    linkByOrder: async (order_id) => oneOf(reads.byOrder.get(order_id)),
    linkByReference: async (merchant_id, reference) => oneOf(reads.byReference.get(merchant_id, reference)),
    linkByPayment: async (payment_id) => oneOf(reads.byPayment.get(payment_id)),
    liveSlots: async (merchant_id) => reads.liveSlots.all(merchant_id).map(({ slot }) => slot),
    linkByMerchantOrder: async (id) => oneOf(reads.byMerchantOrder.get(id)),
    linksByClientReference: async (merchant_id, reference, limit) =>
      reads.byClientReference.all(merchant_id, reference, limit).map(linkOf),
    linksOf: async (merchant_id, from, to, limit) => reads.ofMerchant.all(merchant_id, from, to, limit).map(linkOf),
    dueLinks: async (at, limit, except_merchants = []) =>
      reads.due.all(at, JSON.stringify(except_merchants), limit).map(linkOf),
    finishedLinks: async (merchant_id, from, to, limit) => reads.finished.all(merchant_id, from, to, limit).map(linkOf),
  };
}

/**
 * Reads the holder, decides, and writes under the unique index of the unit. Nothing is awaited between the read and the
 * place in the writer's queue, so whatever was committed unseen makes the insert fail, and the decision is made again.
 */
async function openLink(
  reads: ReturnType<typeof prepareReads>,
  queue: WriteQueue,
  link: Link,
  decide: (holder: Link | null) => Opening,
): Promise<{ opening: Opening; link: Link }> {
  let cause = '';
  const attempts = link.slot === null ? UNSLOTTED_ATTEMPTS : OPENING_ATTEMPTS;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const { slot, merchant_id, fingerprint } = link;
    const holder = oneOf(
      slot === null
        ? reads.sameRequest.get(merchant_id, fingerprint, link.client_key, link.client_key, link.client_key)
        : reads.holder.get(merchant_id, slot),
    );
    const opening = decide(holder);
    if (opening.kind !== 'open' && holder !== null) return { opening, link: holder };
    const result = await queue.commit({ steps: [insertLink(link, holder)] });
    if (result.kind === 'done') return { opening, link };
    cause = result.kind === 'constraint' ? result.text : result.kind;
    const lostRace = slot === null ? result.kind === 'conflict' : cause.includes('links.merchant_id, links.slot');
    if (!lostRace) break;
  }
  const message = `The link ${link.legacy_id} was not opened (${cause}): send the sale again as a new one.`;
  throw new PuenteError('conflict', message, { facts: { unit: link.unit } });
}

function insertLink(link: Link, seen: Link | null): Step {
  const values = valuesOfLink(link);
  if (link.slot !== null) return { write: 'insert_link', values, changes: 1 };
  const key = link.client_key;
  const guard = [link.merchant_id, link.fingerprint, key, key, key, seen?.legacy_id ?? null];
  return { write: 'insert_unslotted_link', values: [...values, ...guard], changes: 1 };
}

function prepareReads(reader: Reader) {
  return {
    byId: reader.prepare<[string], LinkRow>('SELECT * FROM links WHERE legacy_id = ?'),
    byOrder: reader.prepare<[string], LinkRow>('SELECT * FROM links WHERE order_id = ?'),
    // A reference can be used again once its link is over, so the live one is meant if there is one. (SELECT ?) keeps
    // SQLite from planning this query anew for every value, which costs ten times the lookup.
    byReference: reader.prepare<[string, string], LinkRow>(
      `SELECT * FROM links WHERE merchant_id = (SELECT ?) AND reference_sent = (SELECT ?) ORDER BY ${LIVE} DESC, created_at DESC LIMIT 1`,
    ),
    byPayment: reader.prepare<[string], LinkRow>(
      'SELECT * FROM links WHERE payment_id = (SELECT ?) ORDER BY created_at DESC LIMIT 1',
    ),
    liveSlots: reader.prepare<[string], { slot: string }>(
      `SELECT slot FROM links WHERE merchant_id = ? AND slot IS NOT NULL AND ${LIVE}`,
    ),
    byMerchantOrder: reader.prepare<[number], LinkRow>('SELECT * FROM links WHERE merchant_order_id = ?'),
    byClientReference: reader.prepare<[string, string, number], LinkRow>(
      `SELECT * FROM links WHERE merchant_id = (SELECT ?) AND client_reference = (SELECT ?)
       ORDER BY created_at DESC, legacy_id DESC LIMIT ?`,
    ),
    ofMerchant: reader.prepare<[string, number, number, number], LinkRow>(
      `SELECT * FROM links WHERE merchant_id = (SELECT ?) AND created_at >= (SELECT ?) AND created_at < (SELECT ?)
       ORDER BY created_at DESC, legacy_id DESC LIMIT ?`,
    ),
    sameRequest: reader.prepare<[string, string, string | null, string | null, string | null], LinkRow>(
      `SELECT * FROM links WHERE merchant_id = (SELECT ?) AND fingerprint = (SELECT ?) AND slot IS NULL AND ${LIVE}
         AND (client_key IS (SELECT ?) OR client_key IS NULL OR (SELECT ?) IS NULL)
       ORDER BY client_key IS (SELECT ?) DESC, created_at DESC, legacy_id DESC LIMIT 1`,
    ),
    due: reader.prepare<[number, string, number], LinkRow>(
      `SELECT * FROM links WHERE next_check_at <= ? AND merchant_id NOT IN (SELECT value FROM json_each(?))
       ORDER BY next_check_at LIMIT ?`,
    ),
    finished: reader.prepare<[string, number, number, number], LinkRow>(
      `SELECT * FROM links WHERE merchant_id = ? AND ${FINAL} AND legacy_state_at >= ? AND legacy_state_at < ?
       ORDER BY legacy_state_at DESC, created_at DESC LIMIT ?`,
    ),
    holder: reader.prepare<[string, string], LinkRow>(
      `SELECT * FROM links WHERE merchant_id = ? AND slot = ? AND ${LIVE}`,
    ),
  };
}

/** Events that came before the order was known have waited for this commit. */
function unparking(order_id: string, reference: string, at: number): Step[] {
  return [
    { write: 'unpark_by_reference', values: [at, reference] },
    { write: 'unpark_by_order', values: [at, order_id] },
  ];
}

function oneOf(row: LinkRow | undefined): Link | null {
  return row === undefined ? null : linkOf(row);
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

function insertNotice(notice: NewNotice): Step {
  const { legacy_id, merchant_id, topic, form, subject, body, created_at, next_attempt_at } = notice;
  const id = uuidV7(created_at, randomBytes(16));
  return {
    write: 'insert_notice',
    values: [id, legacy_id, merchant_id, topic, form, subject, body, created_at, next_attempt_at, form, legacy_id],
    changes: 1,
  };
}
