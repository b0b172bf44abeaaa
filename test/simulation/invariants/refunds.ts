/** P2 and I12 for refunds (`docs/protocol.md` §3.9): never more than requested, and every one whose answer was delivered exists. */
import type { Order, TillCall } from '../history.ts';
import { type Evidence, isTaken, type Rule } from './evidence.ts';

/** A little less than the time in which an unanswered refund may be repeated by its till. */
const REPEATS_WITHIN_MS = 14 * 60_000;
/** A little more than the time in which an answered one may be repeated without a key (`create.join_window_ms`). */
const JOIN_WINDOW_MS = 61_000;
const KEY_MEMORY_MS = 24 * 60 * 60_000 - 60_000;

/** Each refund upstream was requested, by one row with one key; their sum is at most the payment. */
export const refundedOnce: Rule = (evidence) => {
  const wrong: string[] = [];
  for (const order of evidence.orders) {
    const { id, amount_minor, refunds } = order;
    const sum_minor = refunds.reduce((sum, one) => sum + one.amount_minor, 0);
    if (sum_minor > amount_minor) wrong.push(`${id} was paid ${amount_minor} and refunded ${sum_minor}`);
    if (refunds.length > 0) wrong.push(...moreThanAsked(evidence, order));
  }
  return [...wrong, ...strangeKeys(evidence)];
};

function moreThanAsked(evidence: Evidence, { id, payment_id, refunds }: Order): string[] {
  const asked = evidence.calls.filter(({ refund }) => refund !== null && refund.payment_id === payment_id);
  const countOf = (calls: TillCall[]): number => {
    const keys = [
      ...Map.groupBy(
        calls.filter(({ refund }) => refund?.key !== null),
        ({ refund }) => refund?.key,
      ).values(),
    ];
    const keyed = keys.reduce((sum, ofKey) => sum + (isForgotten(evidence, ofKey) ? 2 : 1), 0);
    const unkeyed = calls.filter(({ refund }) => refund?.key === null);
    return keyed + unkeyed.filter((call) => !isRepetition(evidence, call, unkeyed)).length;
  };
  const whole = countOf(asked.filter(({ refund }) => refund?.minor === null));
  const wrong: string[] = [];
  let parts = 0;
  for (const [minor, calls] of Map.groupBy(asked, ({ refund }) => refund?.minor ?? null)) {
    if (minor === null) continue;
    const wanted = countOf(calls);
    const made = refunds.filter((one) => one.amount_minor === minor).length;
    parts += wanted;
    if (made > wanted + whole)
      wrong.push(`${minor} of ${id} was asked back ${wanted} times and refunded ${made} times`);
  }
  if (refunds.length > parts + whole)
    wrong.push(`${id} was refunded ${refunds.length} times, and that was asked for ${parts + whole} times`);
  return wrong;
}

/** Repeated, by the product's clock, after keys are forgotten, as the vendor does (`docs/protocol.md` §3.1). */
function isForgotten({ wallAt }: Evidence, ofKey: TillCall[]): boolean {
  const [first] = ofKey;
  return ofKey.some(({ from, to }) => first !== undefined && wallAt(to ?? from) - wallAt(first.from) >= KEY_MEMORY_MS);
}

/** A request without a key repeats an equal one that has had no successful answer since, and that no read has shown. */
function isRepetition(evidence: Evidence, call: TillCall, unkeyed: TillCall[]): boolean {
  const { wallAt } = evidence;
  const same = unkeyed.filter(
    (one) => one !== call && one.refund?.minor === call.refund?.minor && one.from <= call.from,
  );
  const last = same.findLast(({ left }) => isTaken({ status: left }));
  const untold = same.filter((one) => one.from > (last?.to ?? 0) && isUnknown(one));
  return untold.some((one) => {
    const { from, to } = one;
    const age_ms = wallAt(call.from) - wallAt(from);
    const isLate = to === null || to >= call.from || age_ms < 0 || age_ms >= REPEATS_WITHIN_MS;
    return !isLate && !isSeen(evidence, one, call);
  });
}

/** The till has read in between that its sale was refunded. */
function isSeen({ calls }: Evidence, one: TillCall, call: TillCall): boolean {
  return calls.some(({ sale, from, to, status, state }) => {
    const isShown = status === 200 && (state === 'partially_reverted' || state === 'reverted');
    return isShown && sale === one.sale && from >= one.from && to !== null && to <= call.from;
  });
}

function isUnknown({ left }: TillCall): boolean {
  return left === null || left >= 500;
}

