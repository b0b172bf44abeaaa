/** Checks of the doctor: merchants, upstreams, clock, webhook secret, and the store. */

import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { bytesText } from '../../locales/words.ts';
import { yieldToEventLoop } from '../../proxy/concurrency.ts';
import { targetOf } from '../../proxy/notices/request.ts';
import type { BackupManifest, StoreCondition } from '../../proxy/records/upkeep.ts';
import type { Merchant } from '../../proxy/routing/merchant.ts';
import { tokenAge } from '../../proxy/routing/merchant-identity.ts';
import { DAY_MS, iso } from '../fields.ts';
import type { ReceiverView } from '../incidents/alerts.ts';
import type { Ports } from '../ports.ts';
import { about, durationSaid, type Finding, type Installation, type Probe } from './finding.ts';

/** A token that expires sooner is reported: work after the call needs a credential. */
const TOKEN_WARNING_MS = DAY_MS;
/** Findings that are listed; the answer says how many more there are. */
const MOST_TOLD = 50;

export interface MerchantCheck {
  /** @throws PuenteError blocked_address for a URL that the outbound guard would refuse. */
  checkUrl(url: string): void;
}

/** One finding for each problem; a single one when there is none. */
export async function merchantFindings(ports: Ports, { checkUrl }: MerchantCheck): Promise<Finding[]> {
  const merchants = await ports.store.merchants.merchants();
  const findings: Finding[] = [];
  for (const merchant of merchants) {
    findings.push(...(await credentialFinding(ports, merchant)), ...(await noticeFinding(ports, merchant, checkUrl)));
    // Payments come first: they run between two of thousands of merchants.
    await yieldToEventLoop();
  }
  const all = about(say('check.merchants', {}));
  if (findings.length === 0) return [all.fine(say('doctor.merchants', { count: merchants.length }))];
  const more = findings.length - MOST_TOLD;
  if (more <= 0) return findings;
  const rest = all.note(say('doctor.more_merchants', { count: more }), say('doctor.more_merchants_repair', {}));
  return [...findings.slice(0, MOST_TOLD), rest];
}

/** A configured credential has no known expiry; the newest token is kept for a while, unless upstream refused it. */
async function credentialFinding(ports: Ports, merchant: Merchant): Promise<Finding[]> {
  const { store, settings } = ports;
  if (merchant.sealed_credential !== null) return [];
  const it = about(say('check.token', { merchant: merchant.id }));
  const repair = say('doctor.token_repair', { merchant: merchant.id });
  const token = await store.merchants.latestToken(merchant.id);
  if (token === null) return [it.warning(say('doctor.no_token', {}), repair)];
  const age_ms = tokenAge(ports, token);
  const left_ms = settings.tokens.kept_for_ms - age_ms;
  if (left_ms <= 0) return [it.warning(say('doctor.token_old', { age: durationSaid(age_ms) }), repair)];
  if (token.accepted_until === 0)
    return [it.warning(say('doctor.token_refused', {}), say('doctor.token_refused_repair', { next: repair }))];
  if (left_ms < TOKEN_WARNING_MS) return [it.note(say('doctor.token_kept', { left: durationSaid(left_ms) }), repair)];
  return [];
}

async function noticeFinding(ports: Ports, merchant: Merchant, checkUrl: (url: string) => void): Promise<Finding[]> {
  const it = about(say('check.notices', { merchant: merchant.id }));
  const count = await ports.store.notices.countNotices({ merchant_id: merchant.id, states: ['pending'] });
  const url = targetOf(ports, null, merchant);
  const set = say('doctor.url_repair', { merchant: merchant.id });
  if (url === null) {
    if (count === 0) return [it.note(say('doctor.no_url', {}), set)];
    return [it.warning(say('doctor.no_url_held', { count }), set)];
  }
  try {
    checkUrl(url);
    return [];
  } catch (error) {
    if (!(error instanceof PuenteError) || error.code !== 'blocked_address') throw error;
    const why = { text: error.message, said: error.said[0] ?? null };
    return [it.warning(say('doctor.url_blocked', { count, why }), set)];
  }
}

