/** The whole world as `GET /_sandbox/state` shows it: people read it, tests assert on it. */
import type { Merchant } from './cast.ts';
import { renderOrder } from './order-view.ts';
import type { World } from './world.ts';

/** After a load test there are too many to print; the newest are shown, and the counts are whole. */
const SHOWN = 1000;

export function renderState(world: World): object {
  return {
    now: new Date(world.clock.now()).toISOString(),
    clock: world.clock.mode(),
    merchants: [...world.merchants.values()].map((merchant) => renderMerchant(world, merchant)),
    counts: { orders: world.orders.size, payments: world.payments.size },
    orders: newest(world.orders).map((order) => ({
      ...renderOrder(order, world.settings),
      merchant_id: order.merchant.user_id,
      version: order.version,
    })),
    payments: newest(world.payments),
    payables: newest(world.payables).map(({ kind, id, merchant_id, pos, on_pos }) => ({
      kind,
      id,
      merchant_id,
      pos_id: pos.id,
      external_pos_id: pos.external_id,
      on_pos,
    })),
    faults: world.faults.map(({ rule, matched, acted }) => ({ ...rule, matched, acted })),
    sent: world.sent_log.list(),
    requests: world.request_log.list(),
    ...world.views(),
  };
}

function newest<Entry>(map: Map<unknown, Entry>): Entry[] {
  return [...map.values()].slice(-SHOWN);
}

/** The token is invented, and shown so that a first call can be copied. */
function renderMerchant(world: World, merchant: Merchant): object {
  const { user_id, nickname, site, access_token, has_marketplace, may_hand_out_cash } = merchant;
  const isOwn = (thing: { merchant_id: string }): boolean => thing.merchant_id === user_id;
  return {
    user_id,
    nickname,
    site_id: site.site_id,
    country: site.country_alpha3,
    currency: site.currency,
    access_token,
    oauth: world.oauth_tokens.has(access_token),
    has_marketplace,
    may_hand_out_cash,
    stores: [...world.stores.values()].filter(isOwn).map(({ id, external_id }) => ({ id, external_id })),
    points_of_sale: [...world.points_of_sale.values()]
      .filter(isOwn)
      .map(({ id, external_id, store_id }) => ({ id, external_id, store_id })),
    terminals: world.terminals(user_id).map(({ id, pos, operating_mode, software, occupation }) => ({
      id,
      pos_id: pos?.id ?? null,
      external_pos_id: pos?.external_id ?? null,
      operating_mode,
      software,
      holds: occupation === null ? null : { kind: occupation.kind, id: occupation.id },
    })),
  };
}
