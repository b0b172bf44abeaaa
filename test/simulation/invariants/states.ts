/** I5–I8: no event is lost, every change is told, nothing goes back in time, and in the end all say the same. */
import type { Delivery, LinkRow, Order } from '../history.ts';
import {
  ANNOUNCED,
  type Evidence,
  HARMLESS,
  intentStateOf,
  isTaken,
  PAID,
  QR_STATE,
  type Rule,
  wasHeardOf,
} from './evidence.ts';

/** I5: every webhook that was answered 2xx is in the inbox by then, and read or parked in the end. */
export const eventsKept: Rule = (evidence) => [
  ...evidence.webhooks
    .filter((line) => isTaken(line) && !line.kept)
    .map(({ action, order_id }) => `the webhook ${action} of ${order_id} was taken before it was committed`),
  ...evidence.events
    .filter(({ state, order_id }) => state === 'pending' && !isUnreadable(evidence, order_id))
    .map(({ order_id }) => `the event of ${order_id} still waits`),
];

/** Its merchant's token was refused, and its tills call legacy since then: nobody here has a token to read it with. */
function isUnreadable({ order, upstream }: Evidence, order_id: string | null): boolean {
  const id = order.get(order_id ?? '')?.merchant_id;
  return upstream.findLast(({ merchant_id, status }) => merchant_id === id && status !== null)?.status === 401;
}

/** I6: every visible change has reached the receiver, and nothing was told that never was. */
export const changesTold: Rule = (evidence) => {
  const wrong: string[] = [];
  const told = new Set(evidence.deliveries.filter(isTaken).map(markOf));
  for (const link of evidence.links) {
    if (link.order_id === null) continue;
    for (const mark of dueOf(link))
      if (!told.has(mark)) wrong.push(`${link.legacy_id} is ${link.legacy_state}, and nobody was told (${mark})`);
  }
  for (const { what, sale, state, legacy_id, status } of evidence.calls) {
    if (!what.endsWith('read') || status !== 200 || state === null || !ANNOUNCED.has(state)) continue;
    const ours = evidence.link.has(legacy_id ?? '');
    if (ours && !told.has(`point ${legacy_id} ${state}`))
      wrong.push(`sale ${sale} was shown ${state}, and nobody was told`);
  }
  for (const { state, legacy_id, topic } of evidence.notices)
    if (state === 'pending') wrong.push(`a notice of ${topic} ${legacy_id} still waits`);
  return [...wrong, ...evidence.deliveries.flatMap((delivery) => invented(evidence, delivery))];
};

/** What the row's last state calls for. */
function dueOf(link: LinkRow): string[] {
  if (link.family === 'point')
    return ANNOUNCED.has(link.legacy_state) ? [`point ${link.legacy_id} ${link.legacy_state}`] : [];
  const order = `merchant_order ${link.merchant_order_id}`;
  return link.legacy_state === 'paid' ? [order, `payment ${link.payment_id}`] : [order];
}

function markOf({ topic, subject, state }: Delivery): string {
  return topic === 'point' ? `point ${subject} ${state}` : `${topic} ${subject}`;
}

/** A notice tells what the books have at the end, or what a late approval has replaced. */
function invented(evidence: Evidence, { topic, subject, state, url }: Delivery): string[] {
  if (!url.startsWith('https://receiver.example/notices/')) return [`a notice went to ${url}`];
  if (topic === 'payment') {
    const known = evidence.orders.some(({ payment_id }) => payment_id === subject) || isMinted(evidence, subject);
    return known ? [] : [`payment ${subject} was announced, and the books don't have it`];
  }
  if (topic !== 'point') return [];
  const link = evidence.link.get(subject);
  const order = evidence.order.get(link?.order_id ?? '');
  if (link === undefined || order === undefined) return [`a notice came for ${subject}, which has no order`];
  const final = intentStateOf(order, evidence.product.declined);
  const replaced = final === 'FINISHED' && state !== 'FINISHED';
  return state === final || replaced || movedOn(order) ? [] : [`${subject} was announced ${state} and is ${final}`];
}

function isMinted(evidence: Evidence, payment_id: string): boolean {
  return evidence.links.some((link) => link.payment_id === payment_id);
}

/** An order that asked for an action and was let go before it moved: nobody could have known. */
function movedOn({ status }: Order): boolean {
  return HARMLESS.has(status);
}

const RANK: Readonly<Record<string, number>> = { OPEN: 1, ON_TERMINAL: 2, PROCESSING: 3, PROCESSED: 4 };
const FINAL = 8;
const FINISHED = 9;

function rankOf(state: string): number {
  return state === 'FINISHED' ? FINISHED : (RANK[state] ?? FINAL);
}

/** I7: what a till has read, or was told, is never followed by something older. */
export const neverBack: Rule = (evidence) => {
  const wrong: string[] = [];
  const seen = evidence.calls.flatMap(({ what, legacy_id, state, from, to, status }) =>
    what.endsWith('read') && status === 200 && legacy_id !== null && state !== null && to !== null
      ? [{ legacy_id, state, from, to }]
      : [],
  );
  const told = evidence.deliveries.flatMap(({ topic, subject, state, at }) =>
    topic === 'point' && state !== null ? [{ legacy_id: subject, state, from: at, to: at }] : [],
  );
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

/** I8: rows and last reads say what the upstream's books say. */
export const statesEqual: Rule = (evidence) => {
  const wrong: string[] = [];
  for (const link of evidence.links) {
    const order = evidence.order.get(link.order_id ?? '') ?? unlearned(evidence, link);
    if (order === undefined) continue;
    const expected = link.family === 'point' ? intentStateOf(order, evidence.product.declined) : QR_STATE[order.status];
    if (link.legacy_state !== expected && !wasLetGo(link, order))
      wrong.push(`${link.legacy_id} is ${link.legacy_state}, its order ${order.status}`);
    const read = evidence.calls.find(({ what, legacy_id }) => what === 'last read' && legacy_id === link.legacy_id);
    if (read?.status === 200 && read.state !== null && read.state !== link.legacy_state)
      wrong.push(`the last read of ${link.legacy_id} says ${read.state}, its row ${link.legacy_state}`);
  }
  return wrong;
};

/** Legacy promised that CONFIRMATION_REQUIRED never changes, and a sale that was given up is over; only an approval is stronger. */
function wasLetGo({ legacy_state, state }: LinkRow, { status }: Order): boolean {
  return state === 'LOST' ? !PAID.has(status) : HARMLESS.has(status) && legacy_state === 'CONFIRMATION_REQUIRED';
}

/** The order of a row that never learned it, where a webhook told of it. */
function unlearned(evidence: Evidence, link: LinkRow): Order | undefined {
  const order = evidence.orders.find(
    ({ merchant_id, reference }) => merchant_id === link.merchant_id && reference === link.reference_sent,
  );
  return order !== undefined && wasHeardOf(evidence, order.id) ? order : undefined;
}
