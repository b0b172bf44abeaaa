/**
 * Judges QR sales and refunds: the tills' log, the upstream's books, the notices, and the reads at the end. Imports no
 * code of Puente; the states of both APIs are written out again here (`docs/field-notes.md` Spec Versioning).
 */
import type { BookedOrder, QrHistory, RefundAsk, SaleFacts, TillCall } from './qr-history.ts';

export type QrRule =
  | 'one at a till'
  | 'one exact order'
  | 'paid once'
  | 'nothing untold'
  | 'not taken away'
  | 'the right code'
  | 'refunds as told'
  | 'refunds as asked'
  | 'notices true'
  | 'changes told'
  | 'reads true'
  | 'in order';

export interface QrViolation {
  rule: QrRule;
  text: string;
}

export function checkQr(history: QrHistory): QrViolation[] {
  const rules: [QrRule, (books: Books) => string[]][] = [
    ['one at a till', oneAtATill],
    ['one exact order', oneExactOrder],
    ['paid once', paidOnce],
    ['nothing untold', nothingUntold],
    ['not taken away', notTakenAway],
    ['the right code', theRightCode],
    ['refunds as told', refundsAsTold],
    ['refunds as asked', refundsAsAsked],
    ['notices true', noticesTrue],
    ['changes told', changesTold],
    ['reads true', readsTrue],
    ['in order', inOrder],
  ];
  const books = openBooks(history);
  return rules.flatMap(([rule, find]) => find(books).map((text) => ({ rule, text })));
}

interface Books extends QrHistory {
  ordersOf: Map<number, BookedOrder[]>;
  callsOf: Map<number | null, TillCall[]>;
  orderOfPayment: Map<string, BookedOrder>;
}

function openBooks(history: QrHistory): Books {
  const ordersOf = new Map(
    history.sales.map((sale) => [sale.number, history.orders.filter(({ title }) => title === titleOf(sale))]),
  );
  const callsOf = Map.groupBy(history.calls, ({ sale }) => sale);
  const paid = history.orders.flatMap((order) =>
    order.payment_id === null ? [] : [[order.payment_id, order] as const],
  );
  return { ...history, ordersOf, callsOf, orderOfPayment: new Map(paid) };
}

export function titleOf(sale: Pick<SaleFacts, 'number'>): string {
  return `sale-${sale.number}`;
}

const PAID = new Set(['processed', 'refunded']);
const NEVER_PAID = new Set(['canceled', 'expired', 'failed']);

function isTold(books: Books, sale: SaleFacts): boolean {
  return (books.callsOf.get(sale.number) ?? []).some(({ status }) => status !== null && status < 300);
}

/** The code on a counter shows one sale: no two orders were ever payable at once, least of all after recovery. */
function oneAtATill({ orders, open_after_recovery }: Books): string[] {
  const wrong: string[] = [];
  const shown = orders.filter(({ mode }) => mode !== 'dynamic');
  for (const [pos, here] of Map.groupBy(shown, (order) => order.pos)) {
    const open = here.filter(({ id }) => open_after_recovery.includes(id));
    if (open.length > 1) wrong.push(`${pos} has ${open.length} open orders: ${open.map(({ id }) => id).join(', ')}`);
    const ordered = here.toSorted((one, other) => one.created_at - other.created_at);
    for (const [index, order] of ordered.entries()) {
      const next = ordered[index + 1];
      if (next !== undefined && next.created_at < (order.ended_at ?? Number.POSITIVE_INFINITY))
        wrong.push(`${order.id} and ${next.id} could both be paid at ${pos}`);
    }
  }
  return wrong;
}

/**
 * A 2xx means one order over exactly that amount, without orders that were taken back and reported, or removed by their
 * till before a retry. An order reported as paid counts: the retry is answered with it.
 */
function oneExactOrder(books: Books): string[] {
  const wrong: string[] = [];
  for (const sale of books.sales) {
    const orders = books.ordersOf.get(sale.number) ?? [];
    const counting = orders.filter(
      (order) =>
        !wasTakenBack(books, order) &&
        !wasTakenForKnown(books, order, orders) &&
        !(wasRemoved(books, sale) && isFollowed(order, orders)),
    );
    if (isTold(books, sale) && counting.length !== 1)
      wrong.push(`sale ${sale.number} was answered 2xx and has ${counting.length} orders: ${story(books, sale)}`);
    for (const { id, total_minor, amount_minor } of orders)
      if (total_minor !== sale.amount_minor || amount_minor !== sale.amount_minor)
        wrong.push(`sale ${sale.number} asked ${sale.amount_minor}, ${id} has ${total_minor} and ${amount_minor}`);
  }
  return wrong;
}

