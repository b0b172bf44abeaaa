/** Checks of the doctor: merchants, upstreams, clock, webhook secret, and the store. */

import { PuenteError } from '../../error.ts';
import { bytesText } from '../../locales/words.ts';
import { yieldToEventLoop } from '../../proxy/concurrency.ts';
import { targetOf } from '../../proxy/notices/request.ts';
import type { BackupManifest, StoreCondition } from '../../proxy/records/upkeep.ts';
import type { Merchant } from '../../proxy/routing/merchant.ts';
import { tokenAge } from '../../proxy/routing/merchant-identity.ts';
import { DAY_MS, iso } from '../fields.ts';
import type { ReceiverView } from '../incidents/alerts.ts';
import type { Ports } from '../ports.ts';
import { about, durationText, type Finding, type Installation, type Probe } from './finding.ts';

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
  if (findings.length === 0)
    return [about('merchants').fine(`${merchants.length}, each with a credential and a notice URL`)];
  const more = findings.length - MOST_TOLD;
  if (more <= 0) return findings;
  const rest = about('merchants').note(`${more} more findings about merchants.`, 'Repair these first, then look again');
  return [...findings.slice(0, MOST_TOLD), rest];
}

/** A configured credential has no known expiry; the newest token is kept for a while, unless upstream refused it. */
async function credentialFinding(ports: Ports, merchant: Merchant): Promise<Finding[]> {
  const { store, settings } = ports;
  if (merchant.sealed_credential !== null) return [];
  const it = about(`token of ${merchant.id}`);
  const repair = `Set a credential: puente merchants set ${merchant.id} --credential --reason … (from PUENTE_CREDENTIAL)`;
  const token = await store.merchants.latestToken(merchant.id);
  if (token === null) return [it.warning('There is none: its events and open sales can not be read.', repair)];
  const age_ms = tokenAge(ports, token);
  const left_ms = settings.tokens.kept_for_ms - age_ms;
  if (left_ms <= 0)
    return [it.warning(`The last one was accepted ${durationText(age_ms)} ago and is not used any more.`, repair)];
  if (token.accepted_until === 0)
    return [it.warning('Upstream has refused the last one since.', `See that its till has a valid token. ${repair}`)];
  if (left_ms < TOKEN_WARNING_MS) return [it.note(`The last one is kept for ${durationText(left_ms)} more.`, repair)];
  return [];
}

