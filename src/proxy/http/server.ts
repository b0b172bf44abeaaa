/** A listening HTTP(S) server with the limits of the settings, and a stop that lets running calls end. */
import { createServer as createHttpServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Express } from 'express';
import { PuenteError } from '../../error.ts';
import { batchPerTick } from '../concurrency.ts';
import { type Connections, isSettled, watchConnections } from './connections.ts';
import { askForBody, type HeadFault, headFault, isHeldBack, noteHeldBack, takeAbsoluteForm } from './request.ts';

export interface ListenOptions {
  name: string;
  host: string;
  /** 0 takes a free port. */
  port: number;
  headers_timeout_ms: number;
  request_timeout_ms: number;
  keep_alive_timeout_ms: number;
  /** How long an answer may wait for a reader that takes nothing. */
  write_timeout_ms: number;
  /** Request line and headers together. */
  header_limit_bytes: number;
  /** Beyond it the connection that is idle for longest gives way; with none idle, the new one. */
  max_connections: number;
  max_requests_per_connection: number;
  /** Answers a request whose head would leave a guess, in the words of the door; the connection ends with it. */
  refuse(request: IncomingMessage, response: ServerResponse, fault: HeadFault): void;
  /** Told of each connection that was closed for the others' sake. */
  dropped(): void;
  /**
   * Whose call may be served before its client has sent the body that it holds back (`Expect`); of anybody else the body is
   * asked for at once, and waited for like any other.
   */
  mayHoldBack?(request: IncomingMessage): boolean;
  /** PEM texts; plain HTTP without. */
  tls?: { certificate: string; key: string };
}

export interface Listening {
  port: number;
  /** Stops accepting, waits for running calls up to `grace_ms`, then cuts what is left. */
  close(grace_ms: number): Promise<void>;
  /**
   * Every answer from now on is the last of its connection, and idle connections are left open: a client that sends its next
   * call at this moment is answered, and goes elsewhere with the one after it.
   * @param told_ms how long newcomers are expected: a balancer opens a connection for each call until it has noticed, and
   *   none is open between two of them.
   * @param known_ms how long those who are connected are waited for, when it is longer.
   */
  farewell(told_ms: number, known_ms: number): Promise<void>;
}

interface Call {
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * So much of a body is waited for before the call is served, and a till's is a fraction of it: as long as a client sends its
 * call, it takes nobody's place. Of a longer one the gate counts how many are still coming.
 */
const WAITED_BYTES = 16_384;
/** Without it a 10 s header timeout would only be looked at every 30 s (`test/faults/README.md` F94). */
const CHECK_INTERVAL_MS = 1_000;

/** @throws PuenteError bad_setting when the address can't be taken, with the setting to change. */
export function listen(app: Express, options: ListenOptions): Promise<Listening> {
  const limits = {
    ...bornAsExpress(app),
    maxHeaderSize: options.header_limit_bytes,
    headersTimeout: options.headers_timeout_ms,
    requestTimeout: options.request_timeout_ms,
    keepAliveTimeout: options.keep_alive_timeout_ms,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
  };
  const server = options.tls
    ? createHttpsServer({
        ...limits,
        handshakeTimeout: options.headers_timeout_ms,
        cert: options.tls.certificate,
        key: options.tls.key,
      })
    : createHttpServer(limits);
  server.maxHeadersCount = 0; // those beyond a count would be left out in silence; `headFault` refuses them
  const connections = watchConnections(server, options, options.dropped);
  let is_leaving = false;
  const serve = batchPerTick<Call>(({ request, response }) => app(request, response));
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (is_leaving) response.shouldKeepAlive = false;
    if (connections.isBehindTheEnd(response)) return;
    takeAbsoluteForm(request);
    const fault = headFault(request);
    if (fault !== null) {
      connections.endWith(response); // whatever follows on this connection may be a part of the same trick
      return options.refuse(request, response, fault);
    }
    connections.inTurn(response, () => {
      if (isHeldBack(request) && options.mayHoldBack?.(request) !== true) askForBody(request);
      whenCome(request, () => {
        connections.begin(response);
        serve({ request, response });
      });
    });
  });
  // Without it Node asks for every body by itself.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    noteHeldBack(request, response);
    server.emit('request', request, response);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    endBadly(STATUS[error.code ?? ''] ?? '400 Bad Request', socket, connections),
  );
  server.on('connect', (_request, socket) => {
    socket.on('error', () => undefined); // Node has let go of it: a reset that nobody hears of would end the process
    endBadly('405 Method Not Allowed', socket, connections);
  });
  server.once('close', () => connections.stop());
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        new PuenteError(
          'bad_setting',
          `${options.name}: ${options.host}:${options.port} ${refusedPort(options.port, error)}`,
        ),
      );
    });
    server.listen(options.port, options.host, () => {
      const { port } = server.address() as AddressInfo; // a TCP server that listens has one
      resolve({
        port,
        close: (grace_ms) => close(server, grace_ms),
        async farewell(told_ms, known_ms) {
          is_leaving = true;
          if (told_ms > 0) await pause(told_ms);
          await untilAlone(server, known_ms - told_ms);
        },
      });
    });
  });
}

