/** Reads what operators send, and says in one sentence what is wrong with it and what is allowed. */
import { z } from 'zod';
import { PuenteError, type Spoken } from '../../error.ts';
import { heardOfInput, say } from '../../locales/sentences.ts';

/** @throws PuenteError bad_request, naming each field and what it may be. */
export function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const wrong = result.error.issues.map((issue) => sentence(schema, issue));
  const once = new Map(wrong.map((one) => [one.text, one]));
  throw new PuenteError('bad_request', [...once.values()], { between: '; ' });
}

/** One thing that is wrong: where, and what. */
function sentence(schema: z.core.$ZodType, issue: z.core.$ZodIssue): Spoken {
  if (issue.code === 'unrecognized_keys') return unknownFields(schema, issue);
  const [nearest] = issue.code === 'invalid_union' ? nearestAlternative(issue) : [];
  if (nearest !== undefined) return sentence(schema, { ...nearest, path: [...issue.path, ...nearest.path] });
  const where = issue.path.join('.');
  const [, expected] = /^Invalid input: expected (.*), received undefined$/.exec(issue.message) ?? [];
  if (expected !== undefined && where !== '') return say('input.missing', { where, expected });
  const wrong = heardOfInput(issue.message);
  return where === '' ? say('input.whole', { wrong }) : say('input.at', { where, wrong });
}

function unknownFields(schema: z.core.$ZodType, issue: z.core.$ZodIssueUnrecognizedKeys): Spoken {
  const fields = issue.keys.map((key) => [...issue.path, key.slice(0, 60)].join('.'));
  const allowed = fieldsAt(schema, issue.path);
  const count = fields.length;
  return allowed?.length === 0
    ? say('input.none_taken', { fields, count })
    : say('input.unknown', { fields, count, allowed });
}

/** Of several forms that a value may have, the one with the least wrong is the one that was meant. */
function nearestAlternative(issue: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] {
  const [nearest] = issue.errors.toSorted((first, second) => first.length - second.length);
  return nearest ?? [];
}

/** The names that an object of the schema takes at a path; null where the schema doesn't say. */
function fieldsAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] | null {
  const kind = unwrapped(schema);
  const [name, ...rest] = path;
  if (name === undefined) return kind instanceof z.ZodObject ? Object.keys(kind.shape) : null;
  if (kind instanceof z.ZodArray && typeof name === 'number') return fieldsAt(kind.element, rest);
  if (!(kind instanceof z.ZodObject) || typeof name !== 'string' || !Object.hasOwn(kind.shape, name)) return null;
  const inner = kind.shape[name];
  return inner === undefined ? null : fieldsAt(inner, rest);
}

function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodPipe) return unwrapped(schema.in);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return unwrapped(schema.unwrap());
  return schema;
}
