/** Makes commands from ops API rows: arguments and flags from path and schemas, one call, an answer as JSON or text. */
import { Argument, type Command, Option } from 'commander';
import { PuenteError } from '../../error.ts';
import type { Answers, CommandAnswers } from '../api/api.ts';
import { type CommandRow, commandRows, type FieldSchema } from '../api/rows.ts';
import { type Manual, withManual } from './help.ts';
import { callOps, type OpsAsk } from './ops-client.ts';
import { common, facts, instantText, type Output, percent, print, wholeNumber } from './output.ts';

/** What a command adds to its rows. `Answer` is the API's body, or its list where the body holds only a list. */
export interface Face<Answer = unknown> extends Partial<Manual> {
  /** The command whose rows this one uses, such as `merchants set` for `capture on`. */
  of?: string;
  /** Description, where the row's summary does not fit. */
  about?: string;
  /** Fields that are arguments, in this order, after the path's parameters. */
  args?: readonly string[];
  /** Flag names by field, where they differ. */
  flags?: Readonly<Record<string, string>>;
  /** Fields that `input` fills; they have no flag. */
  made?: readonly string[];
  /** The only fields that are offered; without it all are. */
  only?: readonly string[];
  /** The word for null; without it `default`. */
  none?: string;
  /** Adds flags that are not fields; `input`, `ask` and `text` read them from `options`. */
  more?(command: Command): void;
  /** For a command with a row for one and a row for many: the refusal of mixed fields, without its full stop. */
  either?: string;
  /** Whether the call may take minutes. Where it is not set: true for a command that takes several merchants. */
  is_long?: boolean;
  /** Completes the fields from other flags. @throws PuenteError bad_request. */
  input?(given: Given): Fields | Promise<Fields>;
  /** Replaces the call. @returns the answer; undefined when everything is printed already. */
  ask?(given: Given): Promise<Answer | undefined>;
  /** Without it the answer is a table of facts. */
  text?(answer: Answer, given: Given): string;
  /** Without it 0. An error of the call has its own code. */
  exit?(answer: Answer, given: Given): number;
}

/** By command, in the order of the help; each is typed by what its rows answer. */
export type Faces = { readonly [Command in keyof CommandAnswers]?: Face<CommandAnswers[Command]> };
/** Also commands that answer something else than their rows. */
export type AnyFaces = Readonly<Record<string, Face>>;
export type Fields = Record<string, unknown>;

export interface Given {
  row: CommandRow;
  path: Record<string, string>;
  /** Given query or body fields by name. */
  fields: Fields;
  options: Output & Record<string, unknown>;
}

/** Descriptions of commands that only group others. */
const HOLDERS: Readonly<Record<string, string>> = {
  merchants: 'see and set merchants of a running Puente',
  moves: 'moves that wait for a second person (setting moves.second_approver)',
  bulk: 'move many merchants with a daily budget',
  ramps: 'see and steer what `puente ramp` has started',
  brownout: 'drills: windows in which legacy refuses new work',
  safety: 'safety stops: see them, reset them',
  differences: 'where legacy and orders differ, grouped by signature',
  capture: 'keep exchanges with their redacted messages, and export them',
  notices: 'the delivery log of a running Puente, and redelivery',
  incidents: 'what Puente noticed or did by itself',
  alerts: 'the receivers of alerts, and a test',
  audit: 'decisions: who, when, why; and the proof that none was changed',
  backups: 'the complete backups',
};

/** @throws TypeError for a face whose command no row has. */
export function addRowCommands(program: Command, faces: AnyFaces): void {
  for (const [name, one] of Object.entries(faces)) addRowCommand(program, name, one);
}

