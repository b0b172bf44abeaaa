/** `POST /v1/orders/{id}/events`: the vendor's own simulator of a terminal. Source: `docs/field-notes.md` Orders §6. */
import type { Request } from 'express';
import { z } from 'zod';
import { type Answer, bodyJson, refusal } from './answer.ts';
import { failedDetails } from './assumptions.ts';
import type { Merchant, TerminalOptions } from './cast.ts';
import { orderNotFound, pathId } from './create-order.ts';
import { cancel, type Desk, expire, isOrderId, mayMove, pickUp, requireAction } from './order.ts';
import { approveAtTerminal, failAtTerminal } from './order-at-unit.ts';
import type { Order } from './records.ts';
import { refund } from './refunds.ts';

const details = z.enum(['accredited', ...failedDetails]);
const eventSchema = z
  .strictObject({
    status: z.enum(['processed', 'failed', 'canceled', 'expired', 'refunded', 'action_required']),
    payment_method_type: z.enum(['credit_card', 'debit_card', 'qr', 'voucher_card']).optional(),
    installments: z.int().min(1).max(72).optional(),
    payment_method_id: z.enum(['amex', 'master', 'visa', 'debmaster', 'debvisa']).optional(),
    status_detail: details.optional(),
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
type SimulatedEvent = z.infer<typeof eventSchema>;

function isOutcome(status: string): boolean {
  return status === 'processed' || status === 'failed';
}

/** Answers 204 at once; the order is at the terminal by then, and in the asked state one step later. */
export function simulateEvent(desk: Desk, merchant: Merchant, request: Request): Answer {
  const { world } = desk;
  const id = pathId(request);
  if (!isOrderId(id, world.settings)) return badRequest('path param order id is invalid');
  const body = bodyJson(request);
  const event = eventSchema.safeParse(body !== undefined && 'value' in body ? body.value : undefined);
  if (!event.success) return badRequest(event.error.issues[0]?.message ?? 'The body is not valid');
  const order = world.orders.get(id);
  if (order === undefined) return refusal(orderNotFound);
  if (order.merchant !== merchant)
    return refusal({ status: 403, code: 'forbidden', message: 'The order belongs to another account' });
  if (order.place.type === 'qr') return badRequest('Only orders of type point are simulated; scan a QR code instead');
  const { status } = event.data;
  if (order.status !== 'created' && !mayMove(world, order, status)) {
    return badRequest(`An order in status ${order.status} can't become ${status}`);
  }
  if (order.status === 'created' && status === 'refunded')
    return badRequest("An order in status created can't become refunded");
  if (status === 'refunded')
    refund(desk, order, null); // direct, without a step at the terminal
  else {
    if (order.status === 'created') pickUp(desk, order);
    const finish = (): void => {
      if (mayMove(world, order, status)) outcomes[status](desk, order, optionsOf(event.data));
    };
    order.timers.push(world.clock.schedule(world.settings.simulated_step_ms, finish));
  }
  return { status: 204, body: '' };
}

function badRequest(message: string): Answer {
  return refusal({ status: 400, code: 'bad_request', message });
}

function optionsOf(event: SimulatedEvent): TerminalOptions {
  const { payment_method_type, payment_method_id, installments, status_detail } = event;
  return {
    ...(payment_method_type !== undefined && { payment_method_type }),
    ...(payment_method_id !== undefined && { payment_method_id }),
    ...(installments !== undefined && { installments }),
    ...(status_detail !== undefined && { status_detail }),
  };
}

const outcomes: Readonly<
  Record<Exclude<SimulatedEvent['status'], 'refunded'>, (desk: Desk, order: Order, options: TerminalOptions) => void>
> = {
  processed: approveAtTerminal,
  failed: failAtTerminal,
  canceled: (desk, order) => cancel(desk, order, 'canceled_on_terminal'),
  expired: expire,
  action_required: requireAction,
};
