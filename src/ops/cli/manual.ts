/** The manual page puente(1) and the help, made from the commands themselves. */
import type { Argument, Command, Help, Option } from 'commander';
import { exitCodes } from './output.ts';

/** The page `docs/puente.1`. @param program with everything that it has; it is not changed. */
export function renderManPage(program: Command): string {
  const help = program.createHelp();
  const all = commandsOf(program);
  const groups = [...new Set(program.commands.map((one) => one.helpGroup()))].filter((group) => group !== '');
  const lines = [
    '.\\" Generated from the commands by `npm run generate`; change those instead.',
    '.TH PUENTE 1 "" "Puente" "User Commands"',
    '.SH NAME',
    'puente \\- keeps legacy point\\-of\\-sale integrations working on the orders API',
    '.SH SYNOPSIS',
    '.B puente',
    '.RI [ options ]',
    '.I command',
    '.RI [ arguments ]',
    '.SH DESCRIPTION',
    ...roffText(program.description()),
    ...roffText(INTRODUCTION),
    '.SH OPTIONS',
    ...options(program, help),
    ...groups.flatMap((group) => [
      `.SH ${escaped(group.replace(/:$/, '').toUpperCase())}`,
      ...all.filter(({ command }) => isAct(command) && groupOf(command) === group).flatMap((one) => section(one, help)),
    ]),
    '.SH EXIT STATUS',
    ...meanings(EXITS.map(([code, meaning]): Meaning => [String(code), meaning])),
    '.SH ENVIRONMENT',
    ...meanings([...OPS_VARIABLES, ...STARTED_WITH]),
    '.SH FILES',
    ...meanings(FILES),
    '.SH SEE ALSO',
    ...roffText('README.md, config/README.md and mappings/README.md of Puente.'),
  ];
  return `${lines.join('\n')}\n`;
}

const INTRODUCTION = `Most commands ask the ops door of a Puente that runs, and do what its API does, with the same refusals. They print tables for
people, and JSON for scripts with --json.`;

const STARTED_WITH: readonly Meaning[] = [
  ['PUENTE_CONFIG', 'a YAML file of settings, for commands that start Puente or look at its settings'],
  ['PUENTE_…', 'every setting, as config/README.md lists them; they win over the file'],
];

const FILES: readonly Meaning[] = [
  ['config/default.yaml', 'every setting, its default, and why'],
  ['installation/puente.yaml', 'where `puente init` writes a configuration, unless --into says otherwise'],
  ['installation/secrets/', 'its secrets, each in a file of mode 0600'],
  ['data/puente.db', 'the database, unless data_dir or postgres.url says otherwise'],
];

/** That of its outermost command below `puente`. */
function groupOf(command: Command): string {
  const { parent } = command;
  return parent === null || parent.parent === null ? command.helpGroup() : groupOf(parent);
}

function section({ name, command }: Named, help: Help): string[] {
  const { notes, examples } = afterHelp(command);
  const variables = variablesOf(name, command).filter((one) => !OPS_VARIABLES.includes(one));
  return [
    `.SS ${escaped(`puente ${name}`)}`,
    `.B ${escaped(help.commandUsage(command))}`,
    '.PP',
    ...roffText(`${capital(command.description())}.`),
    ...notes,
    ...help
      .visibleArguments(command)
      .flatMap((one: Argument) => [...term(help.argumentTerm(one), 'I'), ...roffText(help.argumentDescription(one))]),
    ...options(command, help),
    ...part('Exit codes', meanings(exitsOf(name))),
    ...part('Environment', meanings(variables)),
    ...part('Examples', block(examples)),
  ];
}

function options(command: Command, help: Help): string[] {
  return help
    .visibleOptions(command)
    .filter(({ long }) => long !== '--help' || command.parent === null)
    .flatMap((one: Option) => [...term(help.optionTerm(one), 'B'), ...roffText(help.optionDescription(one))]);
}

