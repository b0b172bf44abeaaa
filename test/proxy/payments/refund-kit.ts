/** A stored refund, for tests of decisions. */
import type { Refund } from '../../../src/proxy/records/refunds.ts';

export function refundOf(change: Partial<Refund> = {}): Refund {
  return {
    id: 'r1',
    number: 1,
    legacy_id: 'l1',
    merchant_id: '700100200',
    payment_id: '131313131313',
    client_key: null,
    fingerprint: 'ten',
    amount_minor: 1000,
    refunded_before_minor: 0,
    idempotency_key: 'k1',
    state: 'SENDING',
    upstream_id: null,
    reference_id: null,
    refunded_minor: null,
    upstream_status: null,
    answered_at: 1,
    known_at: 2,
    created_at: 0,
    updated_at: 0,
    revision: 1,
    ...change,
  };
}
