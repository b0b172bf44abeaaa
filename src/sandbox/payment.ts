/** A payment, its refunds and its chargeback as the sandbox keeps them. Source: `legacy-qr.md` §3. */
import type { paymentStatuses } from '../contract/payments.ts';
import type { PointOfSale } from './cast.ts';

/** A refund of a payment, made through the payments API, an order or a terminal. */
export interface PaymentRefund {
  id: number;
  amount_minor: number;
  status: 'approved' | 'in_process' | 'rejected';
  created_at_ms: number;
}

/** The buyer's bank asks for the money of a payment back; `GET /v1/chargebacks/{id}` shows it. */
export interface Chargeback {
  id: number;
  payment_id: number;
  merchant_id: string;
  /** Minor units. */
  amount_minor: number;
  /** `won`: the seller keeps the money; `lost`: the buyer has it back. */
  status: 'opened' | 'won' | 'lost';
  created_at_ms: number;
  updated_at_ms: number;
}

/** A payment as `GET /v1/payments/{id}` knows it; amounts in minor units of the site's currency. */
export interface Payment {
  id: number;
  merchant_id: string;
  status: (typeof paymentStatuses)[number];
  status_detail: string;
  amount_minor: number;
  tip_minor: number;
  refunded_minor: number;
  external_reference: string | null;
  description: string | null;
  payment_type_id: string;
  payment_method_id: string;
  installments: number;
  created_at_ms: number;
  updated_at_ms: number;
  refunds: PaymentRefund[];
  /** The till of a QR payment, and the terminal's otherwise. */
  pos: PointOfSale | null;
  /** What the payment was made for; `legacy_qr` names the `in_store_order_id`, `invoice` that of a subscription. */
  origin: { kind: 'order' | 'intent' | 'legacy_qr' | 'invoice'; id: string };
  /** Of a legacy QR payment; shown as `order.id`. */
  merchant_order_id: number | null;
}