/** At most one approved payment per sale that a cashier meant, with any answers and reports. */
function paidOnce(books: Books): string[] {
  return books.sales.flatMap((sale) => {
    const orders = books.ordersOf.get(sale.number) ?? [];
    const paid = orders.filter((order) => PAID.has(order.status) && !wasTakenForKnown(books, order, orders));
    return paid.length > 1 ? [`sale ${sale.number} was paid ${paid.length} times: ${story(books, sale)}`] : [];
  });
}

function wasTakenBack({ reported }: Books, { id, status }: BookedOrder): boolean {
  return reported.includes(id) && NEVER_PAID.has(status);
}

/**
 * A kill may have cut off the committed answer; then a notice of the payment was acknowledged, and the till retried.
 * That retry can't be distinguished from the next sale.
 */
function wasTakenForKnown({ known_by_notice }: Books, { id, ended_at }: BookedOrder, orders: BookedOrder[]): boolean {
  return known_by_notice.includes(id) && orders.some(({ created_at }) => ended_at !== null && created_at >= ended_at);
}

/** The till cleared the counter between two tries of the sale. */
function wasRemoved({ calls }: Books, { number, pos }: SaleFacts): boolean {
  const first = calls.findIndex(({ sale }) => sale === number);
  const last = calls.findLastIndex(({ sale }) => sale === number);
  return calls.slice(first, last).some((call) => call.what === 'remove' && call.pos === pos);
}

function isFollowed({ detail, ended_at }: BookedOrder, orders: BookedOrder[]): boolean {
  return detail === 'canceled_by_api' && orders.some(({ created_at }) => ended_at !== null && created_at >= ended_at);
}

/** An order without a delivered answer is canceled, or reported to the merchant, or announced by the notice of its payment. */
function nothingUntold(books: Books): string[] {
  const wrong: string[] = [];
  const known = new Set(books.sales.map(titleOf));
  for (const { id, title } of books.orders) if (!known.has(title)) wrong.push(`order ${id} (${title}) is no till's`);
  const announced = new Set(books.notices.filter(({ topic }) => topic === 'payment').map(({ id }) => id));
  for (const sale of books.sales.filter((one) => !isTold(books, one))) {
    for (const order of books.ordersOf.get(sale.number) ?? []) {
      if (books.open_after_recovery.includes(order.id))
        wrong.push(`order ${order.id} of sale ${sale.number} was left open, and its till was told nothing`);
      if (PAID.has(order.status) && !books.reported.includes(order.id) && !announced.has(order.payment_id ?? ''))
        wrong.push(`order ${order.id} of sale ${sale.number} was paid, and nobody was told`);
    }
  }
  return wrong;
}

/** An order is canceled by a remove or by the till's next sale; otherwise a report names it. */
function notTakenAway(books: Books): string[] {
  const wrong: string[] = [];
  for (const sale of books.sales) {
    const first = books.calls.findIndex((call) => call.sale === sale.number);
    const later = books.calls.slice(first + 1).filter((call) => call.pos === sale.pos && call.sale !== sale.number);
    const wished = sale.kind !== 'dynamic' && later.length > 0;
    for (const { id, status, detail } of books.ordersOf.get(sale.number) ?? [])
      if (status === 'canceled' && detail === 'canceled_by_api' && !wished && !books.reported.includes(id))
        wrong.push(`order ${id} of sale ${sale.number} was canceled by nobody's wish`);
  }
  return wrong;
}

/** A till renders the code of its own dynamic order; other orders have no code of their own. */
function theRightCode(books: Books): string[] {
  const wrong: string[] = [];
  for (const sale of books.sales.filter(({ kind }) => kind === 'dynamic')) {
    const codes = new Set((books.ordersOf.get(sale.number) ?? []).map(({ qr_data }) => qr_data));
    for (const call of books.callsOf.get(sale.number) ?? [])
      if (call.status !== null && call.status < 300 && !codes.has(call.qr_data))
        wrong.push(`sale ${sale.number} was told a code that is not its order's`);
  }
  return wrong;
}

