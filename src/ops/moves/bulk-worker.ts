/** Works off bulk moves, taken from the store: one merchant after the other, and again after a restart. */

import { type Loop, startLoop } from '../../proxy/loop.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import { stepBulk } from './bulk-run.ts';

/** Nobody waits at a till for it. */
const POLL_MS = 500;
/** Each step judges a merchant and writes; payments come first. */
const CONCURRENCY = 1;
/** Running at once; more wait for their turn. */
const MOST_RUNNING = 100;

export function startBulkMoves(runtime: Runtime): Loop {
  /** Epoch ms before which a bulk move that waits for its window or its day is left alone. */
  const rests = new Map<string, number>();
  return startLoop({
    name: 'bulk moves',
    poll_ms: POLL_MS,
    concurrency: CONCURRENCY,
    take: async () => {
      const now = runtime.clock.now();
      const running = await runtime.store.bulkMoves(['running'], MOST_RUNNING);
      return running.filter(({ id }) => (rests.get(id) ?? 0) <= now).toReversed();
    },
    key: ({ id }) => id,
    handle: async ({ id }) => {
      const rest = await stepBulk(runtime, id);
      if (rest === null) rests.delete(id);
      else rests.set(id, rest);
    },
    log: runtime.log,
  });
}
