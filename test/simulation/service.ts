/** Upstream and legacy in this thread: the sandbox's own stories, without HTTP, on a manual clock. */
import type { Router } from 'express';
import type { Letter } from '../../src/sandbox/collections.ts';
import { openWorld } from '../../src/sandbox/open-world.ts';
import { headersOf } from '../../src/sandbox/webhooks.ts';
import type { World } from '../../src/sandbox/world.ts';
import { type Ask, type Reply, SimulatedResponse, simulatedRequest } from './door.ts';

export const WEBHOOK_SECRET = 'webhook-secret-of-the-simulation';
/** Never called: webhooks are passed to the product's door directly. */
const WEBHOOK_URL = 'http://puente.invalid/webhooks/orders';

export type PostedLetter = Letter & { headers: Record<string, string> };

export interface Service {
  world: World;
  /** Answers one call at once; 404 for an unknown path. */
  serve(ask: Ask): Reply;
  reset(settings: Record<string, unknown>): void;
}

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

/** Works because the sandbox's stories answer synchronously. */
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