function story(books: Books, sale: Pick<SaleFacts, 'number'>): string {
  const facts = books.sales.find(({ number }) => number === sale.number);
  return JSON.stringify({ facts, orders: books.ordersOf.get(sale.number), calls: books.callsOf.get(sale.number) });
}

function storyOf(books: Books, ask: RefundAsk): string {
  return `${JSON.stringify(ask)} ${story(books, { number: ask.sale })}`;
}

/** No answer, or a 5xx; a refusal after it proves nothing about the calls before. */
function isDoubtful(ask: RefundAsk): boolean {
  return ask.calls.some(({ status }) => status === null || status >= 500);
}

/** A 201 names a refund that the books have with that amount, and no two requests were answered with the same one. */
function refundsAsTold(books: Books): string[] {
  const wrong: string[] = [];
  const told = new Map<string, number>();
  for (const ask of books.asks) {
    const made = ask.calls.filter(({ status }) => status === 201);
    const ids = new Set(made.map(({ refund_id }) => refund_id));
    if (ids.size > 1) wrong.push(`refund ${ask.number} was asked for once and told ${ids.size} times`);
    const booked = paidOrderOf(books, ask.sale)?.refunds ?? [];
    for (const { refund_id, amount_minor } of made) {
      const found = booked.find(({ id }) => id === refund_id);
      if (found === undefined)
        wrong.push(`refund ${ask.number} was told as ${refund_id}, which the books don't have: ${storyOf(books, ask)}`);
      else if (found.amount_minor !== amount_minor)
        wrong.push(`refund ${ask.number} was told ${amount_minor}, the books have ${found.amount_minor}`);
      if (ask.amount_minor !== null && amount_minor !== ask.amount_minor)
        wrong.push(`refund ${ask.number} asked ${ask.amount_minor} and was told ${amount_minor}`);
      const other = told.get(refund_id ?? '') ?? ask.number;
      if (other !== ask.number && !isTakenForOne(books, other, ask))
        wrong.push(
          `refunds ${other} and ${ask.number} were both told ${refund_id}: ${JSON.stringify(books.asks[other - 1])} ${storyOf(books, ask)}`,
        );
      told.set(refund_id ?? '', ask.number);
    }
  }
  return wrong;
}

/**
 * An equal part without a key counts as a repetition until the till has read the payment with the first: a second
 * refund could give the money back twice (`docs/protocol.md` §3.9, LIM-59).
 */
function isTakenForOne({ asks }: Books, number: number, ask: RefundAsk): boolean {
  const other = asks.find((one) => one.number === number);
  if (other === undefined || other.key !== null || ask.key !== null) return false;
  return other.amount_minor === ask.amount_minor && other.sale === ask.sale && !ask.knows_earlier;
}

/** Every booked refund belongs to one request; together they are at most what was requested or paid. */
function refundsAsAsked(books: Books): string[] {
  const wrong: string[] = [];
  for (const order of books.orders) {
    const payment = books.payments.find(({ id }) => id === order.payment_id);
    const sum_minor = order.refunds.reduce((sum, { amount_minor }) => sum + amount_minor, 0);
    if (payment === undefined && sum_minor === 0) continue;
    if (payment?.refunded_minor !== sum_minor)
      wrong.push(`${order.id} refunded ${sum_minor}, its payment ${payment?.refunded_minor ?? 'is missing'}`);
    if (sum_minor > (payment?.amount_minor ?? 0)) wrong.push(`${order.id} refunded more than was paid`);
    const asks = books.asks.filter((ask) => books.ordersOf.get(ask.sale)?.includes(order));
    const told = new Set(asks.flatMap(({ calls }) => calls.map(({ refund_id }) => refund_id)));
    const free = order.refunds.filter(({ id }) => !told.has(id));
    for (const ask of asks.filter((one) => !one.calls.some(({ status }) => status === 201)))
      if (isDoubtful(ask)) {
        const index = free.findIndex(({ amount_minor }) => fits(ask, amount_minor));
        if (index >= 0) free.splice(index, 1);
      }
    for (const { id, amount_minor } of free)
      wrong.push(`refund ${id} of ${amount_minor} on ${order.id} is more than was asked for`);
  }
  return wrong;
}

function fits(ask: RefundAsk, amount_minor: number): boolean {
  return ask.amount_minor === null || ask.amount_minor === amount_minor;
}

function paidOrderOf(books: Books, sale: number): BookedOrder | undefined {
  return books.ordersOf.get(sale)?.find(({ status }) => PAID.has(status));
}

