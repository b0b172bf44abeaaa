/** Reads the orders that events point at: the inbox, taken from the store. */

import { type Loop, startLoop } from '../loop.ts';
import type { Runtime } from '../runtime.ts';
import type { InboxEvent } from '../store.ts';
import type { Telemetry } from '../telemetry/spans.ts';
import { workOn } from '../work-on.ts';
import { handleEvent } from './event.ts';

const POLL_MS = 250;

/**
 * Events of one order are handled one after the other.
 * @param rests true while the service asked for fewer calls.
 */
export function startReconciler(
  runtime: Runtime,
  concurrency: number,
  rests: () => boolean,
  telemetry: Telemetry | null,
): Loop {
  return startLoop({
    rests,
    name: 'reconciler',
    poll_ms: POLL_MS,
    concurrency,
    take: (limit) => runtime.store.dueEvents(runtime.clock.now(), limit),
    key: (event) => event.order_id ?? event.reference ?? String(event.sequence),
    about: (event) => (event.order_id === null ? {} : { order_id: event.order_id }),
    handle: (event) =>
      workOn(runtime, telemetry, { name: 'event', legacy_id: null, merchant_id: event.user_id }, () =>
        follow(runtime, event),
      ),
    log: runtime.log,
  });
}

/** An event that only waits for its turn came to nothing yet. */
async function follow(runtime: Runtime, event: InboxEvent): Promise<string | null> {
  const end = await handleEvent(runtime, event);
  return end === 'in_turn' ? null : end;
}
