/** What there is to complete, read from the commands: words, options and their values at each place. */
import type { Command } from 'commander';

interface Word {
  word: string;
  about: string;
}

interface OptionWords {
  /** As typed: `--json`, `-h`. */
  flags: string[];
  about: string;
  takes_value: boolean;
  /** Empty when any value may follow. */
  choices: readonly string[];
}

/** A command with all its words. */
export interface CommandNode {
  /** Names from the outside in, each with a slash before it; '' is `puente` itself. */
  at: string;
  commands: Word[];
  options: OptionWords[];
  /** Values that its arguments can have, where they are a closed list. */
  values: string[];
}

/** The command and everything below it, outermost first. */
export function nodesOf(command: Command, at = ''): CommandNode[] {
  const inner = command.commands.filter((one) => one.name() !== 'help');
  const own: CommandNode = {
    at,
    commands: inner.map((one) => ({ word: one.name(), about: one.description() })),
    options: [...command.options.map(optionWords), help],
    values: command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
  };
  return [own, ...inner.flatMap((one) => nodesOf(one, `${at}/${one.name()}`))];
}

const help: OptionWords = { flags: ['-h', '--help'], about: 'how it is used', takes_value: false, choices: [] };

function optionWords(option: Command['options'][number]): OptionWords {
  return {
    flags: [option.short, option.long].filter((flag) => flag !== undefined && flag !== null),
    about: option.description,
    takes_value: option.required || option.optional,
    choices: option.argChoices ?? [],
  };
}

/** In single quotes, as bash and zsh read it. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
