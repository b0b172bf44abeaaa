/** Facts for the doctor: the installation, its doors, and a Puente that is not running. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, loadConfig } from '../config/config.ts';
import { isLoopback } from '../config/contradictions.ts';
import { assumptionsOf, settingsInForce } from '../config/describe.ts';
import { PuenteError } from '../error.ts';
import { SOLE_OWNER } from '../ops/api/person.ts';
import { surroundingFindings } from '../ops/doctor/checks.ts';
import { offlineFindings, worstOf } from '../ops/doctor/doctor.ts';
import { doorFindings } from '../ops/doctor/doors.ts';
import {
  about,
  type Certificate,
  type Doors,
  type Finding,
  type Installation,
  type Probe,
  type SettingInForce,
} from '../ops/doctor/finding.ts';
import { probeUpstream } from '../ops/doctor/probe.ts';
import type { Clock } from '../proxy/clock.ts';
import { examineFile } from '../store/sqlite/examine.ts';
import { version } from '../version.ts';
import { listenError } from './init-here.ts';
import { backupEvery_ms } from './open-store.ts';

/**
 * Facts for the doctor of a running Puente. Settings, assumptions and doors are read anew at each access, so that a
 *renewed certificate is seen; `probe` sends one HEAD request to each upstream. @param urls of both upstreams; equal
 * ones are probed once.
 */
export function installationOf(
  config: Config,
  urls: { orders: string; legacy: string },
  clock: Pick<Clock, 'now'>,
): Installation {
  const { orders, legacy } = urls;
  return {
    get settings() {
      return settingsInForce(config);
    },
    get assumptions() {
      return assumptionsOf(config);
    },
    versions: { puente: version, node: process.versions.node },
    probe: () => probesOf(orders, legacy, clock),
    is_sandbox: config.upstream === 'sandbox',
    get doors() {
      return doorsOf(config);
    },
    has_webhook_secret: config.webhook.secret !== null,
    disk: config.store,
    backup_every_ms: backupEvery_ms(config),
    backup_directory: config.backup.directory ?? join(config.data_dir, 'backups'),
    mappings_folder: config.mappings.folder,
  };
}

/** One HEAD request to each upstream; equal ones are probed once. */
function probesOf(orders: string, legacy: string, clock: Pick<Clock, 'now'>): Promise<Probe[]> {
  return Promise.all([
    probeUpstream('orders', orders, clock),
    ...(legacy === orders ? [] : [probeUpstream('legacy', legacy, clock)]),
  ]);
}

// The doors for the doctor, from the settings and the certificate file.

function doorsOf(config: Config): Doors {
  const { url, host, port, tls } = config.public;
  const owner = config.ops.token === null ? [] : [{ ...SOLE_OWNER, expires_at: null }];
  const people = Object.entries(config.ops.tokens).map(([name, { role, expires_at }]) => ({ name, role, expires_at }));
  return {
    is_sandbox: config.upstream === 'sandbox',
    public: { url, listens_on: `${host}:${port}`, is_loopback: isLoopback(host) },
    certificate: tls.certificate_file === null ? null : certificateOf(tls.certificate_file),
    ops: { people: [...owner, ...people], second_approver: config.moves.second_approver },
  };
}

/** Reads the first certificate of the chain, which is the door's own. */
function certificateOf(file: string): Certificate {
  try {
    const { subjectAltName = '', validTo } = new X509Certificate(readFileSync(file));
    const names = [...subjectAltName.matchAll(/DNS:([^,\s]+)/g)].map(([, name]) => name ?? '');
    return { file, names, until: Date.parse(validTo) };
  } catch {
    return { file, names: [], until: null };
  }
}

// The offline examination: settings, doors, upstreams and database of a Puente that is not running.

/** Changes nothing; sends each real upstream one HEAD request. Refused settings are a finding. */
export async function examineOffline(
  env: NodeJS.ProcessEnv,
  cwd: string,
): Promise<{ level: Finding['level']; findings: Finding[]; settings: SettingInForce[] }> {
  try {
    const config = loadConfig({ env, cwd });
    const findings = [
      settingsFinding(env),
      ...doorFindings(doorsOf(config), Date.now()),
      ...(await portFindings(config)),
      ...(config.upstream === 'sandbox' ? [] : await surroundings(config)),
      ...(await storageFindings(config)),
    ];
    return { level: worstOf(findings), findings, settings: settingsInForce(config) };
  } catch (error) {
    if (!(error instanceof PuenteError)) throw error;
    const findings = [
      about('settings').problem(error.message, 'Set what the sentences name; config/README.md lists all'),
    ];
    return { level: 'problem', findings, settings: [] };
  }
}

/** Names the settings file, since without PUENTE_CONFIG other settings are examined. */
function settingsFinding({ PUENTE_CONFIG: file }: NodeJS.ProcessEnv): Finding {
  return about('settings').fine(
    file ? `they hold, with ${file}` : 'they hold, and no PUENTE_CONFIG names a file of them',
  );
}

/** What is wrong with listening by the code of its error; a port in use is a note, because a Puente that runs holds it too. */
const LISTEN_ERRORS = new Map<string | null, [level: 'note' | 'problem', says: string, repair: string]>([
  [
    'EADDRINUSE',
    [
      'note',
      'is in use: by a Puente that runs, or another program. No start succeeds meanwhile.',
      'Stop it before the start, or set {door}.port to another port',
    ],
  ],
  [
    'EACCES',
    [
      'note',
      'is refused to this user; the service may run as another.',
      'Set {door}.port to 1024 or above, or allow the service the port',
    ],
  ],
  [
    'EADDRNOTAVAIL',
    [
      'problem',
      'is no address of this machine: no start succeeds.',
      'Set {door}.host to one of its own, or 0.0.0.0 for all',
    ],
  ],
  [
    'ENOTFOUND',
    [
      'problem',
      'names a host that has no address: no start succeeds.',
      'Set {door}.host to an address of this machine, or 0.0.0.0 for all',
    ],
  ],
]);

/** One after the other: two doors may have one port, on two addresses. */
async function portFindings({ public: tills, ops, health, sandbox, upstream }: Config): Promise<Finding[]> {
  const doors = { public: tills, ops, health, ...(upstream === 'sandbox' ? { sandbox } : {}) };
  const found: Finding[] = [];
  for (const [door, { host, port }] of Object.entries(doors)) {
    const wrong = port === null ? undefined : LISTEN_ERRORS.get(await listenError(host, port));
    if (wrong === undefined) continue;
    const [level, says, repair] = wrong;
    const where = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    found.push(about(`${door} port`)[level](`${where} ${says}`, repair.replace('{door}', door)));
  }
  return found;
}

async function surroundings(config: Config): Promise<Finding[]> {
  const { upstream, legacy_upstream } = config;
  const probes = await probesOf(upstream, legacy_upstream, Date);
  const facts = { has_webhook_secret: config.webhook.secret !== null, is_sandbox: false, doors: doorsOf(config) };
  return surroundingFindings(probes, facts, Date.now());
}

async function storageFindings({ postgres, data_dir }: Config): Promise<Finding[]> {
  if (postgres.url === null) return offlineFindings(examineFile(join(data_dir, 'puente.db')));
  const { examineServer } = await import('../store/postgres/upkeep.ts');
  const { location, wrong } = await examineServer(postgres.url.reveal(), postgres.connect_timeout_ms);
  if (wrong === null) return [about('database').fine(`${location} takes this user; a Puente that runs says more`)];
  const repair =
    'See that the server runs, and that postgres.url (or the file of postgres.url_file) has its address, user, password and database';
  return [about('database').problem(wrong, repair)];
}
