/** P2 for money: at most one approved payment per meant sale, and each meant sale is made (`docs/protocol.md` §3.9). */
import type { LinkRow, Order, SaleFacts, TillCall } from '../history.ts';
import { type Evidence, isTaken, PAID, type Rule } from './evidence.ts';

/** A little less than `create.join_window_ms`, because a till's call takes time. */
const JOIN_WINDOW_MS = 59_000;
/** A little less than a keyed create stays a retry after its notice was acknowledged (`CLIENT_PATIENCE_MS`). */
const CLIENT_PATIENCE_MS = 14_000;
/** A little less than the shortest lifetime of an order plus the repeat window. */
const RETRY_WINDOW_MS = (12 + 15) * 60_000 - 60_000;
/** The longest way of a call to the product. */
const ON_ITS_WAY_MS = 40;
/** Within this time an acknowledged notice is recorded, unless the process is killed. */
const RECORDED_MS = 1_000;

/** A retrying till never makes its customer pay twice: by any time, at most as many orders are paid as were meant. */
export const paidOnce: Rule = (evidence) =>
  evidence.sales.flatMap((sale) => {
    const paid = evidence.ordersOf(sale).filter(({ status }) => PAID.has(status));
    return paid.slice(1).flatMap((order, index) => {
      const creates = evidence.createsOf(sale.number).filter(({ from }) => from <= order.created_at);
      const meant = new Set(creates.map((call) => call.meant)).size + newSalesByRule(evidence, sale, creates);
      return index + 2 > meant
        ? [`sale ${sale.number} was meant ${meant} times, and ${order.id} is its payment number ${index + 2}`]
        : [];
    });
  });

/** Repetitions that may be new sales, because they can't be distinguished, as the tills' pages say (LIM-14, LIM-29). */
function newSalesByRule(evidence: Evidence, sale: SaleFacts, creates: readonly TillCall[]): number {
  return creates.filter((call) => {
    const first = creates.find(({ meant }) => meant === call.meant);
    return first !== undefined && first !== call && mayBeAnother(evidence, sale, first, call);
  }).length;
}

/** By time, as the product may measure it: true time, or its wall clock, which may have been set meanwhile. */
function mayBeAnother(evidence: Evidence, sale: SaleFacts, first: TillCall, again: TillCall): boolean {
  const { wallAt } = evidence;
  const until = Math.max(again.from, again.to ?? again.from);
  const passed_ms = Math.max(
    until - first.from,
    ...[again.from, until].map((at) => wallAt(at) - Math.min(wallAt(first.from), wallAt(first.to ?? first.from))),
  );
  if (sale.key === null && passed_ms >= JOIN_WINDOW_MS) return true;
  if (passed_ms >= RETRY_WINDOW_MS) return true;
  const heard = heardBy(evidence, sale, again.from + ON_ITS_WAY_MS);
  return heard === 'till' || (heard === 'notice' && (sale.key === null || passed_ms >= CLIENT_PATIENCE_MS));
}

/** How a till or its receiver may have shown by then that the sale is known. */
function heardBy(evidence: Evidence, sale: SaleFacts, by: number): 'till' | 'notice' | null {
  const links = evidence.linksOf(sale).filter((link) => mayBeDelivered(evidence, sale, by) && isMadeBy(link, by));
  if (links.some((link) => hearings(evidence, sale, link).some(({ from }) => from <= by))) return 'till';
  const isOver = ({ order_id }: LinkRow): boolean =>
    (evidence.order.get(order_id ?? '')?.ended_at ?? Number.POSITIVE_INFINITY) <= by;
  const told = evidence.deliveries.some(
    ({ at, status, subject }) =>
      at <= by && status === 200 && links.some((link) => isOver(link) && isAbout(subject, link)),
  );
  const read = evidence.calls.some(
    ({ from, merchant_order_id: read_id }) =>
      from <= by && links.some((link) => isOver(link) && read_id !== null && link.merchant_order_id === read_id),
  );
  return told || read ? 'notice' : null;
}

/** After creates with errors only, just a cancel or a refund shows knowledge. */
function mayBeDelivered({ createsOf }: Evidence, { number }: SaleFacts, by: number): boolean {
  return createsOf(number).some(({ from, left }) => from <= by && (left === null || left < 300));
}

function isMadeBy({ born_at }: LinkRow, by: number): boolean {
  return born_at <= by;
}

/**
 * Calls that name the sale and were answered with it; a refund with any answer. The number of a merchant order comes
 * from a notice, and shows no more than that.
 */
