/** What the help of a command says beside its options: notes, examples, exit codes and variables, kept as data for the man page and docs/cli.md. */
import type { Command } from 'commander';
import { exitCodes } from './output.ts';

/** A word and what it means. */
export type Meaning = readonly [word: string, meaning: string];

export interface Manual {
  /** Paragraphs; lines that are indented stay as they are. */
  notes?: string;
  /** As they are typed, from `puente` on. */
  examples: readonly string[];
  /** Exit codes that mean more than for all commands, or that only some commands have. */
  exits?: Readonly<Partial<Record<keyof typeof exitCodes, string>>>;
  /** Variables beside those of the ops door, which every command with `--ops` reads. */
  variables?: readonly Meaning[];
}

/** What each exit code means for all commands. */
export const EXITS: readonly (readonly [name: keyof typeof exitCodes, meaning: string])[] = [
  ['done', 'done'],
  ['failed', 'refused or failed; the sentence says what is missing and which command gives it'],
  ['usage', 'wrong usage'],
  ['blocked', 'blocked: the verdict names what blocks, or the comparison what still differs'],
  ['inconclusive', 'inconclusive: too little was seen, replayed or compared to say'],
  ['broken_chain', 'the chain of decisions is broken'],
  ['changed', "changed: today's tables would do something else"],
];
const ALWAYS: readonly string[] = ['done', 'failed', 'usage'];

export const OPS_VARIABLES: readonly Meaning[] = [
  ['PUENTE_OPS_URL', 'where the ops door is; --ops wins'],
  ['PUENTE_OPS_TOKEN', 'your bearer token, which is needed; what you may do follows from its role'],
];

/** Arguments that mean the same wherever they stand. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  merchant: "a merchant's id: the vendor's user id, as `puente merchants list` shows it",
  merchants: 'ids of merchants, one after the other',
  move: 'the id of a proposed move, as `puente moves list` shows it',
  bulk: 'the id of a bulk move, as `puente bulk list` shows it',
  brownout: 'the id of a window, as `puente brownout list` shows it',
  notice: 'the id of a notice, as `puente notices list` shows it',
  signature: 'the signature of a difference, as `puente differences list` shows it',
  state: 'what it is',
  exchange: 'the id of a call, as the story of a sale shows it',
  file: 'the path of a file',
  before: 'the earlier report',
  after: 'the later report',
};

const manuals = new WeakMap<Command, Manual>();

/**
 * Completes the help of a command that has all its arguments.
 * @throws TypeError for an argument without an explanation.
 */
export function withManual(command: Command, manual: Manual): Command {
  manuals.set(command, manual);
  for (const argument of command.registeredArguments) {
    argument.description ||= ARGUMENTS[argument.name()] ?? '';
    if (argument.description === '') throw new TypeError(`nobody explains <${argument.name()}> of ${command.name()}`);
  }
  return command.addHelpText('after', () => {
    const { notes = '', examples } = manual;
    const shown = examples.map((line) => `\n  ${line}`).join('');
    return [
      notes === '' ? '' : `\n${notes.trim()}\n`,
      examples.length === 0 ? '' : `\nExample${examples.length === 1 ? '' : 's'}:${shown}\n`,
      part('Exit codes', exitsOf(command)),
      part('Environment', variablesOf(command)),
    ].join('');
  });
}

/** Of a command that only holds others, nothing. */
export function manualOf(command: Command): Manual {
  return manuals.get(command) ?? { examples: [] };
}

/** What each code means for this command. */
export function exitsOf(command: Command): Meaning[] {
  const { exits = {} } = manualOf(command);
  return EXITS.flatMap(([name, usual]): Meaning[] => {
    const meaning = exits[name] ?? (ALWAYS.includes(name) ? usual : undefined);
    return meaning === undefined ? [] : [[String(exitCodes[name]), meaning]];
  });
}

export function variablesOf(command: Command): readonly Meaning[] {
  const asks = command.options.some(({ long }) => long === '--ops');
  return [...(manualOf(command).variables ?? []), ...(asks ? OPS_VARIABLES : [])];
}

/** As a terminal shows it; nothing when there is nothing to say. */
function part(title: string, meanings: readonly Meaning[]): string {
  if (meanings.length === 0) return '';
  const width = Math.max(...meanings.map(([word]) => word.length));
  return `\n${title}:\n${meanings.map(([word, meaning]) => `  ${word.padEnd(width)}  ${meaning}\n`).join('')}`;
}

/** A command with the words that lead to it, without `puente`. */
export interface Named {
  name: string;
  command: Command;
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
