/** The sandbox's server: both APIs on one port of its own. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { Router } from 'express';
import { PuenteError } from '../error.ts';
import { listAssumptions, type Profile } from './assumptions.ts';
import { keepWorld } from './data-file.ts';
import { type OpenWorld, type OpenWorldOptions, openWorld } from './open-world.ts';
import type { World } from './world.ts';

export interface SandboxOptions {
  /** 0 takes a free port. */
  port: number;
  host: string;
  /** Real time, epoch milliseconds; the machine's clock when missing. */
  now?: () => number;
  /** `specification` when missing. */
  profile?: Profile;
  /** Input of `settingsSchema`; the profile gives missing settings. */
  settings?: unknown;
  webhook_certificate?: string;
  log?: OpenWorldOptions['log'];
  /** File that keeps the default world between two starts; without it, memory only. */
  data?: string | null;
}

export interface Sandbox {
  url: string;
  port: number;
  world: World;
  /** The number of settings that `GET /_sandbox/settings` shows. */
  assumptions: number;
  is_restored: boolean;
  /** Ends every connection, timer and webhook. */
  close(): Promise<void>;
}

/** Longer than any client's idle time, so that no keep-alive connection closes during a request. */
const KEEP_ALIVE_MS = 75_000;
/** Limits for the head of a request and for a body of some kilobytes, and the interval of the check. */
const SLOW = { headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 1_000 };

/** Worlds beside the default one: enough for a test suite, small enough for memory. */
const MOST_WORLDS = 64;
const WORLD_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/i;

/** @throws PuenteError bad_setting, also when the port is taken or the file does not hold a world. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const worlds = createWorlds(options);
  const keeper = keepWorld(worlds.usual, options.data ?? null);
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
    is_restored: keeper.is_restored,
    async close() {
      keeper.close();
      worlds.end();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await worlds.close();
    },
  };
}

/**
 * Worlds side by side. The header `X-Sandbox-World` or a path below `/_world/<name>` names one; without it a request
 * goes to the default one. The first request that names a world creates it, with the same options.
 */
function createWorlds(options: SandboxOptions) {
  const open = (): OpenWorld => openWorld({ now: Date.now, random: Math.random, ...options });
  const usual = open();
  const named = new Map<string, OpenWorld>();
  const all = (): OpenWorld[] => [usual, ...named.values()];
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
  const find = (name: string): OpenWorld | string => {
    if (!WORLD_NAME.test(name))
      return 'Name a world with 1 to 64 letters, digits, dots, hyphens and underscores; the first a letter or a digit.';
    const known = named.get(name);
    if (known !== undefined) return known;
    if (named.size >= MOST_WORLDS)
      return `There are ${MOST_WORLDS} worlds already; remove one with DELETE /_sandbox/worlds/<name>.`;
    const made = open();
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
