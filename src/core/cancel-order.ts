/** The cancel of an order upstream: written down, sent once, never repeated blindly (`reliability.md` §3.9). */
import { changeLink } from './change.ts';
import type { Link } from './link.ts';
import type { Runtime } from './runtime.ts';
import type { Secret } from './secret.ts';
import { routeOf, type UpstreamOutcome } from './upstream.ts';

/** Written down before it is done: after a crash an already canceled order is known to be our doing. */
export async function markSent(runtime: Runtime, link: Link): Promise<Link> {
  const marked = await changeLink(runtime, link, (current) =>
    current.cancel === null ? { change: { cancel: 'sent' } } : null,
  );
  runtime.failpoint('cancel.marked');
  return marked;
}

/**
 * `POST /v1/orders/{id}/cancel` once. The key differs per stored revision: a later cancel is a distinct operation.
 * @throws Error for a link whose order is not known: a defect, because there is nothing to cancel yet.
 */
export async function sendCancel(
  runtime: Runtime,
  link: Link,
  token: Secret,
  headers: Record<string, string> = {},
  timeout_ms = runtime.settings.create.attempt_timeout_ms,
): Promise<UpstreamOutcome> {
  if (link.order_id === null) throw new Error(`the link ${link.legacy_id} has no order to cancel`);
  const outcome = await runtime.upstream.send({
    ...routeOf('cancel', link.order_id),
    headers,
    token,
    idempotency_key: runtime.vault.keyed('cancel-key', `${link.legacy_id}:${link.revision}`),
    timeout_ms,
  });
  runtime.failpoint('cancel.sent');
  return outcome;
}
