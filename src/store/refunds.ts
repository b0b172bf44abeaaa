/** Refunds: a row before the call, one open refund of a payment at a time. */

import { PuenteError } from '../error.ts';
import type { Refund, RefundChange } from '../proxy/records/refunds.ts';
import type { Reader, StoreMethods, Writer } from './engine.ts';

/** Each lost race means that another refund of the payment was committed; more in a row is a fault, not traffic. */
const OPENING_ATTEMPTS = 5;

/** The rule that a payment has one open refund, as the engines name it. */
const ANOTHER_IS_OPEN = /refunds\.legacy_id|refunds_open/;

export function refundMethods(
  reader: Reader,
  writer: Writer,
  now: () => number,
): Pick<StoreMethods, 'openRefund' | 'hearRefunds' | 'saveRefund' | 'refunds' | 'refund'> {
  const ofLink = reader.prepare<[string], Refund>(
    'SELECT * FROM refunds WHERE legacy_id = (SELECT ?) ORDER BY created_at, id',
  );
  const byAnyId = reader.prepare<[string, string, string, string], Refund>(
    `SELECT * FROM refunds WHERE id = ? OR number = CAST(? AS BIGINT) OR upstream_id = ? OR reference_id = ? LIMIT 1`,
  );
  return {
    refunds: async (legacy_id) => await ofLink.all(legacy_id),
    refund: async (id) => (await byAnyId.get(id, /^\d{1,18}$/.test(id) ? id : '0', id, id)) ?? null,
    async openRefund(refund, decide) {
      let cause = '';
      for (let attempt = 0; attempt < OPENING_ATTEMPTS; attempt++) {
        const earlier = await ofLink.all(refund.legacy_id);
        const decision = decide(earlier);
        if (decision !== 'open') return { opened: false, refund: decision };
        const values = [...valuesOf(refund), refund.legacy_id, earlier.length];
        const result = await writer.commit({ steps: [{ write: 'insert_refund', values, changes: 1 }] });
        if (result.kind === 'done') return { opened: true, refund };
        cause = result.kind === 'constraint' ? result.text : 'another one was opened';
        if (result.kind === 'constraint' && !ANOTHER_IS_OPEN.test(cause)) break;
      }
      throw new PuenteError(
        'conflict',
        `The refund of payment ${refund.payment_id} was not opened (${cause}): ask again.`,
      );
    },
    async hearRefunds(legacy_id, at) {
      const unheard = (await ofLink.all(legacy_id)).some(
        ({ state, heard_at }) => state === 'DONE' && heard_at === null,
      );
      if (unheard) await writer.commit({ steps: [{ write: 'hear_refunds', values: [at, legacy_id, at, 1] }] });
    },
    async saveRefund(refund, change: RefundChange) {
      const next: Refund = { ...refund, updated_at: now(), ...change, revision: refund.revision + 1 };
      const { state, upstream_id, reference_id, refunded_minor, upstream_status, told_at, heard_at, updated_at } = next;
      const values = [state, upstream_id, reference_id, refunded_minor, upstream_status, told_at, heard_at, updated_at];
      const result = await writer.commit({
        steps: [{ write: 'update_refund', values: [...values, refund.id, refund.revision], changes: 1 }],
      });
      if (result.kind === 'done') return next;
      throw new PuenteError('conflict', `The refund ${refund.id} was changed by somebody else: read it again.`);
    },
  };
}

/** The values of `insert_refund`, in its order. */
function valuesOf(refund: Refund) {
  return [
    refund.id,
    refund.number,
    refund.legacy_id,
    refund.merchant_id,
    refund.payment_id,
    refund.client_key,
    refund.fingerprint,
    refund.amount_minor,
    refund.refunded_before_minor,
    refund.idempotency_key,
    refund.state,
    refund.upstream_id,
    refund.reference_id,
    refund.refunded_minor,
    refund.upstream_status,
    refund.told_at,
    refund.heard_at,
    refund.created_at,
    refund.updated_at,
    refund.revision,
  ];
}
