/** I1–I4, I12, I16: a sale whose answer was delivered exists once, for its amount, and was stored before its answer. */
import type { Order, SaleFacts } from '../history.ts';
import { type Evidence, HARMLESS, isTaken, PAID, type Rule, wasHeardOf } from './evidence.ts';

/** How long a create may continue after its till has hung up: its deadline, and the work after it. */
const WORKS_ON_MS = 15_000;
/** A little less than the setting, because a till's call takes time. */
const JOIN_WINDOW_MS = 59_000;

/** I1: every 2xx create resolves to exactly one existing order, which only the till or the customer has ended. */
export const deliveredResolve: Rule = (evidence) => {
  const wrong: string[] = [];
  for (const call of evidence.calls) {
    if ((call.what !== 'sell' && call.what !== 'probe') || !isTaken(call) || evidence.proxiedCall.has(call.number))
      continue;
    const sale = evidence.sale.get(call.sale);
    if (sale === undefined) continue;
    const { legacy_id } = call;
    // An answer without an id refers to the row at the time of the answer.
    const order_id = legacy_id === null ? call.row?.order_id : evidence.link.get(legacy_id)?.order_id;
    const orders = [evidence.order.get(order_id ?? '')].filter((order) => order !== undefined);
    if (orders.length === 0)
      wrong.push(`sale ${call.sale} was answered 2xx (${legacy_id ?? 'no id'}) and has no order`);
    for (const order of orders)
      if (isOurCancel(order) && !wasWanted(evidence, sale, order))
        wrong.push(`${order.id} of sale ${call.sale} was answered 2xx, and canceled without a request`);
  }
  return [...wrong, ...lastReads(evidence)];
};

function lastReads({ calls }: Evidence): string[] {
  return calls
    .filter(({ what, status, legacy_id }) => what === 'last read' && legacy_id !== null && status !== 200)
    .map(({ sale, status }) => `the last read of sale ${sale} answers ${status ?? 'nothing'}`);
}

function isOurCancel({ status, detail }: Order): boolean {
  return status === 'canceled' && detail === 'canceled_by_api';
}

/** A till canceled it, or put another sale on the same code of its counter. */
function wasWanted({ calls }: Evidence, sale: SaleFacts, order: Order): boolean {
  return calls.some(
    ({ what, merchant_id, unit, sale: number, from }) =>
      merchant_id === sale.merchant_id &&
      unit === sale.unit &&
      (order.ended_at === null || from <= order.ended_at) &&
      (what === 'cancel' ||
        // A repetition long after the delivered answer is a new sale.
        (sale.kind === 'static' &&
          (what === 'sell' || what === 'probe') &&
          (number !== sale.number || from > order.created_at))),
  );
}

/** I2: one order, one key and one body per row, and no second order of a sale while the first is live. */
export const oneOrderPerRow: Rule = (evidence) => {
  const wrong: string[] = [];
  for (const [mark, orders] of Map.groupBy(evidence.orders, (order) => `${order.merchant_id}/${order.reference}`))
    if (orders.length > 1) wrong.push(`${mark} has ${orders.length} orders: ${orders.map(({ id }) => id).join(', ')}`);
  for (const [key, calls] of Map.groupBy(creates(evidence), (call) => call.key ?? '')) {
    if (!evidence.linkOfKey.has(key)) wrong.push(`the key ${key} was sent and is no row's`);
    if (new Set(calls.map(({ body }) => body)).size > 1) wrong.push(`the key ${key} was sent with more than one body`);
  }
  for (const sale of evidence.sales) wrong.push(...secondOrders(evidence, sale));
  return wrong;
};

function creates({ upstream }: Evidence) {
  return upstream.filter(({ name }) => name === 'create');
}