function hearings({ calls }: Evidence, sale: SaleFacts, link: LinkRow): TillCall[] {
  return calls.filter(
    ({ what, left, merchant_id, sale: number, legacy_id, merchant_order_id, refund }) =>
      what !== 'sell' &&
      what !== 'probe' &&
      merchant_id === sale.merchant_id &&
      merchant_order_id === null &&
      number === sale.number &&
      (refund === null
        ? left !== null && left < 300 && (legacy_id === link.legacy_id || legacy_id === null)
        : refund.payment_id === link.payment_id),
  );
}

function isAbout(subject: string, { legacy_id, merchant_order_id, payment_id }: LinkRow): boolean {
  return subject === legacy_id || subject === String(merchant_order_id) || subject === payment_id;
}

/** The second of two equal sales is not answered with the first, if the answer to the first was received. */
export const everySaleMade: Rule = (evidence) =>
  evidence.sales.flatMap((sale) =>
    evidence.createsOf(sale.number).flatMap((call) => {
      if (!isTaken(call) || evidence.proxiedCall.has(call.number)) return [];
      const first = evidence.createsOf(sale.number).find(({ meant }) => meant === call.meant);
      if (first === undefined || first.meant === 1) return [];
      const order = orderOf(evidence, call);
      const link = evidence.linkOfOrder.get(order?.id ?? '');
      if (order === undefined || link === undefined || order.created_at >= first.from) return [];
      return wasHeard(evidence, sale, link, first.from, call.from)
        ? [`sale ${sale.number} was meant once more and answered with ${order.id}, which its till had heard of`]
        : [];
    }),
  );

/** The order in the answer to a create; an answer without an id refers to the row at that time. */
function orderOf({ link, order }: Evidence, { legacy_id, row }: TillCall): Order | undefined {
  return order.get((legacy_id === null ? row?.order_id : link.get(legacy_id)?.order_id) ?? '');
}

/**
 * The sale is certainly known to the till, and the product has recorded that.
 * @param before the first create of the next sale. @param asked the one that was answered.
 */
function wasHeard(evidence: Evidence, sale: SaleFacts, link: LinkRow, before: number, asked: number): boolean {
  const creates = evidence.createsOf(sale.number).filter(({ from }) => from < before);
  const answered = creates.filter((call) => isTaken(call) && orderOf(evidence, call)?.id === link.order_id);
  // A broken answer to any copy of the create takes the delivered answer back.
  if (answered.length === 0 || creates.some(({ status }) => status === null)) return false;
  const answers = answered.map(({ to, from }) => to ?? from);
  const answered_at = Math.max(...answers);
  const by_till = hearings(evidence, sale, link).some(
    ({ to, from, left, what, legacy_id }) =>
      from > answered_at &&
      to !== null &&
      to < before &&
      left !== null &&
      left < 300 &&
      (what === 'refund' || legacy_id === link.legacy_id),
  );
  if (by_till) return true;
  // The product goes by the clock that says less, from its first answer on; it may have been set back since.
  const by_wall = [before, asked].flatMap((to) => answers.map((at) => evidence.wallAt(to) - evidence.wallAt(at)));
  const since_ms = Math.min(before - answered_at, ...by_wall);
  if (sale.key !== null && since_ms <= CLIENT_PATIENCE_MS + 2 * RECORDED_MS) return false;
  return wasTaken(evidence, link, answered_at, before);
}

/** Its receiver has acknowledged a notice of the end, or read the notice's subject. */
function wasTaken(
  { deliveries, calls, order, starts }: Evidence,
  link: LinkRow,
  after: number,
  before: number,
): boolean {
  const ended_at = order.get(link.order_id ?? '')?.ended_at ?? Number.POSITIVE_INFINITY;
  const since = Math.max(ended_at, after);
  const isWritten = (at: number): boolean =>
    at > since && at + RECORDED_MS < before && !starts.some((start) => start >= at && start <= before);
  const told = deliveries.some(
    ({ at, status, is_lost, subject, topic }) =>
      status === 200 &&
      !is_lost &&
      (topic === 'point' || topic === 'payment') &&
      isAbout(subject, link) &&
      isWritten(at),
  );
  const read = calls.some(
    ({ from, status, state, merchant_order_id }) =>
      status === 200 && state === 'paid' && merchant_order_id === link.merchant_order_id && isWritten(from),
  );
  return told || read;
}
