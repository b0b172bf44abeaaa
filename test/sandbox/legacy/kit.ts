/** A receiver of the legacy API's notifications, and shared constants. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export const MLA = '700100200';
export const PAX = 'PAX_A910__SMARTPOS0000000001';
export const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000';

/** The virtual time at the start of every test. */
export const START_MS = Date.UTC(2026, 10, 2, 13, 5, 11);

export const BASE = '/point/integration-api';

export interface Heard {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into notifications freely; a wrong look fails the test
  body: any;
}

export interface Receiver {
  url: string;
  heard: Heard[];
  /** Statuses of the next answers, then 200. */
  statuses: number[];
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
  const { port } = server.address() as AddressInfo; // a listening TCP server has one
  return `http://127.0.0.1:${port}`;
}