/**
 * Requests and responses that have Express's methods from the start. Express gives them to each by changing its prototype,
 * which is for nothing when it is that one already (10 % more calls a second of an application that does nothing).
 */
function bornAsExpress(app: Express) {
  class Request extends IncomingMessage {}
  class Response<Asked extends IncomingMessage> extends ServerResponse<Asked> {}
  Object.setPrototypeOf(Request.prototype, app.request);
  Object.setPrototypeOf(Response.prototype, app.response);
  // From now on they have Express's methods, which the compiler can't see.
  app.request = Request.prototype as typeof app.request;
  app.response = Response.prototype as typeof app.response;
  return { IncomingMessage: Request, ServerResponse: Response };
}

/** Goes on when the body has come, as far as it is waited for; not at all when the client goes away before. */
function whenCome(request: IncomingMessage, go: () => void): void {
  const isThere = (): boolean => request.complete || request.readableLength >= WAITED_BYTES;
  const declared = Number(request.headers['content-length'] ?? 0);
  if (isThere() || isHeldBack(request) || declared > WAITED_BYTES) {
    go();
    return;
  }
  const look = (): void => {
    if (!isThere()) return;
    stop();
    go();
  };
  const stop = (): void => void request.off('readable', look).off('close', stop);
  request.on('readable', look).once('close', stop);
}

/** What Node could not read as a request, by its own error codes. */
const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/**
 * Ends a connection whose bytes are no request, or ask for a tunnel. Behind a request that has come whole they must not take
 * its answer away, nor be told before it: a till that counts its length wrong would be told 400 of a sale that is being made.
 */
function endBadly(status: string, duplex: Duplex, connections: Connections): void {
  const socket = duplex as Socket; // Node hands over the connection's own
  if (!connections.isOpen(socket)) return void socket.destroy();
  const owed = connections.owed(socket);
  if (owed === null) tellStatus(socket, status);
  else if (isSettled(owed)) connections.endWith(owed);
  else socket.destroy(); // half an answer has left, and a status would be read as more of it
}

function tellStatus(socket: Duplex, status: string): void {
  if (!socket.writable) return void socket.destroy();
  // Who does not read what it is told does not keep the connection by it.
  const limit = setTimeout(() => socket.destroy(), CHECK_INTERVAL_MS).unref();
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`, () => {
    clearTimeout(limit);
    socket.destroy();
  });
}

/** Resolves when no connection is left, or the time is over. */
async function untilAlone(server: Server, duration_ms: number): Promise<void> {
  const count = promisify(server.getConnections.bind(server));
  const end = performance.now() + duration_ms;
  while (performance.now() < end && (await count()) > 0) await pause(Math.min(SWEEP_MS, end - performance.now()));
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

/** Why a port can't be taken, and what to do about it. */
export function refusedPort(port: number, error: NodeJS.ErrnoException): string {
  if (error.code === 'EACCES')
    return `is kept from this user by the machine; allow it with \`sysctl net.ipv4.ip_unprivileged_port_start=${port}\`, or give the service CAP_NET_BIND_SERVICE, or choose a port above 1023`;
  const why = error.code === 'EADDRINUSE' ? 'is in use' : `can't be taken (${error.code ?? error.message})`;
  return `${why}; choose another port, or 0 for a free one`;
}
