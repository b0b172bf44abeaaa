/** The settings of this process: read from files and environment, and checked, or refused with the repair. */

import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { LineCounter, parseDocument, visit } from 'yaml';
import { z } from 'zod';
import { codeOf, PuenteError } from '../error.ts';
import type { Secret } from '../proxy/vault.ts';
import { contradictions } from './contradictions.ts';
import { factsOf } from './kinds.ts';
import { type Leaf, leaves, type Settings, settings, variableOf } from './schema.ts';

type DeepReadonly<T> = T extends Secret ? T : T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/**
 * All settings, checked. A secret from its `…_file` is in the secret's own setting; `secret_key` is null only with the
 * sandbox. `legacy_upstream` is never null: it is `upstream` unless it was set. Paths are absolute.
 */
export type Config = DeepReadonly<Omit<Settings, 'legacy_upstream'> & { legacy_upstream: string }>;

/** A longer value is cut in sentences. */
const LONGEST_SHOWN = 80;

/**
 * Layers: `config/default.yaml`, `config/sandbox.yaml` while `upstream` is `sandbox`, the file that PUENTE_CONFIG
 * names, the environment; later ones win. `option_of`: the option of a command that a variable stands for, which sentences name.
 * @throws PuenteError bad_setting with one sentence for each bad or unknown setting; never with a secret.
 */
export function loadConfig(options: { env: Environment; cwd: string; option_of?: Environment }): Config {
  const { env, cwd, option_of = {} } = options;
  const defaults = readFileLayer(new URL('../../config/default.yaml', import.meta.url), 'config/default.yaml');
  const file = env[FILE_VARIABLE];
  const own: Layer[] = file ? [readFileLayer(resolve(cwd, file), `${file} (${FILE_VARIABLE})`)] : [];
  own.push(readEnvironmentLayer(env, option_of));
  const isSandbox = stack([defaults, ...own]).values.get('upstream')?.value === 'sandbox';
  const profile = isSandbox
    ? [readFileLayer(new URL('../../config/sandbox.yaml', import.meta.url), 'config/sandbox.yaml')]
    : [];
  const layer = withSecretsOfFiles(stack([defaults, ...profile, ...own].map(keepLatestForms)), cwd);

  const parsed = settings.safeParse(nested(layer, cwd));
  const bad = parsed.error?.issues.map((issue) => sentence(issue.path, layer)) ?? [];
  if (!parsed.success || layer.refusals.length > 0) throw refusal([...layer.refusals, ...bad]);
  const config = parsed.data;
  const contradictory = contradictions(config);
  if (contradictory.length > 0) throw refusal(contradictory);
  const loaded: Config = { ...config, legacy_upstream: config.legacy_upstream ?? config.upstream };
  sources.set(loaded, new Map([...layer.values].map(([name, { source }]) => [name, source])));
  return loaded;
}

/** Beside the settings, because only the doctor needs it. */
const sources = new WeakMap<Config, ReadonlyMap<string, string>>();

/** The file or variable that each setting of `loadConfig` came from, by dotted path. */
export function sourcesOf(config: Config): ReadonlyMap<string, string> {
  return sources.get(config) ?? new Map();
}

function sentence(issuePath: readonly PropertyKey[], layer: Layer): string {
  const leaf = leaves().find(({ path }) => path.every((name, index) => name === issuePath[index]));
  if (leaf === undefined) return `${issuePath.join('.')} is no setting of Puente.`;
  const name = leaf.path.join('.');
  const { allowed, secret } = factsOf(leaf.kind);
  const found = layer.values.get(name);
  if (found === undefined) return `${name} (${variableOf(leaf.path)}) has no value; allowed is ${allowed}.`;
  const shown = secret ? 'a value that is not shown' : show(found.value);
  return `${name} from ${found.source} is ${shown}; allowed is ${allowed}.`;
}

/** A value for operators: URLs lose credentials and query, long values their end. */
function show(value: unknown): string {
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  const safe = text.replace(/\/\/.*@/s, '//[hidden]@').replace(/\?.*/s, '?[hidden]"');
  return safe.length > LONGEST_SHOWN ? `${safe.slice(0, LONGEST_SHOWN)}…` : safe;
}

/** The values as the schema reads them, with absolute paths. */
function nested(layer: Layer, cwd: string): unknown {
  const root: Record<string, unknown> = {};
  for (const { path, kind } of leaves()) {
    const value = layer.values.get(path.join('.'))?.value;
    let section = root;
    for (const name of path.slice(0, -1)) {
      section[name] ??= {};
      section = section[name] as Record<string, unknown>; // made on the line above, or for an earlier leaf
    }
    const isPath = factsOf(kind).is_path === true && typeof value === 'string' && value !== '';
    section[path.at(-1) ?? ''] = isPath ? resolve(cwd, value) : value;
  }
  return root;
}

