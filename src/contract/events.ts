/** The `order` webhook of the orders API, in its several live shapes. Source: `docs/field-notes.md` Orders §4. */
import { z } from 'zod';

const text = z.union([z.string(), z.number().transform(String)]);

/** A field of another type counts as missing: the shape is not documented for certain, and each field helps by itself. */
function maybe<Field extends z.ZodType>(field: Field) {
  return field.optional().catch(undefined);
}

/** The topic is `order` in bodies and `orders` in prose; both are accepted. */
export const orderEvent = z.object({
  type: maybe(z.string()),
  action: maybe(z.string()),
  user_id: maybe(text),
  data: maybe(
    z.object({
      id: maybe(text),
      external_reference: maybe(z.string()),
      status: maybe(z.string()),
    }),
  ),
});
export type OrderEvent = z.infer<typeof orderEvent>;
