/** Finishes creates in doubt and settles links nobody claimed: due links, taken from the store. */
import { lookAfter } from '../core/complete.ts';
import type { Runtime } from '../core/runtime.ts';
import { type Loop, startLoop } from './loop.ts';

const POLL_MS = 250;

/** @param concurrency how many links are worked on at once (`reliability.md` §3.7: 8). */
export function startCompleter(runtime: Runtime, concurrency: number): Loop {
  return startLoop({
    name: 'completer',
    poll_ms: POLL_MS,
    concurrency,
    take: (limit) => runtime.store.dueLinks(runtime.clock.now(), limit),
    key: (link) => link.legacy_id,
    handle: (link) => lookAfter(runtime, link),
    log: runtime.log,
  });
}