function refusal(sentences: readonly string[]): PuenteError {
  return new PuenteError('bad_setting', [...new Set(sentences)].join('\n'));
}

// Layers of settings: files and environment, with the source of each value.

export const FILE_VARIABLE = 'PUENTE_CONFIG';
/** Variables of the commands (`docs/operations.md`): no settings, but a shell that has them may start Puente too. */
const COMMAND_VARIABLES: readonly string[] = [
  'PUENTE_OPS_URL',
  ...['PUENTE_NOTICE_URL', 'PUENTE_NOTICE_SECRET', 'PUENTE_CREDENTIAL'].flatMap((name) => [name, `${name}_FILE`]),
];
const PREFIX = 'PUENTE_';

type Environment = Readonly<Record<string, string | undefined>>;

/** Values by dotted path with their sources, and the sentences about values that can't be read. */
interface Layer {
  values: Map<string, { value: unknown; source: string }>;
  refusals: string[];
}

function stack(layers: readonly Layer[]): Layer {
  return {
    values: new Map(layers.flatMap((layer) => [...layer.values])),
    refusals: layers.flatMap((layer) => layer.refusals),
  };
}

/** @param source the file's name in sentences. */
function readFileLayer(file: string | URL, source: string): Layer {
  const layer: Layer = { values: new Map(), refusals: [] };
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    layer.refusals.push(
      `${source} can't be read (${codeOf(error, 'unreadable')}); give the path of a YAML file that exists.`,
    );
    return layer;
  }
  const { content, faults } = readYaml(text);
  layer.refusals.push(...faults.map((fault) => `${source} is not valid YAML at ${fault}.`));
  if (faults.length === 0) readSection(settings, content, [], source, layer);
  return layer;
}

/** Faults are lines and codes: the parser's own sentences quote the text, which may be a secret. */
function readYaml(text: string): { content: unknown; faults: string[] } {
  const lines = new LineCounter();
  const document = parseDocument(text, { prettyErrors: false, lineCounter: lines });
  const lineOf = (offset: number | undefined): string => `line ${lines.linePos(offset ?? 0).line}`;
  const faults = [...document.errors, ...document.warnings].map(({ pos, code }) => `${lineOf(pos[0])} (${code})`);
  if (faults.length > 0) return { content: null, faults };
  visit(document, {
    Alias(_key, alias) {
      if (alias.resolve(document) !== undefined) return;
      faults.push(`${lineOf(alias.range?.[0])} (an alias of nothing: a text that begins with * needs quotes)`);
    },
  });
  try {
    return { content: faults.length > 0 ? null : document.toJS(), faults };
  } catch {
    return { content: null, faults: ['line 1 (more aliases than are read)'] };
  }
}

/** An empty variable means null. */
function readEnvironmentLayer(environment: Environment, option_of: Environment): Layer {
  const layer: Layer = { values: new Map(), refusals: [] };
  const byVariable = new Map(leaves().map((leaf) => [variableOf(leaf.path), leaf]));
  for (const [variable, text] of Object.entries(environment)) {
    if (!variable.startsWith(PREFIX) || variable === FILE_VARIABLE || text === undefined) continue;
    if (COMMAND_VARIABLES.includes(variable)) continue;
    const leaf = byVariable.get(variable);
    if (leaf === undefined) {
      layer.refusals.push(`${variable} is no setting of Puente; config/README.md lists the variables there are.`);
    } else {
      layer.values.set(leaf.path.join('.'), {
        value: valueOfText(leaf.kind, text),
        source: option_of[variable] === undefined ? `the variable ${variable}` : `the option ${option_of[variable]}`,
      });
    }
  }
  return layer;
}

function readSection(
  section: z.ZodObject,
  value: unknown,
  above: readonly string[],
  source: string,
  layer: Layer,
): void {
  const name = above.length === 0 ? 'the file' : above.join('.');
  if (value === null || value === undefined) return; // a section of comments only
  if (typeof value !== 'object' || Array.isArray(value)) {
    layer.refusals.push(`${name} in ${source} must be a section of names and values.`);
    return;
  }
  for (const [key, inner] of Object.entries(value)) {
    const path = [...above, key];
    const kind = Object.hasOwn(section.shape, key) ? section.shape[key] : undefined;
    if (kind === undefined) {
      const known = Object.keys(section.shape).join(', ');
      layer.refusals.push(`${path.join('.')} in ${source} is no setting of Puente; allowed here: ${known}.`);
    } else if (kind instanceof z.ZodObject) {
      readSection(kind, inner, path, source, layer);
    } else {
      layer.values.set(path.join('.'), { value: inner, source });
    }
  }
}

