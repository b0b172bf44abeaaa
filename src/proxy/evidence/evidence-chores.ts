/** What goes along with the batches: saying what could not be kept, and deleting what is old. */
import type { EvidenceStore } from '../records/evidence.ts';
import type { RoutingStore } from '../records/routing.ts';
import type { Clock, Count, Log } from '../runtime.ts';
import { steadyTime } from '../steady-time.ts';
import type { Store } from '../store.ts';
import { causeOf } from './evidence-batch.ts';

/** Old exchanges and sales born on legacy are looked for this often, and deleted in steps of so many rows, which other writes wait for: one with each batch, and more with one of more rows. */
const TIDY_EVERY_MS = 60 * 60_000;
const TIDY_ROWS = 500;

export interface EvidenceChoreParts {
  store: Pick<EvidenceStore, 'noteShed' | 'tidyExchanges'> &
    Pick<RoutingStore, 'tidyLegacySales'> &
    Pick<Store, 'newestMoment'>;
  clock: Clock;
  log: Log;
  count: Count;
  settings: { kept_ms: number; messages_kept_ms: number };
}

export interface EvidenceChores {
  /** Counts what could not be kept; the store is told with the next batch that it takes. */
  shed(reason: 'shadow' | 'evidence', count?: number): void;
  /** The store has taken a batch. Never throws: what fails comes again with the next one. */
  afterBatch(rows: number): Promise<void>;
  /** Tells the store without a batch, at the end. Never throws. */
  tellShed(): Promise<void>;
}

export function createEvidenceChores({ store, clock, log, count, settings }: EvidenceChoreParts): EvidenceChores {
  const untold = { shadow: 0, evidence: 0 };
  const steady = steadyTime({ store, clock });
  let tidied_at = Number.NEGATIVE_INFINITY;
  /** What the round under way goes by, over all its steps. */
  let round: number | null = null;

  const tellShed = async (now: number): Promise<void> => {
    for (const reason of ['shadow', 'evidence'] as const) {
      const number = untold[reason];
      if (number === 0) continue;
      // Taken off first: a batch and the end may tell at the same time.
      untold[reason] = 0;
      try {
        await store.noteShed(reason, number, now);
      } catch (error) {
        untold[reason] += number;
        throw error;
      }
    }
  };
  /** One step of deleting. */
  const tidy = async (now: number): Promise<void> => {
    // A clock that was set back must not silence it.
    if (Math.abs(now - tidied_at) < TIDY_EVERY_MS) return;
    round ??= await steady();
    const { kept_ms, messages_kept_ms } = settings;
    const rows = await store.tidyExchanges(round - kept_ms, round - messages_kept_ms, TIDY_ROWS);
    const sales = await store.tidyLegacySales(round - kept_ms, round, TIDY_ROWS);
    if (rows >= TIDY_ROWS || sales >= TIDY_ROWS) return;
    tidied_at = now;
    round = null;
  };
  const untroubled = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      log.warn('evidence not tidied', { cause: causeOf(error) });
    }
  };
  return {
    shed(reason, number = 1) {
      untold[reason] += number;
      for (let index = 0; index < number; index++) count('shed', reason);
    },
    afterBatch: (rows) =>
      untroubled(async () => {
        const now = clock.now();
        await tellShed(now);
        for (let added = 0; added < rows; added += TIDY_ROWS) await tidy(now);
      }),
    tellShed: () => untroubled(() => tellShed(clock.now())),
  };
}
