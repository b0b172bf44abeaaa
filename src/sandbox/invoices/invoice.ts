/** A subscription invoice ("authorized payment") as the sandbox keeps it and shows it. Source: `interface.md` Invoice, `orders-api.md` §9. */
import type { Settings } from '../assumptions.ts';
import type { Merchant } from '../cast.ts';
import { offsetDate } from '../dates.ts';
import { amountNumber } from '../json-amount.ts';
import { amountText } from '../money.ts';

export const invoiceStatuses = ['scheduled', 'processed', 'recycling', 'canceled'] as const;
export const summaries = ['pending', 'done'] as const;
export const invoicePaymentStatuses = [
  'pending',
  'approved',
  'authorized',
  'in_process',
  'in_mediation',
  'rejected',
  'canceled',
  'refunded',
  'charged_back',
] as const;

export interface Invoice {
  id: number;
  merchant_id: string;
  status: (typeof invoiceStatuses)[number];
  summarized: (typeof summaries)[number];
  preapproval_id: string;
  reason: string;
  external_reference: string;
  /** Minor units of the site's currency. */
  amount_minor: number;
  payer_id: number;
  retry_attempt: number;
  created_at_ms: number;
  modified_at_ms: number;
  debit_at_ms: number;
  /** Null before the first attempt. */
  payment: { id: number; status: (typeof invoicePaymentStatuses)[number]; status_detail: string } | null;
}

/** Every field of the table; where the pages contradict themselves, the settings decide. */
export function renderInvoice(invoice: Invoice, { site }: Merchant, settings: Settings): object {
  const spelled = (status: string): string => (status === 'canceled' ? settings.invoice_canceled : status);
  const { external_reference, payment } = invoice;
  const isNumber = settings.invoice_external_reference === 'number' && /^[1-9]\d{0,14}$/.test(external_reference);
  return {
    id: invoice.id,
    type: 'scheduled',
    date_created: offsetDate(invoice.created_at_ms),
    last_modified: offsetDate(invoice.modified_at_ms),
    preapproval_id: invoice.preapproval_id,
    reason: invoice.reason,
    external_reference: isNumber ? Number(external_reference) : external_reference,
    currency_id: site.currency,
    transaction_amount:
      settings.invoice_amount === 'number'
        ? amountNumber(invoice.amount_minor, site)
        : amountText(invoice.amount_minor, site.exponent),
    debit_date: offsetDate(invoice.debit_at_ms),
    retry_attempt: invoice.retry_attempt,
    status: spelled(invoice.status),
    summarized: invoice.summarized,
    payer_id: invoice.payer_id,
    ...(payment !== null && { payment: { ...payment, status: spelled(payment.status) } }),
  };
}
