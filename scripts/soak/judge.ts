/**
 * The judge of a soak: compares tills' log, upstream's books, receivers' log and database by the invariants of
 * `docs/protocol.md` §5.3. It imports no code of Puente; the states of both APIs are written out again here.
 */
import { changesTold } from './changes-told.ts';
import {
  type Books,
  type Finding,
  HARMLESS,
  isProxied,
  isRightlyInDoubt,
  openBooks,
  orderOf,
  PAID,
  toldLinks,
} from './cross-books.ts';
import type { BookedOrder, History, LinkFacts, SaleFacts } from './history.ts';
import { readsInOrder } from './reads-in-order.ts';

export interface Ruling {
  /** Number in `docs/protocol.md` §5.3; `house` is the process and its file. */
  invariant: string;
  says: string;
  looked_at: number;
  violations: string[];
}

export function judge(history: History): Ruling[] {
  const books = openBooks(history);
  return RULES.map(([invariant, says, rule]) => ({ invariant, says, ...rule(books) }));
}

const RULES: readonly [string, string, (books: Books) => Finding][] = [
  ['I1', 'every create whose answer was delivered leads to one existing order', deliveredResolve],
  ['I2', 'at most one order for each row, and one that counts for each sale', oneOrderEach],
  ['I3', 'every order upstream is known, and none is left that no till knows', nothingOrphaned],
  ['I4', 'nothing is left in doubt, live or waiting', nothingLeft],
  ['I5', 'every webhook that was taken is in the inbox, and done', eventsKept],
  ['I6', 'every change that legacy announced was notified, and no other terminal state', changesTold],
  ['I7', 'what is read never goes back in time', ({ reads }) => readsInOrder(reads)],
  ['I8', 'final states are those of the upstream', statesEqual],
  ['I11', 'what legacy took is noted, and has no order', proxiedNoted],
  ['I12', 'amounts and refunds are equal', amountsEqual],
  ['I13', 'no unit is held by two sales, or by one that is over', unitsFree],
  ['I15', 'at most three tries of a create, and 1.1 in all', triesBounded],
  ['house', 'the file and the audit chain are whole, and the process ended cleanly', houseInOrder],
];

/** `docs/field-notes.md` Spec Versioning: an order's intent state, if the policy makes a declined payment an ERROR. */
const INTENT_STATE: Readonly<Record<string, string>> = {
  created: 'OPEN',
  at_terminal: 'ON_TERMINAL',
  processed: 'FINISHED',
  refunded: 'FINISHED',
  failed: 'ERROR',
  canceled: 'CANCELED',
  expired: 'ABANDONED',
};
const HOLDS_UNIT = new Set(['SENDING', 'IN_DOUBT', 'LIVE']);
/** `docs/protocol.md` §5.3, I15. */
const MOST_TRIES = 3;
const MOST_TRIES_IN_ALL = 1.1;
/** Fewer creates prove no share. */
const LEAST_CREATES = 100;

function deliveredResolve(books: Books): Finding {
  const proxied = isProxied(books);
  const violations = books.delivered.flatMap((sale) => {
    const links = toldLinks(books, sale);
    const name = `sale ${sale.reference} of ${sale.merchant}`;
    if (links.length === 0) return proxied(sale) ? [] : [`${name} was answered 2xx and has no row`];
    return links.flatMap((link) => {
      const order = orderOf(books, link);
      if (order === undefined) return [`${name}: ${link.legacy_id} (${link.state}) leads to no order`];
      if (link.reference_sent !== null && order.reference !== link.reference_sent)
        return [`${name}: ${link.legacy_id} leads to another's ${order.id}`];
      return isTakenAway(books, sale.kind, link, order)
        ? [`${name}: ${link.legacy_id} was answered 2xx, and canceled without a request`]
        : [];
    });
  });
  return { looked_at: books.delivered.length, violations };
}