/** A sale may be repeated when its order has ended; before, a second order could be paid twice. */
function secondOrders(evidence: Evidence, sale: SaleFacts): string[] {
  const orders = evidence.ordersOf(sale);
  return orders.slice(1).flatMap((order, index) => {
    const before = orders[index] as Order; // the one before it in the same list
    const end = before.ended_at ?? Number.POSITIVE_INFINITY;
    if (isAnotherSale(evidence, sale, before)) return [];
    if (order.created_at < end) return [`sale ${sale.number} has two live orders: ${before.id} and ${order.id}`];
    const asked = evidence.createsOf(sale.number).some(({ to, from }) => Math.max(to ?? 0, from + WORKS_ON_MS) >= end);
    // A row in doubt is finished long after its call: its answer was never delivered, and it was canceled (§3.8).
    const link = evidence.linkOfOrder.get(order.id);
    const isTakenBack = link?.client_answer !== 'maybe' && isOurCancel(order);
    // Or its merchant chose to keep such orders, and has the report.
    const isAdopted = evidence.audits.some(({ action, subject }) => action === 'settle' && subject === link?.legacy_id);
    return asked || isTakenBack || isAdopted
      ? []
      : [`sale ${sale.number} was made again, and nobody asked for it: ${order.id}`];
  });
}

/**
 * A dynamic code without a key after its join window is a new sale (LIM-29), by the product's wall clock, or by elapsed
 * time unless it was restarted since.
 */
function isAnotherSale(evidence: Evidence, { kind, key, number }: SaleFacts, before: Order): boolean {
  if (kind !== 'dynamic' || key !== null) return false;
  const { createsOf, wallAt, linkOfOrder, starts } = evidence;
  const link = linkOfOrder.get(before.id);
  const born_at = link?.born_at ?? before.created_at;
  const wall_over_at = (link?.created_at ?? wallAt(before.created_at)) + JOIN_WINDOW_MS;
  return createsOf(number).some(({ from, to }) => {
    const until = Math.max(from, to ?? from);
    const isStarted = starts.some((at) => at > born_at && at <= until);
    const isOverByWall = Math.max(wallAt(from), wallAt(until)) >= wall_over_at;
    return isOverByWall && (isStarted || until >= born_at + JOIN_WINDOW_MS);
  });
}

/** I3: upstream's orders belong to rows; one without a delivered answer has ended, or is reported. */
export const nothingOrphaned: Rule = (evidence) => {
  const wrong: string[] = [];
  const byReference = new Map(evidence.links.map((link) => [`${link.merchant_id}/${link.reference_sent}`, link]));
  const reported = new Set(evidence.audits.map(({ subject }) => subject));
  for (const order of evidence.orders) {
    const link = evidence.linkOfOrder.get(order.id) ?? byReference.get(`${order.merchant_id}/${order.reference}`);
    if (link === undefined) wrong.push(`order ${order.id} (${order.reference}, ${order.status}) has no row`);
    else if (link.order_id === null && !(link.state === 'LOST' && isOverUnheard(evidence, order)))
      wrong.push(`order ${order.id} (${order.status}) was never learned by ${link.legacy_id} (${link.state})`);
    else if (
      link.order_id !== null &&
      link.client_answer !== 'maybe' &&
      needsReport(evidence, order) &&
      !reported.has(link.legacy_id)
    )
      wrong.push(`order ${order.id} is ${order.status}, its till got no answer, and no report names it`);
  }
  return wrong;
};

/** A given-up and reported row needs no order if nothing was paid, or no webhook of it was accepted. */
function isOverUnheard(evidence: Evidence, order: Order): boolean {
  return !PAID.has(order.status) || !wasHeardOf(evidence, order.id);
}

/** Still payable, paid, or canceled by the product although the till did not want that. */
function needsReport(evidence: Evidence, order: Order): boolean {
  if (!HARMLESS.has(order.status)) return order.status !== 'action_required';
  const sale = evidence.sales.find(
    ({ merchant_id, amount_minor }) => merchant_id === order.merchant_id && amount_minor === order.amount_minor,
  );
  return isOurCancel(order) && sale !== undefined && !wasWanted(evidence, sale, order);
}