function addRowCommand(program: Command, name: string, one: Face): void {
  const rows = commandRows.filter(({ command }) => command.split(' --')[0] === (one.of ?? name));
  const [first] = rows;
  if (first === undefined) throw new TypeError(`no row has the command ${name}`);
  const words = name.split(' ');
  const holder = words.slice(0, -1).reduce(below, program);
  const command = common(holder.command(words.at(-1) ?? '').description(one.about ?? clauseOf(first)));
  const { path, least } = pathOf(rows);
  for (const [index, { shown }] of path.entries())
    command.addArgument(new Argument(index < least ? `<${shown}>` : `[${shown}]`));
  const fields = fieldsOf(rows).filter((field) => one.only?.includes(field.name) ?? true);
  const args = (one.args ?? []).flatMap((arg) => fields.filter((field) => field.name === arg));
  for (const field of args) command.addArgument(argumentOf(field, one));
  one.more?.(command);
  for (const row of rows) if (flagOf(row) !== null) command.option(`--${flagOf(row)}`, clauseOf(row));
  const flagged = fields.filter((field) => !args.includes(field) && !one.made?.includes(field.name));
  const flags = flagged.map((field) => ({ field, option: optionOf(field, one) }));
  for (const { option } of flags) command.addOption(option);
  withManual(command, { examples: [], ...one });
  command.action(async (...typed: unknown[]) => {
    const options = command.optsWithGlobals<Given['options']>();
    const row = rowOf(rows, path.filter((_, index) => typed[index] !== undefined).length, options);
    const named = [
      ...args.map((field, index) => [field, typed[path.length + index]] as const),
      ...flags.map(({ field, option }) => [field, options[option.attributeName()]] as const),
    ];
    const given = {
      row,
      path: Object.fromEntries(path.map(({ name }, index) => [name, String(typed[index] ?? '')])),
      fields: Object.fromEntries(
        named
          .filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0))
          .map(([field, value]) => [field.name, sentAs(field, value, row, one)]),
      ),
      options,
    };
    refuseUnlessOf(row, given.fields, one, command);
    await act(one, given);
  });
}

/** The command of this name, added when it is missing. */
function below(above: Command, word: string): Command {
  const there = above.commands.find((one) => one.name() === word);
  return there ?? above.command(word).description(HOLDERS[word] ?? '');
}

/** The summary without capital and full stop. */
function clauseOf({ summary }: CommandRow): string {
  return summary.charAt(0).toLowerCase() + summary.slice(1).replace(/\.$/, '');
}

/** The flag that selects the row, such as `dry-run` of `stage --dry-run`. */
function flagOf({ command }: CommandRow): string | null {
  return command.split(' --')[1] ?? null;
}

/** Parameters of the longest path; those beyond `least` are optional. The `:id` of `/moves/:id` shows as `move`. */
function pathOf(rows: readonly CommandRow[]): { path: { name: string; shown: string }[]; least: number } {
  const paths = rows.map(({ path }) => {
    const words = path.split('/');
    return words.flatMap((word, index) => {
      const before = words[index - 1] ?? '';
      return word.startsWith(':')
        ? [{ name: word.slice(1), shown: word === ':id' ? before.replace(/s$/, '') : word.slice(1) }]
        : [];
    });
  });
  const lengths = paths.map(({ length }) => length);
  return { path: paths.find(({ length }) => length === Math.max(...lengths)) ?? [], least: Math.min(...lengths) };
}

/** The row selected by a flag, or by the number of path arguments. */
function rowOf(rows: readonly CommandRow[], count: number, options: Given['options']): CommandRow {
  const isChosen = (row: CommandRow): boolean => {
    const flag = flagOf(row);
    return flag !== null && options[new Option(`--${flag}`).attributeName()] === true;
  };
  const found = rows.find(isChosen) ?? rows.find((row) => pathOf([row]).least === count && flagOf(row) === null);
  return found ?? (rows[0] as CommandRow); // every command has a row
}

/** Drops fields of other rows. @throws PuenteError bad_request with `either`; a usage error for a missing field. */
function refuseUnlessOf(row: CommandRow, fields: Fields, { either, made = [] }: Face, command: Command): void {
  const { properties, required } = row;
  const strange = Object.keys(fields).filter((name) => !Object.hasOwn(properties, name));
  const missing = required.find((name) => !Object.hasOwn(fields, name) && name !== 'revision' && !made.includes(name));
  if (either !== undefined && (strange.length > 0 || missing !== undefined))
    throw new PuenteError('bad_request', `${either}${strange.length > 0 ? '; not both' : ''}.`);
  if (missing !== undefined) command.error(`error: required option '--${missing} <text>' not specified`);
  for (const name of strange) delete fields[name];
}

