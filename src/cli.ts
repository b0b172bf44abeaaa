#!/usr/bin/env node
/** The command `puente`: the same operations as the ops API, for people (tables) and scripts (`--json`). */
import { CommanderError } from 'commander';
import { PuenteError } from './error.ts';
import { exitCodes, refusalText } from './ops/cli/output.ts';
import { puenteProgram } from './ops/cli/program.ts';
import { version } from './version.ts';

/** Loading settings or the sandbox takes as long as a short command: only where options that are made of them are read or shown. */
const shows = (command: string) => process.argv.some((word) => word === command || word === 'completion');
const { fillInit } = shows('init') ? await import('./app/init.ts') : { fillInit: () => undefined };
const { fillFidelity } = shows('fidelity') ? await import('./app/fidelity.ts') : { fillFidelity: () => undefined };

const program = puenteProgram({
  version,
  serve: async ({ notify }) => {
    const { serve } = await import('./main.ts');
    const variable = 'PUENTE_MERCHANTS_NOTICE_URL';
    await (notify === undefined
      ? serve(process.env)
      : serve({ ...process.env, [variable]: notify }, { [variable]: '--notify' }));
  },
  sandbox: async (order) => {
    const { serveSandbox } = await import('./app/sandbox.ts');
    await serveSandbox(process.env, process.cwd(), order);
  },
  restore: async (order) => {
    const { restoreBackup } = await import('./store/sqlite/restore.ts');
    return restoreBackup(order);
  },
  migrateStore: async (order) => {
    const { migrateStore } = await import('./app/open-store.ts');
    return migrateStore(process.env, process.cwd(), order);
  },
  fillInit,
  fillFidelity,
  examineOffline: async () => {
    const { examineOffline } = await import('./app/installation.ts');
    return examineOffline(process.env, process.cwd());
  },
  folderInSettings: async () => {
    const { loadConfig } = await import('./config/config.ts');
    return loadConfig({ env: process.env, cwd: process.cwd() }).mappings.folder;
  },
});

// The reader of the output may close it early, as `| head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  } else if (error instanceof PuenteError) {
    process.stderr.write(`${refusalText(error)}\n`);
    process.exitCode = exitCodes.failed;
  } else {
    throw error;
  }
}
