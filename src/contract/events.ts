/** The `order` webhook of the orders API, in its several live shapes. Source: `docs/field-notes.md` Orders §4. */
import { z } from 'zod';

const text = z.union([z.string(), z.number().transform(String)]);

/** The topic is `order` in bodies and `orders` in prose; both are accepted. */
export const orderEvent = z.object({
  id: text.optional(),
  type: z.string().optional(),
  action: z.string().optional(),
  user_id: text.optional(),
  date_created: z.string().optional(),
  data: z
    .object({
      id: text.optional(),
      external_reference: z.string().optional(),
      status: z.string().optional(),
      version: z.number().optional(),
    })
    .optional(),
});
export type OrderEvent = z.infer<typeof orderEvent>;
