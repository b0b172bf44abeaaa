/** Terminals of the orders API. Source: `interface.md` Terminal, `orders-api.md` §5. */
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

/** `pos_id` is an integer in one page and a string in another; `store_id` may be missing for a terminal without a store. */
export const listTerminalsAnswer = z.object({
  data: z.object({
    terminals: z.array(
      z.object({
        id: z.string(),
        pos_id: digits.nullish(),
        store_id: digits.or(z.literal('')).nullish(),
        external_pos_id: z.string().nullish(),
        operating_mode: z.string(),
      }),
    ),
  }),
  paging: z.object({ total: z.int(), offset: z.int(), limit: z.int() }),
});

export const setupTerminalAnswer = z.object({
  terminals: z.array(z.object({ id: z.string(), operating_mode: z.string() })).min(1),
});
