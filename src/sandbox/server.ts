/** The sandbox on its own port: one process part that stands in for the new API and the legacy one. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, {
  type ErrorRequestHandler,
  type Express,
  type NextFunction,
  type Request,
  type Response,
  Router,
} from 'express';
import { PuenteError } from '../error.ts';
import { oauthRouter } from './account/oauth.ts';
import { storesRouter } from './account/stores.ts';
import { tillsRouter, usersRouter } from './account/tills.ts';
import { encodeError, paymentsRefusal, send } from './answer.ts';
import { listAssumptions, type Profile } from './assumptions.ts';
import { controlRouter, faultMiddleware } from './control.ts';
import { invoicesRouter } from './invoices.ts';
import { feedControl } from './legacy/control.ts';
import { legacyQrView } from './legacy/qr/call.ts';
import { announcePayments } from './legacy/qr/notices.ts';
import { legacyQrRouter } from './legacy/qr/router.ts';
import { createQrState } from './legacy/qr/state.ts';
import { legacyRouter } from './legacy/router.ts';
import { createLegacyState, feedAccount } from './legacy/state.ts';
import { ordersRouter } from './orders.ts';
import { paymentsRouter } from './payments/router.ts';
import { terminalsRouter } from './terminals.ts';
import { createPostman, createWebhooks, type Postman } from './webhooks.ts';
import { createWorld, type World } from './world.ts';

export interface SandboxOptions {
  /** 0 takes a free one. */
  port: number;
  host: string;
  /** Real time, epoch milliseconds; the machine's clock when missing. */
  now?: () => number;
  /** Which service it is; `specification` when missing. */
  profile?: Profile;
  /** Anything `settingsSchema` accepts; what is not named is as the profile has it. */
  settings?: unknown;
  /** PEM of the receiver of order webhooks, when no public authority has signed it. */
  webhook_certificate?: string;
  /** Told of errors that are the sandbox's own fault. */
  log?: { error(facts: object, message: string): void };
}

export interface Sandbox {
  url: string;
  port: number;
  world: World;
  /** How many choices it makes by its settings, of which `GET /_sandbox/settings` tells. */
  assumptions: number;
  /** Ends every connection, timer and webhook. */
  close(): Promise<void>;
}

/** Longer than any client's idle time, so that keep-alive connections are never closed under a request. */
const KEEP_ALIVE_MS = 75_000;
/** Nobody who means it needs longer for the head of a request, or for a body of some kilobytes; and how often that is looked at. */
const SLOW = { headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 1_000 };

/** Worlds at most besides the usual one: enough for a test suite, small enough to stay in memory. */
const MOST_WORLDS = 64;
const WORLD_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/i;

/** @throws PuenteError bad_setting, also when the port can't be taken. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const worlds = createWorlds(options);
  const server = createServer({ ...SLOW, keepAliveTimeout: KEEP_ALIVE_MS, noDelay: true }, worlds.handle);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'is in use' : `can't be taken (${error.code ?? error.message})`;
      const address = `${options.host}:${options.port}`;
      reject(
        new PuenteError('bad_setting', `sandbox.port: ${address} ${why}; choose another port, or 0 for a free one`),
      );
    });
    server.listen(options.port, options.host, resolve);
  });
  const { port } = server.address() as AddressInfo; // a TCP server's address is never text
  const { world } = worlds.usual;
  return {
    url: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`,
    port,
    world,
    assumptions: listAssumptions(world.settings).length,
    async close() {
      worlds.end();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await worlds.close();
    },
  };
}

/**
 * Worlds side by side: a request names one with the header `X-Sandbox-World`, or with a path below `/_world/<name>`; without either it
 * is for the usual one. A world is made by the first request that names it, with the options of all.
 */
