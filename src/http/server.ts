/** A listening HTTP(S) server with the limits of the settings, and a stop that lets running calls end. */
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { PuenteError } from '../error.ts';

export interface ListenOptions {
  name: string;
  host: string;
  /** 0 takes a free port. */
  port: number;
  headers_timeout_ms: number;
  request_timeout_ms: number;
  keep_alive_timeout_ms: number;
  max_connections: number;
  /** PEM texts; plain HTTP without. */
  tls?: { certificate: string; key: string };
}

export interface Listening {
  port: number;
  /** Stops accepting, waits for running calls up to `grace_ms`, then cuts what is left. */
  close(grace_ms: number): Promise<void>;
}

/** Largest header block: a token and a few names (`reliability.md` §7.5). */
const MAX_HEADER_BYTES = 8_192;
/** Without it a 10 s header timeout would only be looked at every 30 s (`reliability.md` F94). */
const CHECK_INTERVAL_MS = 1_000;

/** @throws PuenteError bad_setting when the address can't be taken, with the setting to change. */
export function listen(listener: RequestListener, options: ListenOptions): Promise<Listening> {
  const limits = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: options.headers_timeout_ms,
    requestTimeout: options.request_timeout_ms,
    keepAliveTimeout: options.keep_alive_timeout_ms,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
  };
  const server = options.tls
    ? createHttpsServer({ ...limits, cert: options.tls.certificate, key: options.tls.key }, listener)
    : createHttpServer(limits, listener);
  server.maxConnections = options.max_connections;
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'is in use' : `can't be taken (${error.code ?? error.message})`;
      reject(
        new PuenteError(
          'bad_setting',
          `${options.name}: ${options.host}:${options.port} ${why}; choose another port, or 0 for a free one`,
        ),
      );
    });
    server.listen(options.port, options.host, () => {
      const { port } = server.address() as AddressInfo; // a TCP server that listens has one
      resolve({ port, close: (grace_ms) => close(server, grace_ms) });
    });
  });
}

/** A connection whose last answer leaves while we stop would otherwise stay open for its keep-alive time. */
const SWEEP_MS = 50;

function close(server: Server, grace_ms: number): Promise<void> {
  return new Promise((resolve) => {
    const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
    const cut = setTimeout(() => server.closeAllConnections(), grace_ms);
    server.close(() => {
      clearInterval(sweep);
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
