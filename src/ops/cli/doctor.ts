/** `puente doctor`: findings with their repairs, of a running Puente or, with `--offline`, of settings and database. */
import { PuenteError } from '../../error.ts';
import type { DoctorReport } from '../doctor/doctor.ts';
import type { Finding, SettingInForce } from '../doctor/finding.ts';
import { counted, exitCodes, hanging, table } from './output.ts';
import { call, type Face, type Given } from './rows.ts';

interface OfflineReport {
  level: DoctorReport['level'];
  findings: Finding[];
  settings: SettingInForce[];
}

/** Examines without the ops door; `src/cli.ts` provides it, because this module reads no files. */
export type ExamineOffline = () => Promise<OfflineReport>;

/** @param examineOffline called for `--offline` alone. */
export function doctorFaces(examineOffline: ExamineOffline): { doctor: Face<OfflineReport & Partial<DoctorReport>> } {
  return {
    doctor: {
      about: 'check the whole installation, and show what to repair',
      notes: `
With --offline it checks the settings of this shell, the doors and their ports, upstream and the database, and calls no
Puente: name your configuration in PUENTE_CONFIG, as for the start.`,
      examples: ['puente doctor', 'puente doctor --settings', 'puente doctor --offline --json'],
      exits: {
        done: 'no problem; there may be warnings and notes',
        failed: 'a problem was found, or the check could not run',
      },
      variables: [['PUENTE_CONFIG, PUENTE_…', 'with --offline: the settings, as for the start']],
      more: (doctor) =>
        void doctor
          .option('--offline', 'check a Puente that is not running: settings, doors, upstream, database')
          .option('--settings', 'list every setting in force with its source, and the assumptions'),
      ask: (given) => (given.options.offline === true ? examineOffline() : examineRunning(given)),
      text: (report, { options }) => reportText(report, options.settings === true),
      exit: ({ level }) => (level === 'problem' ? exitCodes.failed : exitCodes.done),
    },
  };
}

async function examineRunning(given: Given): Promise<DoctorReport> {
  try {
    return (await call(given, true)) as DoctorReport; // the API's own shape
  } catch (error) {
    if (!(error instanceof PuenteError) || !['unreachable', 'unauthorized'].includes(error.code)) throw error;
    throw new PuenteError(
      error.code,
      `${error.message} To check a Puente that is not running: puente doctor --offline`,
    );
  }
}

function reportText(report: OfflineReport & Partial<DoctorReport>, with_settings: boolean): string {
  const width = Math.max(...report.findings.map(({ name }) => name.length));
  const parts = [report.findings.map((finding) => findingText(finding, width)).join('\n'), verdict(report)];
  if (with_settings) {
    const { settings, assumptions = [] } = report;
    parts.push(table({ setting: 'name', value: 'value', from: 'source' }, settings));
    if (assumptions.length > 0) parts.push('Assumptions:', table({ setting: 'name', value: 'value' }, assumptions));
  }
  return parts.join('\n');
}

function findingText({ level, name, says, repair }: Finding, width: number): string {
  const margin = ' '.repeat(LEVEL_WIDTH + width + 4);
  const line = `${level.padEnd(LEVEL_WIDTH)}  ${name.padEnd(width)}  ${hanging(says, margin)}`;
  return repair === null
    ? line
    : `${line}\n${margin}${hanging(`Repair: ${repair.replace(/(?<![.…])$/, '.')}`, margin)}`;
}

const LEVEL_WIDTH = 'problem'.length;

function verdict({ findings }: OfflineReport): string {
  const count = (level: Finding['level']) => findings.filter((finding) => finding.level === level).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  if (problems + warnings === 0) return '\nNothing is wrong.';
  return `\n${counted(problems, 'problem')}, ${counted(warnings, 'warning')}.`;
}
