/** I9–I11, I13–I15: lanes, units, secrets, memory, and the number and kind of upstream calls. */
import { createHash } from 'node:crypto';
import type { LinkRow, Order, TillCall, UpstreamCall } from '../history.ts';
import { PATIENCE_MS } from '../receivers.ts';
import { type Evidence, isTaken, type Rule, wasHeardOf } from './evidence.ts';

/** Repeats of the completer in ten seconds, beside those of tills: at 1, 2 and 4 s, three tries each. */
const COMPLETER_TRIES = 12;
const TRIES_PER_CALL = 3;
const WINDOW_MS = 10_000;
/** The configured window in which the same bytes may be sent again (`docs/protocol.md` §3.5). */
const REPEAT_WINDOW_MS = 900_000;

/** I9 and I10, as far as visible here: notices go to receivers only, and no log line or answer shows a secret. */
export const nothingLeaks: Rule = ({ leaks, failures }) => [
  ...leaks,
  ...failures.map((text) => `nobody expected: ${text}`),
];

/** I11: calls go to the lane of their sale's create, new sales to the lane of the stage, or of their unit's work. */
export const lanesKept: Rule = (evidence) => {
  const wrong: string[] = [];
  for (const call of evidence.calls) {
    const proxied = evidence.proxiedCall.has(call.number);
    const { legacy_id, what, sale } = call;
    if (what === 'sell' && isTaken(call)) wrong.push(...bornRight(evidence, call, proxied));
    if (legacy_id === null || call.status === null || what === 'sell' || what === 'probe') continue;
    const isOnOrders = wasOnOrders(evidence, call);
    if (proxied && isOnOrders && isOwn(evidence, call))
      wrong.push(`a ${what} of sale ${sale} went to legacy, and it was created on orders`);
    if (!proxied && !isOnOrders && evidence.intent.has(legacy_id))
      wrong.push(`a ${what} of sale ${sale} went to orders, and it was created on legacy`);
  }
  for (const { legacy_id, stage_at_birth } of evidence.links)
    if (stage_at_birth === 'legacy') wrong.push(`${legacy_id} was written after its merchant had been moved to legacy`);
  return wrong;
};

/** A till refunds the payment that it read last, which may be the one before its newest create. */
function wasOnOrders({ link, links }: Evidence, { legacy_id, refund }: TillCall): boolean {
  if (refund === null) return link.has(legacy_id ?? '');
  return links.some(({ payment_id }) => payment_id === refund.payment_id);
}

/** An id of another merchant is unknown, and legacy may answer so. */
function isOwn({ sale }: Evidence, call: TillCall): boolean {
  return sale.get(call.sale)?.merchant_id === call.merchant_id;
}

function bornRight(evidence: Evidence, call: TillCall, proxied: boolean): string[] {
  const { merchant_id, unit, from, to, sale } = call;
  if (evidence.product.stop === 'armed') return [];
  const mine = evidence.stages.filter((one) => one.merchant_id === merchant_id);
  const inForce = mine.filter(
    ({ at }, index) => at <= (to ?? from) && (mine[index + 1]?.at ?? Number.POSITIVE_INFINITY) >= from,
  );
  const wanted = proxied ? 'legacy' : 'orders';
  if (inForce.some(({ stage }) => stage === wanted || stage === 'canary')) return [];
  const things = proxied ? evidence.intents : evidence.orders;
  const held = things.some(
    (thing) =>
      thing.merchant_id === merchant_id &&
      thing.unit === unit &&
      thing.created_at <= (to ?? from) &&
      (thing.ended_at ?? Number.POSITIVE_INFINITY) >= from - DOUBT_MS,
  );
  // Earlier creates with an unknown outcome; and QR sales on legacy, which the books of intents do not contain.
  const doubtful = evidence.calls.some(
    (other) =>
      other.unit === unit &&
      other.merchant_id === merchant_id &&
      other.number !== call.number &&
      other.what === 'sell' &&
      (!isTaken(other) || (unit.startsWith('qr:') && evidence.proxiedCall.has(other.number))),
  );
  return held || doubtful
    ? []
    : [`sale ${sale} was made on ${wanted}, and the stage was ${inForce.map(({ stage }) => stage).join(', ')}`];
}
/** A sale that has just ended may still hold its unit, as far as Puente knows. */
const DOUBT_MS = 60_000;

