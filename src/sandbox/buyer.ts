/** The part of the control door where a script acts as the buyer who scans a QR code, of either API. */
import type { Request, Response, Router } from 'express';
import { z } from 'zod';
import { PuenteError } from '../error.ts';
import { json, send } from './answer.ts';
import { readBody } from './body.ts';
import { buyerActions, type Merchant, type Payable, type PointOfSale } from './cast.ts';
import { merchantOf, parse } from './control-call.ts';
import type { World } from './world.ts';

/** By till, the newest that its code shows; by id, any, and a dynamic one only so. */
export function addBuyer(router: Router, world: World): void {
  router.post('/_sandbox/pos/:merchant/:pos/:action', readBody, (request, response) => {
    const pos = tillOf(world, merchantOf(world, request), String(request.params.pos));
    const shown = [...world.payables.values()].findLast((payable) => payable.on_pos && payable.pos.id === pos.id);
    if (shown === undefined) {
      throw new PuenteError(
        'refused',
        `The code of till ${request.params.pos} shows nothing to pay; create an order first.`,
      );
    }
    act(world, shown, request, response);
  });
  router.post('/_sandbox/payables/:id/:action', readBody, (request, response) => {
    const payable = world.payables.get(String(request.params.id));
    if (payable === undefined) {
      throw new PuenteError('not_found', `Nothing with id ${request.params.id} can be paid; it may be over already.`);
    }
    act(world, payable, request, response);
  });
}

const actionSchema = z.enum(buyerActions);

const optionsSchema = z.strictObject({
  payment_method_type: z.string().exactOptional(),
  payment_method_id: z.string().exactOptional(),
  installments: z.int().min(1).exactOptional(),
  category_discount_minor: z.int().min(1).exactOptional(),
  in_review: z.boolean().exactOptional(),
});

function act(world: World, payable: Payable, request: Request, response: Response): void {
  const action = actionSchema.safeParse(request.params.action);
  if (!action.success) throw new PuenteError('not_found', `A buyer can ${buyerActions.join(', ')}.`);
  const { kind, id } = payable;
  payable.act(action.data, parse(optionsSchema, request));
  send(response, json(200, { kind, id, open: world.payables.has(id) }));
}

/** @param name external id or internal number; an external id may look like a number, and then wins. */
function tillOf(world: World, merchant: Merchant, name: string): PointOfSale {
  const own = [...world.points_of_sale.values()].filter((point) => point.merchant_id === merchant.user_id);
  const found = own.find((point) => point.external_id === name) ?? own.find((point) => String(point.id) === name);
  if (found === undefined) throw new PuenteError('not_found', `Merchant ${merchant.user_id} has no till ${name}.`);
  return found;
}
