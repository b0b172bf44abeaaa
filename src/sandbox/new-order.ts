/** A checked request made into an order that nobody has seen yet. Source: `orders-api.md` §1.3, §1.4. */
import { randomUUID } from 'node:crypto';
import type { Merchant, PointOfSale } from './cast.ts';
import { newUlid } from './ids.ts';
import { minorUnits } from './money.ts';
import type { AtTerminal, AtTill, Order } from './order.ts';
import { DEFAULT_EXPIRATION, type PointOrderRequest } from './order-request.ts';
import { qrData } from './qr-code.ts';
import { amountsOf, type QrOrderRequest } from './qr-order-request.ts';
import type { World } from './world.ts';

export function newPointOrder(
  world: World,
  merchant: Merchant,
  wanted: PointOrderRequest,
): { order: Order; place: AtTerminal } {
  const { point } = wanted.config;
  const place: AtTerminal = {
    type: 'point',
    terminal_id: point.terminal_id,
    print_on_terminal: point.print_on_terminal ?? 'seller_ticket',
    ticket_number: point.ticket_number,
  };
  const amount_minor = minorUnits(wanted.transactions.payments[0].amount, merchant.site.exponent) ?? 0; // checked by the request tree
  return { order: newOrder(world, merchant, wanted, place, amount_minor), place };
}

export function newQrOrder(
  world: World,
  merchant: Merchant,
  wanted: QrOrderRequest,
  pos: PointOfSale,
): { order: Order; place: AtTill } {
  const { external_pos_id, mode = 'static' } = wanted.config.qr;
  const { paid, withdrawn, total } = amountsOf(wanted, merchant.site);
  const { items, discounts, transactions } = wanted;
  const place: AtTill = {
    type: 'qr',
    pos,
    external_pos_id,
    mode,
    qr_data: mode === 'static' ? undefined : qrData(merchant.site, randomUUID(), total, merchant.nickname),
    items,
    discounts: discounts && { payment_methods: methodDiscounts(discounts, merchant), sent: discounts },
    // Nobody has published the prefix of a withdrawal's id.
    withdrawal:
      transactions.cash_outs === undefined
        ? null
        : { id: `CSH${newUlid(world)}`, amount_minor: withdrawn, refunded_minor: 0 },
    has_payment: transactions.payments !== undefined,
    is_locked: false,
    is_expiry_due: false,
    discount_type: undefined,
  };
  const order = newOrder(world, merchant, wanted, place, paid);
  order.transaction.status_detail = 'ready_to_process';
  return { order, place };
}

function methodDiscounts(
  discounts: NonNullable<QrOrderRequest['discounts']>,
  { site }: Merchant,
): { type: string; new_total_minor: number }[] {
  return (discounts.payment_methods ?? []).map(({ type, new_total_amount }) => ({
    type,
    new_total_minor: minorUnits(new_total_amount, site.exponent) ?? 0, // checked by the request tree
  }));
}

function newOrder(
  world: World,
  merchant: Merchant,
  wanted: PointOrderRequest | QrOrderRequest,
  place: AtTerminal | AtTill,
  amount_minor: number,
): Order {
  const now_ms = world.clock.now();
  return {
    id: world.settings.order_ids + newUlid(world),
    merchant,
    external_reference: wanted.external_reference,
    description: wanted.description,
    expiration_time: wanted.expiration_time ?? DEFAULT_EXPIRATION,
    place,
    total_amount: wanted.type === 'qr' ? wanted.total_amount : undefined,
    marketplace_fee: wanted.marketplace_fee,
    payment_method: wanted.config.payment_method,
    integration_data: wanted.integration_data,
    status: 'created',
    status_detail: 'created',
    created_at_ms: now_ms,
    updated_at_ms: now_ms,
    paid_at_ms: null,
    version: 1,
    transaction: {
      id: `PAY${newUlid(world)}`,
      amount_minor,
      status: 'created',
      status_detail: null,
      reference_id: null,
      paid_minor: null,
      tip_minor: 0,
      refunded_minor: 0,
      payment_method: null,
    },
    refunds: [],
    timers: [],
  };
}
