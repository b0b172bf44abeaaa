/** Reads what operators send, and says in one sentence what is wrong with it and what is allowed. */
import { z } from 'zod';
import { PuenteError } from '../../error.ts';

/** @throws PuenteError bad_request, naming each field and what it may be. */
export function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const sentences = result.error.issues.map((issue) => sentence(schema, issue));
  throw new PuenteError('bad_request', [...new Set(sentences)].join('; '));
}

/** One thing that is wrong: where, and what. */
function sentence(schema: z.core.$ZodType, issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return unknownFields(schema, issue);
  const [nearest] = issue.code === 'invalid_union' ? nearestAlternative(issue) : [];
  if (nearest !== undefined) return sentence(schema, { ...nearest, path: [...issue.path, ...nearest.path] });
  const where = issue.path.join('.');
  const what = issue.message.replace(/^Invalid input: expected (.*), received undefined$/, 'is missing; $1 is needed');
  if (where === '') return what;
  return what === issue.message ? `${where}: ${what}` : `${where} ${what}`;
}

function unknownFields(schema: z.core.$ZodType, issue: z.core.$ZodIssueUnrecognizedKeys): string {
  const fields = issue.keys.map((key) => [...issue.path, key.slice(0, 60)].join('.'));
  const known = fieldsAt(schema, issue.path);
  const allowed =
    known === null ? '' : known.length === 0 ? '; nothing is taken here' : `; allowed is ${known.join(', ')}`;
  return `${fields.join(', ')} ${fields.length === 1 ? 'is not a known field' : 'are not known fields'}${allowed}`;
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
