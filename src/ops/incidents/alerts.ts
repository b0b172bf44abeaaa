/** Alerts that go out: an incident is announced to each receiver when it opens, grows and closes, signed, in order, until it is delivered. */
import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { PuenteError, type Said, type Sentence } from '../../error.ts';
import { encoded, partsOf, quoted, readStored, say } from '../../locales/message.ts';
import { type Language, wordsOf } from '../../locales/words.ts';
import { pause } from '../../proxy/clock.ts';
import { maskText, shownUrl } from '../../proxy/evidence/redact-text.ts';
import { createSender } from '../../proxy/notices/delivery.ts';
import { checkUrl, type OutboundPolicy } from '../../proxy/notices/guard.ts';
import type { NoticeRequest } from '../../proxy/notices/request.ts';
import {
  type Alert,
  type AlertEvent,
  alertEvents,
  type IncidentKind,
  incidentKinds,
  isSlack,
} from '../../proxy/records/incidents.ts';
import type { Secret } from '../../proxy/vault.ts';
import { HOUR_MS, iso, said, time } from '../fields.ts';
import type { Ports } from '../ports.ts';
import { type Rounds, startRounds } from '../upkeep/chores.ts';
import { type IncidentPorts, type IncidentView, inPast, lookForIncidents, viewNamed } from './incidents.ts';

/** How often the store is looked at, and waiting alerts are sent. */
const LOOK_EVERY_MS = 10_000;
/** A receiver of alerts answers at once; Slack does within a second. */
const TIMEOUT_MS = 10_000;
/** A stop waits so long for running alerts; one that is cut is sent again, with the same id. */
const STOP_GRACE_MS = 3_000;
/** Pauses of 5 s, 15 s, 45 s … up to an hour: some five hours in all, after which the alert is no news. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = HOUR_MS;
const MOST_ATTEMPTS = 12;

/** A receiver as it is set (`alerts.receivers`). */
export interface AlertReceiver {
  url: Secret;
  /** Null for Slack alone. */
  secret: Secret | null;
  kinds: readonly IncidentKind[];
}

interface AlertSettings {
  receivers: Readonly<Record<string, AlertReceiver>>;
  language: Language;
}

type AlertPorts = IncidentPorts & Pick<Ports, 'log' | 'count'>;

export interface Alerting {
  /** Brings incidents up to date, and sends what waits in the background. */
  look(): Promise<void>;
  /**
   * Sends a test alert to one receiver, or to all, now, with an audit line.
   * @throws PuenteError not_found; refused when none is set.
   */
  test(receiver: string | undefined, reason: string, who: string): Promise<TestView[]>;
  /** In the order of the settings; addresses without their secrets. */
  receivers(): Promise<ReceiverView[]>;
  /** Waits `STOP_GRACE_MS` for running alerts, and cuts the others. */
  stop(): Promise<void>;
}

/** @param policy the outbound guard of alerts. @param user_agent of the requests. */
export function startAlerting(
  ports: AlertPorts,
  { receivers, language }: AlertSettings,
  policy: OutboundPolicy,
  user_agent: string,
): Alerting {
  const { store, clock, log, memory } = ports;
  const named = new Map(Object.entries(receivers));
  const sender = createSender({ policy, userAgent: user_agent, timeout_ms: TIMEOUT_MS });
  const post: Post = async (receiver, message) => {
    const { status, detail } = await sender.send(alertRequest(message, receiver, language, clock.now()));
    if (status === null) return { is_delivered: false, detail, status };
    // Any 2xx delivers an alert; only 200 and 201 acknowledge a notice.
    const is_delivered = status >= 200 && status < 300;
    return { is_delivered, detail: say(is_delivered ? 'attempt.answered' : 'attempt.no_2xx', { status }), status };
  };
  const receiversOf = (kind: IncidentKind): string[] =>
    [...named].filter(([, { kinds }]) => kinds.includes(kind)).map(([name]) => name);
  let stopped = false;
  const mayGoOn = (): boolean => !stopped && store.healthy();
  const look = oneAtATime(async () => (mayGoOn() ? lookForIncidents(ports, receiversOf) : undefined));
  const sending = createSending(ports, named, post, mayGoOn);
  const rounds: Rounds = startRounds({ log, name: 'incidents and alerts', every_ms: LOOK_EVERY_MS }, async () => {
    await look();
    await sending.send();
  });
  return {
    async look() {
      await look();
      await sending.send();
    },
    async test(name, reason, who) {
      if (named.size === 0) throw new PuenteError('refused', say('refusal.no_receivers', {}));
      const chosen = [...named].filter(([one]) => name === undefined || one === name);
      if (name !== undefined && chosen.length === 0)
        throw new PuenteError('not_found', say('refusal.no_receiver', { id: name.slice(0, 60) }));
      const detail = { receivers: chosen.map(([one]) => one) };
      const about = { action: 'test alert', subject: 'puente' } as const;
      await store.audit.appendAudit({ at: clock.now(), who, ...about, reason, detail });
      return Promise.all(
        chosen.map(async ([receiver, setting]) => {
          const message = { id: memory.ids.legacyId(clock.now()), event: 'test', incident: null } as const;
          const { is_delivered, status, detail } = await post(setting, message);
          return { receiver, is_delivered, status, detail: detail.text, said: detail.said };
        }),
      );
    },
    receivers: () => Promise.all([...named].map(([name, receiver]) => viewReceiver(ports, name, receiver, policy))),
    async stop() {
      stopped = true;
      const patience = new AbortController();
      const ended = Promise.allSettled([rounds.stop(), look(), sending.ended()]);
      await Promise.race([ended, pause(STOP_GRACE_MS, patience.signal)]);
      patience.abort();
      await sender.close();
      await ended;
    },
  };
}

