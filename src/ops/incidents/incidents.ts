/** Incidents: what stands in an operator's way, made of conditions in the store and of lines that Puente wrote to the audit. */
import { z } from 'zod';
import { PuenteError, type Spoken } from '../../error.ts';
import { encoded, readStored, say } from '../../locales/message.ts';
import type { AuditLine } from '../../proxy/audit.ts';
import {
  type Closing,
  type Condition,
  type ConditionLimits,
  conditionKinds,
  type Incident,
  type IncidentKind,
  incidentKinds,
  type lineKinds,
} from '../../proxy/records/incidents.ts';
import { BY_ITSELF } from '../api/person.ts';
import { merchantOfLine } from '../audit.ts';
import { DAY_MS, defined, HOUR_MS, instant, iso, listLimit, MINUTE_MS, pagesOf, said, time, whose } from '../fields.ts';
import type { Ports } from '../ports.ts';
import { lastBefore } from '../report/decisions.ts';
import { namedOf, ofEach } from '../whose.ts';

/** Recovery settles nearly every create in doubt within seconds. */
const IN_DOUBT_AFTER_MS = MINUTE_MS;
/** A till polls, and a receiver acknowledges, within seconds of the payment. */
const PAID_AFTER_MS = 5 * MINUTE_MS;
/** No till may ever read such a sale, and it must not silence the next one; that it is watched no longer is said. */
const PAID_FOR_MS = DAY_MS;
/** The legacy contract's first retry: a receiver that was restarted has its notices by then. */
const STUCK_AFTER_MS = 16 * MINUTE_MS;
/** Lines older than this when Puente first looks are history, and open nothing. */
const LINES_SINCE_MS = DAY_MS;
const PAGE = 500;
/** Open incidents compared in one look: more than an installation has merchants times kinds. */
const MOST_OPEN = 50_000;

/** Incidents of lines that are over when nothing new came for so long; the others need a person. */
const QUIET_AFTER_MS: Readonly<Partial<Record<IncidentKind, number>>> = {
  settlement: HOUR_MS,
  safety_stop_observed: HOUR_MS,
  terminal_held: HOUR_MS,
};

export interface IncidentPorts extends Pick<Ports, 'store' | 'clock' | 'memory'> {
  settings: { moves: Pick<Ports['settings']['moves'], 'proposal_kept_ms'> };
}

/**
 * Opens, counts up and closes incidents. Any process may look at any time: the store opens and closes each once.
 * @param receiversOf names of the receivers of a kind's alerts.
 */
export async function lookForIncidents(
  ports: IncidentPorts,
  receiversOf: (kind: IncidentKind) => readonly string[],
): Promise<void> {
  const { store, clock } = ports;
  await noteLines(ports, receiversOf);
  // Read before what stands: an incident that another process opens in between is not taken for one that is over.
  const open = await store.incidents.incidents({ is_open: true }, MOST_OPEN);
  const now = clock.now();
  const limits = {
    in_doubt_before: now - IN_DOUBT_AFTER_MS,
    paid_before: now - PAID_AFTER_MS,
    paid_since: now - PAID_FOR_MS,
    notices_before: now - STUCK_AFTER_MS,
    ramps_since: now - ports.settings.moves.proposal_kept_ms,
    now,
  };
  const standing = await store.incidents.conditions(limits);
  const known = new Map(open.map((incident) => [keyOf(incident), incident]));
  for (const condition of standing) {
    const before = known.get(keyOf(condition));
    known.delete(keyOf(condition));
    const { kind, merchant_id, subject, count, sample } = condition;
    const reason = encoded(reasonOf(condition));
    if (before !== undefined && before.count === count && before.reason === reason) continue;
    const incident = { id: ports.memory.ids.legacyId(now), kind, merchant_id, subject, count, sample, reason, line: 0 };
    await store.incidents.noteIncident({ ...incident, opened_at: now, last_at: now }, receiversOf(kind));
  }
  for (const incident of known.values())
    if (
      isCondition(incident.kind) ||
      now - incident.last_at >= (QUIET_AFTER_MS[incident.kind] ?? Number.POSITIVE_INFINITY)
    )
      await store.incidents.closeIncident(incident.id, now, BY_ITSELF, null, await closingOf(ports, incident, limits));
}

