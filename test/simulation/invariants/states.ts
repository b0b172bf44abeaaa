/** I5–I8: no event is lost, every change is notified, no state goes back, and all sides agree in the end. */
import type { Delivery, LinkRow, Order } from '../history.ts';
import { merchants } from '../steps.ts';
import {
  ANNOUNCED,
  type Evidence,
  HARMLESS,
  intentStateOf,
  isTaken,
  merchantOrderStateOf,
  PAID,
  type Rule,
  wasHeardOf,
} from './evidence.ts';

/** I5: every webhook that was answered 2xx was in the inbox by then, and is read or parked in the end. */
export const eventsKept: Rule = (evidence) => [
  ...evidence.webhooks
    .filter((line) => isTaken(line) && !line.kept)
    .map(({ action, order_id }) => `the webhook ${action} of ${order_id} was taken before it was committed`),
  ...evidence.events
    .filter(({ state, order_id }) => state === 'pending' && !isUnreadable(evidence, order_id))
    .map(({ order_id }) => `the event of ${order_id} still waits`),
];

/** Its merchant's token was refused, and its tills call legacy since then: no token to read it with. */
function isUnreadable({ order, upstream }: Evidence, order_id: string | null): boolean {
  const id = order.get(order_id ?? '')?.merchant_id;
  return upstream.findLast(({ merchant_id, status }) => merchant_id === id && status !== null)?.status === 401;
}

/** I6: every visible change has reached the receiver, and no other was notified. */
export const changesTold: Rule = (evidence) => {
  const wrong: string[] = [];
  const told = evidence.deliveries.filter(isTaken);
  const point = new Set(told.filter(({ topic }) => topic === 'point').map(markOf));
  const ofSubject = Map.groupBy(told, (delivery) => delivery.subject);
  for (const link of evidence.links) {
    if (link.order_id === null) continue;
    for (const due of dueOf(evidence, link))
      if (!(ofSubject.get(due.subject) ?? []).some((delivery) => tells(delivery, due)))
        wrong.push(
          `${link.legacy_id} is ${link.legacy_state}, and nobody was told (${due.topic} ${due.subject} ${due.state})`,
        );
  }
  for (const { what, sale, state, legacy_id, status } of evidence.calls) {
    if (!what.endsWith('read') || status !== 200 || state === null || !ANNOUNCED.has(state)) continue;
    const ours = evidence.link.has(legacy_id ?? '');
    if (ours && !point.has(`point ${legacy_id} ${state}`))
      wrong.push(`sale ${sale} was shown ${state}, and nobody was told`);
  }
  for (const { state, legacy_id, topic } of evidence.notices)
    if (state === 'pending') wrong.push(`a notice of ${topic} ${legacy_id} still waits`);
  return [...wrong, ...evidence.deliveries.flatMap((delivery) => invented(evidence, delivery))];
};

interface Due {
  topic: string;
  subject: string;
  /** From the notice; null for one without a state. */
  state: string | null;
  /** Not before this time: an IPN of a merchant order reports a change without its kind. */
  from: number;
}

/** Notices for the row's last state (`docs/field-notes.md` QR §5): creation, payment, end, and each refund. */
function dueOf(evidence: Evidence, link: LinkRow): Due[] {
  const { family, legacy_id, legacy_state: state } = link;
  if (family === 'point') return ANNOUNCED.has(state) ? [{ topic: 'point', subject: legacy_id, state, from: 0 }] : [];
  const order = evidence.order.get(link.order_id ?? '');
  const told_state = TOLD_STATE[state];
  const isOver = told_state !== undefined && order !== undefined;
  const from = isOver ? (order.ended_at ?? 0) : 0;
  const subject = String(link.merchant_order_id);
  const due: Due[] = [{ topic: 'merchant_order', subject, state: null, from }];
  // The first merchant has notices in both forms.
  if (isOver && link.merchant_id === merchants[0])
    due.push({ topic: 'topic_merchant_order_wh', subject, state: told_state, from });
  const paid = told_state === 'closed' ? String(link.payment_id) : null;
  if (paid !== null) due.push({ topic: 'payment', subject: paid, state: null, from });
  const refund = order?.refunds.at(-1);
  if (paid !== null && refund !== undefined)
    due.push({ topic: 'payment', subject: paid, state: null, from: refund.at });
  return due;
}

/** The end of a merchant order in a webhook. */
const TOLD_STATE: Readonly<Record<string, string>> = {
  paid: 'closed',
  partially_reverted: 'closed',
  reverted: 'closed',
  expired: 'expired',
};

function tells({ topic, state, at }: Delivery, due: Due): boolean {
  return topic === due.topic && at >= due.from && (due.state === null || state === due.state);
}

function markOf({ subject, state }: Delivery): string {
  return `point ${subject} ${state}`;
}

/** A notice reports a state of the books at the end, or one that a late approval has replaced. */
function invented(evidence: Evidence, { topic, subject, state, url }: Delivery): string[] {
  if (!url.startsWith('https://receiver.example/notices/')) return [`a notice went to ${url}`];
  if (topic === 'payment') {
    const known = evidence.orders.some(({ payment_id }) => payment_id === subject) || isMinted(evidence, subject);
    return known ? [] : [`payment ${subject} was announced, and the books don't have it`];
  }
  if (topic.includes('merchant_order')) return inventedOrder(evidence, subject, state);
  if (topic !== 'point') return [];
  const link = evidence.link.get(subject);
  const order = evidence.order.get(link?.order_id ?? '');
  if (link === undefined || order === undefined) return [`a notice came for ${subject}, which has no order`];
  const final = intentStateOf(order, evidence.product.declined);
  const replaced = final === 'FINISHED' && state !== 'FINISHED';
  return state === final || replaced || movedOn(order) ? [] : [`${subject} was announced ${state} and is ${final}`];
}

