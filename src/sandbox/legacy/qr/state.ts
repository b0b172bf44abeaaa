/** What the legacy QR API remembers beside the shared world: its orders, which of them a till shows, and their merchant orders. */

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

/** The `id` of the v1 answer and `preference_id` of a merchant order: `<collector>-<uuid>` (`docs/field-notes.md` QR §1.1). */
export function preferenceId(order: QrOrder): string {
  return `${order.merchant.user_id}-${order.id}`;
}

// Choices that public material leaves open for legacy QR orders, merchant orders and their notices; part of the
// sandbox's settings.