/** I13: never two live orders on one unit; every unit takes a new sale at the end, and no free one is called busy. */
export const unitsFree: Rule = (evidence) => {
  const wrong: string[] = [];
  const holding = evidence.orders.filter(({ mode }) => mode !== 'dynamic');
  for (const [unit, orders] of Map.groupBy(holding, (order) => `${order.merchant_id}/${order.unit}`))
    for (const [index, order] of orders.entries()) {
      const next: Order | undefined = orders[index + 1];
      if (next === undefined || next.created_at >= (order.ended_at ?? Number.POSITIVE_INFINITY)) continue;
      if (!isOutlived(evidence, order, next.created_at))
        wrong.push(`${order.id} and ${next.id} were live together on ${unit}`);
    }
  for (const call of evidence.calls) {
    if (call.what === 'probe' && !isTaken(call) && !holdsInDoubt(evidence, call))
      wrong.push(`a new sale on ${call.unit} answers ${call.status ?? 'nothing'} at the end: ${call.error ?? ''}`);
    if (call.what === 'sell' && call.status === 409 && isClear(evidence, call))
      wrong.push(`sale ${call.sale} was told that ${call.unit} is busy, and it was free`);
  }
  return wrong;
};

/** An order without a known id that expired by the product's clock holds its unit this long. */
const HOLD_MS = 20 * 60_000;

/**
 * Puente never got the order's id, and the clock was slow when the till computed its end, so that it lives longer by as
 * much. Set right, the clock said that it had ended, as after a shutdown; the hold covers smaller steps alone.
 */
function isOutlived(evidence: Evidence, order: Order, then: number): boolean {
  const link = evidence.links.find(
    ({ merchant_id, reference_sent }) => merchant_id === order.merchant_id && reference_sent === order.reference,
  );
  if (link?.state !== 'LOST' || link.order_id !== null || wasHeardOf(evidence, order.id)) return false;
  const first = evidence.upstream.find(({ key }) => key === link.idempotency_key);
  if (first === undefined || first.at - evidence.wallAt(first.at) <= HOLD_MS) return false;
  return evidence.clocks.some(({ at, by_ms }) => by_ms > HOLD_MS && at > first.at && then >= at + HOLD_MS);
}

/** A link is rightly in doubt, or an order outlives its row, so that upstream itself refuses another. */
function holdsInDoubt(evidence: Evidence, { unit, merchant_id, from }: TillCall): boolean {
  const doubtful = evidence.links.some(
    ({ slot, state, merchant_id: owner }) =>
      slot === unit && owner === merchant_id && (state === 'SENDING' || state === 'IN_DOUBT'),
  );
  const here = evidence.orders.filter((order) => order.merchant_id === merchant_id && order.unit === unit);
  return doubtful || here.some((order) => order.ended_at === null && isOutlived(evidence, order, from));
}

/** No order was open on the unit, none rightly in doubt, and no fault was active upstream. */
function isClear(evidence: Evidence, call: TillCall): boolean {
  const { from, unit, merchant_id } = call;
  const to = call.to ?? from;
  const here = (thing: { unit: string; merchant_id: string }): boolean =>
    thing.unit === unit && thing.merchant_id === merchant_id;
  const open = [...evidence.orders, ...evidence.intents].some(
    (thing) => here(thing) && thing.created_at <= to && (thing.ended_at ?? Number.POSITIVE_INFINITY) >= from,
  );
  const proxied = evidence.calls.filter(
    (other) => here(other) && other.what === 'sell' && evidence.proxiedCall.has(other.number),
  );
  const doubtful =
    evidence.links.some(
      (link) =>
        link.merchant_id === merchant_id &&
        (link.slot === unit || isOwnCode(evidence, link, call)) &&
        isInDoubt(evidence, link, from, to),
    ) ||
    proxied.some(
      (other) => other.number !== call.number && other.from <= to && ((other.to ?? to) >= from || !isKnown(other)),
    );
  const faulty = evidence.upstream.some(
    ({ at, over_at, fault }) => fault !== null && at <= to && (over_at ?? to) >= from,
  );
  return !open && !doubtful && !faulty && !isNoticeTried(evidence, call);
}

