/** Terminals of the orders API. Source: `docs/field-notes.md` Spec Terminal, `docs/field-notes.md` Orders §5. */
import { z } from 'zod';
import { digits, TERMINAL_ID } from './identifiers.ts';

export const listTerminalsCall = z.object({
  query: z.object({
    store_id: z.string().optional(),
    pos_id: z.string().optional(),
    limit: z.string().optional(),
    offset: z.string().optional(),
  }),
});

export const setupTerminalCall = z.object({
  body: z.strictObject({
    terminals: z
      .array(z.strictObject({ id: z.string().regex(TERMINAL_ID), operating_mode: z.enum(['PDV', 'STANDALONE']) }))
      .length(1),
  }),
});

/** `pos_id` is an integer in one page and a string in another; a terminal without a store has an empty text, or neither; one without a mode counts as in UNDEFINED. */
export const listTerminalsAnswer = z.object({
  data: z.object({
    terminals: z.array(
      z.object({
        id: z.string(),
        pos_id: digits.or(z.literal('').transform(() => null)).nullish(),
        store_id: digits.or(z.literal('')).nullish(),
        external_pos_id: z.string().nullish(),
        operating_mode: z.preprocess((mode) => mode ?? 'UNDEFINED', z.string()),
      }),
    ),
  }),
  paging: z.object({ total: z.int(), offset: z.int(), limit: z.int() }),
});

const terminalSetUp = z.object({ id: z.string().nullish(), operating_mode: z.string() });
export const setupTerminalAnswer = z.object({ terminals: z.array(terminalSetUp).min(1) });

/** One terminal: in a list, in a list in `data`, or alone (`docs/field-notes.md` Orders §5). Returns the list. */
export function parseSetupAnswer(body: unknown): z.ZodSafeParseResult<z.infer<typeof setupTerminalAnswer>> {
  const wrapped = z.object({ data: setupTerminalAnswer }).safeParse(body);
  if (wrapped.success) return { success: true, data: wrapped.data.data };
  const bare = terminalSetUp.safeParse(body);
  return setupTerminalAnswer.safeParse(bare.success ? { terminals: [bare.data] } : body);
}
