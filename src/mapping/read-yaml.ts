/** Reads YAML by a grammar: each failure with its file, its line and column, and what would fit. */
import { isMap, isScalar, isSeq, LineCounter, type ParsedNode, parse, parseDocument, type Scalar } from 'yaml';
import { z } from 'zod';
import type { Failure } from './check-rows.ts';
import { whatFits } from './near.ts';

/** The content of a file; what stops its text from being YAML is in `failures`. */
export function readYaml(file: string, text: string, failures: Failure[]): { content: unknown } | null {
  try {
    return { content: parse(text) };
  } catch (error) {
    const found = syntaxErrors(text);
    // What is wrong with aliases shows only when the content is made: one without an anchor, or too many.
    if (found.length === 0) found.push({ message: `can't be read: ${(error as Error).message}`, line: 1, column: 1 }); // yaml throws Errors
    failures.push(...found.map((one) => ({ file, row: null, ...one })));
    return null;
  }
}

/** The content as the grammar reads it; null when it violates it, with each violation in `failures`. */
export function byGrammar<Out>(
  schema: z.ZodType<Out>,
  file: string,
  { text, content }: { text: string; content: unknown },
  failures: Failure[],
): Out | null {
  const parsed = schema.safeParse(content, { reportInput: true });
  if (parsed.success) return parsed.data;
  const placeOf = placesIn(text);
  for (const issue of parsed.error.issues) {
    const key = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
    const at = placeOf([...(issue.path as YamlPath), ...key]); // YAML has no symbol keys
    failures.push({ file, ...grammarFailure(schema, issue), ...at });
  }
  return null;
}

const ROW_LISTS = /^(?:rows|operations|proxied|sites|limitations|any|never|calls)$/;

/** The place in words, with rows counted from 1. */
function grammarFailure(schema: z.core.$ZodType, issue: z.core.$ZodIssue): Pick<Failure, 'row' | 'message'> {
  const rest = issue.path.map((segment) => (typeof segment === 'number' ? segment + 1 : String(segment)));
  const row: string[] = [];
  while (ROW_LISTS.test(String(rest[0])) && rest.length > 1) {
    const [list, ...place] = rest.splice(0, rest[0] === 'calls' ? 3 : 2);
    row.push(list === 'any' || list === 'never' ? `${list} ${place.join(' ')}` : place.join(' '));
  }
  const says = saysOf(schema, issue);
  const message = rest.length === 0 ? says : `${rest.join(' ')}: ${says}`;
  return { row: row.length === 0 ? null : row.join('.'), message };
}

function saysOf(schema: z.core.$ZodType, issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    return `${issue.message}${whatFits(String(issue.keys[0]), keysAt(schema, issue.path))}`;
  }
  if (issue.code === 'invalid_value' && typeof issue.input === 'string')
    return `${issue.message}${whatFits(issue.input, issue.values.map(String))}`;
  return issue.message;
}

/** The keys that the grammar's object takes at a path; none where a union decides. */
function keysAt(schema: z.core.$ZodType | undefined, path: readonly PropertyKey[]): string[] {
  if (schema === undefined) return [];
  const [name, ...rest] = path;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable)
    return keysAt(schema.unwrap(), path);
  if (schema instanceof z.ZodPipe) return keysAt(schema.meta()?.grammar as z.core.$ZodType | undefined, path); // `own-tables.ts` names it
  if (schema instanceof z.ZodObject) {
    const shape: Record<string, z.core.$ZodType> = schema.shape;
    return name === undefined ? Object.keys(shape) : keysAt(shape[String(name)], rest);
  }
  if (schema instanceof z.ZodArray) return keysAt(schema.element, rest);
  return keysAt((schema as Partial<z.ZodRecord>).valueType, rest); // records alone have one
}

// Places: of a syntax error, of a key, of a row as failures name it.

/** Counted from 1. */
interface Place {
  line: number;
  column: number;
}

type YamlPath = readonly (string | number)[];

/** Every key that is given twice; of other errors the first, because it causes most of the others. */
function syntaxErrors(text: string): ({ message: string } & Place)[] {
  const lines = new LineCounter();
  const { errors } = parseDocument(text, { prettyErrors: false, lineCounter: lines });
  const first = errors.find(({ code }) => code !== 'DUPLICATE_KEY');
  return errors
    .filter((error) => error.code === 'DUPLICATE_KEY' || error === first)
    .map(({ code, message, pos: [at] }) => ({
      message:
        code === 'DUPLICATE_KEY'
          ? `the key ${keyAt(text, at)} is given twice in one place: keep one of them`
          : `is not YAML: ${message}; a text with [, ], {, }, a comma or a colon may need quotes`,
      ...placeAt(lines, at),
    }));
}

function keyAt(text: string, at: number): string {
  return /^[^:\n]+/.exec(text.slice(at))?.[0].trim() ?? '(empty)';
}

/** Finds places in one text, which is parsed once. */
export function placesIn(text: string): (path: YamlPath) => Place {
  const lines = new LineCounter();
  const { contents } = parseDocument(text, { prettyErrors: false, lineCounter: lines });
  return (path) => placeAt(lines, offsetOf(contents, path));
}

/** Of the deepest part of the path that exists: a key of a map, an element of a list. */
function offsetOf(contents: ParsedNode | null, path: YamlPath): number {
  let node: unknown = contents;
  let at = contents === null ? 0 : contents.range[0];
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
      if (pair === undefined) break;
      at = (pair.key as Scalar.Parsed).range[0]; // a scalar, as the line above found
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(part)];
      if (node === undefined) break;
      at = (node as ParsedNode).range[0]; // elements of a parsed list are nodes
    } else break;
  }
  return at;
}

function placeAt(lines: LineCounter, offset: number): Place {
  const { line, col } = lines.linePos(offset);
  return { line, column: col };
}

/**
 * The path in YAML of a row as failures name it: `3`, `1.4` inside a list, `never 2`, `create 5`; `own.3` in a file of
 * one's own. A failure of a whole table points at its list of rows.
 */
export function pathOfRow(content: unknown, row: string | null, key: string | undefined, is_own: boolean): YamlPath {
  // A row of the shipped table is not in the file that is laid over it.
  if (is_own && row !== null && !OWN_ROW.test(row)) return [];
  const keys = typeof content === 'object' && content !== null ? Object.keys(content) : [];
  const top = TOP_LISTS.find((name) => keys.includes(name));
  if (row === null) return key !== undefined && keys.includes(key) ? [key] : top === undefined ? [] : [top];
  const [first = '', second] = row.split(' ');
  const list: YamlPath =
    second === undefined ? [top ?? ''] : first === 'never' || first === 'any' ? [first] : ['calls', first];
  const numbers = (second ?? first).replace(/^[a-z]+\./, '').split('.');
  const inner = numbers.flatMap((number, depth) => [...(depth === 0 ? [] : ['rows']), Number(number) - 1]);
  return [...list, ...inner, ...(key === undefined ? [] : [key])];
}

const OWN_ROW = /(?:^| )(?:own|merchant)\.|^never /;
const TOP_LISTS = ['rows', 'operations', 'sites', 'limitations', 'calls', 'any'];
