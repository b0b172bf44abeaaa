/** Seeded bugs of refunds: key, repetition, read. */
import type { Bug } from './bug.ts';

export const refundBugs: Bug[] = [
  {
    name: 'new key per refund retry',
    test: null,
    edits: [
      {
        file: 'proxy/payments/make-refund.ts',
        from: 'const { refund, link, order_id, plan } = sending;',
        to: 'const { refund, link, order_id, plan, repeated } = sending;',
      },
      {
        file: 'proxy/payments/make-refund.ts',
        from: '      idempotency_key,\n      timeout_ms: Math.min(left_ms',
        to: '      idempotency_key: repeated ? ports.memory.ids.idempotencyKey() : idempotency_key,\n      timeout_ms: Math.min(left_ms',
      },
    ],
  },
  {
    name: 'refund asked for again is a new one',
    test: null,
    edits: [
      {
        file: 'proxy/payments/refund-decisions.ts',
        from: 'if (repeatable === undefined || (client_key !== null && !isOpen(repeatable)))',
        to: 'if (repeatable === undefined || !isOpen(repeatable))',
      },
    ],
  },
  {
    name: 'refund never sent',
    test: null,
    edits: [
      {
        file: 'proxy/payments/make-refund.ts',
        from: "ports.memory.failpoint('refund.answer_read');",
        to: "ports.memory.failpoint('refund.answer_read'); if (plan.deadline > 0) return { kind: 'made', refund: await ports.store.refunds.saveRefund(refund, { state: 'DONE' }), link };",
      },
    ],
  },
];