/** Sales that were paid too long ago to be watched are no recovery: their tills may still not know them. */
async function closingOf(
  { store }: IncidentPorts,
  { kind, merchant_id, opened_at }: Incident,
  limits: ConditionLimits,
): Promise<Closing> {
  if (kind !== 'paid_unacknowledged') return { event: 'recovered' };
  // Those that were watched at some time since it was opened.
  const left = await store.incidents.paidUnacknowledgedOf(merchant_id, limits.paid_since, opened_at - PAID_FOR_MS);
  if (left === null) return { event: 'recovered' };
  const { count, since, sample } = left;
  const hours = PAID_FOR_MS / HOUR_MS;
  return {
    event: 'unwatched',
    reason: encoded(say('incident.unwatched', { count, since_at: iso(since), hours, id: sample })),
    sample,
    count,
  };
}

function keyOf({ kind, merchant_id, subject }: Pick<Incident, 'kind' | 'merchant_id' | 'subject'>): string {
  return `${kind} ${merchant_id} ${subject}`;
}

function isCondition(kind: IncidentKind): kind is Condition['kind'] {
  return conditionKinds.some((one) => one === kind);
}

function reasonOf({ kind, subject, count, since, sample, why }: Condition): Spoken {
  if (kind === 'move_waiting' && subject !== '')
    return say('incident.ramp_waiting', { id: subject, count, since_at: iso(since) });
  if (kind === 'safety_stop') return say('incident.safety_stop', { kind: subject, cause: readStored(why ?? '') });
  if (kind === 'paid_unacknowledged')
    return say('incident.paid_unacknowledged', { count, since_at: iso(since), id: sample });
  return say(`incident.${kind}`, { count, since_at: iso(since) });
}

// Lines of the audit chain that Puente wrote itself.

/** The kind of an incident by the action of its line; `mismatch amount` and its like are grouped by their last word. */
const KINDS: Readonly<Record<string, (typeof lineKinds)[number]>> = {
  'terminal held': 'terminal_held',
  settle: 'settlement',
  'safety stop observed': 'safety_stop_observed',
  'bulk move stopped': 'bulk_stopped',
  'ramp paused': 'bulk_stopped',
  'log lost': 'data_lost',
  restored: 'data_lost',
};
const MISMATCH = 'mismatch ';

async function noteLines(ports: IncidentPorts, receiversOf: (kind: IncidentKind) => readonly string[]): Promise<void> {
  const { store, clock, memory } = ports;
  const noted = await store.incidents.lastIncidentLine();
  const first = noted > 0 ? noted : await lastBefore(store, clock.now() - LINES_SINCE_MS);
  let last = first;
  for await (const page of pagesOf((after, size) => store.audit.auditsAfter(after, size), PAGE, first))
    for (const line of page) {
      const { sequence, at, who, action, subject: about, reason, detail } = line;
      last = sequence;
      const kind = action.startsWith(MISMATCH) ? 'mismatch' : KINDS[action];
      if (who !== BY_ITSELF || kind === undefined || (kind === 'mismatch' && detail.repaired === true)) continue;
      const merchant_id = (await merchantOfLine(store, line)) ?? '';
      const subject = subjectOf(line, kind);
      const incident = { id: memory.ids.legacyId(clock.now()), kind, merchant_id, subject, opened_at: at, last_at: at };
      const sample = action === 'ramp paused' ? subject : about === merchant_id ? null : about;
      await store.incidents.noteIncident({ ...incident, count: 1, sample, reason, line: sequence }, receiversOf(kind));
    }
  if (last > noted) await store.incidents.passLines(last);
}

/** Terminals are held, kinds of mismatch found, and ramps paused, each by itself. */
function subjectOf({ action, detail }: AuditLine, kind: IncidentKind): string {
  if (kind === 'mismatch') return action.slice(MISMATCH.length);
  if (action === 'ramp paused') return String(detail.ramp);
  return kind === 'terminal_held' && typeof detail.unit === 'string' ? detail.unit : '';
}

// For operators: list them, and close those that need a person.

const DEFAULT_LIMIT = 100;
const MOST_LISTED = 1_000;

export const incidentQuery = z.strictObject({
  merchant: whose.exactOptional(),
  kind: z.enum(incidentKinds).exactOptional().describe('of this kind'),
  state: z.enum(['open', 'closed']).exactOptional().describe('only in this state'),
  since: instant.exactOptional().describe('opened then or later, such as 2026-01-31T09:00:00Z'),
  until: instant.exactOptional().describe('opened before then'),
  limit: listLimit(DEFAULT_LIMIT, MOST_LISTED).describe('at most so many'),
});

