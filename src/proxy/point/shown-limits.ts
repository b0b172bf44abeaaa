/** The limitations that a till meets by being shown an intent as its order is. */
import { markLimitation } from '../evidence/limitation-mark.ts';
import type { Runtime } from '../runtime.ts';
import type { Link } from '../sales/link.ts';

/** What orders say of a payment that failed by an error, not by a refusal (`orders-api.md`, details of Point transactions). */
const BY_ERROR = 'processing_error';

/**
 * An order that waits for a person is told late or not yet (LIM-09); one that failed with a payment, otherwise (LIM-01, LIM-10).
 * @param with_payment the till is shown the payment's number too, not the state alone.
 */
export function markShown(runtime: Runtime, { order, legacy_state, payment_id }: Link, with_payment: boolean): void {
  const draft = runtime.exchange();
  if (order === null) return;
  if (order.status === 'action_required') markLimitation(draft, 'LIM-09');
  if (order.status !== 'failed' || payment_id === null) return;
  // Of an error legacy showed ERROR without a payment, of a refused card FINISHED with one.
  const is_error = legacy_state === 'ERROR';
  if (order.transactions?.payments?.[0]?.status_detail !== BY_ERROR) {
    if (is_error) markLimitation(draft, 'LIM-01');
  } else if (with_payment || !is_error) markLimitation(draft, 'LIM-10');
}