async function noticeFinding(ports: Ports, merchant: Merchant, checkUrl: (url: string) => void): Promise<Finding[]> {
  const it = about(`notices of ${merchant.id}`);
  const waiting = await ports.store.notices.countNotices({ merchant_id: merchant.id, states: ['pending'] });
  const url = targetOf(ports, null, merchant);
  const set = `Name one: puente merchants set ${merchant.id} --notify URL --reason …`;
  const count = waiting === 1 ? '1 notice is' : `${waiting} notices are`;
  if (url === null) {
    if (waiting === 0) return [it.note('No URL is set: notices will be held back.', set)];
    return [it.warning(`${count} held back, because no URL is set.`, set)];
  }
  try {
    checkUrl(url);
    return [];
  } catch (error) {
    if (!(error instanceof PuenteError) || error.code !== 'blocked_address') throw error;
    return [it.warning(`${count} waiting, because its URL may not be called: ${error.message}`, set)];
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
  const { url, says, latency_ms, protocol, certificate_until } = probe;
  const it = about(`upstream ${probe.name}`);
  if (!probe.is_reached)
    return it.problem(
      `${url} can't be reached: ${says}.`,
      `See what \`curl -sSI ${url}\` says on this machine: name, firewall, proxy; sales on it fail until then`,
    );
  const detail = `${url} answers in ${latency_ms ?? 0} ms${protocol === null ? ', without TLS' : `, ${protocol}`}`;
  if (certificate_until !== null && certificate_until - now < CERTIFICATE_WARNING_MS)
    return it.warning(
      `${detail}; its certificate ends in ${durationText(Math.max(0, certificate_until - now))}.`,
      'Have it renewed: after its expiry no call is sent',
    );
  if (latency_ms !== null && latency_ms > SLOW_MS)
    return it.warning(`${detail}, which is slow.`, 'Run Puente nearer to it, or see what is in between');
  return it.fine(detail);
}

function clock(probes: readonly Probe[]): Finding {
  const skews = probes.flatMap(({ skew_ms }) => (skew_ms === null ? [] : [skew_ms]));
  const widest = skews.toSorted((a, b) => Math.abs(b) - Math.abs(a))[0];
  if (widest === undefined)
    return about('clock').note(
      'No upstream answered with a date, so the clock was not compared.',
      'See that an upstream is reached, and look again; or see `timedatectl`',
    );
  const says = `${Math.round(Math.abs(widest) / 1000)} s ${widest >= 0 ? 'ahead of' : 'behind'} the upstream`;
  if (Math.abs(widest) <= MOST_SKEW_MS) return about('clock').fine(says);
  return about('clock').problem(
    `The clock is ${says}.`,
    'Set it by NTP (`timedatectl set-ntp true`): lifetimes of orders and signatures go by it',
  );
}

function webhookSecret({ has_webhook_secret, is_sandbox, doors }: Judged): Finding {
  if (has_webhook_secret) return about('webhook secret').fine('set');
  if (is_sandbox) return about('webhook secret').fine('generated for the sandbox');
  return about('webhook secret').warning(
    'It is not set: every event is unverified, and only leads to a read.',
    `Point the \`order\` webhook of the application in the vendor's panel at ${doors.public.url ?? 'public.url'}/webhooks/orders, put its secret into a file of mode 0600, and name that in webhook.secret_file (or set PUENTE_WEBHOOK_SECRET); then restart Puente`,
  );
}

/** Whether somebody hears of an incident at night. */
export function alertFindings(receivers: readonly ReceiverView[]): Finding[] {
  if (receivers.length === 0)
    return [
      about('alerts').note(
        'No receiver is set, so no alert is sent of a safety stop, or of a paid sale that its till does not know.',
        'Set alerts.receivers (or PUENTE_ALERTS_RECEIVERS), restart Puente, and try it: puente alerts test --reason "a first try"',
      ),
    ];
  return receivers.map(({ receiver, host, waiting, last, refused, kinds }) => {
    const it = about(`alerts of ${receiver}`);
    if (refused !== null)
      return it.problem(
        `${host} may not be called: ${refused}`,
        'Change its url in alerts.receivers; for an address of your own network, set alerts.allow_private',
      );
    if (last !== null && last.state !== 'delivered')
      return it.warning(
        `The last alert was not delivered: ${last.detail} ${waiting} wait.`,
        `See that the receiver answers 2xx, and try it: puente alerts test --receiver ${receiver} --reason "a new try"`,
      );
    return it.fine(`${host}, ${kinds.length} kinds of incidents`);
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
    about('schema').fine(`${engine}, schema ${schema} of ${newest_schema}`),
    integrity(facts),
    writes(facts),
    disk(facts, installation),
    log(facts, installation),
    backups(facts, installation),
    ...gap(facts),
  ];
}

function integrity({ integrity, condition }: StorageFacts): Finding {
  if (integrity === 'ok') return about('integrity').fine(`${bytesText(condition.file_bytes)} were read and are sound`);
  return about('integrity').problem(
    `The file is damaged: ${integrity}.`,
    'Stop Puente and restore a backup: puente restore FILE --into DIR --replace --reason …',
  );
}

function writes({ is_healthy }: StorageFacts): Finding {
  if (is_healthy) return about('writes').fine('the last write succeeded');
  return about('writes').problem(
    'The last write failed.',
    'See that the disk has room and no other process writes to the file',
  );
}

function disk({ condition: { room, file_bytes } }: StorageFacts, { disk }: Installation): Finding {
  const { free_bytes, level } = room;
  const says = `${free_bytes === null ? 'the free space is unknown' : `${bytesText(free_bytes)} are free`}; the database takes ${bytesText(file_bytes)}`;
  if (level === 'enough') return about('disk').fine(says);
  const refused = `${says}. New sales are refused${level === 'full' ? ', and the reserve for sales under way is being used' : ''}.`;
  return about('disk').problem(
    refused,
    `See that ${bytesText(disk.low_bytes + disk.ballast_bytes)} are free on that disk, for new sales and for the reserve; Puente recovers by itself`,
  );
}

function log({ condition: { room } }: StorageFacts, { disk }: Installation): Finding {
  if (!room.is_log_large) return about('write-ahead log').fine(bytesText(room.log_bytes));
  return about('write-ahead log').warning(
    `It has ${bytesText(room.log_bytes)}, more than ${bytesText(disk.log_limit_bytes)}, and can't be emptied.`,
    'End other readers of the database file: a shell, a copy, a backup of the whole disk',
  );
}

function backups({ backups, now }: StorageFacts, { backup_every_ms, backup_directory }: Installation): Finding {
  const [newest] = backups;
  const take = 'Make one: puente backup';
  if (newest === undefined) return about('backups').warning(`There is none in ${backup_directory}.`, take);
  const age_ms = now - Date.parse(newest.made_at);
  if (age_ms < 0)
    return about('backups').warning(
      `${backups.length}, and the newest says ${newest.made_at}, which is still to come: the clock was wrong then, or is now.`,
      `Set the clock by NTP. ${take}`,
    );
  const says = `${backups.length}, the newest ${newest.file} of ${durationText(age_ms)} ago`;
  if (backup_every_ms === null)
    return about('backups').note(`${says}; no schedule makes any.`, 'Set backup.every_ms, or make them: puente backup');
  if (age_ms <= LATE * backup_every_ms) return about('backups').fine(says);
  return about('backups').warning(
    `${says}, later than backup.every_ms says.`,
    `See the log of Puente for why. ${take}`,
  );
}

function gap({ condition, unmatched_since_gap, now }: StorageFacts): Finding[] {
  if (condition.gap === null || now - condition.gap.until > GAP_TOLD_MS) return [];
  const { from, until } = condition.gap;
  const lost = `Restored from a backup: writes between ${iso(from)} and ${iso(until)} are lost.`;
  const unplaced = `${unmatched_since_gap} events since then match no sale.`;
  return [
    about('restored')[unmatched_since_gap > 0 ? 'warning' : 'note'](
      `${lost} Sales with a reference of Puente's own come back with their events; ${unplaced}`,
      'Compare that time with the panel of the vendor, and see: puente reconcile, puente audit list --action "restored sale". Moves and settings of that time are lost too: puente merchants list',
    ),
  ];
}
