/** `POST /v1/orders/{id}/events`: the vendor's own simulator of a terminal. Source: `docs/field-notes.md` Orders §6. */
import { z } from 'zod';
import type { TerminalOptions } from './actions.ts';
import { type Answer, noContent, problem, refusal } from './answer.ts';
import { failedDetails } from './assumptions.ts';
import { bodyJson, type Handler } from './call.ts';
import { simulatedStatuses } from './collections.ts';
import { orderNotFound } from './create-order.ts';
import { cancel, expire, isOrderId, mayMove, pickUp, requireAction } from './order.ts';
import { approveAtTerminal, failAtTerminal } from './order-at-unit.ts';
import type { Order } from './records.ts';
import { refund } from './refunds.ts';
import type { World } from './world.ts';

const details = z.enum(['accredited', ...failedDetails]);
const eventSchema = z
  .strictObject({
    status: z.enum([...simulatedStatuses, 'refunded']),
    payment_method_type: z.enum(['credit_card', 'debit_card', 'qr', 'voucher_card']).exactOptional(),
    installments: z.int().min(1).max(72).exactOptional(),
    payment_method_id: z.enum(['amex', 'master', 'visa', 'debmaster', 'debvisa']).exactOptional(),
    status_detail: details.exactOptional(),
  })
  .refine((event) => isOutcome(event.status) || (event.payment_method_id ?? event.status_detail) === undefined, {
    message: 'payment_method_id and status_detail are only for processed and failed',
  })
  .refine(
    (event) =>
      event.status_detail === undefined || (event.status_detail === 'accredited') === (event.status === 'processed'),
    {
      message: 'status_detail does not go with the status',
    },
  );

function isOutcome(status: string): boolean {
  return status === 'processed' || status === 'failed';
}

/** Answers 204 at once: the order is at the terminal, and one step later in the requested state. */
export const simulateEvent: Handler = ({ world, merchant, path, body }) => {
  const id = path('id');
  if (!isOrderId(id, world.settings)) return badRequest('path param order id is invalid');
  const read = bodyJson(body);
  const event = eventSchema.safeParse(read !== undefined && 'value' in read ? read.value : undefined);
  if (!event.success) return badRequest(event.error.issues[0]?.message ?? 'The body is not valid');
  const order = world.orders.get(id);
  if (order === undefined) return refusal(orderNotFound);
  if (order.merchant_id !== merchant.user_id)
    return refusal(problem(403, 'forbidden', 'The order belongs to another account'));
  if (order.place.type === 'qr') return badRequest('Only orders of type point are simulated; scan a QR code instead');
  const { status, ...options } = event.data;
  const isPossible = order.status === 'created' ? status !== 'refunded' : mayMove(world, order, status);
  if (!isPossible) return badRequest(`An order in status ${order.status} can't become ${status}`);
  if (status === 'refunded')
    refund(world, order, null); // without a step at the terminal
  else {
    if (order.status === 'created') pickUp(world, order);
    world.clock.schedule(world.settings.simulated_step_ms, { kind: 'simulate', id, status, options });
  }
  return noContent;
};

function badRequest(message: string): Answer {
  return refusal(problem(400, 'bad_request', message));
}

type Outcome = (world: World, order: Order, options: TerminalOptions) => void;

export const simulatedOutcomes: Readonly<Record<(typeof simulatedStatuses)[number], Outcome>> = {
  processed: approveAtTerminal,
  failed: failAtTerminal,
  canceled: (world, order) => cancel(world, order, 'canceled_on_terminal'),
  expired: expire,
  action_required: requireAction,
};
