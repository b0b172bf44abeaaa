/** Refunds: a row is written before the call; a payment has one open refund at a time. */

import { PuenteError } from '../error.ts';
import type { FamilyRefund } from '../ops/ports.ts';
import type { Refund, RefundChange } from '../proxy/records/refunds.ts';
import { LISTED, REFUND, REFUND_CHANGE } from './conditions.ts';
import type { Reader, Step, StoreMethods, Writer } from './engine.ts';
import { noticesLock, type PageValues, pageOf, readsOf, rowLock, valuesIn } from './rows.ts';

/** Each lost race means that another refund of the payment was committed; more in a row are a defect, not traffic. */
const OPENING_ATTEMPTS = 5;

/** The rule that a payment has one open refund, as the errors of the engines name it. */
const ANOTHER_IS_OPEN = /refunds\.legacy_id|refunds_open/;
/** The rule that one refund has a number, likewise: two processes make the same one in a millisecond. */
const NUMBER_IS_TAKEN = /refunds\.number|refunds_number_key/;

/**
 * `refund` finds one by its id, its legacy number, or upstream's id or reference. `openRefund` @throws PuenteError
 * conflict after too many lost races, `saveRefund` when the stored revision is another.
 */
export function refundMethods(reader: Reader, writer: Writer, now: () => number) {
  const ofLink: StoreMethods['refunds'] = readsOf(reader).list(
    'SELECT * FROM refunds WHERE legacy_id = (SELECT ?) ORDER BY created_at, id',
  );
  const ofLinks: (list: string) => Promise<Refund[]> = readsOf(reader).list(
    `SELECT * FROM refunds WHERE legacy_id ${LISTED} ORDER BY created_at, id`,
  );
  const byAnyId = reader.prepare<[string, string, string, string], Refund>(
    `SELECT * FROM refunds WHERE id = ? OR number = CAST(? AS BIGINT) OR upstream_id = ? OR reference_id = ? LIMIT 1`,
  );
  const made: (...values: PageValues) => Promise<FamilyRefund[]> = readsOf(reader).list(
    `SELECT *, (SELECT family FROM links WHERE legacy_id = refunds.legacy_id) AS family FROM refunds WHERE ${pageOf('id')}`,
  );
  return {
    refunds: ofLink,
    refundsOf: (legacy_ids) => ofLinks(JSON.stringify(legacy_ids)),
    refundsMade: ({ merchant_id, since, until, after, limit }) =>
      made(merchant_id, until, after?.created_at ?? since, after?.id ?? '', limit),
    refund: async (id) => (await byAnyId.get(id, /^\d{1,18}$/.test(id) ? id : '0', id, id)) ?? null,
    async openRefund(requested, decide) {
      let refund = requested;
      let cause = '';
      for (let attempt = 0; attempt < OPENING_ATTEMPTS; attempt++) {
        const earlier = await ofLink(refund.legacy_id);
        const decision = decide(earlier);
        if (decision !== 'open') return { opened: false, refund: decision };
        const values = [...refundValues(refund), refund.legacy_id, earlier.length];
        // Its index alone lets a second one in when the first is made while the second waits for it.
        const locks = { alone: [rowLock(refund.legacy_id)] };
        const result = await writer.commit({ steps: [{ write: 'insert_refund', values, changes: 1 }], locks });
        if (result.kind === 'done') return { opened: true, refund };
        cause = result.kind === 'constraint' ? result.text : 'another one was opened';
        if (NUMBER_IS_TAKEN.test(cause)) refund = { ...refund, number: refund.number + 1 };
        else if (result.kind === 'constraint' && !ANOTHER_IS_OPEN.test(cause)) break;
      }
      throw new PuenteError(
        'conflict',
        `The refund of payment ${refund.payment_id} was not opened (${cause}): ask again.`,
      );
    },
    async markRefundsKnown(legacy_id, at, shown_minor) {
      const is_any_unknown = (await ofLink(legacy_id)).some(
        ({ state, known_at }) => state === 'DONE' && known_at === null,
      );
      if (is_any_unknown)
        await writer.commit({ steps: [{ write: 'mark_refunds_known', values: [at, legacy_id, at, 1, shown_minor] }] });
    },
    async saveRefund(refund, change: RefundChange) {
      const next: Refund = { ...refund, updated_at: now(), ...change, revision: refund.revision + 1 };
      const values = [...changeValues(next), refund.id, refund.revision];
      const result = await writer.commit({ steps: [{ write: 'update_refund', values, changes: 1 }] });
      return savedAs(next, result);
    },
    async saveAnswered(refund, answered_at, since) {
      const next: Refund = { ...refund, updated_at: now(), answered_at };
      const steps: Step[] = [
        { write: 'update_refund', values: [...changeValues(next), refund.id, refund.revision], changes: 1 },
        { write: 'mark_answered_refund_known', values: [answered_at, refund.id, since] },
      ];
      // Against an acknowledgement that is stored meanwhile: one of the two sees the other.
      savedAs(next, await writer.commit({ steps, locks: { alone: [noticesLock(refund.legacy_id)] } }));
    },
  } satisfies Partial<StoreMethods>;
}

function savedAs(next: Refund, result: Awaited<ReturnType<Writer['commit']>>): Refund {
  if (result.kind === 'done') return next;
  throw new PuenteError('conflict', `The refund ${next.id} was changed meanwhile: read it again.`);
}

const refundValues = valuesIn(REFUND);
const changeValues = valuesIn(REFUND_CHANGE);