/** Any 2xx delivers an alert. */
type Post = (
  receiver: AlertReceiver,
  message: AlertMessage,
) => Promise<{ is_delivered: boolean; detail: Sentence; status: number | null }>;

/** Callers during a run share it. */
function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  return () =>
    (running ??= work().finally(() => {
      running = null;
    }));
}

/** A receiver gets one alert at a time, and waits for no other: each has a queue of its own. */
function createSending(
  ports: AlertPorts,
  named: ReadonlyMap<string, AlertReceiver>,
  post: Post,
  mayGoOn: () => boolean,
): { send(): Promise<void>; ended(): Promise<unknown> } {
  const { store, clock, log } = ports;
  const queues = new Map<string, Promise<void>>();
  /** Receivers that alerts were found for while their queue ran. */
  const again = new Set<string>();
  const dueOf = async (receiver: string): Promise<Alert | undefined> =>
    mayGoOn() ? (await store.incidents.dueAlerts(clock.now())).find((one) => one.receiver === receiver) : undefined;
  const run = async (receiver: string): Promise<void> => {
    do {
      again.delete(receiver);
      for (let alert = await dueOf(receiver); alert !== undefined; alert = await dueOf(receiver))
        await sendOne(ports, alert, named.get(receiver), post);
    } while (again.has(receiver));
  };
  return {
    /** Finds what is due, and starts the queues of its receivers; waits for no receiver. */
    async send() {
      if (!mayGoOn()) return;
      for (const { receiver } of await store.incidents.dueAlerts(clock.now())) {
        if (queues.has(receiver)) again.add(receiver);
        else
          queues.set(
            receiver,
            run(receiver)
              .catch((error: unknown) => log.warn('alerts wait for the next round', { cause: String(error) }))
              .finally(() => queues.delete(receiver)),
          );
      }
    },
    ended: () => Promise.all(queues.values()),
  };
}

async function sendOne(
  { store, clock, log, count }: AlertPorts,
  alert: Alert,
  receiver: AlertReceiver | undefined,
  post: Post,
): Promise<void> {
  const [incident] = await store.incidents.incidents({ id: alert.incident_id }, 1);
  const attempts = alert.attempts + 1;
  // Put off before it is sent: a process that dies meanwhile leaves it to the next attempt, and no other sends it too.
  const next_attempt_at = clock.now() + TIMEOUT_MS + alertPause_ms(attempts);
  if (!(await store.incidents.takeAlert(alert, next_attempt_at, incident?.count ?? 1))) return;
  if (receiver === undefined || incident === undefined)
    return store.incidents.endAlert(alert, 'failed', encoded(say('attempt.no_receiver', {})), clock.now());
  const message = { id: alert.id, event: alert.event, incident: await viewNamed({ store }, incident) };
  const { is_delivered, detail } = await post(receiver, message);
  const state = is_delivered ? 'delivered' : attempts >= MOST_ATTEMPTS ? 'failed' : 'pending';
  await store.incidents.endAlert(alert, state, encoded(detail), clock.now());
  const facts = { action: alert.receiver, merchant: incident.merchant_id, attempts, cause: detail.text };
  count('alerts', state === 'pending' ? 'refused' : state);
  if (is_delivered) log.info('alert sent', facts);
  else log.warn('alert not delivered', facts);
}

