/** Notes, examples, exit codes and variables of each command, as data: for --help, the man page and docs/cli.md. */
import type { Command } from 'commander';
import { exitCodes } from './output.ts';

export type Meaning = readonly [word: string, meaning: string];

export interface Manual {
  /** Paragraphs; indented lines are printed unchanged. */
  notes?: string;
  /** Command lines as an operator types them. */
  examples: readonly string[];
  /** Meanings that replace those of `EXITS`, and codes that only some commands use. */
  exits?: Readonly<Partial<Record<keyof typeof exitCodes, string>>>;
  /** Beside `OPS_VARIABLES`, which every command with `--ops` reads. */
  variables?: readonly Meaning[];
}

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
  ['PUENTE_OPS_TOKEN_FILE', 'a file that holds that token instead'],
];
/** Of commands that start Puente or read its settings. */
export const SETTINGS_VARIABLES: readonly Meaning[] = [
  ['PUENTE_CONFIG', 'a YAML file of settings, laid over config/default.yaml'],
  ['PUENTE_…', 'every setting, as config/README.md lists them; they win over the file'],
];

/** Descriptions by argument name, the same in every command. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  merchant: "a merchant's id: the vendor's user id, as `puente merchants list` shows it",
  merchants: 'ids of merchants, separated by spaces or commas',
  move: 'the id of a proposed move, as `puente moves list` shows it',
  ramp: 'the id of a ramp, as `puente ramps list` shows it',
  bulk: 'the id of a bulk move, as `puente bulk list` shows it',
  brownout: 'the id of a window, as `puente brownout list` shows it',
  notice: 'the id of a notice, as `puente notices list` shows it',
  incident: 'the id of an incident, as `puente incidents list` shows it',
  signature: 'the signature of a difference, as `puente differences list` shows it',
  sale: 'the id that the finding, the report or `puente reconcile` shows: a legacy id, or an order without a sale',
  state: 'what it is',
  exchange: 'the id of a call, as the story of a sale shows it',
  file: 'the path of a file',
  before: 'the earlier report',
  after: 'the later report',
};

const manuals = new WeakMap<Command, Manual>();

/** Add all arguments first. @throws TypeError for an argument without an explanation. */
export function withManual(command: Command, manual: Manual): Command {
  manuals.set(command, manual);
  for (const argument of command.registeredArguments) {
    argument.description ||= ARGUMENTS[argument.name()] ?? '';
    if (argument.description === '')
      throw new TypeError(`<${argument.name()}> of ${command.name()} has no description`);
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

/** Empty for a command that only groups others. */
export function manualOf(command: Command): Manual {
  return manuals.get(command) ?? { examples: [] };
}

/** Exit codes with their meanings for this command, in ascending order; every command has those of `ALWAYS`. */
export function exitsOf(command: Command): Meaning[] {
  const { exits = {} } = manualOf(command);
  return EXITS.flatMap(([name, usual]): Meaning[] => {
    const meaning = exits[name] ?? (ALWAYS.includes(name) ? usual : undefined);
    return meaning === undefined ? [] : [[String(exitCodes[name]), meaning]];
  });
}

/** Its own, and those of the ops door for a command with `--ops`. */
export function variablesOf(command: Command): readonly Meaning[] {
  const asks = command.options.some(({ long }) => long === '--ops');
  return [...(manualOf(command).variables ?? []), ...(asks ? OPS_VARIABLES : [])];
}

function part(title: string, meanings: readonly Meaning[]): string {
  if (meanings.length === 0) return '';
  const width = Math.max(...meanings.map(([word]) => word.length));
  return `\n${title}:\n${meanings.map(([word, meaning]) => `  ${word.padEnd(width)}  ${meaning}\n`).join('')}`;
}

/** `name` is the full name without `puente`, such as `merchants list`. */
interface Named {
  name: string;
  command: Command;
}

/** Every command below this one, parents first. */
export function commandsOf(program: Command, above: readonly string[] = []): Named[] {
  return program.commands.flatMap((command) => {
    const words = [...above, command.name()];
    return [{ name: words.join(' '), command }, ...commandsOf(command, words)];
  });
}

/** False for a command that only groups others. */
export function isAct(command: Command): boolean {
  return command.commands.length === 0 || manuals.has(command);
}
