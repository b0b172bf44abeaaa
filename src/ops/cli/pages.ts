/** Renders the man page puente(1) and docs/cli.md from the commands. */
import type { Command } from 'commander';
import {
  commandsOf,
  EXITS,
  exitsOf,
  isAct,
  type Meaning,
  manualOf,
  OPS_VARIABLES,
  SETTINGS_VARIABLES,
  variablesOf,
} from './help.ts';
import { exitCodes } from './output.ts';

interface Entry {
  name: string;
  usage: string;
  about: string;
  notes: Block[];
  args: Meaning[];
  options: Meaning[];
  exits: Meaning[];
  variables: readonly Meaning[];
  examples: readonly string[];
}

/** A paragraph, or lines that are printed unchanged (`is_fixed`). */
interface Block {
  is_fixed: boolean;
  lines: string[];
}

const INTRODUCTION = `Most commands call the ops door of a Puente that runs, and do what its API does, with the same refusals. They print tables
for people, and JSON for scripts with --json.`;
const FILES: readonly Meaning[] = [
  ['config/default.yaml', 'every setting, its default, and why'],
  ['installation/puente.yaml', 'where `puente init` writes a configuration, unless --into says otherwise'],
  ['installation/secrets/', 'its secrets, each in a file of mode 0600'],
  ['data/puente.db', 'the database, unless data_dir or postgres.url says otherwise'],
];
const CODES: readonly Meaning[] = EXITS.map(([name, meaning]) => [String(exitCodes[name]), meaning]);

function groupsOf(program: Command): { title: string; entries: Entry[] }[] {
  const groupOf = (command: Command): string =>
    command.parent === null || command.parent === program ? command.helpGroup() : groupOf(command.parent);
  const all = commandsOf(program).filter(({ command }) => isAct(command));
  const titles = [...new Set(all.map(({ command }) => groupOf(command)))];
  return titles.map((title) => ({
    title: title.replace(/:$/, ''),
    entries: all.filter(({ command }) => groupOf(command) === title).map(({ name, command }) => entryOf(name, command)),
  }));
}

function entryOf(name: string, command: Command): Entry {
  const help = command.createHelp();
  const { notes = '', examples } = manualOf(command);
  const options = help.visibleOptions(command).filter(({ long }) => long !== '--help');
  const about = command.description();
  return {
    name,
    usage: help.commandUsage(command),
    about: `${about.charAt(0).toUpperCase()}${about.slice(1)}.`,
    notes: blocksOf(notes),
    args: help.visibleArguments(command).map((one) => [one.name(), help.argumentDescription(one)]),
    options: options.map((one) => [one.flags, help.optionDescription(one)]),
    exits: exitsOf(command),
    variables: variablesOf(command).filter((one) => !OPS_VARIABLES.includes(one)),
    examples,
  };
}

/** Indented lines are fixed; an empty line ends a paragraph. */
function blocksOf(notes: string): Block[] {
  const blocks: Block[] = [];
  for (const line of notes.trim().split('\n')) {
    const is_fixed = line.startsWith('  ');
    const last = blocks.at(-1);
    if (line !== '' && last?.is_fixed === is_fixed) last.lines.push(line);
    else blocks.push({ is_fixed, lines: line === '' ? [] : [line] });
  }
  return blocks.filter(({ lines }) => lines.length > 0);
}

/** Without the indentation that all lines share: that of YAML within means something. */
function unindented(lines: readonly string[]): string[] {
  const depth = Math.min(...lines.map((line) => line.search(/\S|$/)));
  return lines.map((line) => line.slice(depth).trimEnd());
}

/** The page docs/cli.md. */
export function renderCliPage(program: Command): string {
  const groups = groupsOf(program);
  return `<!-- Generated from the commands by \`npm run generate\`; change those instead. -->

# The commands

${INTRODUCTION}
\`--help\` after a command says the same in a terminal; \`puente completion\` prints a script that completes all of it.
Every command that calls a running Puente also takes \`--json\` and \`--ops <url>\`.

| Variable | What it is |
|---|---|
${[...OPS_VARIABLES, ...SETTINGS_VARIABLES].map(row).join('\n')}

| Exit code | What it means |
|---|---|
${CODES.map(row).join('\n')}

${groups.map(({ title, entries }) => `## ${title}\n\n${entries.map(markdownOf).join('\n\n')}`).join('\n\n')}
`;
}

function row([word, meaning]: Meaning): string {
  return `| \`${word.replaceAll('|', '\\|')}\` | ${meaning.replaceAll('|', '\\|').replaceAll(/<(?=\w)/g, '\\<')} |`;
}

