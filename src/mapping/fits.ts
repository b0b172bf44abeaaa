/** Whether a target takes what a row writes, proved before a call meets it: kinds of values, limits, and converters. */
import { z } from 'zod';
import { isSilent, type JsonSchema, type Shape } from './contracts.ts';
import { converters } from './converters.ts';
import { whatFits } from './near.ts';
import { printPath } from './path.ts';
import type { Row } from './row.ts';
import type { Converted, Converter } from './values.ts';

/** @returns false for a value that the schema at this place does not take. */
export function takes({ json }: Pick<Shape, 'json'>, value: unknown): boolean {
  return z.fromJSONSchema(json as Parameters<typeof z.fromJSONSchema>[0]).safeParse(value).success; // zod's own output
}

/**
 * Why a target does not take what a row with a source writes. In a request a converter may make what is refused then; an
 * answer must not fail, because its sale was made.
 * @returns null when it fits; else the end of a sentence that begins with the target.
 */
export function misfitOf(
  { verb, from, converter }: Row,
  read: Shape,
  written: Shape,
  is_answer: boolean,
): string | null {
  const of_list = [read, written].every(({ kind }) => kind === 'array' || kind === 'any');
  const makes = (name: string): Tried[] =>
    SAMPLES.filter((one) => takes(read, one)).map((one) => tried(name, one, [read, written]));
  const wrong = converter === null || !is_answer ? undefined : makes(converter).find(({ fits }) => !fits);
  const fits = converter === null ? isPart(read.json, written.json, is_answer && verb === 'copy') : wrong === undefined;
  if (verb === 'each' ? of_list : fits) return null;
  const fitting = Object.keys(converters).filter((name) => {
    const all = makes(name);
    return all.some(({ made }) => made.value !== undefined) && all.every((one) => one.fits && !one.made.refusal);
  });
  const given =
    wrong === undefined ? `${printPath(from)} is` : `${converter} makes ${JSON.stringify(wrong.made.value)} of`;
  const repair = verb === 'each' || fitting.length === 0 ? '' : `: convert it${whatFits('', fitting)}`;
  return `takes ${inWords(written.json)}, and ${given} ${inWords(read.json)}${repair}`;
}

/** Of every kind that a source may have. */
const SAMPLES: readonly unknown[] = ['', 'text', '12', '1.50', '2026-01-05T10:00:03Z', 12, 1.5, true, {}, []];

interface Tried {
  made: Converted;
  fits: boolean;
}

function tried(name: string, value: unknown, [read, written]: [Shape, Shape]): Tried {
  try {
    const made = (converters[name] as Converter).convert(value, { reads: [], context: { exponent: 2 } });
    // A list or object that is passed on is as the source has it; the sample is empty.
    const is_passed = typeof value === 'object' && made.value === value;
    const fits = is_passed ? isPart(read.json, written.json, true) : takes(written, made.value);
    return { made, fits: made.value === undefined || fits };
  } catch {
    return { made: {}, fits: false }; // a converter of another kind of source
  }
}

/** Whether all that one schema lets in is taken by another. Nothing is written for null. */
function isPart(from: JsonSchema, to: JsonSchema, is_exact: boolean): boolean {
  if (isSilent(to)) return true;
  const taken = kindsOf(to);
  return (
    !isSilent(from) &&
    kindsOf(from).every((one) => one.type === 'null' || taken.some((other) => isKindOf(one, other, is_exact)))
  );
}

/** @param is_exact false: values of the right kind are enough, because the stories promise the rest. */
function isKindOf(from: JsonSchema, to: JsonSchema, is_exact: boolean): boolean {
  if (from.type !== to.type && !(from.type === 'integer' && to.type === 'number')) return false;
  if (to.type === 'array') return isPart(from.items as JsonSchema, to.items as JsonSchema, is_exact); // zod always writes them
  if (to.type === 'object') {
    const { properties = {}, required = [] } = from;
    const fits = ([key, one]: [string, JsonSchema]): boolean => {
      const own = properties[key];
      return own === undefined || isPart(own, one, is_exact);
    };
    const lacks = to.required?.some((key) => !required.includes(key)) === true;
    return !lacks && Object.entries(to.properties ?? {}).every(fits);
  }
  const values = valuesOf(from);
  if (values !== null) return values[is_exact ? 'every' : 'some']((value) => takes({ json: to }, value));
  return (
    !is_exact ||
    (valuesOf(to) === null && LIMITS.every((limit) => to[limit] === undefined || to[limit] === from[limit]))
  );
}

const LIMITS = ['pattern', 'format', 'minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum'];

/** Each with one type. */
function kindsOf(schema: JsonSchema): JsonSchema[] {
  return schema.anyOf?.flatMap(kindsOf) ?? [schema.type ?? []].flat().map((type) => ({ ...schema, type }));
}

function valuesOf({ enum: values, const: value }: JsonSchema): unknown[] | null {
  return values ?? (value === undefined ? null : [value]);
}

function inWords(schema: JsonSchema): string {
  if (isSilent(schema)) return 'anything';
  const limitsOf = (one: JsonSchema): string[] =>
    LIMITS.flatMap((limit) => (one[limit] === undefined || one.type === 'integer' ? [] : [`${limit} ${one[limit]}`]));
  const words = kindsOf(schema).map((one) => valuesOf(one)?.join(', ') ?? [one.type, ...limitsOf(one)].join(' '));
  return words.join(' or ');
}