function meanings(all: readonly Meaning[]): string[] {
  return all.flatMap(([word, meaning]) => [...term(word, 'B'), ...roffText(meaning)]);
}

function part(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['.PP', `${title}:`, ...lines];
}

/** What stands after the options in `--help`; codes and variables are told from their facts instead. */
function afterHelp(command: Command): { notes: string[]; examples: string[] } {
  const written: string[] = [];
  const copy = command.configureOutput();
  command.configureOutput({ ...copy, writeOut: (text) => void written.push(text) }).outputHelp();
  command.configureOutput(copy);
  const after = written.join('').slice(command.helpInformation().length);
  const [before = '', ...titled] = after.split(/^(?=(?:Examples?|Exit codes|Environment):$)/m);
  const examples = titled
    .filter((text) => text.startsWith('Example'))
    .flatMap((text) => text.trimEnd().split('\n').slice(1));
  return { notes: notes(before), examples };
}

/** Paragraphs flow; what is indented, or follows a colon, stays as it is. */
function notes(text: string): string[] {
  return text.split(/\n{2,}/).flatMap((paragraph) => {
    const lines = paragraph.split('\n').filter((line) => line.trim() !== '');
    if (lines.length === 0) return [];
    const flowing = lines.every((line) => !line.startsWith(' '));
    return flowing ? ['.PP', ...roffText(lines.join('\n'))] : block(lines);
  });
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// Completes the help of every command: what its arguments are, what its exit codes mean, which variables it reads.

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
        () => helpSection('Exit codes', exitsOf(name)) + helpSection('Environment', variablesOf(name, command)),
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
function helpSection(title: string, meanings: readonly Meaning[]): string {
  if (meanings.length === 0) return '';
  const width = Math.max(...meanings.map(([word]) => word.length));
  return `\n${title}:\n${meanings.map(([word, meaning]) => `  ${word.padEnd(width)}  ${meaning}\n`).join('')}`;
}

// What the manual says of commands beside their own words: arguments, exit codes and variables, each told once for
// all.

/** Arguments that mean the same wherever they stand. */
export const ARGUMENTS: Readonly<Record<string, string>> = {
  merchant: "a merchant's id: the vendor's user id, as `puente merchants list` shows it",
  merchants: 'ids of merchants, one after the other',
  move: 'the id of a proposed move, as `puente moves list` shows it',
  bulk: 'the id of a bulk move, as `puente bulk list` shows it',
  brownout: 'the id of a window, as `puente brownout list` shows it',
  notice: 'the id of a notice, as `puente notices list` shows it',
  signature: 'the signature of a difference, as `puente differences list` shows it',
  exchange: 'the id of a call, as the story of a sale shows it',
  id: 'any id or reference that somebody has of a sale',
  file: 'the path of a file',
  before: 'the earlier report',
  after: 'the later report',
};

/** Codes that all commands share, as the manual's first lines. */
export const EXITS: readonly (readonly [code: number, meaning: string])[] = [
  [exitCodes.done, 'done'],
  [exitCodes.failed, 'refused or failed; the sentence says what is missing and which command gives it'],
  [exitCodes.usage, 'wrong usage'],
  [exitCodes.blocked, 'blocked: the verdict names what blocks, or the comparison what still differs'],
  [exitCodes.inconclusive, 'inconclusive: too little was seen, replayed or compared to say'],
  [exitCodes.broken_chain, 'the chain of decisions is broken'],
  [exitCodes.changed, "changed: today's tables would do something else"],
];

/** Codes by command that mean more than above, or that only some commands give. */
export const EXITS_OF: Readonly<Record<string, Readonly<Partial<Record<keyof typeof exitCodes, string>>>>> = {
  serve: { done: 'stopped when it was asked to', failed: 'the start was refused, or the store failed' },
  init: { done: 'written', failed: 'not written: something is there already, or the settings contradict each other' },
  check: { done: 'all proofs hold', failed: 'a proof fails' },
  explain: { done: 'translated', failed: 'refused, as the till would be; or not understood' },
  assess: {
    done: 'every merchant is ready',
    blocked: 'a merchant is blocked',
    inconclusive: 'none is blocked, and of one too little was seen',
  },
  'can-migrate': { done: 'ready', blocked: 'something is in the way', inconclusive: 'too little is proven' },
  stage: { done: 'moved, or proposed to a second person', failed: 'refused: something is missing' },
  'bulk start': { done: 'started; with --follow all are moved', failed: 'refused; with --follow some are not moved' },
  'bulk show': { done: 'shown; with --follow all are moved', failed: 'failed; with --follow some are not moved' },
  reconcile: {
    done: 'nothing differs any more',
    blocked: 'something is left that differs',
    inconclusive: 'not everything could be compared',
  },
  replay: {
    done: 'no change',
    inconclusive: 'too little was replayed to rule changes out',
    changed: "today's tables would do something else",
  },
  report: {
    done: 'whole, and the chain of decisions is intact',
    broken_chain: 'what it says of decisions is not proven',
  },
  'audit verify': { done: 'intact', broken_chain: 'broken: the first wrong line is named' },
  doctor: { done: 'no problem; warnings and notes may stand', failed: 'a problem stands, or nobody could look' },
  erase: { done: 'counted or erased', blocked: 'open work is in the way' },
};

/** Variables that a command reads beside the options that name theirs. */
export const VARIABLES_OF: Readonly<Record<string, readonly (readonly [name: string, meaning: string])[]>> = {
  serve: [
    ['PUENTE_CONFIG', 'a YAML file laid over config/default.yaml'],
    ['PUENTE_…', 'every setting, as config/README.md lists them; they win over the file'],
  ],
  init: [
    ['PUENTE_WEBHOOK_SECRET', 'with --webhook-secret: the secret'],
    ['PUENTE_POSTGRES_URL', 'with --postgres: the address of the database'],
  ],
  'merchants set': [
    ['PUENTE_NOTICE_URL', 'with --notify -: the URL'],
    ['PUENTE_NOTICE_SECRET', 'with --notice-secret: the secret'],
    ['PUENTE_CREDENTIAL', "with --credential: the merchant's access token"],
  ],
  'migrate-store': [['PUENTE_CONFIG, PUENTE_…', 'the settings of both stores, as for the start']],
  doctor: [['PUENTE_CONFIG, PUENTE_…', 'with --offline: the settings, as for the start']],
};

/** Of every command that asks the ops door. */
export const OPS_VARIABLES: readonly (readonly [name: string, meaning: string])[] = [
  ['PUENTE_OPS_URL', 'where the ops door is; --ops wins'],
  ['PUENTE_OPS_TOKEN', 'your bearer token, which is needed; what you may do follows from its role'],
];

// The language of `man`: text, terms with what they mean, and blocks that keep their lines.

/** A character that means something to `man`, or that only some of its readers know, gets its name. */
export function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('`', '\\(ga')
    .replaceAll('^', '\\(ha')
    .replaceAll('~', '\\(ti')
    .replace(
      /[^\x20-\x7e\n]/gu,
      (one) => `\\[u${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`,
    );
}

/** Text that flows: each sentence on a line of its own, as `man` likes it. */
export function roffText(text: string): string[] {
  const flowing = text.replace(/\s+/g, ' ').trim();
  return flowing === '' ? [] : flowing.split(/(?<=[.;:]) (?=[A-Z])/).map((line) => guarded(escaped(line)));
}

/** A word in bold (B) or as a variable (I), with what it means on the lines after it. */
export function term(word: string, font: 'B' | 'I'): string[] {
  return ['.TP', `.${font} ${escaped(word)}`];
}

/** Lines that stay as they are. */
export function block(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['.PP', '.nf', '.RS', ...lines.map((line) => guarded(escaped(line))), '.RE', '.fi'];
}

/** A dot or a quote at the beginning of a line would be a request. */
function guarded(line: string): string {
  return /^[.']/.test(line) ? `\\&${line}` : line;
}
