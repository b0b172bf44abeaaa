/** The stories that read: get intent, last status, events list; and the one way an order is read. */
import { INTENT_ID } from '../contract/identifiers.ts';
import { listEventsRequest } from '../contract/legacy-point.ts';
import { type Order, order as orderSchema } from '../contract/orders.ts';
import { answered, type LegacyAnswer, refused } from './answer.ts';
import { type LegacyCall, merchantContext } from './call.ts';
import { applyOrder } from './change.ts';
import { distrust } from './identity.ts';
import type { Link } from './link.ts';
import type { Runtime } from './runtime.ts';
import type { Secret } from './secret.ts';
import { routeOf, type UpstreamOutcome } from './upstream.ts';

/** Longest span of an events list (`legacy-point.md` §1.6). */
const MAX_EVENT_DAYS = 30;
const DAY_MS = 86_400_000;
/** More events than a till can show; a terminal makes a few hundred sales a day. */
const MAX_EVENTS = 10_000;

/** `GET …/payment-intents/{id}`: the higher of what is stored and what upstream says now, in legacy words. */
export async function getIntent(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const link = await currentLink(runtime, call);
  if (link === null) return refused('intent_not_found');
  const { value } = runtime.tables.answer(call.operation, link.order ?? {}, intentContext(runtime, call, link));
  return answered(200, value.body);
}

/** `GET …/payment-intents/{id}/events`: the last state under the name `status` (`legacy-point.md` §1.7). */
export async function lastStatus(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const link = await currentLink(runtime, call);
  if (link === null) return refused('intent_not_found');
  const { value } = runtime.tables.answer(call.operation, {}, intentContext(runtime, call, link));
  return answered(200, value.body);
}

/** `GET …/payment-intents/events`: Puente's own history of final states, newest first (`legacy-point.md` §1.6). */
export async function listEvents(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const asked = listEventsRequest.safeParse({ query: call.query });
  const from = asked.success ? dayStart(asked.data.query.startDate) : null;
  const last = asked.success ? dayStart(asked.data.query.endDate) : null;
  if (from === null || last === null || last < from || last - from > MAX_EVENT_DAYS * DAY_MS)
    return refused('bad_request');
  const links = await runtime.store.finishedLinks(call.merchant.id, from, last + DAY_MS, MAX_EVENTS);
  const events = links.map((link) => ({
    payment_intent_id: link.legacy_id,
    status: link.intent_state,
    created_on: link.intent_state_at,
  }));
  const { value } = runtime.tables.answer(call.operation, {}, { ...merchantContext(runtime, call.merchant), events });
  return answered(200, value.body);
}

/**
 * Reads a live link's order and moves the link to it. One read per order at a time; a read younger than `fresh_ms`
 * is good enough unless `force` is set. What can't be read leaves the stored state standing (`reliability.md` F27, F28).
 */
export async function refreshLink(
  runtime: Runtime,
  link: Link,
  token: Secret,
  options: { force?: boolean; deadline?: number } = {},
): Promise<Link> {
  const { order_id } = link;
  if (order_id === null) return link;
  const asked_at = runtime.clock.now();
  return runtime.serial.run(`order:${order_id}`, async () => {
    const current = (await runtime.store.link(link.legacy_id)) ?? link;
    const last = runtime.reads.last(order_id);
    const fresh_ms = options.force === true ? 0 : runtime.settings.reads.fresh_ms;
    if (last > 0 && (last >= asked_at || asked_at - last < fresh_ms)) return current;
    const order = await readOrder(runtime, token, order_id, options.deadline);
    return order === null || order === 'missing' ? current : applyOrder(runtime, current, order);
  });
}

/** A read whose caller has no time left still gets this long: most are answered in a few milliseconds. */
const SHORTEST_READ_MS = 250;

/**
 * `GET /v1/orders/{id}`; null when it can't be read now, `missing` when upstream says that it does not exist.
 * @param deadline epoch ms at which the caller has to answer; the read is cut there.
 */
export async function readOrder(
  runtime: Runtime,
  token: Secret,
  order_id: string,
  deadline = Number.POSITIVE_INFINITY,
): Promise<Order | 'missing' | null> {
  const started_at = runtime.clock.now();
  const outcome = await runtime.upstream.send({
    ...routeOf('get', order_id),
    token,
    timeout_ms: Math.min(runtime.settings.reads.timeout_ms, Math.max(deadline - started_at, SHORTEST_READ_MS)),
  });
  const order = readableOrder(outcome, order_id);
  if (order === null) {
    if (outcome.kind === 'answered' && outcome.status === 401) await distrust(runtime, token);
    const cause = outcome.kind === 'answered' ? `status ${outcome.status}` : outcome.cause;
    runtime.log.warn('order could not be read; the stored state stands', { order_id, cause });
    return outcome.kind === 'answered' && outcome.status === 404 ? 'missing' : null;
  }
  runtime.reads.mark(order_id, started_at);
  return order;
}

/** The order in an answer, when it is complete and the one that was asked for. */
export function readableOrder(outcome: UpstreamOutcome, order_id: string): Order | null {
  if (outcome.kind !== 'answered' || outcome.status < 200 || outcome.status > 299) return null;
  const parsed = orderSchema.safeParse(outcome.body);
  return parsed.success && parsed.data.id === order_id ? parsed.data : null;
}

/** The link of the call, refreshed while it can still change; null when the id has no intent a till may see. */
async function currentLink(runtime: Runtime, call: LegacyCall): Promise<Link | null> {
  const { link } = call;
  const { device_id = link?.unit } = call.path;
  if (link === null || link.unit !== device_id || !INTENT_ID.test(call.path.intent_id ?? '')) return null;
  if (link.state === 'REJECTED' || link.state === 'NOT_SENT') return null;
  return link.state === 'LIVE' ? refreshLink(runtime, link, call.token) : link;
}

function intentContext(runtime: Runtime, call: LegacyCall, link: Link): Record<string, unknown> {
  return {
    ...merchantContext(runtime, call.merchant),
    intent_id: link.legacy_id,
    device_id: link.unit,
    state: link.intent_state,
    state_at: link.intent_state_at,
    held: link.held,
    amount_minor: link.amount_minor,
  };
}

/** Start of a UTC day, epoch ms; null for a day that no calendar has. */
function dayStart(text: string): number | null {
  const start = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(start) || new Date(start).toISOString().slice(0, 10) !== text ? null : start;
}
