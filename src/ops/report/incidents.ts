/** Incidents as a list of their own: what Puente noticed or did by itself, without the rest of a report. */
import { z } from 'zod';
import { USER_ID } from '../../contract/identifiers.ts';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import { decisionLines } from './decisions.ts';
import type { DecisionLine } from './report.ts';

const DEFAULT_PERIOD_MS = 30 * 86_400_000;
const DEFAULT_LIMIT = 100;
const MOST_LISTED = 1_000;

const instant = z.iso
  .datetime({ offset: true, error: 'an instant such as 2026-01-31T09:00:00Z is needed' })
  .transform((text) => Date.parse(text));

/** The query of `GET /api/incidents`; [since, until), the last thirty days unless it is said. */
export const incidentQuery = z.strictObject({
  merchant: z.string().regex(USER_ID, "the vendor's user id is needed, digits only").exactOptional(),
  since: instant.exactOptional(),
  until: instant.exactOptional(),
  limit: z.coerce.number().int().min(1).max(MOST_LISTED).default(DEFAULT_LIMIT),
});

/** Newest first, and how many older ones of the period are not listed. @throws PuenteError bad_request for an empty period. */
export async function viewIncidents(
  runtime: Runtime,
  { merchant, since, until, limit }: z.infer<typeof incidentQuery>,
  signal: AbortSignal | null = null,
): Promise<{ incidents: DecisionLine[]; left_out: number }> {
  const end = until ?? runtime.clock.now() + 1;
  const start = since ?? end - DEFAULT_PERIOD_MS;
  if (end <= start) throw new PuenteError('bad_request', say('refusal.empty_period', {}));
  const { incidents } = await decisionLines(
    runtime,
    { merchant_id: merchant ?? null, since: start, until: end },
    signal,
  );
  const left_out = incidents.left_out + Math.max(0, incidents.lines.length - limit);
  return { incidents: incidents.lines.slice(0, limit), left_out };
}
