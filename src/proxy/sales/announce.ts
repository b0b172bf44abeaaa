/** Which notices a change of a link is worth, and what they say: pure. */
import { stringifyJson } from '../../contract/json.ts';
import type { MerchantOrderState } from '../../contract/merchant-orders.ts';
import type { Order } from '../../contract/orders.ts';
import { minorUnits } from '../../mapping/amount.ts';
import type { NoticeTopic } from '../../mapping/schema.ts';
import type { StateRow, Tables } from '../../mapping/tables.ts';
import type { FeedFacts } from '../notices/feed-request.ts';
import type { News } from '../notices/forms.ts';
import type { AdvanceRules } from './advance.ts';
import { isPaid, type Link } from './link.ts';

type NumberedTopic = Exclude<NoticeTopic, 'point'>;

/** The notices due when a link has become `next`. */
export function announcements(
  link: Link,
  next: Link,
  order: Order,
  row: StateRow,
  tables: Tables,
  rules: AdvanceRules,
): News[] {
  const numbered = isNews(link, next, rules.exponent)
    ? topicsOf(link, next, row).flatMap((topic) => feedNotice(topic, link, next, rules.now))
    : [];
  if (next.family === 'qr') return numbered;
  const changed = next.legacy_state !== link.legacy_state;
  const announced = next.legacy_state === 'CONFIRMATION_REQUIRED' || row.notices.includes('point');
  return changed && announced ? [intentNotice(next, order, tables, rules), ...numbered] : numbered;
}

/** Topics of what has a number: payments, and the merchant orders of QR sales. */
function topicsOf(link: Link, next: Link, row: StateRow): NumberedTopic[] {
  // A payment that the sale does not show is not told: an intent that shows ERROR has none.
  const isShown = (topic: NoticeTopic): topic is NumberedTopic =>
    topic === 'merchant_order' || (topic === 'payment' && isPaid(next));
  const topics = row.notices.filter(isShown);
  // Paid and refunded before anybody looked: its merchant order was closed as well, and receivers wait for that.
  const closed = next.family === 'qr' && isPaid(next) && !isPaid(link) && !topics.includes('merchant_order');
  return closed ? [...topics, 'merchant_order'] : topics;
}

/** A sale is news when it is new, when its state changes (a refunded intent stays FINISHED), and at every further refund. */
function isNews(link: Link, next: Link, exponent: number): boolean {
  if (link.order === null || next.legacy_state !== link.legacy_state) return true;
  if (link.order.status !== next.order?.status) return true;
  return refundedMinor(link.order, exponent) !== refundedMinor(next.order, exponent);
}

/** What an order says of its payment was given back, in minor units, so that `0` and `0.00`, or nothing at all, are the same. */
export function refundedMinor(order: Order | null, exponent: number): number {
  return minorUnits(order?.transactions?.payments?.[0]?.refunded_amount, exponent) ?? 0;
}

/** The flat body of a Point notice for a link in its current state, JSON text in the order of `legacy-point.md` §3.1. */
function intentNotice(link: Link, order: Order, tables: Tables, rules: AdvanceRules): News {
  const { value } = tables.notice(order, {
    intent_id: link.legacy_id,
    state: link.legacy_state,
    amount_minor: link.amount_minor,
    exponent: rules.exponent,
    caller_id: Number(link.merchant_id),
    created_at: link.created_at,
    held: link.held,
    payment_state: order.status === 'failed' ? 'rejected' : 'approved',
  });
  return { ...common(link, 'point', rules.now), subject: link.legacy_id, body: stringifyJson(value.body) };
}

/** The end of a merchant order whose order nobody can find any more. */
export function endOfMerchantOrder(link: Link, next: Link, now: number): News[] {
  return link.order === null ? [] : feedNotice('merchant_order', link, next, now);
}

/** IPN bodies are made when they are sent; here are the facts that the webhook form tells (`legacy-qr.md` §5.3). */
function feedNotice(topic: NumberedTopic, link: Link, next: Link, now: number): News[] {
  const subject = topic === 'payment' ? next.payment_id : next.merchant_order_id;
  if (subject === null) return [];
  const first = topic === 'payment' ? !isPaid(link) : link.order === null;
  const application_id = next.order?.integration_data?.application_id;
  const facts: FeedFacts = {
    first,
    // The states table of QR shows no other, proved by `check`.
    ...(topic === 'merchant_order' ? { order_status: next.legacy_state as MerchantOrderState } : {}),
    ...(application_id === undefined ? {} : { application_id }),
  };
  return [{ ...common(next, topic, now), subject: String(subject), body: stringifyJson(facts) }];
}

function common(link: Link, topic: NoticeTopic, now: number): Omit<News, 'subject' | 'body'> {
  const { legacy_id, merchant_id } = link;
  return { legacy_id, merchant_id, topic, created_at: now, next_attempt_at: now };
}
