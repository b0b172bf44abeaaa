/** Two periods of the same merchants compared: the sums of both, and what was decided and noticed after the first. */
import { z } from 'zod';
import { USER_ID } from '../../contract/identifiers.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import { lastBefore } from './decisions.ts';
import { diffReports, type ReportDiff } from './diff.ts';
import { gatherReport, type ReportFacts } from './gather.ts';

const DEFAULT_PERIOD_MS = 7 * 86_400_000;

const instant = z.iso
  .datetime({ offset: true, error: 'an instant such as 2026-01-31T09:00:00Z is needed' })
  .transform((text) => Date.parse(text));

/**
 * The query of `GET /api/report/compare`: [since, until), the last seven days unless it is said, against
 * [before_since, before_until), which unless it is said is as long and ends where the other begins.
 */
export const compareQuery = z.strictObject({
  merchant: z.string().regex(USER_ID, "the vendor's user id is needed, digits only").exactOptional(),
  since: instant.exactOptional(),
  until: instant.exactOptional(),
  before_since: instant.exactOptional(),
  before_until: instant.exactOptional(),
});

/** Both are made now: verdicts and stages are those of today on both sides. @throws PuenteError bad_request for an empty period. */
export async function compareReports(
  runtime: Runtime,
  query: z.infer<typeof compareQuery>,
  facts: ReportFacts,
  signal: AbortSignal | null = null,
): Promise<ReportDiff> {
  const merchant_id = query.merchant ?? null;
  const until = query.until ?? runtime.clock.now() + 1;
  const since = query.since ?? until - DEFAULT_PERIOD_MS;
  const before_until = query.before_until ?? since;
  const before_since = query.before_since ?? before_until - (until - since);
  const before = await gatherReport(runtime, { merchant_id, since: before_since, until: before_until }, facts, signal);
  const after = await gatherReport(runtime, { merchant_id, since, until }, facts, signal);
  // The chain as it stood when the first period ended: what came later was decided in between.
  const sequence = await lastBefore(runtime.store, before_until);
  return diffReports({ ...before, audit_head: { ...before.audit_head, sequence } }, after);
}