async function viewReceiver(
  { store }: AlertPorts,
  receiver: string,
  { url, kinds }: AlertReceiver,
  policy: OutboundPolicy,
): Promise<ReceiverView> {
  const { waiting, last } = await store.incidents.alertsOf(receiver);
  const { text: detail, said } = last?.detail == null ? quoted('') : readStored(last.detail);
  return {
    receiver,
    host: shownUrl(url.reveal()),
    form: isSlack(url.reveal()) ? 'slack' : 'signed',
    kinds: [...kinds],
    waiting,
    last: last && {
      event: last.event,
      state: last.state,
      attempts: last.attempts,
      detail,
      said,
      at: iso(last.created_at),
    },
    ...refusalOf(url.reveal(), policy),
  };
}

/** Ms after the n-th attempt, counted from 1. */
export function alertPause_ms(attempts: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 3 ** (attempts - 1));
}

/** Why the outbound guard refuses the URL. */
function refusalOf(url: string, policy: OutboundPolicy): Pick<ReceiverView, 'refused' | 'refused_said'> {
  try {
    checkUrl(url, policy);
    return { refused: null, refused_said: [] };
  } catch (error) {
    if (error instanceof PuenteError) return { refused: error.message, refused_said: [...error.said] };
    throw error;
  }
}

export const receiverView = z.object({
  receiver: z.string().describe('its name in the settings'),
  host: z.string().describe('Its URL without path, which may contain a key.'),
  form: z.enum(['signed', 'slack']),
  kinds: z.array(z.enum(incidentKinds)),
  waiting: z.int(),
  last: z
    .object({
      event: z.enum(alertEvents),
      state: z.enum(['pending', 'delivered', 'failed']),
      attempts: z.int(),
      detail: z.string(),
      said: said.nullable(),
      at: time,
    })
    .nullable()
    .describe('the last alert that was tried'),
  refused: z.string().nullable().describe('why the outbound guard refuses its URL; null when it does not'),
  refused_said: z.array(said),
});
export type ReceiverView = z.infer<typeof receiverView>;

export const testView = z.object({
  receiver: z.string(),
  is_delivered: z.boolean(),
  status: z.int().nullable(),
  detail: z.string(),
  said: said.nullable(),
});
export type TestView = z.infer<typeof testView>;

// The request of an alert, as docs/operations.md tells the makers of receivers.

interface AlertMessage {
  /** The same on every attempt. */
  id: string;
  event: AlertEvent | 'test';
  /** Null for a test. */
  incident: IncidentView | null;
}

/**
 * The HMAC-SHA256 of `<timestamp>.<body>` under the receiver's secret goes in `puente-signature`, the time (epoch
 * seconds) in `puente-timestamp`. Slack gets `text` alone, unsigned. @param now epoch ms.
 */
export function alertRequest(
  message: AlertMessage,
  { url, secret }: Pick<AlertReceiver, 'url' | 'secret'>,
  language: Language,
  now: number,
): NoticeRequest {
  const text = maskText(textOf(message, language), true);
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  if (isSlack(url.reveal()))
    return {
      url: url.reveal(),
      headers,
      body: JSON.stringify({ text: text.replace(/[&<>]/g, (sign) => ESCAPED[sign] ?? sign) }),
    };
  const { id, event, incident } = message;
  const { said: _said, reason = '', ...facts } = incident === null ? {} : inPast(incident);
  const shown = incident === null ? null : { ...facts, reason: maskText(reason, true) };
  const body = JSON.stringify({ id, event, text, incident: shown });
  const timestamp = String(Math.floor(now / 1000));
  const signature = createHmac('sha256', secret?.reveal() ?? '')
    .update(`${timestamp}.${body}`)
    .digest('hex');
  return {
    url: url.reveal(),
    headers: { ...headers, 'puente-timestamp': timestamp, 'puente-signature': `sha256=${signature}` },
    body,
  };
}

/** Slack's own escapes. */
const ESCAPED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function textOf({ event, incident }: AlertMessage, language: Language): string {
  const words = wordsOf(language);
  const spoken = (text: string, message: Said | null): string =>
    partsOf(words, text, message)
      .map((part) => (typeof part === 'string' ? part : part.english))
      .join('');
  if (incident === null) {
    const { text, said } = say('alert.test', {});
    return spoken(text, said);
  }
  const { kind, merchant, name, count, reason, said: why } = incident;
  const { text, said } = say(`alert.${event}`, {
    incident: kind,
    count,
    merchant: name === null ? (merchant ?? 'none') : `${merchant} (${name})`,
    cause: { text: reason, said: why },
    is_whole: merchant === null,
  });
  return spoken(text, said);
}