/** The values that a field of a command may have. */
export function choicesOf(command: string, name: string): readonly string[] {
  const fields = fieldsOf(commandRows.filter((row) => row.command === command));
  return fields.find((field) => field.name === name)?.choices ?? [];
}

interface Field {
  name: string;
  about: string;
  kind: 'flag' | 'switch' | 'list' | 'choice' | 'number' | 'share' | 'text';
  choices: readonly string[];
  /** The placeholder of its value in the help. */
  value: string;
  is_nullable: boolean;
  /** In every row of the command. */
  is_required: boolean;
  /** The default in the help. */
  usual: string;
}

/** Placeholders of text fields; all others are `text`. */
const VALUES: Readonly<Record<string, string>> = {
  ...{ merchant: 'merchant', subject: 'id', operation: 'name', action: 'name' },
  where: 'condition',
};

/** The first row's fields come first, and its schemas win. */
function fieldsOf(rows: readonly CommandRow[]): Field[] {
  const all = new Map(rows.toReversed().flatMap(({ properties }) => Object.entries(properties)));
  const names = new Set(rows.flatMap(({ properties }) => Object.keys(properties)));
  const isRequired = (name: string): boolean => rows.every(({ required }) => required.includes(name));
  return [...names].map((name) => fieldOf(name, all.get(name) ?? {}, isRequired(name)));
}

function fieldOf(name: string, schema: FieldSchema, is_required: boolean): Field {
  const inner = schema.anyOf?.find(({ type }) => type !== 'null') ?? schema;
  const types = [inner.type ?? []].flat();
  const choices = inner.enum ?? inner.items?.enum ?? [];
  const is_nullable = inner !== schema || types.includes('null');
  const usual = name === 'revision' ? 'the current one' : String([schema.default ?? ''].flat().join(' and '));
  const field = { name, about: schema.description ?? '', choices, is_nullable, is_required, usual };
  const is_flag = types.includes('boolean') || choices.join() === 'true,false';
  if (is_flag && is_nullable) return { ...field, kind: 'switch', choices: ['on', 'off'], value: 'switch' };
  if (is_flag) return { ...field, kind: 'flag', choices: [], value: '', usual: '' };
  // Only an id has a pattern here; without one a name or a tag is taken, too.
  const value = name === 'merchant' && inner.pattern !== undefined ? 'id' : VALUES[name];
  // The conditions of a selection are an object, and a list as people write them.
  if (types.includes('array') || types.includes('object'))
    return { ...field, kind: 'list', value: value ?? name.replace(/s$/, '') };
  if (choices.length > 0) return { ...field, kind: 'choice', value: name.split('_').at(-1) ?? name };
  if (types.includes('integer')) return { ...field, kind: 'number', value: 'number' };
  if (types.includes('number')) return { ...field, kind: 'share', value: 'percent' };
  return { ...field, kind: 'text', value: inner.format === 'date-time' ? 'instant' : (value ?? 'text') };
}

function argumentOf({ name, about, kind, choices, is_nullable, is_required }: Field, { none }: Face): Argument {
  const word = kind === 'list' ? `${name}...` : name;
  const argument = new Argument(is_required ? `<${word}>` : `[${word}]`, about);
  return choices.length > 0
    ? argument.choices(is_nullable && none !== undefined ? [...choices, none] : choices)
    : argument;
}

function optionOf(field: Field, { flags = {}, none = 'default' }: Face): Option {
  const { name, about, kind, value, choices, usual, is_nullable, is_required } = field;
  const flag = `--${flags[name] ?? name.replaceAll('_', '-')}`;
  const shown = kind === 'flag' ? '' : ` <${value}${kind === 'list' ? '...' : ''}>`;
  const option = new Option(flag + shown, usual === '' ? about : `${about} (default: ${usual})`);
  if (choices.length > 0) option.choices(is_nullable ? [...choices, none] : choices);
  if (value === 'instant') option.argParser(instantText);
  if (kind === 'number') option.argParser(wholeNumber);
  if (kind === 'share') option.argParser(percent);
  return option.makeOptionMandatory(is_required && name !== 'revision');
}