/** One key and one body per row, as for creates. */
function strangeKeys({ upstream, refunds }: Evidence): string[] {
  const known = new Set(refunds.map(({ idempotency_key }) => idempotency_key));
  const sent = Map.groupBy(
    upstream.filter(({ name }) => name === 'refund'),
    ({ key }) => key ?? '',
  );
  return [...sent].flatMap(([key, calls]) => [
    ...(known.has(key) ? [] : [`the refund key ${key} was sent and is no row's`]),
    ...(new Set(calls.map(({ path, body }) => `${path} ${body}`)).size > 1
      ? [`the refund key ${key} was sent with more than one request`]
      : []),
  ]);
}

/** A refund whose answer was delivered exists upstream with its amount, and two requested refunds are two. */
export const refundsEqual: Rule = (evidence) => {
  const wrong: string[] = [];
  const told = evidence.calls.filter(
    (call) => call.what === 'refund' && isTaken({ status: call.left }) && !evidence.proxiedCall.has(call.number),
  );
  for (const call of told.filter(isTaken)) {
    const made = madeBy(evidence, call);
    if (made === undefined)
      wrong.push(`a refund of sale ${call.sale} was answered 2xx as ${call.refund_id}, and is not there`);
    else if ((call.refund?.minor ?? made) !== made || Number(call.amount) !== made / 100)
      wrong.push(
        `${call.refund?.minor ?? 'all'} of sale ${call.sale} was asked back, ${made} made, ${call.amount} shown`,
      );
  }
  const shown = told.filter(({ refund_id }) => refund_id !== null);
  for (const [refund_id, calls] of Map.groupBy(shown, (call) => call.refund_id))
    for (const [index, call] of calls.entries())
      if (calls.slice(0, index).some((before) => areTwo(evidence, before, call)))
        wrong.push(`two refunds of sale ${call.sale} were asked for, and both are ${refund_id}`);
  return wrong;
};

/** Minor units of the refund upstream that an answer names. */
function madeBy({ orders, refunds }: Evidence, { refund_id, refund }: TillCall): number | undefined {
  const order = orders.find(({ payment_id }) => payment_id === refund?.payment_id);
  const row = refunds.find(({ number }) => number === refund_id);
  return order?.refunds.find(({ id, number }) => number === refund_id || id === row?.upstream_id)?.amount_minor;
}

/** A little more than the longest downtime of a process in plans. */
const LONGEST_DOWN_MS = 8_000;

/** Two with different keys; or two without keys, when the first was answered too long ago for a repetition. */
function areTwo({ wallAt, starts }: Evidence, before: TillCall, after: TillCall): boolean {
  const [one, other] = [before.refund?.key ?? null, after.refund?.key ?? null];
  if (one !== null && other !== null) return one !== other;
  const known_at = before.to;
  if (one !== null || other !== null || !isTaken(before) || known_at === null) return false;
  // A process killed while it answers has not recorded the answer, so the next process treats the refund as unanswered.
  if (starts.some((start) => start >= known_at && start < known_at + LONGEST_DOWN_MS)) return false;
  const passed_ms = Math.min(after.from - known_at, wallAt(after.from) - wallAt(known_at));
  return passed_ms >= JOIN_WINDOW_MS;
}

/** At the end each refund upstream has a row, each made refund is upstream, and none is in doubt without a reason. */
export const refundsKnown: Rule = (evidence) => {
  const { orders, refunds, order, link } = evidence;
  const made = new Set(orders.flatMap((one) => one.refunds.map(({ id }) => id)));
  const rows = new Set(refunds.map(({ upstream_id }) => upstream_id));
  const unknown = orders.flatMap((one) =>
    one.refunds.filter(({ id }) => !rows.has(id)).map(({ id }) => `the refund ${id} of ${one.id} is no row's`),
  );
  const rest = refunds.flatMap((row) => {
    if (row.state === 'DONE') return made.has(row.upstream_id ?? '') ? [] : [`${row.id} is DONE, and not there`];
    const isOpen = row.state === 'SENDING' || row.state === 'IN_DOUBT';
    const status = order.get(link.get(row.legacy_id)?.order_id ?? '')?.status;
    return isOpen && !wasUnseen(evidence, link.get(row.legacy_id)?.merchant_id ?? '')
      ? [`${row.id} is still ${row.state}, its order ${status}`]
      : [];
  });
  return [...unknown, ...rest];
};

/** No till read the merchant's refunds. */
function wasUnseen({ calls, sale }: Evidence, merchant_id: string): boolean {
  return !calls.some(
    ({ what, status, sale: number }) =>
      what === 'refunds read' && status === 200 && sale.get(number)?.merchant_id === merchant_id,
  );
}
