/** A scriptable server on real sockets that misbehaves on request, as upstream or as a receiver of notices. */
import { connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { listen, shut } from '../listen.ts';
import { readRequests } from './fault-server-request.ts';

export interface Heard {
  method: string;
  /** Path and query, unchanged. */
  path: string;
  /** Lower-case names; the last value of a repeated header. */
  headers: Record<string, string>;
  body: Buffer;
  /** Number of the accepted connection, from 1. */
  connection: number;
}

/** Acts on the socket after a complete request; see `fault-server-acts.ts`. */
export type Act = (socket: Socket, heard: Heard) => void;

export interface FaultServerOptions {
  tls?: TlsOptions;
  /** Runs when a connection is accepted; may destroy its socket before any request. */
  onConnection?: (socket: Socket, number: number) => void;
}

export interface FaultServer {
  url: string;
  port: number;
  /** Complete requests, oldest first. */
  heard: Heard[];
  /** Connections accepted so far; with TLS also those whose handshake failed. */
  accepted(): number;
  written(): number;
  /** Resolves after at least `count` complete requests. */
  waitFor(count: number): Promise<Heard[]>;
  close(): Promise<void>;
}

/**
 * Starts the server on a free port of 127.0.0.1. `script` chooses the act for each request, e.g.
 * `startFaultServer((heard) => (heard.path === '/users/me' ? json(200, {}) : reset))`.
 */
export async function startFaultServer(
  script: (heard: Heard, nth: number) => Act,
  { tls, onConnection }: FaultServerOptions = {},
): Promise<FaultServer> {
  const server = tls === undefined ? createServer() : createTlsServer(tls);
  const heard: Heard[] = [];
  const waiting: { count: number; resolve: (all: Heard[]) => void }[] = [];
  const open = new Set<Socket>();
  let accepted = 0;
  let written = 0;
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    const number = ++accepted;
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      written += socket.bytesWritten;
      open.delete(socket);
    });
    onConnection?.(socket, number);
  });
  // Some scripts make clients fail the handshake on purpose.
  server.on('tlsClientError', (_error: Error, socket: Socket) => socket.destroy());
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    const connection = accepted;
    socket.on('error', () => socket.destroy());
    readRequests(socket, (request) => {
      const one = { ...request, connection };
      heard.push(one);
      script(one, heard.length)(socket, one);
      for (const waiter of waiting) if (heard.length >= waiter.count) waiter.resolve(heard);
    });
  });
  const port = await listen(server);
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${tls === undefined ? '127.0.0.1' : 'localhost'}:${port}`,
    port,
    heard,
    accepted: () => accepted,
    written: () => [...open].reduce((sum, socket) => sum + socket.bytesWritten, written),
    waitFor: (count) =>
      heard.length >= count ? Promise.resolve(heard) : new Promise((resolve) => waiting.push({ count, resolve })),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

/** A URL without a listener: connections to it are refused. */
export async function refusedUrl(): Promise<string> {
  const server = createServer();
  const port = await listen(server);
  await shut(server);
  return `http://127.0.0.1:${port}`;
}

/** A TCP proxy before other servers, which can change its target or refuse, while its client keeps its URL. */
export interface Gate {
  port: number;
  url: string;
  /** Treatment of bytes from clients. */
  mode: 'open' | 'reset' | 'close' | 'silent';
  /** Sends new connections to this port and closes the open ones. */
  turnTo(port: number): void;
  close(): Promise<void>;
}

export async function startGate(first_port: number): Promise<Gate> {
  const server = createServer();
  const open = new Set<Socket>();
  let target = first_port;
  const closeAll = (): void => {
    for (const socket of open) socket.destroy();
  };
  server.on('connection', (socket: Socket) => {
    const onward = connect(target, '127.0.0.1');
    for (const end of [socket, onward]) {
      open.add(end);
      end.on('error', () => end.destroy());
      end.on('close', () => open.delete(end));
    }
    socket.on('close', () => onward.destroy());
    onward.on('close', () => socket.destroy());
    onward.on('data', (bytes) => socket.write(bytes));
    socket.on('data', (bytes) => {
      if (gate.mode === 'open') onward.write(bytes);
      else if (gate.mode === 'reset') socket.resetAndDestroy();
      else if (gate.mode === 'close') socket.destroy();
    });
  });
  const port = await listen(server);
  const gate: Gate = {
    port,
    url: `http://127.0.0.1:${port}`,
    mode: 'open',
    turnTo(next) {
      target = next;
      closeAll();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        closeAll();
      }),
  };
  return gate;
}