/** I4: no row is left in doubt, or live without an open order; a given-up row is reported. */
export const nothingInDoubt: Rule = (evidence) => {
  const reported = new Set(evidence.audits.map(({ subject }) => subject));
  return evidence.links.flatMap(({ legacy_id, state, order_id, expires_at }) => {
    // A sale made under a wrong clock may be in doubt for months, until it expires.
    if (state === 'SENDING' || state === 'IN_DOUBT')
      return expires_at > evidence.ended_at ? [] : [`${legacy_id} is still ${state}`];
    if (state === 'LOST' && !reported.has(legacy_id)) return [`${legacy_id} is LOST and not reported`];
    const order = evidence.order.get(order_id ?? '');
    return state === 'LIVE' && order?.ended_at !== null ? [`${legacy_id} is LIVE, its order ${order?.status}`] : [];
  });
};

/** I12: one amount from the till to the order and back, as decimals. */
export const amountsEqual: Rule = (evidence) => {
  const wrong: string[] = [];
  const asked = new Map(evidence.sales.map((sale) => [`${sale.merchant_id}/${sale.amount_minor}`, sale]));
  for (const { legacy_id, merchant_id, amount_minor, order_id } of evidence.links) {
    if (!asked.has(`${merchant_id}/${amount_minor}`))
      wrong.push(`${legacy_id} is ${amount_minor}, which nobody asked for`);
    const order = evidence.order.get(order_id ?? '');
    if (order !== undefined && order.amount_minor !== amount_minor)
      wrong.push(`${legacy_id} is ${amount_minor}, its order ${order.amount_minor}`);
  }
  for (const { what, sale, amount, status, merchant_order_id } of evidence.calls) {
    const facts = evidence.sale.get(sale);
    if (facts === undefined || amount === null || status !== 200 || !what.endsWith('read')) continue;
    const right =
      merchant_order_id === null && facts.kind !== 'point'
        ? // The counter may show another sale of the same unit.
          evidence.sales.some((one) => one.unit === facts.unit && Number(amount) === one.amount_minor / 100)
        : facts.kind === 'point'
          ? amount === String(facts.amount_minor)
          : Number(amount) === facts.amount_minor / 100;
    if (!right) wrong.push(`sale ${sale} asked ${facts.amount_minor}, a read says ${amount}`);
  }
  for (const { body, key } of creates(evidence)) {
    const sent = /"amount":"([^"]*)"/.exec(body ?? '')?.[1];
    const minor = evidence.linkOfKey.get(key ?? '')?.amount_minor;
    if (minor !== undefined && sent !== decimal(minor)) wrong.push(`${minor} was sent as ${sent ?? 'nothing'}`);
  }
  return wrong;
};

function decimal(minor: number): string {
  const digits = String(minor).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** I16: no 2xx before its commit: at the answer, the row said that an answer may have been sent. */
export const committedFirst: Rule = ({ calls, proxiedCall }) =>
  calls.flatMap((call) => {
    if ((call.what !== 'sell' && call.what !== 'probe') || !isTaken(call) || proxiedCall.has(call.number)) return [];
    if (call.row === null) return [`sale ${call.sale} was answered ${call.status} before its row was committed`];
    const { order_id, client_answer, state } = call.row;
    if (order_id !== null && client_answer === 'maybe') return [];
    return [`sale ${call.sale} was answered ${call.status} while its row was ${state} with answer ${client_answer}`];
  });

/** P10: no merchant reads another's intent. */
export const ownersAlone: Rule = ({ calls, sale }) =>
  calls.flatMap(({ what, sale: number, merchant_id, status }) =>
    what === 'read' && status === 200 && sale.get(number)?.merchant_id !== merchant_id
      ? [`${merchant_id} has read sale ${number} of another merchant`]
      : [],
  );
