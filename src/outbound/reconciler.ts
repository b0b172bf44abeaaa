/** Reads the orders that events point at: the inbox, taken from the store. */
import { handleEvent } from '../core/event.ts';
import type { Runtime } from '../core/runtime.ts';
import { type Loop, startLoop } from './loop.ts';

const POLL_MS = 250;

/**
 * Events of one order are handled one after the other.
 * @param rests true while the service asked for fewer calls.
 */
export function startReconciler(runtime: Runtime, concurrency: number, rests: () => boolean): Loop {
  return startLoop({
    rests,
    name: 'reconciler',
    poll_ms: POLL_MS,
    concurrency,
    take: (limit) => runtime.store.dueEvents(runtime.clock.now(), limit),
    key: (event) => event.order_id ?? event.reference ?? String(event.sequence),
    handle: (event) => handleEvent(runtime, event),
    log: runtime.log,
  });
}
