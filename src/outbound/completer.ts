/** Finishes creates in doubt and settles links nobody claimed: due links, taken from the store, fair by merchant. */
import { lookAfter } from '../core/complete.ts';
import type { Runtime } from '../core/runtime.ts';
import { type Loop, startLoop } from './loop.ts';

const POLL_MS = 250;
/** One merchant's backlog takes a quarter of the places at most, so that it never keeps others waiting. */
const SHARE = 4;

/** @param concurrency how many links are worked on at once (`reliability.md` §3.7: 8). */
export function startCompleter(runtime: Runtime, concurrency: number): Loop {
  const places = Math.max(1, Math.floor(concurrency / SHARE));
  const running = new Map<string, number>();
  const count = (merchant_id: string, change: number): void => {
    const next = (running.get(merchant_id) ?? 0) + change;
    if (next > 0) running.set(merchant_id, next);
    else running.delete(merchant_id);
  };
  return startLoop({
    name: 'completer',
    poll_ms: POLL_MS,
    concurrency,
    take: (limit) => {
      const full = [...running].filter(([, links]) => links >= places).map(([merchant_id]) => merchant_id);
      return runtime.store.dueLinks(runtime.clock.now(), limit, full);
    },
    mayStart: (link) => (running.get(link.merchant_id) ?? 0) < places,
    key: (link) => link.legacy_id,
    handle: async (link) => {
      count(link.merchant_id, 1);
      try {
        await lookAfter(runtime, link);
      } finally {
        count(link.merchant_id, -1);
      }
    },
    log: runtime.log,
  });
}
