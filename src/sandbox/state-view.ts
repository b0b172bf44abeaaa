/** The whole world as `GET /_sandbox/state` shows it to people and tests. */
import { CLIENT_SECRET } from './account/oauth.ts';
import { lastStep } from './legacy/lifecycle.ts';
import { renderOrder } from './order-view.ts';
import type { Merchant, NoticeTarget, TerminalWork } from './records.ts';
import { hashOf, type World } from './world.ts';

/**
 * Orders as upstream shows them; amounts of other records are minor units. Shows each merchant's token in clear: it is
 * for tests and demos.
 */
export function renderState(world: World): object {
  return {
    now: new Date(world.clock.now()).toISOString(),
    clock: world.clock.mode(),
    merchants: [...world.merchants.values()].map((merchant) => renderMerchant(world, merchant)),
    counts: { orders: world.orders.size, payments: world.payments.size },
    orders: newest(world.orders).map((order) => ({
      ...renderOrder(world, order),
      merchant_id: order.merchant_id,
      version: order.version,
    })),
    payments: newest(world.payments),
    payables: newest(world.payables).map(({ on_pos, ...payable }) => ({
      ...payable,
      external_pos_id: tillName(world, payable.pos_id),
      on_pos,
    })),
    faults: world.faults.map(({ rule, matched, acted }) => ({ ...rule, matched, acted })),
    sent: world.sent_log.list(),
    requests: world.request_log.list(),
    oauth: {
      client_secret: CLIENT_SECRET,
      grants: [...world.grants.values()].map((grant) => ({
        ...grant,
        client_id: world.merchant(grant.merchant_id).application_id,
      })),
    },
    legacy: renderLegacy(world),
    legacy_qr: renderLegacyQr(world),
  };
}

/** Newest records per list, because a load test makes too many to print. The counts are complete. */
const SHOWN = 1000;

function newest<Entry>(map: Map<unknown, Entry>): Entry[] {
  return [...map.values()].slice(-SHOWN);
}

function tillName(world: World, pos_id: number): string | null {
  return world.points_of_sale.get(pos_id)?.external_id ?? null;
}

/** Shows the invented token, so that a first call can be copied. */
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
    oauth: world.tokens.get(hashOf(access_token))?.oauth === true,
    has_marketplace,
    may_hand_out_cash,
    stores: [...world.stores.values()].filter(isOwn).map(({ id, external_id }) => ({ id, external_id })),
    points_of_sale: [...world.points_of_sale.values()]
      .filter(isOwn)
      .map(({ id, external_id, store_id }) => ({ id, external_id, store_id })),
    terminals: world.terminalsOf(user_id).map(({ id, pos_id, operating_mode, software, occupation }) => ({
      id,
      pos_id,
      external_pos_id: pos_id === null ? null : tillName(world, pos_id),
      operating_mode,
      software,
      holds: occupation,
    })),
  };
}

function renderLegacy(world: World): object {
  const work = (one: TerminalWork): object => ({
    id: one.id,
    merchant_id: one.merchant_id,
    device_id: one.device_id,
    state: lastStep(one).state,
    history: one.history.map(({ state, at_ms }) => ({ state, at: new Date(at_ms).toISOString() })),
  });
  return {
    counts: { intents: world.intents.size, refunds: world.refund_intents.size },
    intents: newest(world.intents).map((intent) => ({ ...work(intent), amount: intent.amount_minor })),
    refunds: newest(world.refund_intents).map((refund) => ({ ...work(refund), payment_id: refund.payment })),
    notifications: [...world.notice_targets.values()].map((target) => ({
      merchant_id: target.merchant_id,
      ...renderTarget(target),
    })),
  };
}

/** Never shows the secret. */
export function renderTarget(target: NoticeTarget | undefined): object {
  return { url: target?.url ?? null, topic: target?.topic ?? null, ipn_url: target?.ipn_url ?? undefined };
}

function renderLegacyQr(world: World): object {
  return {
    counts: { orders: world.qr_orders.size, merchant_orders: world.merchant_orders.size },
    orders: newest(world.qr_orders).map((order) => ({
      id: order.id,
      mode: order.mode,
      merchant_id: order.merchant_id,
      pos_id: order.pos_id,
      external_pos_id: tillName(world, order.pos_id),
      state: order.state,
      locked: order.locked,
      external_reference: order.external_reference,
      total_minor: order.total_minor,
      cash_out_minor: order.cash_out_minor,
      confirmation: order.confirmation,
      notification_url: order.notification_url,
      merchant_order_id: order.merchant_order_id,
      payment_ids: order.payment_ids,
      created_at: new Date(order.created_at_ms).toISOString(),
      expires_at: new Date(order.expires_at_ms).toISOString(),
    })),
  };
}
