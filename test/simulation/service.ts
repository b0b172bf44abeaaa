/** The upstream and the legacy service in this thread: the sandbox's own stories, without HTTP and without its clock running. */
import type { Router } from 'express';
import type { Letter } from '../../src/sandbox/collections.ts';
import { openWorld } from '../../src/sandbox/open-world.ts';
import { headersOf } from '../../src/sandbox/webhooks.ts';
import type { World } from '../../src/sandbox/world.ts';
import { type Ask, type Reply, SimulatedResponse, simulatedRequest } from './door.ts';

export const WEBHOOK_SECRET = 'webhook-secret-of-the-simulation';
/** Nobody calls it: letters go to the product's door by hand. */
const WEBHOOK_URL = 'http://puente.invalid/webhooks/orders';

/** A webhook with the headers of its first attempt. */
export type PostedLetter = Letter & { headers: Record<string, string> };

export interface Service {
  world: World;
  /** One call, answered at once. Null when nothing is at the address. */
  serve(ask: Ask): Reply;
  /** A new world under these settings. */
  reset(settings: Record<string, unknown>): void;
}

/** @param post takes the webhooks of orders. */
export function createService(now: () => number, random: () => number, post: (letter: PostedLetter) => void): Service {
  const deliver = (letter: Letter): void => {
    if (letter.topic === 'order') post({ ...letter, headers: headersOf(world, letter, 0) });
  };
  const { world, routes } = openWorld({ now, random, deliver });
  world.clock.setMode('manual');
  return {
    world,
    serve: (ask) => answerOf(routes, ask),
    reset(settings) {
      void world.reset();
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
