/** The facts of a soak, indexed for comparison. */
import type { BookedOrder, History, LinkFacts, SaleFacts } from './history.ts';

export interface Finding {
  looked_at: number;
  violations: string[];
}

export interface Books extends History {
  order: Map<string, BookedOrder>;
  /** By merchant and sent reference. */
  ordersOf: Map<string, BookedOrder[]>;
  link: Map<string, LinkFacts>;
  /** By merchant and the till's reference. */
  linksOf: Map<string, LinkFacts[]>;
  delivered: SaleFacts[];
  told_of: Set<string>;
  is_reported: Set<string>;
  is_canceled: Set<string>;
}

/** Orders that charged no money and block nothing. */
export const HARMLESS = new Set(['canceled', 'expired', 'failed']);
export const PAID = new Set(['processed', 'refunded']);
const IN_DOUBT = new Set(['SENDING', 'IN_DOUBT']);
/** A create that never appeared is given up and reported this long after its expiry (`docs/protocol.md` §3.7). */
const LOST_AFTER_MS = 5 * 60_000;

export function openBooks(history: History): Books {
  const { books, database, sales } = history;
  return {
    ...history,
    order: new Map(books.orders.map((order) => [order.id, order])),
    ordersOf: Map.groupBy(books.orders, ({ merchant, reference }) => `${merchant} ${reference}`),
    link: new Map(database.links.map((link) => [link.legacy_id, link])),
    linksOf: Map.groupBy(database.links, (link) => `${link.merchant_id} ${link.client_reference}`),
    delivered: sales.filter(({ statuses }) => statuses.some((status) => status >= 200 && status < 300)),
    told_of: new Set(history.told),
    is_reported: new Set(database.reported),
    is_canceled: new Set(history.canceled),
  };
}

/** A sale's links whose answer was delivered; none for a sale at legacy. */
export function toldLinks({ link, linksOf }: Books, sale: SaleFacts): LinkFacts[] {
  if (sale.kind === 'point') return sale.ids.flatMap((id) => link.get(id) ?? []);
  return (linksOf.get(`${sale.merchant} ${sale.reference}`) ?? []).filter((one) => one.client_answer === 'maybe');
}

export function orderOf({ order }: Books, { order_id }: LinkFacts): BookedOrder | undefined {
  return order_id === null ? undefined : order.get(order_id);
}

export function isProxied({ database }: Books): (sale: SaleFacts) => boolean {
  const ids = new Set(database.proxied.map(({ merchant_id, legacy_id }) => `${merchant_id} ${legacy_id}`));
  const names = new Set(database.proxied.map((one) => `${one.merchant_id} ${one.client_reference}`));
  return ({ merchant, ids: told, reference }) =>
    told.some((id) => ids.has(`${merchant} ${id}`)) || names.has(`${merchant} ${reference}`);
}

/**
 * The first attempt was spoiled and each repeat is refused: no order exists. Only time can prove that, because a 4xx to
 * a repeat settles nothing (`docs/protocol.md` §3.5).
 */
export function isRightlyInDoubt(books: Pick<Books, 'ordersOf' | 'database'>, link: LinkFacts): boolean {
  if (!IN_DOUBT.has(link.state) || link.client_answer === 'maybe') return false;
  if (link.reference_sent === null || books.ordersOf.has(`${link.merchant_id} ${link.reference_sent}`)) return false;
  return books.database.read_at <= link.expires_at + LOST_AFTER_MS;
}