/** Gives a variable's text its form in YAML; a text without that form stays text, and the schema refuses it. */
export function valueOfText(kind: Leaf['kind'], text: string): unknown {
  if (text === '') return null;
  switch (innermost(kind)._zod.def.type) {
    case 'number':
      return numberOrText(text);
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    case 'array':
      return text.split(',').map((item) => numberOrText(item.trim()));
    case 'record':
      return jsonOrText(text);
    default:
      return text;
  }
}

function innermost(kind: z.core.$ZodType): z.core.$ZodType {
  return kind instanceof z.ZodNullable ? innermost(kind.unwrap()) : kind;
}

function numberOrText(text: string): number | string {
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// Secrets in files: read at startup, and refused when other users of this machine could read them too.

/** Read permission for all users. The owner's group may read: container platforms mount secrets for a group. */
const READ_BY_OTHERS = 0o004;

/** The secrets that a file may hold, each with the setting of that file. */
function secretsInFiles(): { name: string; file: string; entry_secrets: readonly string[] | undefined }[] {
  const all = leaves().map(({ path, kind }) => ({ name: path.join('.'), entry_secrets: factsOf(kind).entry_secrets }));
  return all
    .map((one) => ({ ...one, file: `${one.name}_file` }))
    .filter(({ file }) => all.some(({ name }) => name === file));
}

/** In one layer, one form of a secret clears the other, so that a later layer wins; both at once are refused. */
function keepLatestForms({ values, refusals }: Layer): Layer {
  const kept = new Map(values);
  const found = [...refusals];
  for (const { name, file } of secretsInFiles()) {
    const [given, ...more] = [name, file].filter((form) => (values.get(form)?.value ?? null) !== null);
    if (given === undefined) continue;
    if (more.length > 0) found.push(`${name} and ${file} are both set; keep one of them.`);
    else kept.set(given === name ? file : name, { value: null, source: values.get(given)?.source ?? '' });
  }
  return { values: kept, refusals: found };
}

/** Reads the file of each secret, trimmed; a bad file gets a sentence. @param cwd base of relative paths. */
function withSecretsOfFiles({ values, refusals }: Layer, cwd: string): Layer {
  const filled = new Map(values);
  const found = [...refusals];
  // The schema refuses what is no path and no entry here.
  for (const { name, file, entry_secrets } of secretsInFiles()) {
    const path = values.get(file)?.value;
    if (typeof path === 'string' && path !== '') {
      const text = readSecret(resolve(cwd, path), file, found);
      const value = entry_secrets === undefined ? text : sectionOf(text);
      filled.set(name, { value, source: `the file ${resolve(cwd, path)} (${file})` });
    }
    const named = filled.get(name);
    if (entry_secrets === undefined || named === undefined || !isRecord(named.value)) continue;
    const entries = Object.entries(named.value).map(([entry, given]) => [
      entry,
      entry_secrets.reduce((part, secret) => withSecretOf(part, `${name}.${entry}`, secret, cwd, found), given),
    ]);
    filled.set(name, { ...named, value: Object.fromEntries(entries) });
  }
  return { values: filled, refusals: found };
}

/** A file that can't be read has its sentence already. A text that is no YAML is refused as no section of names. */
function sectionOf(text: string | null): unknown {
  if (text === null) return {};
  const { content, faults } = readYaml(text);
  return faults.length > 0 ? text : content;
}

/** An entry before the schema checks it; its `…_file` becomes the secret. */
function withSecretOf(entry: unknown, at: string, secret: string, cwd: string, refusals: string[]): unknown {
  const file = `${secret}_file`;
  if (!isRecord(entry) || typeof entry[file] !== 'string') return entry;
  const { [file]: path, ...rest } = entry;
  if (secret in rest) refusals.push(`${at} has a ${secret} and a ${file}; keep one of them.`);
  return { ...rest, [secret]: readSecret(resolve(cwd, String(path)), `${at}.${file}`, refusals) };
}

/** The text, or null with a further sentence in `refusals`. @param setting what names the file. */
export function readSecret(path: string, setting: string, refusals: string[]): string | null {
  try {
    const { mode } = statSync(path);
    if ((mode & READ_BY_OTHERS) !== 0) {
      refusals.push(
        `${setting} is ${path}, which every user of this machine may read; run \`chmod 600 ${path}\`, or mount it with mode 0400 or 0440.`,
      );
      return null;
    }
    return readFileSync(path, 'utf8').trim();
  } catch {
    refusals.push(`${setting} is ${path}, which can't be read; name a file that exists and that this user may read.`);
    return null;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
