/** The cancel of an order upstream: written down, sent, and never repeated blindly (`reliability.md` §3.9). */

import type { Runtime } from '../runtime.ts';
import type { Secret } from '../secret.ts';
import { routeOf, type UpstreamOutcome } from '../upstream/upstream.ts';
import { changeLink } from './change.ts';
import type { Link } from './link.ts';
import { sendUntilReady } from './not-yet.ts';

/** Written down before it is done: after a crash an already canceled order is known to be our doing. */
export async function markSent(runtime: Runtime, link: Link): Promise<Link> {
  const marked = await changeLink(runtime, link, (current) =>
    current.cancel === null ? { change: { cancel: 'sent' } } : null,
  );
  runtime.failpoint('cancel.marked');
  return marked;
}

/**
 * `POST /v1/orders/{id}/cancel`, with one key until upstream can do it. The key differs per stored revision: a later cancel
 * is a distinct operation.
 * @param deadline epoch ms until which a till waits; without one nobody waits, and it is sent once.
 * @throws Error for a link whose order is not known: a defect, because there is nothing to cancel yet.
 */
export async function sendCancel(
  runtime: Runtime,
  link: Link,
  token: Secret,
  headers: Record<string, string> = {},
  deadline = 0,
): Promise<UpstreamOutcome> {
  if (link.order_id === null) throw new Error(`the link ${link.legacy_id} has no order to cancel`);
  const { attempt_timeout_ms } = runtime.settings.create;
  const { order_id } = link;
  const outcome = await sendUntilReady(runtime, deadline, () =>
    runtime.upstream.send({
      ...routeOf('cancel', order_id),
      headers,
      token,
      idempotency_key: runtime.vault.keyed('cancel-key', `${link.legacy_id}:${link.revision}`),
      timeout_ms: deadline === 0 ? attempt_timeout_ms : Math.min(deadline - runtime.clock.now(), attempt_timeout_ms),
    }),
  );
  runtime.failpoint('cancel.sent');
  return outcome;
}
