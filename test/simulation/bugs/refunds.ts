/** Seeded bugs of refunds: key, repetition, read. */
import type { BugRow } from './bug.ts';

export const refundBugs: BugRow[] = [
  {
    name: 'new key per refund retry',
    file: 'proxy/payments/make-refund.ts',
    from: 'const { refund, link, order_id, plan } = sending;',
    to: 'const { refund, link, order_id, plan, repeated } = sending;',
    and: {
      from: '      idempotency_key,\n      timeout_ms: Math.min(left_ms',
      to: '      idempotency_key: repeated ? ports.memory.ids.idempotencyKey() : idempotency_key,\n      timeout_ms: Math.min(left_ms',
    },
  },
  {
    name: 'refund asked for again is a new one',
    file: 'proxy/payments/refund-decisions.ts',
    from: 'if (repeatable === undefined || (client_key !== null && !isOpen(repeatable)))',
    to: 'if (repeatable === undefined || !isOpen(repeatable))',
  },
  {
    name: 'refund never sent',
    file: 'proxy/payments/make-refund.ts',
    from: "ports.memory.failpoint('refund.answer_read');",
    to: "ports.memory.failpoint('refund.answer_read'); if (plan.deadline > 0) return { kind: 'made', refund: await ports.store.refunds.saveRefund(refund, { state: 'DONE' }), link };",
  },
];