/** Events are signed with a time, and lifetimes of orders are counted with our clock. */
const MOST_SKEW_MS = 30_000;
const CERTIFICATE_WARNING_MS = 14 * DAY_MS;
/** At a higher latency, a create and its retries have little of the deadline left. */
const SLOW_MS = 1_500;

type Judged = Pick<Installation, 'has_webhook_secret' | 'is_sandbox' | 'doors'>;

/** @param now epoch ms. */
export function surroundingFindings(probes: readonly Probe[], installation: Judged, now: number): Finding[] {
  return [...probes.map((probe) => reach(probe, now)), clock(probes), webhookSecret(installation)];
}

function reach(probe: Probe, now: number): Finding {
  const { url, says: detail, latency_ms, protocol, certificate_until } = probe;
  const it = about(say('check.upstream', { lane: probe.name }));
  if (!probe.is_reached)
    return it.problem(say('doctor.unreachable', { url, detail }), say('doctor.unreachable_repair', { url }));
  const answers = say('doctor.answers', { url, latency_ms: latency_ms ?? 0, protocol });
  if (certificate_until !== null && certificate_until - now < CERTIFICATE_WARNING_MS) {
    const left = durationSaid(Math.max(0, certificate_until - now));
    return it.warning(say('doctor.answers_ending', { answers, left }), say('doctor.answers_ending_repair', {}));
  }
  if (latency_ms !== null && latency_ms > SLOW_MS)
    return it.warning(say('doctor.answers_slowly', { answers }), say('doctor.answers_slowly_repair', {}));
  return it.fine(answers);
}

function clock(probes: readonly Probe[]): Finding {
  const skews = probes.flatMap(({ skew_ms }) => (skew_ms === null ? [] : [skew_ms]));
  const widest = skews.toSorted((a, b) => Math.abs(b) - Math.abs(a))[0];
  const it = about(say('check.clock', {}));
  if (widest === undefined) return it.note(say('doctor.clock_unknown', {}), say('doctor.clock_unknown_repair', {}));
  const clock = say('doctor.clock', { seconds: Math.round(Math.abs(widest) / 1000), is_ahead: widest >= 0 });
  if (Math.abs(widest) <= MOST_SKEW_MS) return it.fine(clock);
  return it.problem(say('doctor.clock_wrong', { clock }), say('doctor.clock_wrong_repair', {}));
}

function webhookSecret({ has_webhook_secret, is_sandbox, doors }: Judged): Finding {
  const it = about(say('check.webhook_secret', {}));
  if (has_webhook_secret || is_sandbox)
    return it.fine(say('doctor.webhook_secret', { is_sandbox: !has_webhook_secret }));
  const url = doors.public.url ?? 'public.url';
  return it.warning(say('doctor.no_webhook_secret', {}), say('doctor.no_webhook_secret_repair', { url }));
}

/** Whether somebody hears of an incident at night. */
export function alertFindings(receivers: readonly ReceiverView[]): Finding[] {
  if (receivers.length === 0)
    return [about(say('check.alerts', {})).note(say('doctor.no_alerts', {}), say('doctor.no_alerts_repair', {}))];
  return receivers.map(({ receiver, host, waiting, last, refused, refused_said, kinds }) => {
    const it = about(say('check.receiver', { receiver }));
    if (refused !== null)
      return it.problem(
        say('doctor.receiver_blocked', { host, why: { text: refused, said: refused_said[0] ?? null } }),
        say('doctor.receiver_blocked_repair', {}),
      );
    if (last !== null && last.state !== 'delivered')
      return it.warning(
        say('doctor.receiver_failed', { why: { text: last.detail, said: last.said }, waiting }),
        say('doctor.receiver_failed_repair', { receiver }),
      );
    return it.fine(say('doctor.receiver', { host, count: kinds.length }));
  });
}

/** Intervals without a backup before the doctor warns: a schedule may be late by one run. */
const LATE = 2;
/** How long the doctor reports a restore: as long as events are looked at again. */
const GAP_TOLD_MS = 7 * DAY_MS;

