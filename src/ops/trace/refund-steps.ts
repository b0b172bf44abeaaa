/** Steps of a refund: what was asked for, and what became of it. */

import { say } from '../../locales/sentences.ts';
import { decimalText } from '../../mapping/amount.ts';
import type { Refund } from '../../proxy/payments/refund-decisions.ts';
import { type Step, told } from './order.ts';

export function stepsOfRefund(refund: Refund, { exponent, currency }: { exponent: number; currency: string }): Step[] {
  const { id, number, amount_minor, refunded_minor, reference_id, upstream_id, state, created_at, updated_at } = refund;
  const sumOf = (minor: number | null): string | null =>
    minor === null ? null : `${decimalText(minor, exponent) ?? '?'} ${currency}`;
  const opened: Step = {
    at: created_at,
    rank: 'written',
    kind: 'refund',
    ...told(say('step.refund_asked', { sum: sumOf(amount_minor) })),
    id,
  };
  if (state === 'SENDING') return [opened];
  const facts = { state, sum: sumOf(refunded_minor), number: String(reference_id ?? number), order: upstream_id };
  const ended: Step = {
    at: updated_at,
    rank: 'settled',
    kind: 'refund',
    ...told(say('step.refund_ended', facts)),
    id,
  };
  return [opened, ended];
}
