/** The doctor's look at a Puente that is not running: its settings, and its database file. */
import { join } from 'node:path';
import { settingsInForce } from '../config/in-force.ts';
import { loadConfig } from '../config.ts';
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
    const file = examineFile(join(config.data_dir, 'puente.db'));
    const findings = [fine('settings', 'they hold'), ...offlineFindings(file)];
    return { level: worstOf(findings), findings, settings: settingsInForce(config) };
  } catch (error) {
    if (!(error instanceof PuenteError)) throw error;
    const findings = [
      found('problem', 'settings', error.message, 'Set what the sentences name; config/README.md lists all'),
    ];
    return { level: 'problem', findings, settings: [] };
  }
}
