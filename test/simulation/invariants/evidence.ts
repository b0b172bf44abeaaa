/** A history with lookups; the states of both APIs are written out again here, independent of the product. */
import type { History, Intent, LinkRow, Order, ProxiedCall, SaleFacts, TillCall } from '../history.ts';

export interface Evidence extends History {
  sale: Map<number, SaleFacts>;
  link: Map<string, LinkRow>;
  linkOfOrder: Map<string, LinkRow>;
  linkOfKey: Map<string, LinkRow>;
  linkOfMerchantOrder: Map<number, LinkRow>;
  order: Map<string, Order>;
  intent: Map<string, Intent>;
  proxiedCall: Map<number, ProxiedCall>;
  /** Orders of a sale, oldest first: no two sales have the same amount. */
  ordersOf(sale: SaleFacts): Order[];
  linksOf(sale: SaleFacts): LinkRow[];
  /** The product's wall clock at a true time, both epoch ms. */
  wallAt(at: number): number;
  /** Create calls of a sale, including probes. */
  createsOf(sale: number): TillCall[];
}

/** One rule: every sentence is a violation. */
export type Rule = (evidence: Evidence) => string[];

/** The state of a Point order for tills (`docs/field-notes.md` Spec Versioning). */
export function intentStateOf(order: Order, declined: 'error' | 'finished'): string | undefined {
  if (order.status === 'failed') return declined === 'finished' && order.payment_id !== null ? 'FINISHED' : 'ERROR';
  // It expired; its status is that of a cancel.
  if (order.status === 'canceled' && order.detail === 'canceled') return 'ABANDONED';
  return INTENT_STATE[order.status];
}

const INTENT_STATE: Readonly<Record<string, string>> = {
  created: 'OPEN',
  at_terminal: 'ON_TERMINAL',
  processed: 'FINISHED',
  refunded: 'FINISHED',
  canceled: 'CANCELED',
  expired: 'ABANDONED',
  action_required: 'CONFIRMATION_REQUIRED',
};

/** The state of a QR order as a merchant order shows it (`docs/field-notes.md` QR §2). */
export function merchantOrderStateOf({ status, refunds }: Order): string | undefined {
  return status === 'processed' && refunds.length > 0 ? 'partially_reverted' : QR_STATE[status];
}

const QR_STATE: Readonly<Record<string, string>> = {
  created: 'payment_required',
  processed: 'paid',
  refunded: 'reverted',
  canceled: 'expired',
  expired: 'expired',
};

/** States that legacy announced (`docs/field-notes.md` Point §3.1); ABANDONED is not among them. */
export const ANNOUNCED: ReadonlySet<string> = new Set(['FINISHED', 'ERROR', 'CANCELED', 'CONFIRMATION_REQUIRED']);
export const PAID: ReadonlySet<string> = new Set(['processed', 'refunded']);
/** Orders that charge nothing and hold no unit. */
export const HARMLESS: ReadonlySet<string> = new Set(['canceled', 'expired', 'failed']);

export function evidenceOf(history: History): Evidence {
  const ordersBySum = Map.groupBy(history.orders, (order) => `${order.merchant_id}/${order.amount_minor}`);
  const linksBySum = Map.groupBy(history.links, (link) => `${link.merchant_id}/${link.amount_minor}`);
  const creates = Map.groupBy(
    history.calls.filter(({ what }) => what === 'sell' || what === 'probe'),
    (call) => call.sale,
  );
  const withOrder = history.links.flatMap((link) => (link.order_id === null ? [] : [[link.order_id, link] as const]));
  const proxied = history.proxied.flatMap((line) => (line.call === null ? [] : [[line.call, line] as const]));
  return {
    ...history,
    sale: new Map(history.sales.map((sale) => [sale.number, sale])),
    link: new Map(history.links.map((link) => [link.legacy_id, link])),
    linkOfOrder: new Map(withOrder),
    linkOfKey: new Map(history.links.map((link) => [link.idempotency_key, link])),
    linkOfMerchantOrder: new Map(
      history.links.flatMap((link) =>
        link.merchant_order_id === null ? [] : [[link.merchant_order_id, link] as const],
      ),
    ),
    wallAt: (at) => history.clocks.reduce((wall, set) => (set.at <= at ? wall + set.by_ms : wall), at),
    order: new Map(history.orders.map((order) => [order.id, order])),
    intent: new Map(history.intents.map((intent) => [intent.id, intent])),
    proxiedCall: new Map(proxied),
    ordersOf: ({ merchant_id, amount_minor }) => ordersBySum.get(`${merchant_id}/${amount_minor}`) ?? [],
    linksOf: ({ merchant_id, amount_minor }) => linksBySum.get(`${merchant_id}/${amount_minor}`) ?? [],
    createsOf: (sale) => creates.get(sale) ?? [],
  };
}

export function isTaken({ status }: { status: number | null }): boolean {
  return status !== null && status >= 200 && status < 300;
}

export function wasHeardOf({ webhooks }: Evidence, order_id: string): boolean {
  return webhooks.some((line) => line.order_id === order_id && line.from !== 'forged' && isTaken(line));
}
