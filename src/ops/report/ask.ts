/** What may be asked of reports, and the defaults: the last seven days, as JSON. */
import { z } from 'zod';
import { USER_ID } from '../../contract/identifiers.ts';
import { languages } from '../../locales/words.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import { reportParts } from './csv.ts';
import type { ReportAsk } from './gather.ts';

const DEFAULT_PERIOD_MS = 7 * 86_400_000;

const instant = z.iso
  .datetime({ offset: true, error: 'an instant such as 2026-01-31T09:00:00Z is needed' })
  .transform((text) => Date.parse(text));

/** The query of `GET /api/report`. `part` is for CSV: one list of the report, or every exchange as it was kept; `language` for HTML, what programs read has one. */
export const reportQuery = z.strictObject({
  merchant: z.string().regex(USER_ID, "the vendor's user id is needed, digits only").exactOptional(),
  since: instant.exactOptional(),
  until: instant.exactOptional(),
  format: z.enum(['json', 'csv', 'html']).default('json'),
  part: z.enum(['exchanges', ...reportParts]).default('traffic'),
  language: z.enum(languages).default('en'),
});
export type ReportQuery = z.infer<typeof reportQuery>;

export function askOf(
  runtime: Runtime,
  { merchant, since, until }: Pick<ReportQuery, 'merchant' | 'since' | 'until'>,
): ReportAsk {
  const end = until ?? runtime.clock.now() + 1;
  return { merchant_id: merchant ?? null, since: since ?? end - DEFAULT_PERIOD_MS, until: end };
}
