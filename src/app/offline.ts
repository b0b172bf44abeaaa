/** The doctor's look at a Puente that is not running: its settings, and its database file. */
import { join } from 'node:path';
import { settingsInForce } from '../config/in-force.ts';
import { type Config, loadConfig } from '../config.ts';
import { worstOf } from '../core/doctor/doctor.ts';
import { type Finding, fine, found } from '../core/doctor/finding.ts';
import type { SettingInForce } from '../core/doctor/installation.ts';
import { offlineFindings } from '../core/doctor/offline.ts';
import { PuenteError } from '../error.ts';
import { examineFile } from '../store/sqlite/examine.ts';

/** Nothing is changed. Settings that do not hold are a finding. */
export async function examineOffline(
  env: NodeJS.ProcessEnv,
  cwd: string,
): Promise<{ level: Finding['level']; findings: Finding[]; settings: SettingInForce[] }> {
  try {
    const config = loadConfig({ env, cwd });
    const findings = [fine('settings', 'they hold'), ...storageFindings(config)];
    return { level: worstOf(findings), findings, settings: settingsInForce(config) };
  } catch (error) {
    if (!(error instanceof PuenteError)) throw error;
    const findings = [
      found('problem', 'settings', error.message, 'Set what the sentences name; config/README.md lists all'),
    ];
    return { level: 'problem', findings, settings: [] };
  }
}

/** A server's database is looked at by a Puente that runs. */
function storageFindings(config: Config): Finding[] {
  if (config.postgres.url !== null) return [fine('database', 'it is on a PostgreSQL server; ask a Puente that runs')];
  return offlineFindings(examineFile(join(config.data_dir, 'puente.db')));
}