/** On a till's printed code the next sale replaces the one before, so this shows only for the other kinds. */
function isTakenAway(books: Books, kind: SaleFacts['kind'], link: LinkFacts, order: BookedOrder): boolean {
  if (kind === 'static' || order.detail !== 'canceled_by_api') return false;
  return !books.is_canceled.has(link.legacy_id) && !books.is_reported.has(link.legacy_id);
}

function oneOrderEach(books: Books): Finding {
  const { links } = books.database;
  const violations = links.flatMap((link) => {
    const reference = link.reference_sent ?? orderOf(books, link)?.reference;
    const orders = books.ordersOf.get(`${link.merchant_id} ${reference}`) ?? [];
    return orders.length > 1 ? [`${link.legacy_id} has the orders ${orders.map(({ id }) => id).join(', ')}`] : [];
  });
  const keys = new Set(links.map(({ idempotency_key }) => idempotency_key));
  if (keys.size !== links.length) violations.push('two rows share one key');
  for (const [key] of books.books.tries) if (!keys.has(key)) violations.push(`the key ${key} was sent and is no row's`);
  for (const sale of books.sales) {
    const rows = books.linksOf.get(`${sale.merchant} ${sale.reference}`) ?? [];
    const paid = rows.flatMap((link) => orderOf(books, link) ?? []).filter(({ status }) => PAID.has(status));
    if (paid.length > 1) violations.push(`sale ${sale.reference} of ${sale.merchant} was paid ${paid.length} times`);
  }
  return { looked_at: links.length, violations };
}

function nothingOrphaned(books: Books): Finding {
  const byOrder = new Map(books.database.links.map((link) => [link.order_id, link]));
  const violations = books.books.orders.flatMap((order) => {
    const link = byOrder.get(order.id);
    if (link === undefined) return [`order ${order.id} (${order.reference}, ${order.status}) has no row`];
    const isKnown = link.client_answer === 'maybe' || books.is_reported.has(link.legacy_id);
    if (isKnown || books.is_reported.has(order.id) || HARMLESS.has(order.status)) return [];
    return [`order ${order.id} is ${order.status}, its till got no answer, and no report names ${link.legacy_id}`];
  });
  return { looked_at: books.books.orders.length, violations };
}

function nothingLeft(books: Books): Finding {
  const { database, unsettled, is_reported } = books;
  const rows = database.links.flatMap((link) => {
    const { legacy_id, state } = link;
    if (HOLDS_UNIT.has(state) && !isRightlyInDoubt(books, link)) return [`${legacy_id} is still ${state}`];
    return state === 'LOST' && !is_reported.has(legacy_id) ? [`${legacy_id} is LOST and not reported`] : [];
  });
  const late = [...database.waiting, ...unsettled].map((what) => `not through in time: ${what}`);
  return { looked_at: database.links.length, violations: [...rows, ...late] };
}

function eventsKept({ books, database }: Books): Finding {
  const kept = new Set(database.events.map(({ event }) => event));
  const lost = books.taken.filter((event) => !kept.has(event)).map((event) => `${event} was taken and is not there`);
  const open = database.events.filter(({ state }) => state !== 'done' && state !== 'parked');
  return {
    looked_at: books.taken.length,
    violations: [...lost, ...open.map(({ event, state }) => `the event ${event} is ${state}`)],
  };
}

function statesEqual(books: Books): Finding {
  const violations = books.database.links.flatMap((link) => {
    const order = orderOf(books, link);
    const expected = order === undefined ? undefined : shown(link, order);
    if (expected === undefined || link.legacy_state === expected) return [];
    return [`${link.legacy_id} is ${link.legacy_state}, its order ${order?.status}`];
  });
  for (const { legacy_id, status, state } of books.last_reads) {
    const link = books.link.get(legacy_id);
    const order = link === undefined ? undefined : orderOf(books, link);
    if (link === undefined || order === undefined || shown(link, order) === state) continue;
    violations.push(`GET ${legacy_id} answers ${status} ${String(state)}, its order is ${order.status}`);
  }
  return { looked_at: books.database.links.length + books.last_reads.length, violations };
}

