/** The legacy Point API as an Express router: the old world, stateful and separate from the orders it shares terminals with. */

import { type ErrorRequestHandler, type RequestHandler, Router } from 'express';
import { z } from 'zod';
import { stringifyJson } from '../../contract/json.ts';
import { type LegacyError, pointErrors } from '../../contract/legacy-point.ts';
import { PuenteError } from '../../error.ts';
import { type Answer, readLegacyBody, send } from '../answer.ts';
import { isoDate } from '../dates.ts';
import { createPostman } from '../webhooks.ts';
import type { World } from '../world.ts';
import { type Handler, jsonObject, partsOf, refusal } from './call.ts';
import { legacyControl, legacyView } from './control.ts';
import { cancelIntent, changeMode, createIntent, getIntent, lastStatus, listDevices, listEvents } from './intents.ts';
import { cancelRefund, createRefund, getRefund } from './lifecycle.ts';
import { createLegacyState, integratorOf, type LegacyState } from './state.ts';

// The integrator record: which channels hear of device restarts and mode changes. Source: `docs/field-notes.md` Point §1.8.

/** `GET /point/integration-api/integrator`. */
export const getIntegrator: Handler = ({ world, state, merchant }) => {
  const { created_at_ms, updated_at_ms, event_channel_devices } = integratorOf(state, merchant, world.clock.now());
  return {
    status: 200,
    body: {
      id: Number(merchant.user_id),
      created_at: isoDate(created_at_ms, 0),
      updated_at: isoDate(updated_at_ms, 0),
      notification_url_enabled: (state.notice_targets.get(merchant.user_id)?.url ?? null) !== null,
      event_channel_devices,
    },
  };
};

const channels = z.array(z.string());

/** `PATCH /point/integration-api/integrator` `{"event_channel_devices": ["email"]}`: 204. */
export const changeIntegrator: Handler = ({ world, state, merchant, body }) => {
  const wanted = jsonObject(body).event_channel_devices;
  if (wanted === undefined) throw refusal(pointErrors.missing_property, 'event_channel_devices');
  const parsed = channels.safeParse(wanted);
  if (!parsed.success) throw refusal(pointErrors.invalid_property, 'event_channel_devices');
  const now_ms = world.clock.now();
  const integrator = integratorOf(state, merchant, now_ms);
  integrator.event_channel_devices = parsed.data;
  integrator.updated_at_ms = now_ms;
  return { status: 204 };
};

const base = '/point/integration-api';

/** Every route of `docs/field-notes.md` Point §1; the events list stands before the intent whose id could read `events`. */
const routes: readonly (readonly ['get' | 'post' | 'patch' | 'delete', string, Handler])[] = [
  ['get', '/devices', listDevices],
  ['patch', '/devices/:device', changeMode],
  ['post', '/devices/:device/payment-intents', createIntent],
  ['delete', '/devices/:device/payment-intents/:intent', cancelIntent],
  ['get', '/payment-intents/events', listEvents],
  ['get', '/payment-intents/:intent', getIntent],
  ['get', '/payment-intents/:intent/events', lastStatus],
  ['post', '/devices/:device/refund', createRefund],
  ['get', '/refund/:refund', getRefund],
  ['delete', '/devices/:device/refund/:refund', cancelRefund],
  ['get', '/integrator', getIntegrator],
  ['patch', '/integrator', changeIntegrator],
];

/**
 * The legacy API and its control routes on one world. The world's terminals and payments are shared with the orders API.
 * @param state shared with whoever tells the same merchants of other things.
 * Everything else under `/point/` is answered with 404 "111" (`docs/field-notes.md` Point §1.1, §1.9); other paths are left alone.
 */
export function legacyRouter(world: World, state = createLegacyState(world, createPostman(world))): Router {
  world.addView('legacy', () => legacyView(state));
  const router = Router({ caseSensitive: true });
  for (const [method, path, handler] of routes) {
    const reading = method === 'post' || method === 'patch' ? readLegacyBody : [];
    router[method](base + path, ...reading, run(world, state, handler));
  }
  router.use('/point', (_request, _response, next) => next(refusal(pointErrors.action_not_supported)));
  router.use('/point', answerError);
  router.use(legacyControl(world, state));
  return router;
}

function run(world: World, state: LegacyState, handler: Handler): RequestHandler {
  return (request, response) => {
    const { merchant, ...parts } = partsOf(world, request);
    if (merchant === undefined) throw refusal(pointErrors.unauthorized);
    const { status, body } = handler({ world, state, merchant, ...parts });
    send(response, { status, body: body === undefined ? '' : stringifyJson(body) });
  };
}

/** Four parameters, because Express tells error handlers by their number. */
const answerError: ErrorRequestHandler = (error: unknown, _request, response, _next) => {
  send(response, errorAnswer(error));
};

function errorAnswer(error: unknown): Answer {
  if (error instanceof PuenteError && error.code === 'refused') {
    const { status, error: code } = error.facts;
    return answerOf({ status: Number(status), error: String(code), message: error.message });
  }
  // What Express refuses before a handler runs: a body too large, an unknown encoding, a path that does not decode.
  const status = error instanceof Error && 'status' in error ? error.status : 500;
  if (status === 413) return answerOf(pointErrors.too_large);
  if (status === 415) return answerOf(pointErrors.unsupported_media);
  if (status === 400) return answerOf(pointErrors.bad_request);
  return answerOf(pointErrors.internal);
}

/** Keys in the order of the catalogue's bodies; never an `id` (`docs/field-notes.md` Point §1.9). */
function answerOf({ error, message, status }: LegacyError): Answer {
  return { status, body: stringifyJson({ error, message, status }) };
}
