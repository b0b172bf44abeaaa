/** Rolls merchants back by alert: an Alertmanager webhook, or a body of the same meaning, with a filter of merchants. */
import { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { encoded, say } from '../../locales/message.ts';
import { maskWritten } from '../../proxy/evidence/redact-text.ts';
import type { Merchant } from '../../proxy/routing/merchant.ts';
import type { Person } from '../api/person.ts';
import type { Ports } from '../ports.ts';
import { knownMerchants, nearAny } from '../seen.ts';
import { meeting, refuseTooMany, whom } from '../selection.ts';
import { takeBack } from './move.ts';

/** Alertmanager groups alerts; a larger group than this names no fault that a rollback repairs. */
const MOST_ALERTS = 1_000;
/** A call must end within the timeout of its sender, and a wrong filter must not reach a whole large fleet. */
const MOST_MERCHANTS = 1_000;
/** Earlier moves of a merchant that are searched for the same alert: more than are made while one alert fires. */
const MOVES_READ = 50;

/** The query: a selection for senders that cannot choose their body, and the label with a merchant's id. */
export const alertQuery = z.strictObject({
  ...whom(MOST_MERCHANTS),
  label: z.string().min(1).max(100).default('merchant').describe("the alert's label with the id of a merchant"),
});

const named = z.strictObject({
  alert: z.string().trim().min(1).max(200).describe('the name of the alert, for the audit trail'),
  status: z.enum(['firing', 'resolved']).default('firing').describe('only a firing alert rolls back'),
  id: z.string().min(1).max(200).exactOptional().describe('one occurrence of the alert: it rolls a merchant back once'),
  ...whom(MOST_MERCHANTS),
});

const texts = z.record(z.string(), z.string());

/**
 * The fields of Alertmanager's webhook, version 4, that are used; others are ignored, as its documentation asks:
 * https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
 */
const alertmanager = z.object({
  version: z.literal('4'),
  alerts: z
    .array(
      z.object({
        status: z.enum(['firing', 'resolved']),
        labels: texts,
        startsAt: z.string().max(60),
        fingerprint: z.string().max(100),
      }),
    )
    .max(MOST_ALERTS),
});

export const alertAsk = z.union([named, alertmanager]);

export const alertAnswer = z.object({
  rolled_back: z.array(z.string()),
  untouched: z.array(z.string()).describe('on legacy already, or rolled back by this alert before'),
  unknown: z.array(z.string()).describe('named, and never seen'),
  near: z.array(z.string()).describe('merchants that the first unknown ones may have meant'),
  names: z.record(z.string(), z.string()).describe('of those merchants that have one, by id'),
});

interface Firing {
  name: string;
  /** Identifies one occurrence; null: it has no identity. */
  key: string | null;
  /** Null: it names no merchant by itself. */
  merchant_id: string | null;
}

/**
 * Rolls back the merchants that a firing alert names by its label, or that the filter selects: each once for each
 * occurrence of an alert, so that repeated deliveries change nothing. The merchants before a failed one stay rolled
 * back, and a repeated call goes on.
 * @throws PuenteError bad_request when nothing names merchants, refused for more than `MOST_MERCHANTS`, store_failed
 * when a merchant could not be rolled back.
 */
export async function rollBackByAlert(
  ports: Ports,
  ask: z.infer<typeof alertAsk>,
  query: z.infer<typeof alertQuery>,
  person: Person,
): Promise<z.infer<typeof alertAnswer>> {
  const firing = firingOf(ask, query.label);
  const answer: z.infer<typeof alertAnswer> = { rolled_back: [], untouched: [], unknown: [], near: [], names: {} };
  if (firing.length === 0) return answer;
  const { merchants, where } = { ...query, ...('alert' in ask ? ask : {}) };
  const labelled = firing.flatMap(({ merchant_id }) => merchant_id ?? []);
  // In a group one alert may name its merchant, and another one mean all that the filter selects.
  const named_alone = labelled.length === firing.length || where === undefined;
  const ids = merchants ?? (labelled.length > 0 && named_alone ? labelled : undefined);
  if (ids === undefined && where === undefined)
    throw new PuenteError('bad_request', say('refusal.alert_nobody', { label: query.label }));
  const known = await knownMerchants(ports);
  const listed = known.filter(({ id }) => ids?.includes(id) ?? true);
  // One with any work on a stage: what still runs there must come back, too.
  const chosen = where === undefined ? listed : await meeting(ports, listed, where, true);
  refuseTooMany(chosen, MOST_MERCHANTS);
  answer.unknown = [...new Set(merchants ?? labelled)].filter((id) => known.every((one) => one.id !== id));
  answer.near = await nearAny(answer.unknown, known);
  answer.names = namesOf(chosen);
  // Its sender is content with a 200, and people believe that the rollback was made.
  if (chosen.length === 0 || answer.unknown.length > 0)
    ports.log.warn('a rollback by alert did not find all of its merchants', {
      cause: firing
        .map(({ name }) => name)
        .join(', ')
        .slice(0, 400),
      merchant: answer.unknown.join(' ').slice(0, 400),
      count: chosen.length,
    });
  const errors: unknown[] = [];
  for (const merchant of chosen) {
    const causes = firing.filter(
      ({ merchant_id }) => merchants !== undefined || merchant_id === null || merchant_id === merchant.id,
    );
    try {
      // Pairs of Alertmanagers send each alert twice at once.
      const once = () => rollBackOnce(ports, merchant.id, causes, person);
      const is_moved = causes.length > 0 && (await ports.memory.mutex.run(`alert ${merchant.id}`, once));
      (is_moved ? answer.rolled_back : answer.untouched).push(merchant.id);
    } catch (error) {
      errors.push(error); // it must not keep the others on orders
    }
  }
  // As a 5xx, after which Alertmanager sends it again.
  if (errors.length > 0)
    throw new PuenteError('store_failed', say('refusal.alert_rollback', { count: errors.length }), {
      cause: errors[0],
    });
  return answer;
}

function namesOf(merchants: readonly Merchant[]): Record<string, string> {
  return Object.fromEntries(merchants.flatMap(({ id, settings: { name } }) => (name === null ? [] : [[id, name]])));
}

function firingOf(ask: z.infer<typeof alertAsk>, label: string): Firing[] {
  if ('alert' in ask)
    return ask.status === 'firing'
      ? [
          {
            name: ask.alert,
            key: ask.id === undefined ? null : `${maskWritten(ask.alert)} ${ask.id}`,
            merchant_id: null,
          },
        ]
      : [];
  return ask.alerts
    .filter(({ status }) => status === 'firing')
    .map(({ labels, startsAt, fingerprint }) => ({
      name: labels.alertname ?? fingerprint,
      key: `${fingerprint} ${startsAt}`,
      merchant_id: labels[label] ?? null,
    }));
}

/** False when it is on legacy already and waits for no move, or each alert has rolled it back before. */
async function rollBackOnce(ports: Ports, id: string, causes: readonly Firing[], person: Person): Promise<boolean> {
  const before = await ports.store.audit.auditsOf({ subject: id, action: 'rollback' }, MOVES_READ);
  const done = new Set(before.flatMap(({ detail }) => (Array.isArray(detail.alerts) ? detail.alerts : [])));
  if (causes.every(({ key }) => key !== null && done.has(key))) return false;
  const alert = [...new Set(causes.map(({ name }) => maskWritten(name).slice(0, 200)))].join(', ');
  const alerts = causes.flatMap(({ key }) => key ?? []);
  const reason = encoded(say('move.alert', { alert: alert.slice(0, 400) }));
  // What is open is not looked at: it takes hundreds of reads where notices wait, and hundreds of merchants follow.
  const { revision } = await takeBack(ports, id, { reason, new: false }, person, { alert, alerts });
  return revision !== null;
}
