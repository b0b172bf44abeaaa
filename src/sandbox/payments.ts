/** `GET /v1/payments/{id}` and `GET /users/me`: what tills read beside the two Point APIs. */
import { Router } from 'express';
import { type Answer, json, paymentsRefusal, send } from './answer.ts';
import { authenticatePayments } from './auth.ts';
import type { Merchant } from './cast.ts';
import { isoDate } from './dates.ts';
import type { Payment, World } from './world.ts';

export function paymentsRouter(world: World): Router {
  const router = Router();
  router.get('/v1/payments/:id', (request, response) => {
    const caller = authenticatePayments(world, request);
    send(response, caller.refused ?? getPayment(world, caller.merchant, request.params.id));
  });
  router.get('/users/me', (request, response) => {
    const caller = authenticatePayments(world, request);
    send(response, caller.refused ?? json(200, renderUser(caller.merchant)));
  });
  return router;
}

function getPayment(world: World, merchant: Merchant, id: string): Answer {
  if (!/^\d{1,15}$/.test(id)) return paymentsRefusal(400, 'bad_request', 'The payment id must be a number');
  const payment = world.payments.get(Number(id));
  if (payment?.merchant_id !== merchant.user_id) return paymentsRefusal(404, 'not_found', 'Payment not found');
  return json(200, renderPayment(payment, merchant));
}

function renderPayment(payment: Payment, merchant: Merchant): object {
  const isApproved = payment.status !== 'rejected';
  return {
    id: payment.id,
    status: payment.status,
    status_detail: payment.status_detail,
    transaction_amount: payment.amount_minor / 100,
    transaction_amount_refunded: payment.refunded_minor / 100,
    currency_id: merchant.site.currency,
    collector_id: Number(merchant.user_id),
    external_reference: payment.external_reference,
    description: payment.description,
    payment_type_id: payment.payment_type_id,
    payment_method_id: payment.payment_method_id,
    installments: payment.installments,
    date_created: isoDate(payment.created_at_ms, 3),
    date_approved: isApproved ? isoDate(payment.created_at_ms, 3) : null,
    date_last_updated: isoDate(payment.updated_at_ms, 3),
    order: { type: payment.origin.kind === 'order' ? 'order' : 'mercadopago', id: payment.origin.id },
    transaction_details: { total_paid_amount: isApproved ? (payment.amount_minor + payment.tip_minor) / 100 : 0 },
    captured: isApproved,
    live_mode: true,
  };
}

function renderUser(merchant: Merchant): object {
  return {
    id: Number(merchant.user_id),
    nickname: merchant.nickname,
    site_id: merchant.site.site_id,
    country_id: merchant.site.country_alpha2,
  };
}
