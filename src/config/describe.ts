/** Descriptions of settings, values in force with their sources, assumptions, and a first file for `puente init`. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isMap, isScalar, parse, parseDocument, stringify, type YAMLMap } from 'yaml';
import { z } from 'zod';
import type { SettingInForce } from '../ops/doctor/finding.ts';
import type { Line } from '../ops/report/report.ts';
import { shownUrl } from '../proxy/evidence/redact-text.ts';
import { type Config, sourcesOf, valueOfText } from './config.ts';
import { factsOf, type KindFacts } from './kinds.ts';
import { type Leaf, leaves, variableOf } from './schema.ts';

interface SettingDescription extends KindFacts {
  kind: Leaf['kind'];
  /** Dotted, as in a configuration file. */
  path: string;
  variable: string;
  /** As written in `config/default.yaml`. */
  default: string;
  /** As written in `config/sandbox.yaml`, when it differs there. */
  sandbox: string | null;
  /** Its purpose, and the reason of the default; empty without a comment in the file. */
  comment: string;
}

let described: readonly SettingDescription[] | undefined;

/** All settings, in the order of the schema. */
export function describeSettings(): readonly SettingDescription[] {
  described ??= readDescriptions();
  return described;
}

/** By dotted path, as `create.deadline_ms`; undefined when there is no such setting. */
export function settingOf(path: string): SettingDescription | undefined {
  return describeSettings().find((setting) => setting.path === path);
}

function readDescriptions(): SettingDescription[] {
  const defaults = written('default.yaml');
  const sandbox = written('sandbox.yaml');
  return leaves().map(({ path, kind }) => {
    const name = path.join('.');
    return {
      ...factsOf(kind),
      kind,
      path: name,
      variable: variableOf(path),
      default: defaults.get(name)?.value ?? '',
      sandbox: sandbox.get(name)?.value ?? null,
      comment: defaults.get(name)?.comment ?? '',
    };
  });
}

/** `config/README.md`, in Markdown; the same files and schema give the same text. */
export function renderSettings(): string {
  const rows = describeSettings().map((setting) => {
    const sandbox = setting.sandbox === null ? '' : ` (sandbox: \`${setting.sandbox}\`)`;
    const what = `${setting.comment} Allowed: ${setting.allowed}.`;
    return `| \`${setting.path}\` | \`${setting.variable}\` | \`${setting.default}\`${sandbox} | ${what.replaceAll('|', '\\|')} |`;
  });
  return `<!-- Generated from default.yaml, sandbox.yaml and the schema by \`npm run generate\`; change those instead. -->

# Settings

Puente reads \`config/default.yaml\`, then \`config/sandbox.yaml\` while \`upstream\` is \`sandbox\`, then the YAML file that
\`PUENTE_CONFIG\` names (\`config/example.yaml\` is one to start from), then the variables below; later ones win. A variable
set to nothing means \`null\`; a list is written with commas. A bad or unknown setting, in a file or a variable, refuses to
start with a sentence that names it.

| Setting | Variable | Default | What it is for |
|---|---|---|---|
${rows.join('\n')}
`;
}

/** The leaves of a configuration file as they are written, by dotted path. */
function written(file: string): Map<string, { value: string; comment: string }> {
  const text = readFileSync(new URL(`../../config/${file}`, import.meta.url), 'utf8');
  const found = new Map<string, { value: string; comment: string }>();
  const root = parseDocument(text).contents;
  if (isMap(root)) collect(root, [], found);
  return found;
}

function collect(section: YAMLMap, above: readonly string[], found: Map<string, { value: string; comment: string }>) {
  for (const [index, { key, value }] of section.items.entries()) {
    if (!isScalar(key)) continue;
    const path = [...above, String(key.value)];
    if (isMap(value) && value.items.length > 0) {
      collect(value, path, found);
    } else {
      // The parser attaches a comment above the first key of a section to the section.
      const comment = (index === 0 && above.length > 0 ? section.commentBefore : key.commentBefore) ?? '';
      // An empty line separates the header of the file from the comment of the first setting.
      const own = comment.split('\n\n').at(-1) ?? '';
      const sentence = own
        .split('\n')
        .map((part) => part.trim())
        .join(' ')
        .trim();
      found.set(path.join('.'), { value: isScalar(value) ? String(value.value) : String(value), comment: sentence });
    }
  }
}

// The settings in force, each with its source; for secrets only whether they are set.

/** Longer values are cut, such as a list of a hundred host names. */
const LONGEST_SHOWN = 200;

