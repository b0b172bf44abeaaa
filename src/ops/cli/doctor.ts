/** `puente doctor`: what promises rest on, each finding with its repair; of a Puente that does not run, its settings and file. */
import type { Command } from 'commander';
import { PuenteError } from '../../error.ts';
import type { DoctorReport } from '../doctor/doctor.ts';
import type { Finding, SettingInForce } from '../doctor/finding.ts';
import { callOps } from './ops-client.ts';
import { common, exitCodes, hanging, type Output, print, tableOf } from './output.ts';

interface DoctorOptions extends Output {
  offline?: boolean;
  settings?: boolean;
}

export interface OfflineReport {
  level: DoctorReport['level'];
  findings: Finding[];
  settings: SettingInForce[];
}

/** What can be said without the ops door; only `src/cli.ts` touches files. */
export type ExamineOffline = () => Promise<OfflineReport>;

const HELP = `
With --offline the settings of this shell, the doors, the upstream and the database are looked at, and no Puente is asked:
name your configuration in PUENTE_CONFIG, as for the start.

Examples:
  puente doctor
  puente doctor --settings
  puente doctor --offline --json`;

export function addDoctorCommands(program: Command, examineOffline: ExamineOffline): void {
  common(program.command('doctor').description('look at everything that promises rest on, and say what to repair'))
    .option('--offline', 'look at a Puente that is not running: settings, doors, upstream, database')
    .option('--settings', 'list every setting in force with its source, and the assumptions')
    .addHelpText('after', HELP)
    .action(async (options: DoctorOptions) => {
      const report = options.offline === true ? await examineOffline() : await askDoor(options);
      print(options, report, text(report, options.settings === true));
      if (report.level === 'problem') process.exitCode = exitCodes.failed;
    });
}

async function askDoor(options: DoctorOptions): Promise<DoctorReport> {
  try {
    return (await callOps(options, 'GET', '/api/doctor', undefined, { long: true })) as DoctorReport; // the API's own shape
  } catch (error) {
    if (!(error instanceof PuenteError) || !['unreachable', 'unauthorized'].includes(error.code)) throw error;
    throw new PuenteError(error.code, `${error.message} Of one that is not running: puente doctor --offline`);
  }
}

function text(report: OfflineReport & Partial<DoctorReport>, with_settings: boolean): string {
  const width = Math.max(...report.findings.map(({ name }) => name.length));
  const parts = [report.findings.map((finding) => findingText(finding, width)).join('\n'), verdict(report)];
  if (with_settings) {
    const settings = report.settings.map(({ name, value, source }) => [name, value, source]);
    parts.push(tableOf(['setting', 'value', 'from'], settings));
    const assumptions = (report.assumptions ?? []).map(({ name, value }) => [name, value]);
    if (assumptions.length > 0) parts.push('Assumptions:', tableOf(['setting', 'value'], assumptions));
  }
  return parts.join('\n');
}

/** The repair stands below what it repairs. */
function findingText({ level, name, says, repair }: Finding, width: number): string {
  const margin = ' '.repeat(LEVEL_WIDTH + width + 4);
  const told = `${level.padEnd(LEVEL_WIDTH)}  ${name.padEnd(width)}  ${hanging(says, margin)}`;
  return repair === null ? told : `${told}\n${margin}${hanging(`Repair: ${repair.replace(/\.$/, '')}.`, margin)}`;
}

const LEVEL_WIDTH = 'problem'.length;

function verdict({ findings }: OfflineReport): string {
  const count = (level: Finding['level']) => findings.filter((finding) => finding.level === level).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  if (problems + warnings === 0) return '\nNothing is wrong.';
  return `\n${counted(problems, 'problem')}, ${counted(warnings, 'warning')}.`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
