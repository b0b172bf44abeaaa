/** What the legacy QR API remembers beside the shared world: its orders, which of them a till shows, and their merchant orders. */

import { z } from 'zod';
import type { Json } from '../../../contract/json.ts';
import type { Merchant, PointOfSale } from '../../cast.ts';
import type { Timer } from '../../clock.ts';
import type { Feed } from '../../webhooks.ts';
import type { World } from '../../world.ts';

export interface QrItem {
  id: string;
  title: string;
  description: string;
  category_id: string;
  picture_url: string | null;
  currency_id: string;
  /** Decimal text as it was sent. */
  unit_price: string;
  quantity: number;
}

/** What a till asks for, read from either family's body. */
export interface QrContent {
  external_reference: string;
  /** Title of a v2 order, and of the first item in v1. */
  description: string;
  notification_url: string | null;
  sponsor_id: number | null;
  items: QrItem[];
  /** Minor units; includes the cash. */
  total_minor: number;
  /** Minor units of cash that the buyer takes away. */
  cash_out_minor: number;
  /** Decimal text. */
  marketplace_fee: string;
  /** Null when the till leaves it to the service. */
  lifetime_ms: number | null;
  /** The whole body, for the GET of v2. */
  sent: Json;
}

/** `attended`: the till's printed code shows it; `dynamic`: a code of its own; `hybrid`: both. */
export type QrMode = 'attended' | 'dynamic' | 'hybrid';

export interface QrOrder extends QrContent {
  /** `in_store_order_id`, a lower-case UUID. */
  id: string;
  mode: QrMode;
  merchant: Merchant;
  pos: PointOfSale;
  /** `canceled` by DELETE; `expired` by its lifetime or by the till's next order. */
  state: 'open' | 'paid' | 'expired' | 'canceled';
  /** A buyer has begun to pay. */
  locked: boolean;
  /** Virtual time, epoch milliseconds. */
  created_at_ms: number;
  updated_at_ms: number;
  expires_at_ms: number;
  expiry: Timer | null;
  /** Payments made for it, rejected ones included, oldest first. */
  payment_ids: number[];
  /** Null until it is born (setting `merchant_order_birth`). */
  merchant_order_id: number | null;
  /** What the till said of the cash; null before. */
  confirmation: string | null;
}

export interface QrState {
  readonly world: World;
  /** Tells the merchant; stops with the world. */
  readonly feed: Feed;
  /** By id, in order of creation. */
  readonly orders: Map<string, QrOrder>;
  /** The open order that a till's printed code shows, by the till's internal number. */
  readonly shown: Map<number, QrOrder>;
  /** By merchant order id, in order of birth. */
  readonly merchant_orders: Map<number, QrOrder>;
}

/** An empty state, emptied again at each reset of the world. */
export function createQrState(world: World, feed: Feed): QrState {
  const state: QrState = {
    world,
    feed,
    orders: new Map(),
    shown: new Map(),
    merchant_orders: new Map(),
  };
  world.onReset(() => {
    for (const part of [state.orders, state.shown, state.merchant_orders]) part.clear();
  });
  return state;
}

/** The `id` of the v1 answer and `preference_id` of a merchant order: `<collector>-<uuid>` (`legacy-qr.md` §1.1). */
export function preferenceId(order: QrOrder): string {
  return `${order.merchant.user_id}-${order.id}`;
}

// Choices that public material leaves open for legacy QR orders, merchant orders and their notices; part of the
// sandbox's settings.

export const legacyQrAssumptions = {
  legacy_qr_expiry_ms: z
    .int()
    .min(1000)
    .default(600_000)
    .describe(
      'Virtual time after which a legacy QR order without a lifetime of its own is over; documented for v1 alone (legacy-qr.md §1.1).',
    ),
  legacy_qr_preference_status: z
    .union([z.literal(200), z.literal(201)])
    .default(200)
    .describe('HTTP status of a v1 create (legacy-qr.md §11).'),
  legacy_qr_code_status: z
    .union([z.literal(200), z.literal(201)])
    .default(201)
    .describe('HTTP status of a dynamic or hybrid create (legacy-qr.md §1.3).'),
  legacy_qr_delete_empty: z
    .union([z.literal(204), z.literal(400), z.literal(404)])
    .default(204)
    .describe('HTTP status of DELETE on a till without an order (legacy-qr.md §1.2).'),
  legacy_qr_locked: z
    .enum(['refused', 'replaced'])
    .default('refused')
    .describe(
      'PUT, POST or DELETE on a till whose order is being paid: refused, or done as if nobody were paying (legacy-qr.md §10).',
    ),
  legacy_qr_nameless_till: z
    .enum(['refused', 'accepted'])
    .default('refused')
    .describe('A v1 call by the internal number of a till without external id: 404, or as any till (legacy-qr.md §4).'),
  merchant_order_birth: z
    .enum(['creation', 'payment'])
    .default('creation')
    .describe('Whether a merchant order is made with its QR order or at the first payment (legacy-qr.md finding 11).'),
  merchant_order_sort: z
    .enum(['newest_first', 'oldest_first'])
    .default('newest_first')
    .describe('Order of the elements of a merchant order search, which no page tells (legacy-qr.md §2).'),
  ipn_resource_base: z
    .url({ protocol: /^https?$/ })
    .default('https://api.mercadolibre.com')
    .describe('Host of the resource URL in merchant_order notices (legacy-qr.md finding 3).'),
  local_notification_urls: z
    .enum(['not_called', 'called'])
    .default('not_called')
    .describe(
      'Whether notifications go to localhost and 127.0.0.1, which interface.md says must not be used (Events, IPN); webhooks about orders go where webhook_url says.',
    ),
  source_news_ipn: z
    .enum(['webhooks', 'ipn'])
    .default('webhooks')
    .describe(
      'What source_news=ipn in a notification_url means: by webhook only (interface.md, Events, IPN), or by IPN only as the guide says (legacy-qr.md finding 10).',
    ),
};