interface StorageFacts {
  condition: StoreCondition;
  /** `ok`, or what is wrong with the file. */
  integrity: string;
  is_healthy: boolean;
  /** Newest first. */
  backups: BackupManifest[];
  /** Events since the gap began that match no sale. */
  unmatched_since_gap: number;
  /** Epoch ms. */
  now: number;
}

/** One finding for each check, good ones too; that of a gap only after a restore. */
export function storageFindings(facts: StorageFacts, installation: Installation): Finding[] {
  const { engine, schema, newest_schema } = facts.condition;
  return [
    about(say('check.schema', {})).fine(say('doctor.schema', { engine, schema, newest: newest_schema })),
    integrity(facts),
    writes(facts),
    disk(facts, installation),
    log(facts, installation),
    backups(facts, installation),
    ...gap(facts),
  ];
}

function integrity({ integrity, condition }: StorageFacts): Finding {
  const it = about(say('check.integrity', {}));
  if (integrity === 'ok') return it.fine(say('doctor.sound', { size: bytesText(condition.file_bytes) }));
  return it.problem(say('doctor.damaged', { detail: integrity }), say('doctor.restore', {}));
}

function writes({ is_healthy }: StorageFacts): Finding {
  const it = about(say('check.writes', {}));
  if (is_healthy) return it.fine(say('doctor.written', {}));
  return it.problem(say('doctor.not_written', {}), say('doctor.not_written_repair', {}));
}

function disk({ condition: { room, file_bytes } }: StorageFacts, { disk }: Installation): Finding {
  const { free_bytes, level } = room;
  const it = about(say('check.disk', {}));
  const free = free_bytes === null ? null : bytesText(free_bytes);
  const says = say('doctor.room', { free, size: bytesText(file_bytes) });
  if (level === 'enough') return it.fine(says);
  const size = bytesText(disk.low_bytes + disk.ballast_bytes);
  return it.problem(say('doctor.no_room', { room: says, level }), say('doctor.no_room_repair', { size }));
}

function log({ condition: { room } }: StorageFacts, { disk }: Installation): Finding {
  const it = about(say('check.log', {}));
  const size = bytesText(room.log_bytes);
  if (!room.is_log_large) return it.fine(say('doctor.value', { value: size }));
  const most = bytesText(disk.log_limit_bytes);
  return it.warning(say('doctor.log_large', { size, most }), say('doctor.log_large_repair', {}));
}

function backups(
  { backups: all, now, condition }: StorageFacts,
  { backup_every_ms, backup_directory }: Installation,
): Finding {
  const [newest] = all;
  const it = about(say('check.backups', {}));
  if (condition.engine.startsWith('PostgreSQL')) return it.fine(say('store.backup_elsewhere', {}));
  if (newest === undefined)
    return it.warning(say('doctor.no_backup', { folder: backup_directory }), say('doctor.no_backup_repair', {}));
  const { file, made_at } = newest;
  const age_ms = now - Date.parse(made_at);
  const count = all.length;
  if (age_ms < 0)
    return it.warning(say('doctor.backup_ahead', { count, made_at }), say('doctor.backup_ahead_repair', {}));
  const backups = say('doctor.backups', { count, file, age: durationSaid(age_ms) });
  if (backup_every_ms === null)
    return it.note(say('doctor.backups_by_hand', { backups }), say('doctor.backups_by_hand_repair', {}));
  if (age_ms <= LATE * backup_every_ms) return it.fine(backups);
  return it.warning(say('doctor.backups_late', { backups }), say('doctor.backups_late_repair', {}));
}

function gap({ condition, unmatched_since_gap, now }: StorageFacts): Finding[] {
  if (condition.gap === null || now - condition.gap.until > GAP_TOLD_MS) return [];
  const { from, until } = condition.gap;
  const lost = say('doctor.restored', { since_at: iso(from), until_at: iso(until), count: unmatched_since_gap });
  const level = unmatched_since_gap > 0 ? 'warning' : 'note';
  return [about(say('check.restored', {}))[level](lost, say('doctor.restored_repair', {}))];
}
