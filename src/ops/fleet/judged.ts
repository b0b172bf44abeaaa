/** Readiness verdicts of the fleet, made one after the other in the background while somebody looks at the board. */

import type { Runtime } from '../../proxy/runtime.ts';
import { type Mismatches, merchantReadiness, mismatchesOnce } from '../readiness/readiness.ts';
import type { Judged } from './line.ts';

/** A merchant on the screen is judged anew so often, the others when their turn comes. */
const SHOWN_FRESH_MS = 30_000;
const OTHERS_FRESH_MS = 10 * 60_000;
/** An open board asks every few seconds, and a command once: after so long without a look nobody is there to be told. */
const LOOKED_AWAY_MS = 60_000;
/** Between two verdicts others have the thread for longer than one takes: payments come first. */
const PAUSE_MS = 10;
/** The mismatches of an outage lie among those of all merchants, and many are judged within this time. */
const MISMATCHES_FRESH_MS = 5_000;

export interface Judgements {
  of(merchant_id: string): Judged | null;
  /** Judges what is missing or old, the shown ones first, until nobody has looked for a minute; comes back at once. */
  keepFresh(shown: readonly string[], all: readonly string[]): void;
}

interface Kept {
  /** Null: it could not be judged. */
  judged: Judged | null;
  /** Epoch ms. */
  at: number;
}

export function createJudgements(runtime: Runtime): Judgements {
  const kept = new Map<string, Kept>();
  let shown_ids: readonly string[] = [];
  let all_ids: readonly string[] = [];
  let running = false;
  let looked_at = -Infinity;
  const next = (): string | undefined => {
    const now = runtime.clock.now();
    if (now - looked_at >= LOOKED_AWAY_MS) return undefined;
    const isOld = (id: string, fresh_ms: number): boolean => now - (kept.get(id)?.at ?? -Infinity) >= fresh_ms;
    return shown_ids.find((id) => isOld(id, SHOWN_FRESH_MS)) ?? all_ids.find((id) => isOld(id, OTHERS_FRESH_MS));
  };
  const run = async (): Promise<void> => {
    const mismatches = mismatchesOnce(runtime, MISMATCHES_FRESH_MS);
    for (let id = next(); id !== undefined; id = next()) {
      // One that can't be judged must not keep the others from it; it is tried again when its turn comes.
      const judged = await judge(runtime, id, mismatches).catch((error: unknown) => {
        runtime.log.debug('a merchant of the fleet could not be judged', { merchant: id, cause: String(error) });
        return null;
      });
      if (!runtime.store.healthy()) return;
      kept.set(id, { judged, at: runtime.clock.now() });
      await runtime.clock.sleep(PAUSE_MS);
    }
  };
  return {
    of: (merchant_id) => kept.get(merchant_id)?.judged ?? null,
    keepFresh(shown, all) {
      shown_ids = shown;
      all_ids = all;
      looked_at = runtime.clock.now();
      forgetOthers(kept, all);
      if (running) return;
      running = true;
      void run().finally(() => {
        running = false;
      });
    },
  };
}

/** A merchant that was erased is remembered nowhere. */
function forgetOthers(kept: Map<string, Kept>, all: readonly string[]): void {
  if (kept.size <= all.length) return;
  const known = new Set(all);
  for (const id of kept.keys()) if (!known.has(id)) kept.delete(id);
}

async function judge(runtime: Runtime, merchant_id: string, mismatches: Mismatches): Promise<Judged> {
  const { verdict, blockers, unproven, judged_at } = await merchantReadiness(runtime, merchant_id, mismatches);
  const first = blockers[0] ?? unproven[0];
  return {
    verdict,
    blockers: blockers.length,
    first: first?.what ?? null,
    first_said: first?.said ?? null,
    at: new Date(judged_at).toISOString(),
  };
}