/** The value in body or query; a query has no null. */
function sentAs(
  { kind, is_nullable }: Field,
  value: unknown,
  { has_body }: CommandRow,
  { none = 'default' }: Face,
): unknown {
  if (kind === 'switch' && value !== none) return value === 'on';
  return is_nullable && String(value) === none && has_body ? null : value;
}

async function act(one: Face, typed: Given): Promise<void> {
  const given = { ...typed, fields: (await one.input?.(typed)) ?? typed.fields };
  const answer = one.ask === undefined ? await call(given, isLong(one, given.row)) : await one.ask(given);
  if (answer === undefined) return;
  const text = (): string => (one.text?.(answer, given) ?? facts(answer as object)) + restOf(answer, given); // answers without `text` are objects
  print(given.options, answer, given.options.json === true ? '' : text());
  const code = one.exit?.(answer, given) ?? 0;
  if (code !== 0) process.exitCode = code;
}

/** Whether its call may take minutes. */
export function isLong({ is_long }: Pick<Face, 'is_long'>, { properties }: CommandRow): boolean {
  return is_long ?? Object.hasOwn(properties, 'merchants');
}

/** Where the rest of a list is, if that is as long as it may be. */
function restOf(answer: unknown, { row: { properties }, fields }: Given): string {
  const most = Number(fields.limit ?? properties.limit?.default);
  if (!(Array.isArray(answer) && answer.length >= most)) return '';
  const flags = ['limit', 'since', 'until', 'before'].filter((name) => Object.hasOwn(properties, name));
  return `\nThe list ends at its limit of ${most}; ${flags.map((name) => `--${name}`).join(', ')} show the rest.`;
}

/** Calls the row. A change without a given revision reads the current one first. */
export async function call({ row, path, fields, options }: Given, is_long = false): Promise<unknown> {
  const is_current = row.required.includes('revision') && !Object.hasOwn(fields, 'revision');
  const revision = is_current ? { revision: await revisionAbove(row, path, options) } : {};
  return listIn(await callOps(options, requestOf({ row, path, fields: { ...fields, ...revision } }), is_long));
}

/** Calls another row with the same path and options; its revision is not read. @throws TypeError for an unknown row. */
export async function callRow<Name extends keyof Answers>(
  name: Name,
  given: Given,
  fields: Fields = {},
  is_long = false,
): Promise<Answers[Name]> {
  const row = commandRows.find(({ method, path }) => `${method} ${path}` === name);
  if (row === undefined) throw new TypeError(`the ops API has no row ${name}`);
  return callOps(given.options, requestOf({ ...given, row, fields }), is_long) as Promise<Answers[Name]>; // the API's own shape
}

/** Fields go into the body where the row has one, else into the query. */
export function requestOf({ row, path: of, fields }: Pick<Given, 'row' | 'path' | 'fields'>): OpsAsk {
  const { method } = row;
  const path = row.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(of[name] ?? ''));
  if (row.has_body) return { method, path, body: fields };
  const query = new URLSearchParams(
    Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return { method, path: query.size === 0 ? path : `${path}?${query}` };
}

/** From the GET row with the longest path above this one. */
async function revisionAbove(row: CommandRow, path: Given['path'], options: Output): Promise<unknown> {
  const above = commandRows
    .filter((one) => one.method === 'GET' && `${row.path}/`.startsWith(`${one.path}/`))
    .toSorted((one, other) => other.path.length - one.path.length)[0];
  if (above === undefined) throw new TypeError(`no row above ${row.path} can be read`);
  const seen = await callOps(options, requestOf({ row: above, path, fields: {} }));
  return (seen as { revision: unknown }).revision; // the API's own shape
}

function listIn(answer: unknown): unknown {
  const values = typeof answer === 'object' && answer !== null ? Object.values(answer) : [];
  return values.length === 1 && Array.isArray(values[0]) ? values[0] : answer;
}
