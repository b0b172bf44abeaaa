/** The whole command line as one tree: every feature's commands, the exit codes, and what all commands share. */
import { Command, Help, type Option } from 'commander';
import { addAssessCommands } from './assess.ts';
import { addAuditCommands } from './audit.ts';
import { addBackupCommands, type Restore } from './backup.ts';
import { addBrownoutCommands } from './brownouts.ts';
import { addBulkCommands } from './bulk.ts';
import { addCaptureCommands } from './capture.ts';
import { addCompletionCommands } from './completion.ts';
import { addDifferencesCommands } from './differences.ts';
import { addDoctorCommands, type ExamineOffline } from './doctor.ts';
import { addEraseCommands } from './erase.ts';
import { addEvidenceCommands } from './evidence.ts';
import { giveExamples } from './examples.ts';
import { addFleetCommands } from './fleet.ts';
import { addIncidentCommands } from './incidents.ts';
import type { LoadInstaller } from './init/order.ts';
import { addInitCommands } from './init.ts';
import { completeManual } from './manual/complete.ts';
import { EXITS } from './manual/facts.ts';
import { addMappingCommands } from './mapping.ts';
import { addMerchantCommands } from './merchants.ts';
import { addMigrateStoreCommands, type MigrateStore } from './migrate-store.ts';
import { addMoveCommands } from './moves.ts';
import { addNoticeCommands } from './notices.ts';
import { addOpenApiCommands } from './openapi.ts';
import { addReadinessCommands } from './readiness.ts';
import { addReconcileCommands } from './reconcile.ts';
import { addRegisterCommands } from './register.ts';
import { addReplayCommands } from './replay.ts';
import { addReportCommands } from './report.ts';
import { addSafetyCommands } from './safety.ts';
import { addStageCommands } from './stage.ts';
import { addTraceCommands } from './trace.ts';

const HELP = `
Exit codes:
${EXITS.map(([code, meaning]) => `  ${code}  ${meaning}`).join('\n')}

Commands on a running Puente ask its ops door:
  PUENTE_OPS_URL    where it is (default http://127.0.0.1:8081; --ops wins)
  PUENTE_OPS_TOKEN  your bearer token; what you may do follows from its role

Examples:
  puente serve
  puente merchants list
  puente audit verify
  source <(puente completion bash)`;

const SERVE_HELP = `
Settings come from config/default.yaml, the file that PUENTE_CONFIG names, and variables, the later over the earlier; a bad one
is named, and nothing is started. Without any it runs on the sandbox, which touches nobody's money. It prints its doors and
what to do next, and then a line of JSON for each thing that happens. SIGTERM and SIGINT stop it when calls under way have
ended, a second one at once; with several processes (workers) SIGHUP replaces them one after the other.

Examples:
  puente serve
  PUENTE_CONFIG=installation/puente.yaml puente serve
  puente serve --notify http://127.0.0.1:9000/notices`;

/** What differs between the process and a test. */
export interface ProgramParts {
  version: string;
  /** Starts Puente; only `src/cli.ts` starts a process. */
  serve(options: { notify?: string }): Promise<void>;
  /** Puts a backup in place of a database. */
  restore: Restore;
  /** Carries a database file to a server. */
  migrateStore: MigrateStore;
  /** Checks and writes a configuration. */
  loadInstaller: LoadInstaller;
  /** Looks at settings and database file. */
  examineOffline: ExamineOffline;
}

export function puenteProgram({
  version,
  serve,
  restore,
  migrateStore,
  loadInstaller,
  examineOffline,
}: ProgramParts): Command {
  const program = new Command('puente')
    .version(version)
    .description('Keeps legacy Mercado Pago Point and QR integrations working on the orders API.')
    .addHelpText('after', HELP)
    .configureHelp({ optionDescription })
    .exitOverride(); // before the commands are added, which take it over: usage errors are thrown
  program.commandsGroup('First steps:');
  addInitCommands(program, loadInstaller);
  addServeCommand(program, serve);
  addDoctorCommands(program, examineOffline);
  addCompletionCommands(program);
  program.commandsGroup('Merchants and their moves:');
  addFleetCommands(program);
  addMerchantCommands(program);
  addReadinessCommands(program);
  addStageCommands(program);
  addMoveCommands(program);
  addBulkCommands(program);
  addBrownoutCommands(program);
  addSafetyCommands(program);
  program.commandsGroup('Evidence:');
  addAssessCommands(program);
  addEvidenceCommands(program);
  addDifferencesCommands(program);
  addCaptureCommands(program);
  addReplayCommands(program);
  addReportCommands(program);
  addRegisterCommands(program);
  program.commandsGroup('Sales, notices and decisions:');
  addTraceCommands(program);
  addIncidentCommands(program);
  addNoticeCommands(program);
  addReconcileCommands(program);
  addAuditCommands(program);
  program.commandsGroup('The store:');
  addBackupCommands(program, restore);
  addMigrateStoreCommands(program, migrateStore);
  addEraseCommands(program);
  program.commandsGroup('Tables and tools:');
  addMappingCommands(program);
  addOpenApiCommands(program);
  giveExamples(program);
  completeManual(program);
  return program;
}

function addServeCommand(program: Command, serve: ProgramParts['serve']): void {
  program
    .command('serve')
    .description('start Puente, as `npm start` does')
    .option('--notify <url>', 'where notices of merchants without a URL of their own go (merchants.notice_url)')
    .addHelpText('after', SERVE_HELP)
    .action(serve);
}

/** Which options must be given shows in every help. */
function optionDescription(this: Help, option: Option): string {
  const usual = Help.prototype.optionDescription.call(this, option);
  return option.mandatory ? `${usual} (required)` : usual;
}
