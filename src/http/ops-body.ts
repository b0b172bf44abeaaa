/** Reads what operators send, and says in one sentence what is wrong with it. */
import type { z } from 'zod';
import { PuenteError } from '../error.ts';

/** @throws PuenteError bad_request. */
export function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (!result.success) throw new PuenteError('bad_request', result.error.issues.map(sentence).join('; '));
  return result.data;
}

/** One thing that is wrong: where, and what. */
function sentence(issue: z.core.$ZodIssue): string {
  const where = issue.path.join('.');
  return where === '' ? issue.message : `${where}: ${issue.message}`;
}