function createWorlds(options: SandboxOptions) {
  const usual = openWorld(options);
  const named = new Map<string, WorldStand>();
  const all = (): WorldStand[] => [usual, ...named.values()];
  const admin = Router()
    .get('/_sandbox/worlds', (_request, response) => void response.json({ worlds: [...named.keys()] }))
    .delete('/_sandbox/worlds/:name', async (request, response) => {
      const stand = named.get(request.params.name);
      if (stand === undefined) return void response.status(404).json({ message: 'There is no such world.' });
      named.delete(request.params.name);
      stand.world.close();
      await stand.close();
      response.status(204).end();
    });
  const find = (name: string): WorldStand | string => {
    if (!WORLD_NAME.test(name))
      return 'Name a world with 1 to 64 letters, digits, dots, hyphens and underscores; the first a letter or a digit.';
    const known = named.get(name);
    if (known !== undefined) return known;
    if (named.size >= MOST_WORLDS)
      return `There are ${MOST_WORLDS} worlds already; remove one with DELETE /_sandbox/worlds/<name>.`;
    const made = openWorld(options);
    named.set(name, made);
    return made;
  };
  const outer = express()
    .disable('x-powered-by')
    .disable('etag')
    .set('query parser', false)
    .use(admin)
    .use((request, response) => {
      const [, prefixed, rest] = /^\/_world\/([^/?]+)(.*)$/.exec(request.url) ?? [];
      if (prefixed !== undefined && rest !== undefined) request.url = rest.startsWith('/') ? rest : `/${rest}`;
      const name = prefixed ?? request.get('x-sandbox-world');
      const stand = name === undefined ? usual : find(name);
      if (typeof stand === 'string') return void response.status(400).json({ message: stand });
      stand.app(request, response);
    });
  return {
    usual,
    handle: outer,
    end: () => {
      for (const { world } of all()) world.close();
    },
    close: async () => void (await Promise.all(all().map((stand) => stand.close()))),
  };
}

interface WorldStand {
  world: World;
  app: Express;
  /** Ends webhooks under way; the world has to be closed before. */
  close(): Promise<void>;
}

/** One world with everything that is served of it. */
function openWorld({ now = Date.now, profile, settings, webhook_certificate, log }: SandboxOptions): WorldStand {
  const world = createWorld({ now, profile, settings, random: Math.random });
  const postman = createPostman(world, webhook_certificate ?? null);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.use(controlRouter(world));
  app.use(logRequest(world));
  app.use(faultMiddleware(world));
  const desk = { world, announce: createWebhooks(world, postman) };
  app.use(ordersRouter(desk));
  app.use(terminalsRouter(world));
  app.use(paymentsRouter(desk));
  app.use(invoicesRouter(world));
  app.use(storesRouter(world));
  app.use(tillsRouter(world));
  app.use(usersRouter(world));
  app.use(oauthRouter(world));
  app.use(legacyRoutes(world, postman));
  app.use((_request, response) =>
    send(response, paymentsRefusal(404, 'not_found', 'There is nothing at this address')),
  );
  app.use(answerError(log));
  return { world, app, close: () => postman.close() };
}

/** The old world: Point, QR with its merchant orders, and the feed that both tell through. */
function legacyRoutes(world: World, postman: Postman): Router {
  const point = createLegacyState(world, postman);
  const qr = createQrState(world, { world, postman, accountOf: (merchant_id) => feedAccount(point, merchant_id) });
  announcePayments(qr);
  world.addView('legacy_qr', () => legacyQrView(qr));
  return Router().use(legacyRouter(world, point), legacyQrRouter(qr), feedControl(qr));
}

/** Method, path, key and status of every call outside the control door; never a token, never a body. */
function logRequest(world: World): (request: Request, response: Response, next: NextFunction) => void {
  return (request, response, next) => {
    if (request.path.startsWith('/_sandbox/')) return next();
    const line = {
      at: new Date(world.clock.now()).toISOString(),
      method: request.method,
      path: request.path,
      idempotency_key: request.get('x-idempotency-key') ?? null,
      status: null as number | null, // known when the answer has left
    };
    world.request_log.push(line);
    response.on('finish', () => {
      line.status = response.statusCode;
    });
    next();
  };
}

/** What Express refuses before a handler runs (a path that does not decode, a body too large), and our own faults. */
function answerError(log: SandboxOptions['log']): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    const status = error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : 500;
    if (status >= 500) log?.error({ err: error, method: request.method, path: request.path }, 'the sandbox failed');
    if (response.headersSent) return next(error);
    const code = status >= 500 ? 'internal_error' : 'bad_request';
    const message = status >= 500 ? 'Internal error of the sandbox' : 'The request could not be read';
    send(response, encodeError(request.path, { status, code, message }));
  };
}