/**
 * The call itself found that the terminal's sale before has ended, and the first notice of that is under way, or waits
 * behind one that its merchant's receiver does not answer: a till might take it for one of its new sale. The next call
 * goes on (`docs/protocol.md` §3.9).
 */
function isNoticeTried({ deliveries, links, order, upstream }: Evidence, call: TillCall): boolean {
  const { unit, merchant_id, from } = call;
  const to = call.to ?? from;
  const isBusyThroughout = deliveries.some(
    ({ url, status, at }) =>
      status === null && new URL(url).pathname.endsWith(`/${merchant_id}`) && at <= from && at + PATIENCE_MS >= to,
  );
  const here = links.filter((link) => link.merchant_id === merchant_id && link.slot === unit);
  return here.some(({ legacy_id, order_id }) => {
    const first = deliveries.find(({ topic, subject }) => topic === 'point' && subject === legacy_id);
    if (first === undefined || first.at < from) return false;
    if (first.at <= to) return first.status === null;
    const ended_at = order.get(order_id ?? '')?.ended_at ?? Number.POSITIVE_INFINITY;
    return (
      isBusyThroughout &&
      ended_at <= to &&
      upstream.some(({ name, path, at }) => name === 'get' && path.endsWith(`/${order_id}`) && at >= from && at <= to)
    );
  });
}

/**
 * A dynamic code blocks only its retry, which joins it (`docs/protocol.md` §3.9) and is answered 409 while in doubt.
 */
function isOwnCode({ sale }: Evidence, link: LinkRow, { sale: number, unit, row }: TillCall): boolean {
  const same = sale.get(number)?.amount_minor === link.amount_minor; // amounts are unique
  const unknown = row?.state === 'SENDING' || row?.state === 'IN_DOUBT';
  return link.slot === null && `qr:${link.unit}` === unit && same && unknown;
}

/**
 * While a create is in doubt, its unit is busy (`docs/protocol.md` §3.6); without an order id, only an event, a repeat
 * or the order's end resolves it. The doubt must match the row, and have a reason: a try in flight or without a clear
 * answer, or a kill.
 */
function isInDoubt({ upstream, starts }: Evidence, link: LinkRow, from: number, to: number): boolean {
  if (link.born_at > to || (link.known_at ?? Number.POSITIVE_INFINITY) < from) return false;
  const tries = upstream.filter(({ name, key, at }) => name === 'create' && key === link.idempotency_key && at <= to);
  if (tries.length === 0 && from < link.born_at + FIRST_TRY_WITHIN_MS) return true;
  const died = starts.some((at) => at > link.born_at && at <= to);
  return (
    died ||
    tries.some(
      ({ fault, status, over_at }) =>
        over_at === null || over_at >= from || fault !== null || status === null || status >= 500,
    )
  );
}
/** From a written row to the first byte of its create. */
const FIRST_TRY_WITHIN_MS = 1_000;

/** Of a proxied call. */
function isKnown({ status }: TillCall): boolean {
  return status !== null && status < 500;
}

/** I14: the memory is empty when no work is in flight. */
export const nothingLeft: Rule = ({ left }) =>
  Object.entries(left).flatMap(([name, count]) => (count === 0 ? [] : [`${count} ${name} are left at the end`]));

