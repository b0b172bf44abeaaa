/** The command line in this process; parts that start servers or touch a store are refused. */
import type { Command } from 'commander';
import { fillFidelity } from '../src/app/fidelity.ts';
import { fillInit } from '../src/app/init.ts';
import { puenteProgram } from '../src/ops/cli/program.ts';

const elsewhere = (): Promise<never> => Promise.reject(new Error('only the process does this'));

export function programHere(): Command {
  return puenteProgram({
    version: '0.0.0',
    serve: elsewhere,
    sandbox: elsewhere,
    restore: elsewhere,
    migrateStore: elsewhere,
    fillInit,
    examineOffline: elsewhere,
    fillFidelity,
    folderInSettings: async () => null,
  });
}

/** All of `--help`, with the text after the options. */
export function helpOf(command: Command): string {
  const parts: string[] = [];
  command.configureOutput({ writeOut: (text) => void parts.push(text) }).outputHelp();
  return parts.join('');
}
