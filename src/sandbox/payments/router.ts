/** The payments family: `/v1/payments`, its search, its refunds and chargebacks. Source: `legacy-qr.md` §3. */
import type { Router } from 'express';
import { json } from '../answer.ts';
import { type OlderHandler, type OlderRoute, olderRouter } from '../older-call.ts';
import type { Desk } from '../order-states.ts';
import { paymentOf } from './access.ts';
import { getChargeback } from './chargebacks.ts';
import { createRefund, getRefund, listRefunds, refundCollection } from './refunds.ts';
import { searchCollections, searchPayments } from './search.ts';
import { renderCollection, renderPayment } from './view.ts';

/** The search stands before the payment whose id could read `search`. */
export function paymentsRouter(desk: Desk): Router {
  return olderRouter(desk.world, [
    ['get', '/v1/payments/search', searchPayments],
    ['get', '/v1/payments/:id', getPayment],
    ['post', '/v1/payments/:id/refunds', createRefund(desk)],
    ['get', '/v1/payments/:id/refunds', listRefunds],
    ['get', '/v1/payments/:id/refunds/:refund', getRefund],
    ...['', '/sandbox'].flatMap((prefix): OlderRoute[] => [
      ['get', `${prefix}/collections/search`, searchCollections],
      ['get', `${prefix}/collections/notifications/:id`, getCollection],
      ['get', `${prefix}/collections/:id`, getCollection],
    ]),
    ['put', '/collections/:id', refundCollection(desk)],
    ['get', '/v1/chargebacks/:id', getChargeback],
  ]);
}

const getPayment: OlderHandler = (call) => json(200, renderPayment(call.world, paymentOf(call)));
const getCollection: OlderHandler = (call) => json(200, renderCollection(call.world, paymentOf(call)));
