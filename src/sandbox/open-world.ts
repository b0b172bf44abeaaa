/** One world with its jobs, routes and control door. */
import express, {
  type ErrorRequestHandler,
  type Express,
  type NextFunction,
  type Request,
  type Response,
  Router,
} from 'express';
import { exchange } from './account/oauth.ts';
import { storeRows } from './account/stores.ts';
import { tillRows } from './account/tills.ts';
import { paymentsRefusal, refuse, refusedAnswer, send } from './answer.ts';
import { addRoutes, readBody, unreadableAnswer } from './call.ts';
import { fillCast } from './cast.ts';
import type { Job, Letter } from './collections.ts';
import { controlRouter } from './control.ts';
import { faultMiddleware } from './faults.ts';
import { fillInvoices, invoiceRows } from './invoices.ts';
import { pointRows } from './legacy/intents.ts';
import { abandonWork, workOf } from './legacy/lifecycle.ts';
import { expireQrOrder } from './legacy/qr/lifecycle.ts';
import { merchantOrderRows } from './legacy/qr/merchant-orders.ts';
import { preferenceRows } from './legacy/qr/preferences.ts';
import { storeOrderRows } from './legacy/qr/store-orders.ts';
import { confirmCancel, expire, mayMove } from './order.ts';
import { orderRows } from './orders.ts';
import { paymentRows } from './payments/router.ts';
import type { Order } from './records.ts';
import { endOrderRefund } from './refunds.ts';
import { simulatedOutcomes } from './simulator.ts';
import { terminalRows } from './terminals.ts';
import { createPostman } from './webhooks.ts';
import { createWorld, type World, type WorldOptions } from './world.ts';

export interface OpenWorldOptions extends WorldOptions {
  /** PEM of the receiver of order webhooks, when no public authority has signed it. */
  webhook_certificate?: string | undefined;
  /** Replaces the delivery of notifications. */
  deliver?: (letter: Letter) => void;
  /** Gets the sandbox's own errors. */
  log?: { error(facts: object, message: string): void } | undefined;
}

export interface OpenWorld {
  world: World;
  /** Both APIs, without the control door. */
  routes: Router;
  app: Express;
  /** Calls `run` after each answer of any door. */
  onAnswer(run: () => void): void;
  /** Stops webhooks under way; close the world before. */
  close(): Promise<void>;
}

/** @throws PuenteError bad_setting, naming the invalid setting. */
export function openWorld(options: OpenWorldOptions): OpenWorld {
  const send_letter = options.deliver;
  const world = createWorld(options, {
    fill(made) {
      fillCast(made);
      fillInvoices(made);
    },
    run: (made, job) => runJob(made, job, (letter, attempt) => postman.deliver(letter, attempt)),
    deliver: (_made, letter) => (send_letter === undefined ? postman.deliver(letter, 0) : send_letter(letter)),
  });
  const postman = createPostman(world, options.webhook_certificate);
  const routes = routesOf(world);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  let answered = (): void => {};
  app.use((_request, response, next) => {
    response.on('finish', answered);
    next();
  });
  app.use(controlRouter(world));
  app.use(logRequest(world));
  app.use(faultMiddleware(world));
  app.use(routes);
  app.use((_request, response) =>
    send(response, paymentsRefusal(404, 'not_found', 'There is nothing at this address')),
  );
  app.use(answerError(options.log));
  return {
    world,
    routes,
    app,
    onAnswer(run) {
      answered = run;
    },
    close: () => postman.close(),
  };
}

/** A record that was deleted, or whose state excludes the change, stays as it is. */
function runJob(world: World, job: Job, deliver: (letter: Letter, attempt: number) => void): void {
  if (job.kind === 'deliver') deliver(job.letter, job.attempt);
  else if (job.kind === 'end_payment_refund') {
    const made = world.payments.get(job.payment_id)?.refunds.find(({ id }) => id === job.refund_id);
    if (made !== undefined) made.status = 'approved';
  } else if (job.kind === 'abandon_intent') {
    const work = workOf(world, job.id);
    if (work !== undefined) abandonWork(world, work);
  } else if (job.kind === 'expire_qr_order') {
    const order = world.qr_orders.get(job.id);
    if (order !== undefined) expireQrOrder(world, order);
  } else {
    const order = world.orders.get(job.id);
    if (order !== undefined) runOrderJob(world, order, job);
  }
}

type OrderJob = Extract<Job, { kind: 'expire_order' | 'confirm_cancel' | 'simulate' | 'end_order_refund' }>;

function runOrderJob(world: World, order: Order, job: OrderJob): void {
  if (job.kind === 'expire_order') expire(world, order);
  else if (job.kind === 'end_order_refund') endOrderRefund(world, order, job.refund_id);
  else if (job.kind === 'simulate') {
    if (mayMove(world, order, job.status)) simulatedOutcomes[job.status](world, order, job.options);
  } else if (mayMove(world, order, 'canceled')) confirmCancel(world, order);
}

/** Unknown paths under `/point/` get 404 "111" (`docs/field-notes.md` Point §1.1, §1.9). */
function routesOf(world: World): Router {
  const router = Router({ caseSensitive: true });
  addRoutes(router, world, 'orders', orderRows);
  addRoutes(router, world, 'terminals', terminalRows);
  addRoutes(router, world, 'payments', [...paymentRows, ...invoiceRows, ...storeRows, ...tillRows]);
  router.post('/oauth/token', readBody, (request, response) => send(response, exchange(world, request)));
  addRoutes(router, world, 'point', pointRows);
  addRoutes(router, world, 'qr_v1', preferenceRows);
  addRoutes(router, world, 'qr', storeOrderRows);
  addRoutes(router, world, 'merchant_orders', merchantOrderRows);
  router.use('/point', (_request, response, next) => {
    const answer = refusedAnswer(refuse('point', 'action_not_supported'));
    if (answer === null) next();
    else send(response, answer);
  });
  return router;
}

/** Logs every call outside the control door; never a token, never a body. */
function logRequest(world: World): (request: Request, response: Response, next: NextFunction) => void {
  return (request, response, next) => {
    if (request.path.startsWith('/_sandbox/')) return next();
    const line = {
      at: new Date(world.clock.now()).toISOString(),
      method: request.method,
      path: request.path,
      idempotency_key: request.get('x-idempotency-key') ?? null,
      status: null as number | null, // known when the answer is sent
    };
    world.request_log.push(line);
    response.on('finish', () => {
      line.status = response.statusCode;
    });
    next();
  };
}

function answerError(log: OpenWorldOptions['log']): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    const status = error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : 500;
    if (status >= 500) log?.error({ err: error, method: request.method, path: request.path }, 'the sandbox failed');
    if (response.headersSent) return next(error);
    send(response, unreadableAnswer(request.path, status));
  };
}
