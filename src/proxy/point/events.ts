/** The story of the history of intents: Puente's own final states and those of legacy, as one list (`docs/field-notes.md` Point §1.6). */
import { z } from 'zod';
import { listEventsRequest } from '../../contract/legacy-point.ts';
import { answered, type LegacyAnswer, refused } from '../http/answer.ts';
import { type LegacyCall, merchantContext } from '../http/call.ts';
import { asUpstreamSays } from '../payments/read.ts';
import type { Ports } from '../ports.ts';
import type { UpstreamOutcome } from '../upstream/upstream.ts';
import { markShown } from './read.ts';

/** Longest span of an events list (`docs/field-notes.md` Point §1.6). */
const MAX_EVENT_DAYS = 30;
const DAY_MS = 86_400_000;
/** More events than a till can show; a terminal makes a few hundred sales a day. */
const MAX_EVENTS = 10_000;

/**
 * `GET …/payment-intents/events`: newest first, whichever side an intent was born on. While legacy can't be asked ours
 * stand alone when there are any; otherwise its error is told.
 */
export async function listEvents(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const asked = listEventsRequest.safeParse({ query: call.query });
  const from = asked.success ? dayStart(asked.data.query.startDate) : null;
  const last = asked.success ? dayStart(asked.data.query.endDate) : null;
  if (from === null || last === null || last < from || last - from > MAX_EVENT_DAYS * DAY_MS)
    return refused('point', 'bad_request');
  const [ours, outcome] = await Promise.all([ourEvents(ports, call, from, last + DAY_MS), askLegacy(ports, call)]);
  const theirs = foundBy(outcome);
  if (theirs !== null) return answered(200, { events: newestFirst([...ours, ...theirs]) });
  if (ours.length === 0) return asUpstreamSays(ports, call, outcome);
  ports.log.warn('history: legacy could not be asked; our own intents stand alone', {
    operation: call.operation.name,
    merchant: call.merchant.id,
    cause: outcome.kind === 'answered' ? `status ${outcome.status}` : outcome.cause,
  });
  return answered(200, { events: ours });
}

interface HistoryEvent {
  created_on: string;
}

/** As the table writes them, newest first. @param to epoch ms, not included. */
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

/** Asked at most once in `reads.search_fresh_ms` for the same days. */
function askLegacy(ports: Ports, call: LegacyCall): Promise<UpstreamOutcome> {
  const { reads } = ports.settings;
  return ports.memory.cache.get(
    `intent events ${call.merchant.id} ${new URLSearchParams(call.query)}`,
    ports.clock.now(),
    reads.search_fresh_ms,
    () =>
      ports.upstreams.legacy.send({
        name: 'legacy_events',
        method: 'GET',
        path: '/point/integration-api/payment-intents/events',
        query: call.query,
        token: call.token,
        timeout_ms: reads.timeout_ms,
      }),
    (outcome) => outcome.kind === 'answered' && outcome.status === 200,
  );
}

const legacyEvents = z.object({ events: z.array(z.looseObject({ created_on: z.string() })) });

/** Null when legacy gave no list. Its events are told on as they are. */
function foundBy(outcome: UpstreamOutcome): HistoryEvent[] | null {
  if (outcome.kind !== 'answered' || outcome.status !== 200) return null;
  return legacyEvents.safeParse(outcome.body).success ? (outcome.body as { events: HistoryEvent[] }).events : null;
}

/** Those of one moment keep the order they came in. */
function newestFirst(events: HistoryEvent[]): HistoryEvent[] {
  const at = ({ created_on }: HistoryEvent): number => Date.parse(created_on) || 0;
  return events.sort((one, other) => at(other) - at(one));
}

/** Start of a UTC day, epoch ms; null for a day that no calendar has. */
function dayStart(text: string): number | null {
  const start = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(start) || new Date(start).toISOString().slice(0, 10) !== text ? null : start;
}
