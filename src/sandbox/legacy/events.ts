/** History of intents: the events list and the last status. Source: `legacy-point.md` §1.6, §1.7. */
import { type IntentState, pointErrors } from '../../contract/legacy-point.ts';
import { isoDate } from '../dates.ts';
import { type Handler, refusal, single } from './call.ts';
import { intentOf } from './intents.ts';
import { isFinal, lastStep } from './lifecycle.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** The longest range that may be asked for. */
const MAX_RANGE_DAYS = 30;

/** `GET …/payment-intents/events?startDate=…&endDate=…`: final states, newest first; days are whole days in UTC, both included. */
export const listEvents: Handler = ({ state, merchant, query }) => {
  const start_ms = dayStart(single(query, 'startDate'));
  const end_ms = dayStart(single(query, 'endDate'));
  if (start_ms > end_ms || end_ms - start_ms > MAX_RANGE_DAYS * DAY_MS) throw refusal(pointErrors.bad_request);
  const events: { payment_intent_id: string; status: IntentState; at_ms: number }[] = [];
  for (const intent of state.intents.values()) {
    const { state: status, at_ms } = lastStep(intent);
    if (intent.merchant.user_id !== merchant.user_id || !isFinal(status)) continue;
    if (at_ms >= start_ms && at_ms < end_ms + DAY_MS) events.push({ payment_intent_id: intent.id, status, at_ms });
  }
  events.reverse(); // so that of two at the same time the later created comes first
  events.sort((one, other) => other.at_ms - one.at_ms);
  const shown = events.map(({ at_ms, ...event }) => ({ ...event, created_on: isoDate(at_ms, 0) }));
  return { status: 200, body: { events: shown } };
};

/** `GET …/payment-intents/{id}/events`: the current state, here called `status`, with the time it was reached. */
export const lastStatus: Handler = (call) => {
  const { state, at_ms } = lastStep(intentOf(call));
  return { status: 200, body: { status: state, created_on: isoDate(at_ms, 0) } };
};

/** @throws PuenteError refused, unless the text is a day of the calendar as YYYY-MM-DD. */
function dayStart(text: string | null): number {
  if (text === null || !/^\d{4}-\d{2}-\d{2}$/.test(text)) throw refusal(pointErrors.bad_request);
  const time_ms = Date.parse(`${text}T00:00:00Z`);
  if (Number.isNaN(time_ms) || isoDate(time_ms, 0).slice(0, 10) !== text) throw refusal(pointErrors.bad_request);
  return time_ms;
}
