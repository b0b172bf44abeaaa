/** Work that no till waits for, done for a draft of its own: its log lines and its upstream calls are known by the sale. */
import { openDraft } from './evidence/exchange.ts';
import type { Runtime } from './runtime.ts';
import type { Telemetry, Worked } from './telemetry/spans.ts';

/**
 * Runs the work, and tells of it when it has asked upstream or come to an end.
 * @param work resolves with how it came out; null when there was nothing to do.
 * @throws what the work throws.
 */
export async function workOn(
  runtime: Pick<Runtime, 'clock' | 'inExchange'>,
  telemetry: Telemetry | null,
  about: Pick<Worked, 'name' | 'legacy_id' | 'merchant_id'>,
  work: () => Promise<string | null>,
): Promise<void> {
  const at = runtime.clock.now();
  const draft = openDraft(performance.now());
  draft.legacy_id = about.legacy_id;
  let outcome: string | null = 'failed';
  try {
    outcome = await runtime.inExchange(draft, work);
  } finally {
    if (telemetry !== null && (outcome !== null || draft.upstream.length > 0)) {
      telemetry.worked({
        ...about,
        at,
        duration_ms: performance.now() - draft.started_tick_ms,
        legacy_id: draft.legacy_id,
        // What an event only claims counts for nobody; one that found its sale has named its merchant.
        merchant_id: draft.legacy_id === null ? null : about.merchant_id,
        upstream: [...draft.upstream],
        outcome: outcome ?? 'done',
      });
    }
  }
}