/** In the order of the schema. @param config from `loadConfig`. */
export function settingsInForce(config: Config): SettingInForce[] {
  const sources = sourcesOf(config);
  return leaves().map(({ path, kind }) => {
    const name = path.join('.');
    const value = valueAt(config, path);
    const text = factsOf(kind).secret === true ? (isSet(value) ? 'set' : 'not set') : shown(value);
    return { name, value: text.slice(0, LONGEST_SHOWN), source: sources.get(name) ?? 'made at the start' };
  });
}

function valueAt(config: Config, path: readonly string[]): unknown {
  return path.reduce<unknown>((section, name) => (section as Record<string, unknown>)[name], config); // the schema's own paths
}

function isSet(value: unknown): boolean {
  if (value === null || value === undefined) return false;
  return typeof value !== 'object' || value.constructor !== Object || Object.keys(value).length > 0;
}

/** Without path and query of a URL, which may contain keys. */
function shown(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'null';
  return /^https?:/i.test(value) ? shownUrl(value) : value;
}

// Settings for what the specification leaves open, with values in force (`docs/architecture.md` Decision 14).

/** Sections whose settings change behaviour for tills or guarantees; none has addresses or secrets. */
const SECTIONS: readonly string[] = [
  'routing',
  'moves',
  'safety',
  'shadow',
  'evidence',
  'merchants',
  'create',
  'reads',
  'tokens',
  'reconcile',
  'notices',
];

/**
 * The settings of those sections with their values in force, and whether each is the default (`docs/architecture.md`
 * Decision 14). Reads `config/default.yaml` at each call.
 */
export function assumptionsOf(config: Config): Line<'assumptions'>[] {
  const defaults = parse(readFileSync(new URL('../../config/default.yaml', import.meta.url), 'utf8'));
  return describeSettings()
    .filter(({ path }) => SECTIONS.includes(path.split('.')[0] ?? ''))
    .map(({ path, comment }) => {
      const value = shown(valueAt(config, path.split('.')));
      return { name: path, value, sentence: comment, is_default: value === shown(valueAt(defaults, path.split('.'))) };
    });
}

// A configuration file to begin with: the chosen settings, each below its reason, as `puente init` writes it.

/** Longer lines are hard to read beside each other. */
const LINE_WIDTH = 110;

/** YAML values by dotted path. */
export type Draft = ReadonlyMap<string, unknown>;

/**
 * The YAML value of a text, such as an answer or an option; a path is made absolute, because a relative one would depend on
 * the directory of the start.
 */
export function yamlValueOf(path: string, text: string): unknown {
  const { kind, is_path } = settingOf(path) ?? {};
  return kind === undefined ? text : valueOfText(kind, is_path && text !== '' ? resolve(text) : text);
}

/** The schema's refusal of a text for this setting, as a sentence without the text; null when it accepts it. */
export function complaintAbout(path: string, text: string): string | null {
  const setting = settingOf(path);
  if (setting === undefined) return `${path} is no setting of Puente; config/README.md lists them.`;
  const { success } = z.safeParse(setting.kind, valueOfText(setting.kind, text));
  return success ? null : `Allowed is ${setting.allowed}.`;
}

/** In the order of the schema, with the reasons of the defaults. @param offered added as comments. */
export function renderDraft(draft: Draft, head: readonly string[], offered: readonly string[]): string {
  const lines = head.map((line) => `# ${line}`.trimEnd());
  let above: string[] = [];
  for (const setting of describeSettings()) {
    const is_chosen = draft.has(setting.path);
    if (!is_chosen && !offered.includes(setting.path)) continue;
    const names = setting.path.split('.');
    lines.push('', ...sections(names, above), ...reason(commentOn(setting), names.length - 1));
    lines.push(...assigned(setting, names, is_chosen ? draft.get(setting.path) : undefined));
    above = names.slice(0, -1);
  }
  return `${lines.join('\n')}\n`;
}

function sections(names: readonly string[], above: readonly string[]): string[] {
  const within = names.slice(0, -1);
  const known = within.findIndex((name, depth) => above[depth] !== name);
  if (known === -1) return [];
  return within.slice(known).map((name, depth) => `${indent(known + depth)}${name}:`);
}

/** The setting with the file of a secret also gets the comment of the secret. */
function commentOn({ path, comment }: SettingDescription): string {
  const secret = path.endsWith('_file') ? settingOf(path.slice(0, -'_file'.length)) : undefined;
  return secret?.secret ? `${secret.comment} ${comment}` : comment;
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