/** A merchant order announced with an end that its order did not have. */
function inventedOrder(evidence: Evidence, subject: string, state: string | null): string[] {
  const link = evidence.linkOfMerchantOrder.get(Number(subject));
  const order = evidence.order.get(link?.order_id ?? '');
  if (order === undefined) return [`a notice came for the merchant order ${subject}, which has no order`];
  const wrong = (state === 'closed' && !PAID.has(order.status)) || (state === 'expired' && !HARMLESS.has(order.status));
  return wrong ? [`the merchant order ${subject} was announced ${state}, its order is ${order.status}`] : [];
}

function isMinted(evidence: Evidence, payment_id: string): boolean {
  return evidence.links.some((link) => link.payment_id === payment_id);
}

/** An order in `action_required` that was let go before it changed: not knowable. */
function movedOn({ status }: Order): boolean {
  return HARMLESS.has(status);
}

const RANK: Readonly<Record<string, number>> = {
  OPEN: 1,
  ON_TERMINAL: 2,
  PROCESSING: 3,
  PROCESSED: 4,
  payment_required: 1,
  payment_in_process: 2,
  partially_paid: 2,
};
const FINAL = 8;
/** After a refund only further refunds follow. */
const PAID_RANK: Readonly<Record<string, number>> = {
  FINISHED: 9,
  paid: 9,
  closed: 9,
  partially_reverted: 10,
  reverted: 11,
};

function rankOf(state: string): number {
  return PAID_RANK[state] ?? RANK[state] ?? FINAL;
}

/** I7: a state that a till has read or was notified of is never followed by an older one. */
export const neverBack: Rule = (evidence) => {
  const wrong: string[] = [];
  const seen = evidence.calls.flatMap(({ what, legacy_id: id, merchant_order_id, state, from, to, status }) => {
    const legacy_id = evidence.linkOfMerchantOrder.get(merchant_order_id ?? 0)?.legacy_id ?? id;
    return what.endsWith('read') && status === 200 && legacy_id !== null && state !== null && to !== null
      ? [{ legacy_id, state, from, to }]
      : [];
  });
  const told = evidence.deliveries.flatMap(({ topic, subject, state, at }) => {
    if (state === null) return [];
    if (topic === 'point') return [{ legacy_id: subject, state, from: at, to: at }];
    const legacy_id = evidence.linkOfMerchantOrder.get(Number(subject))?.legacy_id;
    return topic === 'topic_merchant_order_wh' && legacy_id !== undefined && state !== 'opened'
      ? [{ legacy_id, state, from: at, to: at }]
      : [];
  });
  for (const [legacy_id, looks] of Map.groupBy([...seen, ...told], (look) => look.legacy_id)) {
    for (const later of looks.filter((look) => seen.includes(look)))
      for (const earlier of looks) {
        if (earlier.to >= later.from) continue;
        const [before, after] = [rankOf(earlier.state), rankOf(later.state)];
        const changed = before === FINAL && after === FINAL && earlier.state !== later.state;
        if (after < before || changed) wrong.push(`${legacy_id} was ${earlier.state} and then ${later.state}`);
      }
  }
  return wrong;
};

/** I8: rows and last reads agree with the upstream's books. */
export const statesEqual: Rule = (evidence) => {
  const wrong: string[] = [];
  for (const link of evidence.links) {
    const order = evidence.order.get(link.order_id ?? '') ?? unlearned(evidence, link);
    if (order === undefined) continue;
    const expected =
      link.family === 'point' ? intentStateOf(order, evidence.product.declined) : merchantOrderStateOf(order);
    if (link.legacy_state !== expected && !wasLetGo(link, order))
      wrong.push(`${link.legacy_id} is ${link.legacy_state}, its order ${order.status}`);
    const read = evidence.calls.find(({ what, legacy_id }) => what === 'last read' && legacy_id === link.legacy_id);
    // The last sale of its counter may have replaced it since.
    const isReplaced = order.ended_at !== null && order.ended_at >= (read?.from ?? 0);
    if (read?.status === 200 && read.state !== null && read.state !== link.legacy_state && !isReplaced)
      wrong.push(`the last read of ${link.legacy_id} says ${read.state}, its row ${link.legacy_state}`);
  }
  return wrong;
};

/** CONFIRMATION_REQUIRED never changes on legacy, and a given-up sale has ended; only an approval takes precedence. */
function wasLetGo({ legacy_state, state }: LinkRow, { status }: Order): boolean {
  return state === 'LOST' ? !PAID.has(status) : HARMLESS.has(status) && legacy_state === 'CONFIRMATION_REQUIRED';
}

/** The order of a row that does not have its id, where a webhook named it. */
function unlearned(evidence: Evidence, link: LinkRow): Order | undefined {
  const order = evidence.orders.find(
    ({ merchant_id, reference }) => merchant_id === link.merchant_id && reference === link.reference_sent,
  );
  return order !== undefined && wasHeardOf(evidence, order.id) ? order : undefined;
}
