/** A sentence by its code and facts, as the ops API tells it beside the English one. */
import { z } from 'zod';
import type { Said, Spoken } from '../../error.ts';
import { say } from '../../locales/sentences.ts';

export type { Said } from '../../error.ts';

export const said = z
  .object({
    code: z.string().describe('of the sentence, a word for programs'),
    facts: z.record(z.string(), z.unknown()).describe('what the sentence tells; instants are RFC 3339'),
  })
  .describe('the sentence by its code, to be said in another language') as unknown as z.ZodType<Said>; // facts are core's own

/** Refusals of pages, which no operation makes. */
export const pageRefusals = {
  no_page: say('refusal.no_page', {}),
  form: say('refusal.form', {}),
  no_file: say('refusal.no_file', {}),
} as const satisfies Record<string, Spoken>;
