/** The whole command line as one tree: every feature's commands, the exit codes, and what all commands share. */
import { Command, Help, type Option } from 'commander';
import { addAssessCommands } from './assess.ts';
import { addBackupCommands, type Restore } from './backup.ts';
import { addBrownoutCommands } from './brownouts.ts';
import { addBulkCommands } from './bulk.ts';
import { addCaptureCommands, addReplayCommands } from './capture.ts';
import { addCompletionCommands } from './completion.ts';
import { addDoctorCommands, type ExamineOffline } from './doctor.ts';
import { addDifferencesCommands, addEvidenceCommands, addReadinessCommands, addRegisterCommands } from './evidence.ts';
import { addAuditCommands, addFleetCommands, addIncidentCommands } from './fleet.ts';
import { addInitCommands } from './init.ts';
import type { LoadInstaller } from './init-questions.ts';
import { completeManual, EXITS } from './manual.ts';
import { addMappingCommands } from './mapping.ts';
import { addEraseCommands, addMerchantCommands } from './merchants.ts';
import { addMigrateStoreCommands, type MigrateStore } from './migrate-store.ts';
import { addNoticeCommands } from './notices.ts';
import { callOps } from './ops-client.ts';
import { common, type Output } from './output.ts';
import { addReconcileCommands } from './reconcile.ts';
import { addReportCommands } from './report.ts';
import { addSafetyCommands } from './safety.ts';
import { addMoveCommands, addStageCommands } from './stage.ts';
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
  /** Serves the sandbox by itself until it is told to stop. */
  sandbox(options: { port?: string; host?: string; profile?: string }): Promise<void>;
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
  sandbox,
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
  addSandboxCommand(program, sandbox);
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

const SANDBOX_HELP = `
It keeps everything in memory, and stops on SIGTERM and SIGINT. Its settings are those of \`sandbox\` in config/default.yaml. Requests with the
header X-Sandbox-World: <name>, or with paths below /_world/<name>/, meet a world of their own, which the first of them makes.

Examples:
  puente sandbox
  puente sandbox --port 9082 --profile field`;

function addSandboxCommand(program: Command, sandbox: ProgramParts['sandbox']): void {
  program
    .command('sandbox')
    .description('start the stand-in for both APIs by itself, without Puente')
    .option('--port <port>', 'where it listens; 0 takes a free port (sandbox.port)')
    .option('--host <host>', 'on which address (sandbox.host)')
    .option('--profile <profile>', 'which service it is: specification or field (sandbox.profile)')
    .addHelpText('after', SANDBOX_HELP)
    .action(sandbox);
}

/** Which options must be given shows in every help. */
function optionDescription(this: Help, option: Option): string {
  const usual = Help.prototype.optionDescription.call(this, option);
  return option.mandatory ? `${usual} (required)` : usual;
}

// `puente openapi`: the description of the ops API that the running Puente gives of itself.

export function addOpenApiCommands(program: Command): void {
  common(
    program.command('openapi').description('the OpenAPI 3.1 document of the ops API, for tools and client generators'),
  )
    .addHelpText('after', '\nExample:\n  puente openapi > puente-openapi.json')
    .action(async (options: Output) => {
      const document = await callOps(options, 'GET', '/api/openapi.json');
      process.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
    });
}

// Examples in the help of commands that need no more words than one; the others bring their own.

const EXAMPLES: Readonly<Record<string, string>> = {
  'merchants list': '--json',
  'merchants show': '700100200',
  'moves show': '0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10',
  'moves approve': '0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10 --reason "looked at the preview with the shop"',
  'moves decline': '0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10 --reason "not before the holidays"',
  'bulk list': '--json',
  'bulk show': '0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10',
  'bulk abort': '0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10 --reason "a till of the chain was updated"',
  'brownout list': '--json',
  'brownout abort': '0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10 --reason "a shop called"',
  'safety show': '700100200',
  'safety reset': '700100200 --kind intents --reason "the outage is over"',
  unknowns: '--merchant 700100200',
  'differences show': '700100200 0a1b2c3d4e5f6071',
};

/** @throws TypeError when a command is not there: an example must not outlive it. */
export function giveExamples(program: Command): void {
  for (const [name, words] of Object.entries(EXAMPLES)) {
    const command = name
      .split(' ')
      .reduce<Command | undefined>((above, word) => above?.commands.find((one) => one.name() === word), program);
    if (command === undefined) throw new TypeError(`there is no command ${name}`);
    command.addHelpText('after', `\nExample:\n  puente ${name} ${words}`);
  }
}
