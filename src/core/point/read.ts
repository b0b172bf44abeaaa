/** The stories that read intents: get, last status, events list. */
import { INTENT_ID } from '../../contract/identifiers.ts';
import { listEventsRequest } from '../../contract/legacy-point.ts';
import { answered, type LegacyAnswer, refused } from '../answer.ts';
import { type LegacyCall, merchantContext } from '../call.ts';
import type { Link } from '../link.ts';
import { refreshLink } from '../refresh.ts';
import type { Runtime } from '../runtime.ts';

/** Longest span of an events list (`legacy-point.md` §1.6). */
const MAX_EVENT_DAYS = 30;
const DAY_MS = 86_400_000;
/** More events than a till can show; a terminal makes a few hundred sales a day. */
const MAX_EVENTS = 10_000;

/** `GET …/payment-intents/{id}`: the higher of what is stored and what upstream says now, in legacy words. */
export async function getIntent(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const link = await currentLink(runtime, call);
  if (link === null) return refused('point', 'intent_not_found');
  const { value } = runtime.tables.answer(call.operation, link.order ?? {}, intentContext(runtime, call, link));
  return answered(200, value.body);
}

/** `GET …/payment-intents/{id}/events`: the last state under the name `status` (`legacy-point.md` §1.7). */
export async function lastStatus(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const link = await currentLink(runtime, call);
  if (link === null) return refused('point', 'intent_not_found');
  const { value } = runtime.tables.answer(call.operation, {}, intentContext(runtime, call, link));
  return answered(200, value.body);
}

/** `GET …/payment-intents/events`: Puente's own history of final states, newest first (`legacy-point.md` §1.6). */
export async function listEvents(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const asked = listEventsRequest.safeParse({ query: call.query });
  const from = asked.success ? dayStart(asked.data.query.startDate) : null;
  const last = asked.success ? dayStart(asked.data.query.endDate) : null;
  if (from === null || last === null || last < from || last - from > MAX_EVENT_DAYS * DAY_MS)
    return refused('point', 'bad_request');
  const links = await runtime.store.finishedLinks(call.merchant.id, from, last + DAY_MS, MAX_EVENTS);
  const events = links.map((link) => ({
    payment_intent_id: link.legacy_id,
    status: link.legacy_state,
    created_on: link.legacy_state_at,
  }));
  const { value } = runtime.tables.answer(call.operation, {}, { ...merchantContext(runtime, call.merchant), events });
  return answered(200, value.body);
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
    state: link.legacy_state,
    state_at: link.legacy_state_at,
    held: link.held,
    amount_minor: link.amount_minor,
  };
}

/** Start of a UTC day, epoch ms; null for a day that no calendar has. */
function dayStart(text: string): number | null {
  const start = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(start) || new Date(start).toISOString().slice(0, 10) !== text ? null : start;
}
