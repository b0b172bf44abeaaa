/** Steps of a refund: what was asked for, and what became of it. */
import { decimalText } from '../../mapping/amount.ts';
import type { Refund } from '../payments/refund.ts';
import type { Step } from './order.ts';

export function stepsOfRefund(refund: Refund, { exponent, currency }: { exponent: number; currency: string }): Step[] {
  const { id, number, amount_minor, refunded_minor, reference_id, upstream_id, state, created_at, updated_at } = refund;
  const said = (minor: number | null): string => `${decimalText(minor, exponent) ?? '?'} ${currency}`;
  const asked = amount_minor === null ? 'all that was left' : said(amount_minor);
  const opened: Step = {
    at: created_at,
    rank: 'written',
    kind: 'refund',
    what: `A refund of ${asked} was asked for`,
    id,
  };
  if (state === 'SENDING') return [opened];
  const sum = refunded_minor === null ? '' : `, ${said(refunded_minor)}`;
  const names = [`number ${reference_id ?? number}`, ...(upstream_id === null ? [] : [upstream_id])].join(', ');
  const ended: Step = {
    at: updated_at,
    rank: 'settled',
    kind: 'refund',
    what: `The refund is ${state}${sum} (${names})`,
    id,
  };
  return [opened, ended];
}
