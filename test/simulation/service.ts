/** The upstream and the legacy service in this thread: the sandbox's own stories, without HTTP and without its clock running. */
import type { Router } from 'express';
import { usersRouter } from '../../src/sandbox/account/tills.ts';
import { announcePayments } from '../../src/sandbox/legacy/qr/notices.ts';
import { legacyQrRouter } from '../../src/sandbox/legacy/qr/router.ts';
import { createQrState } from '../../src/sandbox/legacy/qr/state.ts';
import { legacyRouter } from '../../src/sandbox/legacy/router.ts';
import { createLegacyState, feedAccount, type LegacyState } from '../../src/sandbox/legacy/state.ts';
import { ordersRouter } from '../../src/sandbox/orders.ts';
import { paymentsRouter } from '../../src/sandbox/payments/router.ts';
import { createWebhooks, type Letter } from '../../src/sandbox/webhooks.ts';
import { createWorld, type World } from '../../src/sandbox/world.ts';
import { type Ask, type Reply, SimulatedResponse, simulatedRequest } from './door.ts';

export const WEBHOOK_SECRET = 'webhook-secret-of-the-simulation';
/** Nobody calls it: letters go to the product's door by hand. */
const WEBHOOK_URL = 'http://puente.invalid/webhooks/orders';

export interface Service {
  world: World;
  /** Intents of the legacy lane. */
  legacy: LegacyState;
  /** One call, answered at once. Null when nothing is at the address. */
  serve(ask: Ask): Reply;
  /** A new world under these settings. */
  reset(settings: Record<string, unknown>): void;
}

/** @param post takes the webhooks of orders. */
export function createService(now: () => number, random: () => number, post: (letter: Letter) => void): Service {
  const world = createWorld({ now, random });
  world.clock.setMode('manual');
  const quiet = { deliver: () => undefined, close: async () => undefined };
  const desk = { world, announce: createWebhooks(world, { deliver: post, close: async () => undefined }) };
  const legacy = createLegacyState(world, quiet);
  const qr = createQrState(world, { world, postman: quiet, accountOf: (id) => feedAccount(legacy, id) });
  announcePayments(qr);
  const routers: [prefix: string, router: Router][] = [
    ['/v1/orders', ordersRouter(desk)],
    ['/v1/payments', paymentsRouter(desk)],
    ['/users/', usersRouter(world)],
    ['/point/', legacyRouter(world, legacy)],
    ['/', legacyQrRouter(qr)],
  ];
  return {
    world,
    legacy,
    serve(ask) {
      const found = routers.find(([prefix]) => ask.url.startsWith(prefix));
      return found === undefined ? NOTHING : answerOf(found[1], ask);
    },
    reset(settings) {
      world.reset();
      world.configure({ ...settings, webhook_url: WEBHOOK_URL, webhook_secret: WEBHOOK_SECRET });
    },
  };
}

const NOTHING: Reply = { status: 404, headers: {}, text: '{"message":"nothing is here","error":"not_found"}' };

/** The sandbox's stories answer in the same turn. */
function answerOf(router: Router, ask: Ask): Reply {
  let reply = NOTHING;
  let failure: unknown = null;
  const request = simulatedRequest(ask);
  const response = new SimulatedResponse(request, (told) => {
    reply = told;
  });
  router(request, response.asExpress(), (error: unknown) => {
    failure = error ?? null;
  });
  if (failure !== null) throw new Error(`the sandbox failed on ${ask.method} ${ask.url}: ${String(failure)}`);
  return reply;
}