/** The state in a webhook, by how the order ended (`docs/field-notes.md` QR §2). */
function closing(order_status: string): string | null {
  if (order_status === 'payment_required') return null;
  return order_status === 'expired' ? 'expired' : 'closed';
}

/** A notice names an existing resource by its path, and only states that the books have. */
function noticesTrue(books: Books): string[] {
  const wrong: string[] = [];
  const paid = new Set(books.payments.map(({ id }) => id));
  for (const { topic, id, status, resource } of books.notices) {
    const path = topic === 'merchant_order' ? `/merchant_orders/${id}` : id;
    if (resource !== null && resource !== path) wrong.push(`the notice of ${topic} ${id} leads to ${resource}`);
    if (topic === 'payment' && !paid.has(id)) wrong.push(`payment ${id} was announced, and the books don't have it`);
    const read = topic === 'merchant_order' ? books.merchant_orders.get(id) : undefined;
    if (topic === 'merchant_order' && read?.http !== 200)
      wrong.push(`merchant order ${id} was announced and is not there`);
    if (read?.http === 200 && status !== null && status !== 'opened' && status !== closing(read.order_status))
      wrong.push(`merchant order ${id} was announced ${status} and is ${read.order_status}`);
  }
  return wrong;
}

/** Every order and its end were announced as a merchant order, and every payment as a payment. */
function changesTold(books: Books): string[] {
  const wrong: string[] = [];
  const payments = new Set(books.notices.filter(({ topic }) => topic === 'payment').map(({ id }) => id));
  for (const { id, payment_id } of books.orders)
    if (payment_id !== null && !payments.has(payment_id))
      wrong.push(`payment ${payment_id} of ${id} was never announced`);
  for (const [id, { http, order_status }] of books.merchant_orders) {
    const end = http === 200 ? closing(order_status) : null;
    const told = books.notices.some((one) => one.topic === 'merchant_order' && one.id === id && one.status === end);
    if (end !== null && !told) wrong.push(`merchant order ${id} is ${order_status}, and that was never announced`);
  }
  for (const sale of books.sales) {
    const announced = [...books.merchant_orders.values()].filter(({ reference }) => reference === sale.reference);
    const orders = books.ordersOf.get(sale.number) ?? [];
    if (announced.length !== orders.length)
      wrong.push(`sale ${sale.number} has ${orders.length} orders, and ${announced.length} were announced`);
  }
  return wrong;
}

/** Reads after the last restart match the books: states, amounts, payments, refunds. */
function readsTrue(books: Books): string[] {
  const wrong: string[] = [];
  for (const sale of books.sales) {
    const read = [...books.merchant_orders.values()].filter(({ reference }) => reference === sale.reference);
    const shown = read.map((one) => `${one.order_status} ${one.total_minor} ${one.payments.join('+')}`).sort();
    const orders = books.ordersOf.get(sale.number) ?? [];
    const booked = orders.map((one) => `${shownState(one)} ${one.total_minor} ${one.payment_id ?? ''}`).sort();
    if (shown.join() !== booked.join())
      wrong.push(`sale ${sale.number} reads as [${shown.join()}], the books have [${booked.join()}]`);
  }
  for (const payment of books.payments) {
    const read = books.payment_reads.get(payment.id);
    if (read === undefined || !books.orderOfPayment.has(payment.id)) continue;
    const { http, amount_minor, refunded_minor } = read;
    if (http !== 200 || amount_minor !== payment.amount_minor || refunded_minor !== payment.refunded_minor)
      wrong.push(`payment ${payment.id} reads as ${http}, ${amount_minor}, ${refunded_minor} refunded`);
  }
  return wrong;
}

function shownState({ status, is_partly_refunded }: BookedOrder): string {
  if (status === 'created') return 'payment_required';
  if (NEVER_PAID.has(status)) return 'expired';
  if (status === 'refunded') return 'reverted';
  return is_partly_refunded ? 'partially_reverted' : 'paid';
}

/** Every till sells again, no backlog is left, and the file is undamaged. */
function inOrder({ probes, unsettled, integrity }: Books): string[] {
  const shut = probes
    .filter(({ status }) => status === null || status >= 300)
    .map(({ pos, status }) => `a new sale at ${pos} is answered ${status ?? 'nothing'} at the end`);
  const late = unsettled.map((what) => `not through in time: ${what}`);
  return [...shut, ...late, ...(integrity === 'ok' ? [] : [`the file is damaged: ${integrity}`])];
}
