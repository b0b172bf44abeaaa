/** Refunds in SQLite: a row before the call, one open refund of a payment at a time. */
import type { Refund, RefundChange } from '../../core/payments/refund.ts';
import type { Store } from '../../core/store.ts';
import { PuenteError } from '../../error.ts';
import type { WriteQueue } from './queue.ts';
import type { Reader } from './reader.ts';

/** Each lost race means that another refund of the payment was committed; more in a row is a fault, not traffic. */
const OPENING_ATTEMPTS = 5;

export function refundMethods(
  reader: Reader,
  queue: WriteQueue,
  now: () => number,
): Pick<Store, 'openRefund' | 'saveRefund' | 'refunds' | 'refund'> {
  const ofLink = reader.prepare<[string], Refund>(
    'SELECT * FROM refunds WHERE legacy_id = (SELECT ?) ORDER BY created_at, id',
  );
  const byAnyId = reader.prepare<[string, string, string, string], Refund>(
    `SELECT * FROM refunds WHERE id = ? OR number = CAST(? AS INTEGER) OR upstream_id = ? OR reference_id = ? LIMIT 1`,
  );
  return {
    refunds: async (legacy_id) => ofLink.all(legacy_id),
    refund: async (id) => byAnyId.get(id, /^\d+$/.test(id) ? id : '0', id, id) ?? null,
    async openRefund(refund, decide) {
      let cause = '';
      for (let attempt = 0; attempt < OPENING_ATTEMPTS; attempt++) {
        const decision = decide(ofLink.all(refund.legacy_id));
        if (decision !== 'open') return { opened: false, refund: decision };
        const result = await queue.commit({
          steps: [{ write: 'insert_refund', values: valuesOf(refund), changes: 1 }],
        });
        if (result.kind === 'done') return { opened: true, refund };
        cause = result.kind === 'constraint' ? result.text : result.kind;
        if (!cause.includes('refunds.legacy_id')) break;
      }
      throw new PuenteError(
        'conflict',
        `The refund of payment ${refund.payment_id} was not opened (${cause}): ask again.`,
      );
    },
    async saveRefund(refund, change: RefundChange) {
      const next: Refund = { ...refund, updated_at: now(), ...change, revision: refund.revision + 1 };
      const { state, upstream_id, reference_id, refunded_minor, upstream_status, told_at, updated_at } = next;
      const values = [state, upstream_id, reference_id, refunded_minor, upstream_status, told_at, updated_at];
      const result = await queue.commit({
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
    refund.created_at,
    refund.updated_at,
    refund.revision,
  ];
}
