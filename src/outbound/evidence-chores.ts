/** What goes along with the batches: saying what could not be kept, and deleting what is old. */
import type { EvidenceStore } from '../core/records/evidence.ts';
import type { RoutingStore } from '../core/records/routing.ts';
import type { Clock, Count, Log } from '../core/runtime.ts';
import { causeOf } from './evidence-batch.ts';

/** Old exchanges and sales born on legacy are looked for this often, and deleted in steps of so many rows, one with each batch. */
const TIDY_EVERY_MS = 60 * 60_000;
const TIDY_ROWS = 500;

export interface ChoreParts {
  store: Pick<EvidenceStore, 'noteShed' | 'tidyExchanges'> & Pick<RoutingStore, 'tidyLegacySales'>;
  clock: Clock;
  log: Log;
  count: Count;
  settings: { kept_ms: number; messages_kept_ms: number };
}

export interface Chores {
  /** Counts what could not be kept; the store is told with the next batch that it takes. */
  shed(reason: 'shadow' | 'evidence', count?: number): void;
  /** The store has taken a batch. Never throws: what fails comes again with the next one. */
  afterBatch(): Promise<void>;
}

export function createChores({ store, clock, log, count, settings }: ChoreParts): Chores {
  const untold = { shadow: 0, evidence: 0 };
  let tidied_at = Number.NEGATIVE_INFINITY;

  const tellShed = async (now: number): Promise<void> => {
    for (const reason of ['shadow', 'evidence'] as const) {
      const number = untold[reason];
      if (number === 0) continue;
      await store.noteShed(reason, number, now);
      untold[reason] -= number;
    }
  };
  const tidy = async (now: number): Promise<void> => {
    if (now - tidied_at < TIDY_EVERY_MS) return;
    const rows = await store.tidyExchanges(now - settings.kept_ms, now - settings.messages_kept_ms, TIDY_ROWS);
    const sales = await store.tidyLegacySales(now - settings.kept_ms, now, TIDY_ROWS);
    if (rows < TIDY_ROWS && sales < TIDY_ROWS) tidied_at = now;
  };
  return {
    shed(reason, number = 1) {
      untold[reason] += number;
      for (let index = 0; index < number; index++) count('shed', reason);
    },
    async afterBatch() {
      try {
        const now = clock.now();
        await tellShed(now);
        await tidy(now);
      } catch (error) {
        log.warn('evidence not tidied', { cause: causeOf(error) });
      }
    },
  };
}
