/** A configuration file to begin with: the chosen settings, each below its reason, as `puente init` writes it. */
import { stringify } from 'yaml';
import { z } from 'zod';
import { describeSettings, type SettingDescription } from './describe.ts';
import { factsOf } from './kinds.ts';
import { valueOfText } from './layers.ts';
import { leaves } from './schema.ts';

/** Longer lines are hard to read beside each other. */
const LINE_WIDTH = 110;

/** Values by dotted path, as YAML has them. */
export type Draft = ReadonlyMap<string, unknown>;

/**
 * The value that a text, such as an answer or an option, has in YAML.
 * @param path of a setting that there is.
 */
export function yamlValueOf(path: string, text: string): unknown {
  const leaf = leafOf(path);
  return leaf === undefined ? text : valueOfText(leaf, text);
}

/** What the schema says against a text for this setting, as a sentence without the text; null when it holds. */
export function complaintAbout(path: string, text: string): string | null {
  const leaf = leafOf(path);
  if (leaf === undefined) return `${path} is no setting of Puente; config/README.md lists them.`;
  const { success } = z.safeParse(leaf.kind, valueOfText(leaf, text));
  return success ? null : `Allowed is ${factsOf(leaf.kind).allowed}.`;
}

/** Secrets stand in files of their own, never in the draft. */
export function isSecret(path: string): boolean {
  const leaf = leafOf(path);
  return leaf !== undefined && factsOf(leaf.kind).secret === true;
}

/**
 * The text of the file: sections and settings in the order of the schema, with the reasons of `config/default.yaml`.
 * @param head lines that stand above all of it.
 * @param offered settings that are shown with their default, as comments, for whoever reads on.
 */
export function renderDraft(draft: Draft, head: readonly string[], offered: readonly string[]): string {
  const lines = head.map((line) => `# ${line}`.trimEnd());
  let above: string[] = [];
  const all = describeSettings();
  for (const setting of all) {
    const is_chosen = draft.has(setting.path);
    if (!is_chosen && !offered.includes(setting.path)) continue;
    const names = setting.path.split('.');
    lines.push('', ...sections(names, above), ...reason(commentOn(setting, all), names.length - 1));
    lines.push(...assigned(setting, names, is_chosen ? draft.get(setting.path) : undefined));
    above = names.slice(0, -1);
  }
  return `${lines.join('\n')}\n`;
}

function leafOf(path: string) {
  return leaves().find((leaf) => leaf.path.join('.') === path);
}

/** The lines of the sections that begin with this setting. */
function sections(names: readonly string[], above: readonly string[]): string[] {
  const within = names.slice(0, -1);
  const known = within.findIndex((name, depth) => above[depth] !== name);
  if (known === -1) return [];
  return within.slice(known).map((name, depth) => `${indent(known + depth)}${name}:`);
}

/** The file of a secret is explained by what the secret is for. */
function commentOn({ path, comment }: SettingDescription, all: readonly SettingDescription[]): string {
  const secret = path.endsWith('_file') ? path.slice(0, -'_file'.length) : null;
  const purpose = all.find((other) => other.path === secret && isSecret(other.path))?.comment;
  return purpose === undefined ? comment : `${purpose} ${comment}`;
}

function reason(comment: string, depth: number): string[] {
  const width = LINE_WIDTH - 2 * depth - 2;
  const lines: string[] = [];
  for (const word of comment.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length >= width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.map((line) => `${indent(depth)}# ${line}`);
}

/** @param value undefined: the setting is only offered, with its default. */
function assigned(setting: SettingDescription, names: readonly string[], value: unknown): string[] {
  const depth = names.length - 1;
  const name = names.at(-1) ?? '';
  if (value === undefined) return [`${indent(depth)}# ${name}: ${setting.default}`];
  const text = stringify({ [name]: value }, { lineWidth: 0 }).trimEnd();
  return text.split('\n').map((line) => indent(depth) + line);
}

function indent(depth: number): string {
  return '  '.repeat(depth);
}
