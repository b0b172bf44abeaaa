/** The manual page puente(1), made from the commands themselves: what `--help` says, in the form that `man` reads. */
import type { Argument, Command, Help, Option } from 'commander';
import { commandsOf, exitsOf, isAct, type Meaning, type Named, variablesOf } from './complete.ts';
import { EXITS, OPS_VARIABLES } from './facts.ts';
import { block, escaped, roffText, term } from './roff.ts';

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
