/** The command tree of `puente`: commands made from ops API rows, local commands, and shared help. */
import { Command, Help, type Option } from 'commander';
import { addAssessCommand, addReplayCommand } from './assess.ts';
import { addCompletionCommand } from './completion.ts';
import { doctorFaces, type ExamineOffline } from './doctor.ts';
import { evidenceFaces, readinessFaces, registerFaces } from './evidence.ts';
import { addReportDiff, backupFaces, captureFaces, reconcileFaces, reportFaces } from './files.ts';
import { EXITS, OPS_VARIABLES, SETTINGS_VARIABLES, withManual } from './help.ts';
import { addMappingCommands, type FolderInSettings, tableFaces } from './mapping.ts';
import { eraseFaces, importFaces, merchantFaces } from './merchants.ts';
import { brownoutFaces, bulkFaces, moveFaces, stageFaces } from './moves.ts';
import { planFaces } from './plan.ts';
import { rampFaces } from './ramps.ts';
import { type AnyFaces, addRowCommands } from './rows.ts';
import { safetyFaces } from './safety.ts';
import { auditFaces, fleetFaces, incidentFaces, noticeFaces, traceFaces } from './sales.ts';
import { addMigrateStoreCommand, addRestoreCommand, type MigrateStore, type Restore } from './store.ts';

/** Effects outside this module: `src/cli.ts` implements them, tests replace them. */
interface ProgramParts {
  version: string;
  serve(options: { notify?: string }): Promise<void>;
  /** Serves the sandbox without Puente until a signal. */
  sandbox(options: { port?: string; host?: string; profile?: string; data?: string }): Promise<void>;
  restore: Restore;
  migrateStore: MigrateStore;
  /** Add options, help and action to `puente init` and `puente fidelity`. */
  fillInit(init: Command): void;
  fillFidelity(fidelity: Command): void;
  examineOffline: ExamineOffline;
  folderInSettings: FolderInSettings;
}

/** Every command; none has run. Wrong usage is thrown as a CommanderError, so that the caller chooses the exit code. */
export function puenteProgram(parts: ProgramParts): Command {
  const program = new Command('puente')
    .version(parts.version)
    .description('Keeps legacy Mercado Pago Point and QR integrations working on the orders API.')
    .configureHelp({ optionDescription })
    .exitOverride(); // commands inherit it when they are added: usage errors are thrown
  withManual(program, {
    notes: 'Commands on a running Puente call its ops door.',
    examples: ['puente serve', 'puente merchants list', 'puente audit verify', 'source <(puente completion bash)'],
    exits: Object.fromEntries(EXITS),
    variables: OPS_VARIABLES,
  });
  const group = (title: string, ...faces: AnyFaces[]): void => {
    program.commandsGroup(`${title}:`);
    for (const some of faces) addRowCommands(program, some);
  };
  program.commandsGroup('First steps:');
  parts.fillInit(
    program.command('init').description('write the configuration of a real installation, asking for what it needs'),
  );
  addServeCommand(program, parts.serve);
  addSandboxCommand(program, parts.sandbox);
  group('First steps', doctorFaces(parts.examineOffline));
  program.commandsGroup('First steps:');
  parts.fillFidelity(
    program.command('fidelity').description('compare what the sandbox assumes about upstream with a real test account'),
  );
  addCompletionCommand(program);
  group('Merchants and their moves', fleetFaces, merchantFaces, importFaces, readinessFaces, stageFaces, moveFaces);
  group('Merchants and their moves', rampFaces, bulkFaces, planFaces, brownoutFaces, safetyFaces);
  program.commandsGroup('Evidence:');
  addAssessCommand(program, parts.folderInSettings);
  group('Evidence', evidenceFaces, captureFaces);
  addReplayCommand(program, parts.folderInSettings);
  group('Evidence', reportFaces, registerFaces);
  addReportDiff(program);
  group('Sales, notices and decisions', traceFaces, noticeFaces, incidentFaces, reconcileFaces, auditFaces);
  group('The store', backupFaces, eraseFaces);
  addRestoreCommand(program, parts.restore);
  addMigrateStoreCommand(program, parts.migrateStore);
  program.commandsGroup('Tables and tools:');
  addMappingCommands(program, parts.folderInSettings);
  group('Tables and tools', tableFaces);
  group('Tables and tools', openApiFaces);
  return program;
}

const openApiFaces: AnyFaces = {
  openapi: {
    about: 'the OpenAPI 3.1 document of the ops API, for tools and client generators',
    examples: ['puente openapi > puente-openapi.json'],
    text: (document) => JSON.stringify(document, null, 2),
  },
};

function addServeCommand(program: Command, serve: ProgramParts['serve']): void {
  const command = program
    .command('serve')
    .description('start Puente, as `npm start` does')
    .option('--notify <url>', 'where notices of merchants without a URL of their own go (merchants.notice_url)')
    .action(serve);
  withManual(command, {
    notes: `
Settings come from config/default.yaml, the file that PUENTE_CONFIG names, and variables, the later over the earlier; a bad one
is named, and nothing is started. Without any it runs on the sandbox, which moves no real money. It prints its doors and
what to do next, and then a line of JSON for each event. SIGTERM and SIGINT stop it when running calls have
ended, a second one at once; with several processes (workers) SIGHUP replaces them one after the other; a process alone goes on as it is.`,
    examples: [
      'puente serve',
      'PUENTE_CONFIG=installation/puente.yaml puente serve',
      'puente serve --notify http://127.0.0.1:9000/notices',
    ],
    exits: { done: 'stopped by a signal', failed: 'the start was refused, or the store failed' },
    variables: SETTINGS_VARIABLES,
  });
}

function addSandboxCommand(program: Command, sandbox: ProgramParts['sandbox']): void {
  const command = program
    .command('sandbox')
    .description('start the stand-in for both APIs by itself, without Puente')
    .option('--port <port>', 'where it listens; 0 takes a free port (sandbox.port)')
    .option('--host <host>', 'on which address (sandbox.host)')
    .option('--profile <profile>', 'which upstream it imitates: specification or field (sandbox.profile)')
    .option('--data <file>', 'store its world in this file between two starts')
    .action(sandbox);
  withManual(command, {
    notes: `
It keeps everything in memory, with --data in a file too, and stops on SIGTERM and SIGINT. Its settings are those of \`sandbox\` in config/default.yaml. Requests with the
header X-Sandbox-World: <name>, or with paths below /_world/<name>/, use a separate world, which the first such request creates.`,
    examples: ['puente sandbox', 'puente sandbox --port 9082 --profile field', 'puente sandbox --data world.json'],
  });
}

/** Marks required options in every help. */
function optionDescription(this: Help, option: Option): string {
  const usual = Help.prototype.optionDescription.call(this, option);
  return option.mandatory ? `${usual} (required)` : usual;
}
