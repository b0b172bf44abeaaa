/** Reads the places settings come from, and lays one over the other, remembering where each value came from. */
import { readFileSync } from 'node:fs';
import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { type Leaf, leaves, settings, variableOf } from './schema.ts';

/** Names the file of an operator. */
export const FILE_VARIABLE = 'PUENTE_CONFIG';
/** What the commands read (README, Commands): no settings, but a shell that has them may start Puente too. */
const COMMAND_VARIABLES: readonly string[] = [
  'PUENTE_OPS_URL',
  'PUENTE_NOTICE_URL',
  'PUENTE_NOTICE_SECRET',
  'PUENTE_CREDENTIAL',
];
const PREFIX = 'PUENTE_';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Values by dotted path, with the place each came from, and the sentences about what can't be understood. */
export interface Layer {
  values: Map<string, { value: unknown; source: string }>;
  refusals: string[];
}

/** Lays later layers over earlier ones. */
export function stack(layers: readonly Layer[]): Layer {
  return {
    values: new Map(layers.flatMap((layer) => [...layer.values])),
    refusals: layers.flatMap((layer) => layer.refusals),
  };
}

/** Reads a YAML file; `source` is how sentences name it. */
export function readFileLayer(file: string | URL, source: string): Layer {
  const layer: Layer = { values: new Map(), refusals: [] };
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    layer.refusals.push(`${source} can't be read (${codeOf(error)}); give the path of a YAML file that exists.`);
    return layer;
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { prettyErrors: false, lineCounter: lines });
  // The parser's own sentences quote the text, which may be a secret; code and line are enough to find it.
  for (const error of [...document.errors, ...document.warnings]) {
    layer.refusals.push(`${source} is not valid YAML at line ${lines.linePos(error.pos[0]).line} (${error.code}).`);
  }
  if (layer.refusals.length === 0) readSection(settings, document.toJS(), [], source, layer);
  return layer;
}

/** Reads the variables; a variable set to nothing means null. */
export function readEnvironmentLayer(environment: Environment): Layer {
  const layer: Layer = { values: new Map(), refusals: [] };
  const byVariable = new Map(leaves().map((leaf) => [variableOf(leaf.path), leaf]));
  for (const [variable, text] of Object.entries(environment)) {
    if (!variable.startsWith(PREFIX) || variable === FILE_VARIABLE || text === undefined) continue;
    if (COMMAND_VARIABLES.includes(variable)) continue;
    const leaf = byVariable.get(variable);
    if (leaf === undefined) {
      layer.refusals.push(`${variable} is no setting of Puente; config/README.md lists the variables there are.`);
    } else {
      layer.values.set(leaf.path.join('.'), { value: valueOfText(leaf, text), source: `the variable ${variable}` });
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
  if (value === null || value === undefined) return; // a section whose lines are all comments
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

/** Gives a variable's text the form its setting has in YAML; what doesn't fit stays text, and the schema refuses it. */
export function valueOfText(leaf: Leaf, text: string): unknown {
  if (text === '') return null;
  switch (innermost(leaf.kind)._zod.def.type) {
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

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
}
