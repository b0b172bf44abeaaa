/** Starts the legacy API on a world of its own, with a till that calls it and a receiver that hears its notices. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { operate } from '../../../src/sandbox/control.ts';
import { openWorld } from '../../../src/sandbox/open-world.ts';
import type { TerminalAction, TerminalOptions } from '../../../src/sandbox/records.ts';
import type { World } from '../../../src/sandbox/world.ts';

export const MLA = '700100200';
export const MLB = '700100300';
export const PAX = 'PAX_A910__SMARTPOS0000000001';
export const MINUTE_MS = 60_000;
export const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000';

/** The virtual time at which every test starts. */
export const START_MS = Date.UTC(2026, 10, 2, 13, 5, 11);

export interface Answer {
  status: number;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely; a wrong look fails the test
  body: any;
}

export interface CallOptions {
  merchant?: string;
  /** Instead of the merchant's own; null sends none. */
  token?: string | null;
  headers?: Record<string, string>;
  /** Sent as JSON, or as it is when it is text or bytes. */
  body?: unknown;
}

export interface Till {
  world: World;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Creates an intent at the merchant's first terminal and returns its id; fails unless it is accepted. */
  create(body?: object, options?: { merchant?: string; device?: string }): Promise<string>;
  /** Acts as the person at the terminal. */
  operate(action: TerminalAction, options?: TerminalOptions, at?: { merchant?: string; device?: string }): void;
  close(): Promise<void>;
}

export const BASE = '/point/integration-api';

export async function startTill(settings: object = {}): Promise<Till> {
  const { world, app, ...opened } = openWorld({
    now: () => START_MS,
    random: Math.random,
    settings: { local_notification_urls: 'called', ...settings },
  });
  world.clock.setMode('manual');
  const server = app.listen(0, '127.0.0.1');
  const origin = await originOf(server);

  async function call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const { merchant = MLA, token = tokenOf(world, merchant), headers = {}, body } = options;
    const raw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
    const answer = await request(origin + path, {
      method,
      headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers },
      body: raw ? (body ?? null) : JSON.stringify(body),
    });
    const text = await answer.body.text();
    return { status: answer.statusCode, text, body: text.startsWith('{') ? JSON.parse(text) : undefined };
  }

  return {
    world,
    call,
    async create(body = { amount: 1500 }, { merchant = MLA, device = PAX } = {}) {
      const answer = await call('POST', `${BASE}/devices/${device}/payment-intents`, { merchant, body });
      if (answer.status !== 201) throw new Error(`create was refused: ${answer.text}`);
      return answer.body.id;
    },
    operate(action, options = {}, { merchant = MLA, device = PAX } = {}) {
      const terminal = world.terminal(merchant, device);
      if (!terminal?.occupation) throw new Error(`nothing is queued on ${device}`);
      operate(world, terminal, action, options);
    },
    async close() {
      world.close();
      await opened.close();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export interface Heard {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  body: any;
}

export interface Receiver {
  url: string;
  heard: Heard[];
  /** Statuses of the next answers, then 200. */
  statuses: number[];
  /** Runs inside the handler, before it answers. */
  inside: (notice: Heard) => Promise<void>;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const receiver: Receiver = { url: '', heard: [], statuses: [], inside: async () => {}, close };
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    const { method = '', url = '', headers } = incoming;
    const notice = { method, url, headers, text, body: JSON.parse(text) };
    receiver.heard.push(notice);
    await receiver.inside(notice);
    outgoing.statusCode = receiver.statuses.shift() ?? 200;
    outgoing.end();
  }).listen(0, '127.0.0.1');
  receiver.url = `${await originOf(server)}/notices`;
  return receiver;

  async function close(): Promise<void> {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
}

async function originOf(server: Server): Promise<string> {
  if (!server.listening) await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return `http://127.0.0.1:${port}`;
}

function tokenOf(world: World, merchant: string): string {
  const found = world.merchants.get(merchant);
  if (found === undefined) throw new Error(`no merchant ${merchant} in the cast`);
  return found.access_token;
}