function markdownOf({ name, usage, about, notes, args, options, exits, variables, examples }: Entry): string {
  const own = options.filter(([flags]) => !/^--(json|ops)\b/.test(flags) || !usage.includes('[options]'));
  const special = exits.filter(([code, meaning]) => !CODES.some(([usual, text]) => usual === code && text === meaning));
  const terms = [...args.map(([word, text]): Meaning => [`<${word}>`, text]), ...own, ...variables];
  const codes = special.map(([code, meaning]) => `${code}: ${meaning}`).join('; ');
  return [
    `### puente ${name}`,
    about,
    ...notes.map(({ is_fixed, lines }) => (is_fixed ? fenced(unindented(lines)) : prose(lines))),
    ...(terms.length === 0 ? [] : [`| | |\n|---|---|\n${terms.map(row).join('\n')}`]),
    ...(codes === '' ? [] : [`Exit codes: ${codes}.`]),
    fenced(examples),
  ].join('\n\n');
}

function fenced(lines: readonly string[]): string {
  return `\`\`\`text\n${lines.join('\n')}\n\`\`\``;
}

/** Escapes placeholders such as <merchant>, which Markdown takes for HTML. */
function prose(lines: readonly string[]): string {
  return lines.join('\n').replaceAll(/<(?=\w)/g, '\\<');
}

/** The page docs/puente.1, in roff. */
export function renderManPage(program: Command): string {
  const help = program.createHelp();
  const options = help.visibleOptions(program).map((one): Meaning => [one.flags, help.optionDescription(one)]);
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
    ...terms(options),
    ...groupsOf(program).flatMap(({ title, entries }) => [
      `.SH ${roffEscaped(title.toUpperCase())}`,
      ...entries.flatMap(roffOf),
    ]),
    '.SH EXIT STATUS',
    ...terms(CODES),
    '.SH ENVIRONMENT',
    ...terms([...OPS_VARIABLES, ...SETTINGS_VARIABLES]),
    '.SH FILES',
    ...terms(FILES),
    '.SH SEE ALSO',
    ...roffText('README.md, docs/cli.md, config/README.md and mappings/README.md of Puente.'),
  ];
  return `${lines.join('\n')}\n`;
}

function roffOf({ name, usage, about, notes, args, options, exits, variables, examples }: Entry): string[] {
  const part = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ['.PP', `${title}:`, ...lines];
  return [
    `.SS ${roffEscaped(`puente ${name}`)}`,
    `.B ${roffEscaped(usage)}`,
    '.PP',
    ...roffText(about),
    ...notes.flatMap(({ is_fixed, lines }) => (is_fixed ? block(lines) : ['.PP', ...roffText(lines.join('\n'))])),
    ...terms(args, 'I'),
    ...terms(options),
    ...part('Exit codes', terms(exits)),
    ...part('Environment', terms(variables)),
    ...part('Examples', block(examples)),
  ];
}

/** Replaces characters that roff interprets, or that some `man` programs can't show, by their roff names. */
export function roffEscaped(text: string): string {
  const names: Readonly<Record<string, string>> = {
    '\\': 'e',
    '-': '-',
    "'": '(aq',
    '`': '(ga',
    '^': '(ha',
    '~': '(ti',
  };
  const code = (one: string): string => (one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return text.replace(/[\\'`^~-]|[^\x20-\x7e\n]/gu, (one) => `\\${names[one] ?? `[u${code(one)}]`}`);
}

/** A paragraph with one sentence per line, as is usual in roff. */
export function roffText(text: string): string[] {
  const flowing = text.replace(/\s+/g, ' ').trim();
  return flowing === '' ? [] : flowing.split(/(?<=[.;:]) (?=[A-Z])/).map((line) => guarded(roffEscaped(line)));
}

/** Words in bold (B) or italics (I), each with its meaning. */
function terms(all: readonly Meaning[], font: 'B' | 'I' = 'B'): string[] {
  return all.flatMap(([word, meaning]) => ['.TP', `.${font} ${roffEscaped(word)}`, ...roffText(meaning)]);
}

function block(lines: readonly string[]): string[] {
  return lines.length === 0
    ? []
    : ['.PP', '.nf', '.RS', ...lines.map((line) => guarded(roffEscaped(line))), '.RE', '.fi'];
}

/** roff takes a line that begins with a dot or a quote for a request. */
function guarded(line: string): string {
  return /^[.']/.test(line) ? `\\&${line}` : line;
}
