/** The doctor's look at a Puente that is not running: its settings, its doors, what is around it, and its database. */
import { join } from 'node:path';
import { type Config, loadConfig } from '../config/config.ts';
import { settingsInForce } from '../config/in-force.ts';
import { PuenteError } from '../error.ts';
import { worstOf } from '../ops/doctor/doctor.ts';
import { doorFindings } from '../ops/doctor/doors.ts';
import { type Finding, fine, found } from '../ops/doctor/finding.ts';
import type { SettingInForce } from '../ops/doctor/installation.ts';
import { offlineFindings } from '../ops/doctor/offline.ts';
import { probeUpstream } from '../ops/doctor/probe.ts';
import { surroundingFindings } from '../ops/doctor/surroundings.ts';
import { examineServer } from '../store/postgres/examine.ts';
import { examineFile } from '../store/sqlite/examine.ts';
import { doorsOf } from './doors.ts';

/** Nothing is changed; a real upstream is asked once for its head. Settings that do not hold are a finding. */
export async function examineOffline(
  env: NodeJS.ProcessEnv,
  cwd: string,
): Promise<{ level: Finding['level']; findings: Finding[]; settings: SettingInForce[] }> {
  try {
    const config = loadConfig({ env, cwd });
    const findings = [
      settingsFinding(env),
      ...doorFindings(doorsOf(config), Date.now()),
      ...(config.upstream === 'sandbox' ? [] : await surroundings(config)),
      ...(await storageFindings(config)),
    ];
    return { level: worstOf(findings), findings, settings: settingsInForce(config) };
  } catch (error) {
    if (!(error instanceof PuenteError)) throw error;
    const findings = [
      found('problem', 'settings', error.message, 'Set what the sentences name; config/README.md lists all'),
    ];
    return { level: 'problem', findings, settings: [] };
  }
}

/** Whoever forgot to name the file would look at something else. */
function settingsFinding({ PUENTE_CONFIG: file }: NodeJS.ProcessEnv): Finding {
  return fine('settings', file ? `they hold, with ${file}` : 'they hold, and no PUENTE_CONFIG names a file of them');
}

async function surroundings(config: Config): Promise<Finding[]> {
  const { upstream, legacy_upstream } = config;
  const probes = await Promise.all([
    probeUpstream('orders', upstream, Date),
    ...(legacy_upstream === upstream ? [] : [probeUpstream('legacy', legacy_upstream, Date)]),
  ]);
  const facts = { has_webhook_secret: config.webhook.secret !== null, is_sandbox: false, doors: doorsOf(config) };
  return surroundingFindings(probes, facts, Date.now());
}

async function storageFindings({ postgres, data_dir }: Config): Promise<Finding[]> {
  if (postgres.url === null) return offlineFindings(examineFile(join(data_dir, 'puente.db')));
  const { location, wrong } = await examineServer(postgres.url.reveal(), postgres.connect_timeout_ms);
  if (wrong === null) return [fine('database', `${location} takes this user; a Puente that runs says more`)];
  const repair =
    'See that the server runs, and that postgres.url (or the file of postgres.url_file) has its address, user, password and database';
  return [found('problem', 'database', wrong, repair)];
}
