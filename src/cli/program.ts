/** The whole command line as one tree: every feature's commands, the exit codes, and what all commands share. */
import { Command } from 'commander';
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
import type { LoadInstaller } from './init/order.ts';
import { addInitCommands } from './init.ts';
import { addMappingCommands } from './mapping.ts';
import { addMerchantCommands } from './merchants.ts';
import { addMigrateStoreCommands, type MigrateStore } from './migrate-store.ts';
import { addMoveCommands } from './moves.ts';
import { addNoticeCommands } from './notices.ts';
import { addOpenApiCommands } from './openapi.ts';
import { addReadinessCommands } from './readiness.ts';
import { addReconcileCommands } from './reconcile.ts';
import { addReplayCommands } from './replay.ts';
import { addReportCommands } from './report.ts';
import { addSafetyCommands } from './safety.ts';
import { addStageCommands } from './stage.ts';
import { addTraceCommands } from './trace.ts';

const HELP = `
Exit codes:
  0  done
  1  refused or failed; the sentence says what is missing and which command gives it
  2  wrong usage
  3  blocked: the verdict names what blocks, or the comparison what still differs
  4  inconclusive: too little was seen, replayed or compared to say
  5  the chain of decisions is broken
  6  changed: today's tables would do something else

Commands on a running Puente ask its ops door:
  PUENTE_OPS_URL    where it is (default http://127.0.0.1:8081; --ops wins)
  PUENTE_OPS_TOKEN  your bearer token; what you may do follows from its role

Examples:
  puente serve
  puente merchants list
  puente audit verify
  source <(puente completion bash)`;

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
    .exitOverride(); // before the commands are added, which take it over: usage errors are thrown
  program
    .command('serve')
    .description('start Puente, as `npm start` does')
    .option('--notify <url>', 'where notices of merchants without a URL of their own go (merchants.notice_url)')
    .addHelpText('after', '\nExample:\n  puente serve --notify http://127.0.0.1:9000/notices')
    .action(serve);
  addInitCommands(program, loadInstaller);
  addMappingCommands(program);
  addMerchantCommands(program);
  addStageCommands(program);
  addMoveCommands(program);
  addBulkCommands(program);
  addBrownoutCommands(program);
  addSafetyCommands(program);
  addAssessCommands(program);
  addReadinessCommands(program);
  addEvidenceCommands(program);
  addDifferencesCommands(program);
  addCaptureCommands(program);
  addReplayCommands(program);
  addNoticeCommands(program);
  addTraceCommands(program);
  addReconcileCommands(program);
  addReportCommands(program);
  addAuditCommands(program);
  addBackupCommands(program, restore);
  addMigrateStoreCommands(program, migrateStore);
  addDoctorCommands(program, examineOffline);
  addEraseCommands(program);
  addOpenApiCommands(program);
  addCompletionCommands(program);
  giveExamples(program);
  return program;
}
