/** The history of intents: terminal states of Puente and of legacy, as one list (`docs/field-notes.md` Point §1.6). */

import { z } from 'zod';
import { DAY_MS } from '../../contract/duration.ts';
import { listEventsRequest } from '../../contract/legacy-point.ts';
import { answered, type LegacyAnswer, type LegacyCall, merchantContext, refused } from '../http/answer.ts';
import { asUpstreamSays, searchLegacy, warnOfLegacy } from '../payments/legacy-search.ts';
import type { Ports } from '../ports.ts';
import { stageInForce } from '../routing/stage.ts';
import type { UpstreamOutcome } from '../upstream/upstream.ts';
import { markShown } from './read.ts';

/** Longest span of an events list (`docs/field-notes.md` Point §1.6). */
const MAX_EVENT_DAYS = 30;
/** More events than a till can show; a terminal makes a few hundred sales a day. */
const MAX_EVENTS = 10_000;
const LEGACY_PATH = '/point/integration-api/payment-intents/events';

/**
 * `GET …/payment-intents/events`: both lanes, newest first. While legacy fails, Puente's own, else legacy's error; once
 * legacy no longer has the route, Puente's own list, which may be empty.
 */
export async function listEvents(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const parsed = listEventsRequest.safeParse({ query: call.query });
  const from = parsed.success ? dayStart(parsed.data.query.startDate) : null;
  const last = parsed.success ? dayStart(parsed.data.query.endDate) : null;
  if (from === null || last === null || last < from || last - from > MAX_EVENT_DAYS * DAY_MS)
    return refused('point', 'bad_request');
  const legacy = { name: 'legacy_events', path: LEGACY_PATH, query: call.query, moments: [] } as const;
  const [ours, { outcome }] = await Promise.all([
    ourEvents(ports, call, from, last + DAY_MS),
    searchLegacy(ports, call, legacy),
  ]);
  const theirs = foundBy(outcome);
  if (theirs !== null) return answered(200, { events: newestFirst([...ours, ...theirs]) });
  if (ours.length === 0 && !isOver(ports, call, outcome)) return asUpstreamSays(ports, call, outcome);
  warnOfLegacy(ports, call, outcome);
  return answered(200, { events: ours });
}

interface HistoryEvent {
  created_on: string;
}

/** Puente's events, newest first. @param to epoch ms, exclusive. */
async function ourEvents(ports: Ports, call: LegacyCall, from: number, to: number): Promise<HistoryEvent[]> {
  const links = await ports.store.history.finishedLinks(call.merchant.id, from, to, MAX_EVENTS);
  for (const link of links) markShown(ports, link, false);
  const events = links.map((link) => ({
    payment_intent_id: link.legacy_id,
    status: link.legacy_state,
    created_on: link.legacy_state_at,
  }));
  const { value } = ports.tables.answer(call.operation, {}, { ...merchantContext(ports, call.merchant), events });
  return (value.body as { events: HistoryEvent[] }).events; // the table has just checked it
}

const legacyEvents = z.object({ events: z.array(z.looseObject({ created_on: z.string() })) });

/** Legacy's events, unchanged; null when legacy gave no list. */
function foundBy(outcome: UpstreamOutcome): HistoryEvent[] | null {
  if (outcome.kind !== 'answered' || outcome.status !== 200) return null;
  return legacyEvents.safeParse(outcome.body).success ? (outcome.body as { events: HistoryEvent[] }).events : null;
}

/** Statuses of a route that does not exist any more, a gateway's page included; no other failure shows that legacy has no events. */
const GONE = [404, 410];

/** True when the merchant's sales are all on orders, and legacy has ended this list. */
function isOver(ports: Ports, { merchant, operation }: LegacyCall, outcome: UpstreamOutcome): boolean {
  const { stage } = stageInForce(ports.settings, merchant, operation.kind);
  const status = outcome.kind === 'answered' ? outcome.status : outcome.kind === 'broken' ? outcome.page : undefined;
  return stage === 'orders' && status !== undefined && GONE.includes(status);
}

function newestFirst(events: HistoryEvent[]): HistoryEvent[] {
  const at = ({ created_on }: HistoryEvent): number => Date.parse(created_on) || 0;
  return events.sort((one, other) => at(other) - at(one));
}

/** Start of a UTC day, epoch ms; null for an impossible date. */
function dayStart(text: string): number | null {
  const start = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(start) || new Date(start).toISOString().slice(0, 10) !== text ? null : start;
}
