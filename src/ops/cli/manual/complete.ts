/** Completes the help of every command: what its arguments are, what its exit codes mean, which variables it reads. */
import type { Command } from 'commander';
import { exitCodes } from '../output.ts';
import { ARGUMENTS, EXITS, EXITS_OF, OPS_VARIABLES, VARIABLES_OF } from './facts.ts';

/** A word and what it means. */
export type Meaning = readonly [word: string, meaning: string];

/** A command with the words that lead to it, without `puente`. */
export interface Named {
  name: string;
  command: Command;
}

/**
 * Lays the facts over the commands; call it when all are there.
 * @throws TypeError for an argument that nobody explains, or a fact about a command that is not there.
 */
export function completeManual(program: Command): void {
  const all = commandsOf(program);
  for (const name of [...Object.keys(EXITS_OF), ...Object.keys(VARIABLES_OF)])
    if (!all.some((one) => one.name === name)) throw new TypeError(`there is no command ${name}`);
  for (const { name, command } of all) {
    for (const argument of command.registeredArguments) {
      argument.description ||= ARGUMENTS[argument.name()] ?? '';
      if (argument.description === '') throw new TypeError(`nobody explains <${argument.name()}> of ${name}`);
    }
    if (isAct(command))
      command.addHelpText(
        'after',
        () => section('Exit codes', exitsOf(name)) + section('Environment', variablesOf(name, command)),
      );
  }
}

/** Every command below this one, outermost first. */
export function commandsOf(program: Command, above: readonly string[] = []): Named[] {
  return program.commands
    .filter((one) => one.name() !== 'help')
    .flatMap((command) => {
      const words = [...above, command.name()];
      return [{ name: words.join(' '), command }, ...commandsOf(command, words)];
    });
}

/** Some commands only hold others. */
export function isAct(command: Command): boolean {
  return command.commands.length === 0 || command.registeredArguments.length > 0;
}

/** What each code means for this command. */
export function exitsOf(name: string): Meaning[] {
  const own = EXITS_OF[name] ?? {};
  const always: readonly string[] = ['done', 'failed', 'usage'];
  return Object.entries(exitCodes).flatMap(([code, number]): Meaning[] => {
    const said = Object.entries(own).find(([name]) => name === code)?.[1];
    const usual = always.includes(code) ? EXITS.find(([known]) => known === number)?.[1] : undefined;
    const meaning = said ?? usual;
    return meaning === undefined ? [] : [[String(number), meaning]];
  });
}

export function variablesOf(name: string, command: Command): readonly Meaning[] {
  const asks = command.options.some(({ long }) => long === '--ops');
  return [...(VARIABLES_OF[name] ?? []), ...(asks ? OPS_VARIABLES : [])];
}

/** As the help of a terminal shows it; nothing when there is nothing to say. */
function section(title: string, meanings: readonly Meaning[]): string {
  if (meanings.length === 0) return '';
  const width = Math.max(...meanings.map(([word]) => word.length));
  return `\n${title}:\n${meanings.map(([word, meaning]) => `  ${word.padEnd(width)}  ${meaning}\n`).join('')}`;
}
