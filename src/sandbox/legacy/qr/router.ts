/** The legacy in-store QR families and merchant orders as an Express router. Source: `docs/field-notes.md` QR §1, §2. */
import { type ErrorRequestHandler, type RequestHandler, Router } from 'express';
import { stringifyJson } from '../../../contract/json.ts';
import { errorBody, legacyError } from '../../../contract/legacy-errors.ts';
import { PuenteError } from '../../../error.ts';
import { type Answer, readLegacyBody, send } from '../../answer.ts';
import { partsOf } from '../call.ts';
import { type QrFamily, type QrHandler, refuse } from './call.ts';
import { confirmCashOut } from './lifecycle.ts';
import { getMerchantOrder, searchMerchantOrders } from './merchant-orders.ts';
import { cancelPreference, createPreference, getPreference } from './preferences.ts';
import type { QrState } from './state.ts';
import { createDynamic, createHybrid, deleteStoreOrder, getStoreOrder, putStoreOrder } from './store-orders.ts';

const byName = '/mpmobile/instore/qr/:user/:till';
const byNumber = '/mpmobile/instore/qr/:number';
const withStore = '/instore/qr/seller/collectors/:user/stores/:store/pos/:till/orders';
const withoutStore = '/instore/qr/seller/collectors/:user/pos/:till/orders';
/** One version of the guide has the singular. */
const codes = '/instore/orders/qr/seller/:collectors/:user/pos/:till/qrs';

type Method = 'get' | 'post' | 'put' | 'delete';

const routes: readonly (readonly [Method, string, QrFamily, QrHandler])[] = [
  ...[byName, byNumber].flatMap(
    (path) =>
      [
        ['post', path, 'qr_v1', createPreference],
        ['put', path, 'qr_v1', createPreference],
        ['get', path, 'qr_v1', getPreference],
        ['delete', path, 'qr_v1', cancelPreference],
      ] as const,
  ),
  ...[withStore, withoutStore].flatMap(
    (path) =>
      [
        ['put', path, 'qr', putStoreOrder],
        ['get', path, 'qr', getStoreOrder],
        ['delete', path, 'qr', deleteStoreOrder],
      ] as const,
  ),
  ['post', codes, 'qr', createDynamic],
  ['put', codes, 'qr', createHybrid],
  ['post', '/instore/orders/:merchant_order/confirmation', 'qr', confirmCashOut],
  ['get', '/merchant_orders', 'merchant_orders', searchMerchantOrders],
  ['get', '/merchant_orders/search', 'merchant_orders', searchMerchantOrders],
  ['get', '/merchant_orders/:merchant_order', 'merchant_orders', getMerchantOrder],
];

/** Trailing slashes are tolerated; paths that no family has are left alone. */
export function legacyQrRouter(state: QrState): Router {
  const router = Router({ caseSensitive: true });
  router.param('collectors', (_request, _response, next, word) =>
    next(word === 'collectors' || word === 'collector' ? undefined : 'route'),
  );
  for (const [method, path, family, handler] of routes) {
    const reading = method === 'post' || method === 'put' ? readLegacyBody : [];
    router[method](path, ...reading, run(state, family, handler));
  }
  router.use('/mpmobile', answerError('qr_v1'));
  router.use('/instore', answerError('qr'));
  router.use('/merchant_orders', answerError('merchant_orders'));
  return router;
}

function run(state: QrState, family: QrFamily, handler: QrHandler): RequestHandler {
  return (request, response) => {
    const { merchant, ...parts } = partsOf(state.world, request);
    if (merchant === undefined) throw refuse(family, 'unauthorized');
    const { status, body } = handler({ state, family, merchant, ...parts });
    send(response, { status, body: body === undefined ? '' : stringifyJson(body) });
  };
}

/** Four parameters, because Express tells error handlers by their number. */
function answerError(family: QrFamily): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    const answer = errorAnswer(family, error);
    if (answer === null) next(error);
    else send(response, answer);
  };
}

/** @returns null for what is the sandbox's own fault. */
function errorAnswer(family: QrFamily, error: unknown): Answer | null {
  if (error instanceof PuenteError && error.code === 'refused') {
    return { status: Number(error.facts.status), body: String(error.facts.body) };
  }
  // What Express refuses before a handler runs: a body too large, an unknown encoding, a path that does not decode.
  const status = error instanceof Error && 'status' in error ? error.status : 500;
  const name = namesByStatus[String(status)];
  const entry = name === undefined ? null : legacyError(family, name);
  return entry === null ? null : { status: entry.status, body: stringifyJson(errorBody(family, entry, '')) };
}

const namesByStatus: Readonly<Record<string, 'too_large' | 'unsupported_media' | 'bad_request'>> = {
  '413': 'too_large',
  '415': 'unsupported_media',
  '400': 'bad_request',
};