export const incidentView = z.object({
  id: z.string(),
  kind: z.enum(incidentKinds),
  merchant: z.string().nullable().describe('null for the whole installation'),
  name: z.string().nullable().describe('the name of the merchant'),
  subject: z
    .string()
    .nullable()
    .describe(
      'what incidents of one kind and merchant are grouped by: a kind of work or of mismatch, a terminal, a ramp',
    ),
  state: z.enum(['open', 'closed']),
  opened_at: time,
  last_at: time.describe('when it was last counted up'),
  closed_at: time.nullable(),
  closed_by: z.string().nullable(),
  count: z
    .int()
    .describe('sales, notices, moves or audit lines that it is about; 1000 paid sales or notices: so many or more'),
  sample: z.string().nullable().describe('one of them: a sale or a call for `puente trace`, a move or a bulk move'),
  reason: z.string(),
  said: said.nullable(),
});
export type IncidentView = z.infer<typeof incidentView>;

/** Newest first. @throws PuenteError as `refuseUnseenRead`. */
export async function viewIncidents(
  ports: Ports,
  { limit, merchant, state, ...period_and_kind }: z.infer<typeof incidentQuery>,
  signal: AbortSignal | null = null,
): Promise<IncidentView[]> {
  const is_open = state === undefined ? undefined : state === 'open';
  const filter = defined({ ...period_and_kind, is_open });
  const rows = await ofEach(
    merchant,
    (merchant_id) => ports.store.incidents.incidents(defined({ ...filter, merchant_id }), limit),
    signal,
    { limit, newest: ({ opened_at, id }) => `${iso(opened_at)} ${id}` },
  );
  const found = await namedOf(ports, merchant, rows);
  return found.map(({ merchant_name, ...one }) => inPast(viewOf(one, merchant_name)));
}

/** Reasons that speak of what stands now. */
const PRESENT = new Set([
  'incident.create_in_doubt',
  'incident.paid_unacknowledged',
  'incident.notices_stuck',
  'incident.move_waiting',
  'incident.ramp_waiting',
]);

/** A closed incident says what it was; the text of an alert of its end does so by its own words. */
export function inPast(view: IncidentView): IncidentView {
  if (view.state === 'open' || view.said === null || !PRESENT.has(view.said.code)) return view;
  const { text: reason, said } = say('incident.over', { cause: { text: view.reason, said: view.said } });
  return { ...view, reason, said };
}

/** @throws PuenteError not_found; refused for one that closes by itself, or is closed. */
export async function closeIncident(ports: Ports, id: string, why: string, who: string): Promise<IncidentView> {
  const [incident] = await ports.store.incidents.incidents({ id }, 1);
  if (incident === undefined) throw new PuenteError('not_found', say('refusal.no_incident', { id: id.slice(0, 60) }));
  if (isCondition(incident.kind)) throw new PuenteError('refused', say('refusal.incident_stands', { id }));
  const { kind, merchant_id, count, opened_at } = incident;
  const at = ports.clock.now();
  const detail = { incident: id, kind, count, opened_at: iso(opened_at) };
  const audit = { at, who, action: 'incident closed', subject: merchant_id || 'puente', reason: why, detail } as const;
  if (!(await ports.store.incidents.closeIncident(id, at, who, audit)))
    throw new PuenteError('refused', say('refusal.incident_closed', { id }));
  return viewNamed(ports, { ...incident, closed_at: at, closed_by: who });
}

/** With the name of its merchant. */
export async function viewNamed({ store }: Pick<Ports, 'store'>, incident: Incident): Promise<IncidentView> {
  const merchant = incident.merchant_id === '' ? null : await store.merchants.merchant(incident.merchant_id);
  return viewOf(incident, merchant?.settings.name ?? null);
}

function viewOf(
  { id, kind, merchant_id, subject, count, sample, reason: stored, ...incident }: Incident,
  name: string | null,
): IncidentView {
  const { text: reason, said } = readStored(stored);
  const { opened_at, last_at, closed_at, closed_by } = incident;
  return {
    id,
    kind,
    merchant: merchant_id || null,
    name,
    subject: subject || null,
    state: closed_at === null ? 'open' : 'closed',
    opened_at: iso(opened_at),
    last_at: iso(last_at),
    closed_at: iso(closed_at),
    closed_by,
    count,
    // Such a line is about the installation: there is nothing to look up.
    sample: kind === 'data_lost' ? null : sample,
    reason,
    said,
  };
}