/** I15: three tries per call, no hot loop, no try after a clear refusal or after the window, and no blind cancel. */
export const callsBounded: Rule = (evidence) => {
  const wrong: string[] = [];
  const creates = evidence.upstream.filter(({ name }) => name === 'create');
  for (const [key, calls] of Map.groupBy(creates, (call) => call.key ?? '')) {
    const tills = tillsOf(evidence, key);
    for (const first of calls) {
      const inWindow = calls.filter(({ at }) => at >= first.at && at < first.at + WINDOW_MS).length;
      const asking = tills.filter(({ from }) => from < first.at + WINDOW_MS).length;
      if (inWindow > TRIES_PER_CALL * asking + COMPLETER_TRIES)
        wrong.push(`${key} was sent ${inWindow} times in ${WINDOW_MS} ms`);
    }
    const [first] = calls;
    const last = calls.at(-1);
    if (first === undefined || last === undefined) continue;
    // By the true clock: setting the clock back does not reopen the window (§3.5).
    if (last.at - first.at > REPEAT_WINDOW_MS + WINDOW_MS)
      wrong.push(`${key} was sent again after ${last.at - first.at} ms`);
    // A process can't know whether an earlier one sent the row, so it treats no refusal as definite (§3.5).
    const [asked] = tills;
    const isFirst = asked !== undefined && asked.from <= first.at && (asked.to ?? first.at) >= first.at;
    // A process killed before it recorded the refusal is followed by one without that knowledge.
    const isAgain = calls.some((call) => call !== first && call.life === first.life);
    if (isFirst && isAgain && isDefinite(first)) wrong.push(`${key} was sent again after ${first.status}`);
    wrong.push(...readAfterRepeat(evidence, key, calls));
  }
  return [...wrong, ...blindCancels(evidence)];
};

function tillsOf(evidence: Evidence, key: string): TillCall[] {
  const link = evidence.linkOfKey.get(key);
  const sale = evidence.sales.find(
    ({ merchant_id, amount_minor }) => merchant_id === link?.merchant_id && amount_minor === link.amount_minor,
  );
  return sale === undefined ? [] : evidence.createsOf(sale.number);
}

/** The upstream's own refusal of a first try: no order exists, and none will. */
function isDefinite({ status, fault }: UpstreamCall): boolean {
  const honest = fault === null || fault === 'unauthorized' || fault === 'missing';
  return (
    honest && status !== null && status >= 400 && status < 500 && status !== 408 && status !== 429 && status !== 409
  );
}

/** After a successful repeat the order is read, because the answer may be an old one. */
function readAfterRepeat({ upstream, order, linkOfKey }: Evidence, key: string, calls: UpstreamCall[]): string[] {
  const at = calls.findIndex(({ status }) => status === 200 || status === 201);
  const success = calls[at];
  const sent = calls.slice(0, at).some(({ fault }) => fault !== 'refused' && fault !== 'rate');
  const order_id = linkOfKey.get(key)?.order_id ?? '';
  if (success === undefined || success.over_at === null || !sent || !order.has(order_id) || success.fault === 'foreign')
    return [];
  const over_at = success.over_at;
  const read = upstream.some(
    ({ name, path, at: when }) =>
      name === 'get' && path.endsWith(order_id) && when >= over_at && when <= over_at + WINDOW_MS,
  );
  const died = !upstream.some(({ life, at: when }) => life === success.life && when > over_at);
  return read || died ? [] : [`${order_id} was repeated and not read`];
}

/** Between two cancels or refunds of one order there is a read, unless the first had a clear answer. */
function blindCancels({ upstream }: Evidence): string[] {
  const about = upstream.filter(({ name }) => name === 'cancel' || name === 'refund' || name === 'get');
  const wrong: string[] = [];
  for (const [order_id, calls] of Map.groupBy(about, ({ path }) => path.split('/')[3] ?? '')) {
    let unsure: UpstreamCall | null = null;
    for (const call of calls) {
      if (call.name !== 'get' && unsure !== null && unsure.life === call.life)
        wrong.push(`a ${call.name} of ${order_id} was sent again blindly`);
      if (call.name === 'get') unsure = null;
      else unsure = call.fault !== 'refused' && (call.status === null || call.status >= 500) ? call : null;
    }
  }
  return wrong;
}

export const auditsHold: Rule = ({ audits }) => {
  let previous = '0'.repeat(64);
  for (const [index, { sequence, at, who, action, subject, reason, detail, hash }] of audits.entries()) {
    const text = canonical({ action, at, detail, reason, sequence, subject, who });
    previous = createHash('sha256').update(`${previous}\n${text}`).digest('hex');
    if (sequence !== index + 1 || previous !== hash) return [`the audit chain breaks at line ${sequence}`];
  }
  return [];
};

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, item]) => `${JSON.stringify(name)}:${canonical(item)}`).join(',')}}`;
}