/** An intent's state, or the `order_status` of a merchant order (`docs/field-notes.md` QR §2). */
function shown({ family }: LinkFacts, { status, amount_minor, refunded_minor }: BookedOrder): string | undefined {
  if (family === 'point') return INTENT_STATE[status];
  if (HARMLESS.has(status)) return 'expired';
  if (!PAID.has(status)) return 'payment_required';
  if (refunded_minor === 0) return 'paid';
  return refunded_minor < amount_minor ? 'partially_reverted' : 'reverted';
}

function proxiedNoted(books: Books): Finding {
  const proxied = isProxied(books);
  const taken = books.delivered.filter((sale) => toldLinks(books, sale).length === 0 && proxied(sale));
  const violations = taken
    .filter(({ merchant, reference }) => books.ordersOf.has(`${merchant} ${reference}`))
    .map(({ merchant, reference }) => `sale ${reference} of ${merchant} was taken by legacy, and has an order too`);
  return { looked_at: taken.length, violations };
}

function amountsEqual(books: Books): Finding {
  const violations: string[] = [];
  for (const link of books.database.links) {
    const order = orderOf(books, link);
    if (order !== undefined && order.amount_minor !== link.amount_minor)
      violations.push(`${link.legacy_id} is ${link.amount_minor}, its order ${order.amount_minor}`);
  }
  for (const sale of books.delivered) {
    for (const { legacy_id, amount_minor } of toldLinks(books, sale))
      if (sale.amount_minor !== null && amount_minor !== sale.amount_minor)
        violations.push(`sale ${sale.reference} requested ${sale.amount_minor}, ${legacy_id} has ${amount_minor}`);
  }
  const byPayment = new Map(books.books.orders.map((order) => [order.payment_id, order]));
  for (const { payment_id, told_minor, open } of books.refunds) {
    const order = byPayment.get(payment_id);
    if (order === undefined) continue;
    const { refunded_minor } = order;
    if (refunded_minor < told_minor || (open === 0 && refunded_minor !== told_minor))
      violations.push(`payment ${payment_id}: ${told_minor} answered as refunded, ${refunded_minor} in the books`);
  }
  return { looked_at: books.database.links.length + books.refunds.length, violations };
}

function unitsFree(books: Books): Finding {
  const { database, probes } = books;
  const doubtful = new Set(
    database.links.filter((link) => isRightlyInDoubt(books, link)).map((link) => `${link.merchant_id} ${link.unit}`),
  );
  const holding = database.links.filter(({ slot, state }) => slot !== null && HOLDS_UNIT.has(state));
  const doubled = [...Map.groupBy(holding, (link) => `${link.merchant_id} ${link.slot}`)]
    .filter(([, links]) => links.length > 1)
    .map(([unit, links]) => `${links.length} live rows hold ${unit}`);
  const shut = probes
    .filter(({ unit, status }) => (status < 200 || status >= 300) && !doubtful.has(unit))
    .map(({ unit, status }) => `a new sale on ${unit} is answered ${status} at the end`);
  return { looked_at: probes.length, violations: [...doubled, ...shut] };
}

/** A create answered with an error is finished later at its own pace, so only those with a delivered answer count. */
function triesBounded({ books, database }: Books): Finding {
  const answered = new Set(
    database.links.filter((link) => link.client_answer === 'maybe').map((link) => link.idempotency_key),
  );
  const violations = books.tries
    .filter(([key, count]) => count > MOST_TRIES && answered.has(key))
    .map(([key, count]) => `the create ${key} was sent ${count} times`);
  const sent = books.tries.reduce((sum, [, count]) => sum + count, 0);
  if (books.tries.length >= LEAST_CREATES && sent > books.tries.length * MOST_TRIES_IN_ALL)
    violations.push(`${books.tries.length} creates were sent ${sent} times`);
  return { looked_at: books.tries.length, violations };
}

function houseInOrder({ house }: Books): Finding {
  return { looked_at: 3, violations: house };
}
