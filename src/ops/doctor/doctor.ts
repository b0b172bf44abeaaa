/** `puente doctor`: checks everything that Puente's promises rest on, and says what to repair. */
import { say } from '../../locales/message.ts';
import { PARKED_EVENTS_LIMIT } from '../../proxy/store.ts';
import type { ReceiverView } from '../incidents/alerts.ts';
import type { Ports } from '../ports.ts';
import { tableFindings } from '../tables.ts';
import { alertFindings, type MerchantCheck, merchantFindings, storageFindings, surroundingFindings } from './checks.ts';
import { doorFindings } from './doors.ts';
import { about, type Finding, type FindingLevel, findingLevels, type Installation } from './finding.ts';

export type DoctorReport = Awaited<ReturnType<typeof examine>>;

/** Runs all checks once: reads the whole database file, and calls each upstream once. */
export async function examine(
  ports: Ports,
  installation: Installation,
  check: MerchantCheck,
  receivers: readonly ReceiverView[],
) {
  const { store, clock } = ports;
  const [condition, integrity, backups, probes] = await Promise.all([
    store.upkeep.condition(),
    store.upkeep.integrity(),
    store.upkeep.backups(),
    installation.probe(),
  ]);
  const now = clock.now();
  const from = condition.gap?.from ?? now;
  const unmatched = await store.events.unmatchedEvents(PARKED_EVENTS_LIMIT);
  const facts = {
    condition,
    integrity,
    is_healthy: store.healthy(),
    backups,
    unmatched_since_gap: unmatched.filter(({ received_at }) => received_at >= from).length,
    now,
  };
  const findings = [
    about(say('check.versions', {})).fine(say('doctor.versions', { ...installation.versions })),
    ...(await tableFindings(ports)),
    ...storageFindings(facts, installation),
    ...surroundingFindings(probes, installation, now),
    ...doorFindings(installation.doors, now),
    ...alertFindings(receivers),
    ...(await merchantFindings(ports, check)),
  ];
  return {
    level: worstOf(findings),
    versions: { ...installation.versions, store: condition.engine },
    findings,
    settings: installation.settings,
    assumptions: installation.assumptions,
  };
}

/** `ok` for no findings. */
export function worstOf(findings: readonly Finding[]): FindingLevel {
  const worst = Math.max(0, ...findings.map(({ level }) => findingLevels.indexOf(level)));
  return findingLevels[worst] ?? 'ok';
}

// Findings about a Puente that is not running, from its settings and its database file.

/** What a check of a database file found, without changing the file. */
export interface ExaminedFile {
  path: string;
  newest_schema: number;
  is_there: boolean;
  /** A running Puente uses the file, so it was not opened. */
  is_in_use: boolean;
  schema: number | null;
  /** `ok`, or what is wrong; null: it could not be read. */
  integrity: string | null;
  /** A process was killed, and its write-ahead log is missing. */
  is_log_lost: boolean;
  /** The database that its rows were transferred to; no start serves the file then. */
  transferred_to: string | null;
  /** Why this user may not make it, or not read and write it, where it is; null otherwise. */
  directory_wrong: string | null;
  /** Why it can't be used at all. */
  wrong: string | null;
}

/** Of a file that can't be used, only that and its repair. */
export function offlineFindings(file: ExaminedFile): Finding[] {
  const { path, schema, newest_schema, integrity, wrong } = file;
  const restore = 'Restore a backup: puente restore FILE --into DIR --replace --reason …';
  if (file.transferred_to !== null)
    return [
      about('database').problem(
        `The rows of ${path} were copied to ${file.transferred_to}.`,
        'Set PUENTE_POSTGRES_URL to that database',
      ),
    ];
  if (file.directory_wrong !== null)
    return [
      about('database').problem(
        `The directory of ${path} can't be used: ${file.directory_wrong}.`,
        'Give this user a directory with room to write to, or name another with PUENTE_DATA_DIR',
      ),
    ];
  if (wrong !== null) return [about('database').problem(`${path} can't be used: ${wrong}.`, restore)];
  if (!file.is_there)
    return [about('database').note(`${path} does not exist yet.`, 'The first start makes it; or restore a backup')];
  if (file.is_in_use)
    return [
      about('database').note(
        `A Puente is using ${path}.`,
        'To check it, leave out --offline; --ops or PUENTE_OPS_URL names its ops door',
      ),
    ];
  const schemas =
    schema !== null && schema > newest_schema
      ? about('schema').problem(`It is ${schema}, and this build has up to ${newest_schema}.`, 'Start the newer build')
      : about('schema').fine(`${schema ?? 0} of ${newest_schema}`);
  const log = file.is_log_lost
    ? [
        about('write-ahead log').warning(
          'The last process was killed, and its log is gone: data that was not yet in the database file is lost.',
          `Put ${path}-wal of that time back before the next start, which writes the loss to the audit log`,
        ),
      ]
    : [];
  return [
    about('database').fine(path),
    schemas,
    ...log,
    integrity === 'ok'
      ? about('integrity').fine('sound')
      : about('integrity').problem(`The file is damaged: ${integrity ?? 'it could not be read'}.`, restore),
  ];
}
