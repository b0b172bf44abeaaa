/** An HTTP(S) server with limits on requests and connections, and a stop that lets calls in flight end. */
import { createServer as createHttpServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Express } from 'express';
import { PuenteError } from '../../error.ts';
import { batchPerTick, createEntries, createQueue, type Place, type Queue } from '../concurrency.ts';
import { type HeadFault, headFault, isHeldBack, noteHeldBack, sendContinue, takeAbsoluteForm } from './request.ts';

/** A door: its address and its limits. */
export interface ListenOptions {
  name: string;
  host: string;
  /** 0 takes a free port. */
  port: number;
  headers_timeout_ms: number;
  request_timeout_ms: number;
  keep_alive_timeout_ms: number;
  /** How long an answer may wait for a client that reads less than a kilobyte per second. */
  write_timeout_ms: number;
  /** Request line and headers together. */
  header_limit_bytes: number;
  /** Beyond it the longest idle connection is closed; with none idle, the new one. */
  max_connections: number;
  max_requests_per_connection: number;
  /** Answers a request with an ambiguous head in the door's error shape; the connection ends with it. */
  refuse(request: IncomingMessage, response: ServerResponse, fault: HeadFault): void;
  /** Called for each connection that was closed because of `max_connections`. */
  dropped(): void;
  /**
   * True for a call that may be served before its client sends the body that it holds back (`Expect`). From any other
   * client the server requests the body at once, and waits for it.
   */
  mayHoldBack?(request: IncomingMessage): boolean;
  /** PEM texts; plain HTTP when missing. */
  tls?: { certificate: string; key: string };
}

/** A door that listens. */
export interface Listening {
  port: number;
  /** Stops accepting, waits for running calls up to `grace_ms`, then cuts what is left. */
  close(grace_ms: number): Promise<void>;
  /**
   * From now on every answer is the last of its connection. Idle connections stay open: a call that is sent at this
   * moment is answered, and the client's next call goes elsewhere.
   * @param accept_ms how long new connections are still accepted: load balancers may open one per call until they read `/readyz`.
   * @param known_ms how long to wait for the clients that are connected, when that is longer.
   */
  farewell(accept_ms: number, known_ms: number): Promise<void>;
}

interface Call {
  request: IncomingMessage;
  response: ServerResponse;
}

/** A body up to this length, such as a till's, is awaited: slow senders take no place. Admission counts longer ones. */
const WAITED_BYTES = 16_384;
/** Node's default checks a 10 s header timeout only every 30 s (`test/faults/README.md` F94). */
const CHECK_INTERVAL_MS = 1_000;

/** @throws PuenteError bad_setting when the address can't be taken, with the setting to change. */
export function listen(app: Express, options: ListenOptions): Promise<Listening> {
  const limits = {
    ...withExpressPrototypes(app),
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
  server.maxHeadersCount = 0; // a limit would drop headers silently; `headFault` refuses them
  const connections = watchConnections(server, options);
  let is_leaving = false;
  const serve = batchPerTick<Call>(({ request, response }) => app(request, response));
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (is_leaving) response.shouldKeepAlive = false;
    if (connections.isBehindTheEnd(response)) return;
    takeAbsoluteForm(request);
    const fault = headFault(request);
    if (fault !== null) {
      connections.endWith(response); // later bytes on this connection may belong to the same attack
      return options.refuse(request, response, fault);
    }
    connections.inTurn(response, () => {
      if (isHeldBack(request) && options.mayHoldBack?.(request) !== true) sendContinue(request);
      whenReceived(request, () => {
        connections.begin(response);
        serve({ request, response });
      });
    });
  });
  // Without this listener Node requests every body at once.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    noteHeldBack(request, response);
    server.emit('request', request, response);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    endBadly(STATUS[error.code ?? ''] ?? '400 Bad Request', socket, connections),
  );
  server.on('connect', (_request, socket) => {
    socket.on('error', () => undefined); // Node handles its errors no more: an unhandled reset would end the process
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
        async farewell(accept_ms, known_ms) {
          is_leaving = true;
          if (accept_ms > 0) await pause(accept_ms);
          await untilAlone(server, known_ms - accept_ms);
        },
      });
    });
  });
}

/**
 * Requests and responses that have Express's prototype from the start. Express sets it on each one, which costs nothing
 * when it is set already (10 % more calls a second of an application that does nothing).
 */
function withExpressPrototypes(app: Express) {
  class Request extends IncomingMessage {}
  class Response<Received extends IncomingMessage> extends ServerResponse<Received> {}
  Object.setPrototypeOf(Request.prototype, app.request);
  Object.setPrototypeOf(Response.prototype, app.response);
  // They have Express's methods now, which the compiler can't see.
  app.request = Request.prototype as typeof app.request;
  app.response = Response.prototype as typeof app.response;
  return { IncomingMessage: Request, ServerResponse: Response };
}

/** Calls `go` once the awaited part of the body has arrived; never when the client disconnects before. */
function whenReceived(request: IncomingMessage, go: () => void): void {
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

/** Answers to what Node could not parse, by its error code. */
const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/**
 * Ends a connection whose bytes are no request, or request a tunnel. Complete requests before them keep their answers,
 * and get them first: a till with a wrong content length would else read 400 for a sale that is being made.
 */
function endBadly(status: string, duplex: Duplex, connections: Connections): void {
  const socket = duplex as Socket; // Node hands over the connection's own
  if (!connections.isOpen(socket)) return void socket.destroy();
  const owed = connections.owed(socket);
  if (owed === null) sendStatus(socket, status);
  else if (isSettled(owed)) connections.endWith(owed);
  else socket.destroy(); // half an answer has left; a status would be read as part of it
}

function sendStatus(socket: Duplex, status: string): void {
  if (!socket.writable) return void socket.destroy();
  // A client that does not read the answer must not keep the connection.
  const limit = setTimeout(() => socket.destroy(), CHECK_INTERVAL_MS).unref();
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`, () => {
    clearTimeout(limit);
    socket.destroy();
  });
}

/** Resolves when no connection is left, or the time has passed. */
async function untilAlone(server: Server, duration_ms: number): Promise<void> {
  const count = promisify(server.getConnections.bind(server));
  const end = performance.now() + duration_ms;
  while (performance.now() < end && (await count()) > 0) await pause(Math.min(SWEEP_MS, end - performance.now()));
}

/** A connection whose last answer leaves during the stop would else stay open for its keep-alive time. */
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

/** Why a port can't be listened on and how to repair it, as the end of a sentence about the port. */
export function refusedPort(port: number, error: NodeJS.ErrnoException): string {
  if (error.code === 'EACCES')
    return `is kept from this user by the machine; allow it with \`sysctl net.ipv4.ip_unprivileged_port_start=${port}\`, or give the service CAP_NET_BIND_SERVICE, or choose a port above 1023`;
  const why = error.code === 'EADDRINUSE' ? 'is in use' : `can't be taken (${error.code ?? error.message})`;
  return `${why}; choose another port, or 0 for a free one`;
}

// The connections of a door: their limit, the order of their calls, their last request, and clients that do not read.

type Connections = ReturnType<typeof watchConnections>;

/** A reader slower than this has no use for the answer; a phone line had five times as much. */
const SLOWEST_READER_BYTES_PER_S = 1024;
/** Interval of checking readers. */
const LOOK_MS = 1_000;

/** A call in flight, or waiting for earlier ones. */
interface Open {
  response: ServerResponse;
  /** Null unless it waits for its turn. */
  run: (() => void) | null;
}

interface Line {
  peer: string;
  socket: Socket;
  /** In the order of requests. An array, because a Set keeps what was removed alive (`proxy/concurrency.ts`). */
  open: Open[];
  /** Its place among idle connections; null while it is not idle. */
  place: Place<Line> | null;
  requests: number;
  /** The answer that the connection ends with; null until known. */
  last: ServerResponse | null;
  /** How long written bytes have waited for the reader since `taken`. */
  waited_ms: number;
  /** Bytes that the reader's side had taken by then. */
  taken: number;
}

function watchConnections(server: Server, limits: ListenOptions) {
  const byPeer = createEntries<Line>();
  const lines = new WeakMap<Socket, Line>();
  /** Oldest first. A connection whose request is still arriving counts as idle, so that a slow one can be closed. */
  const idle = createQueue<Line>();
  server.on('connection', (socket) => {
    if (byPeer.size >= limits.max_connections && !giveWay(idle)) {
      socket.destroy();
      return limits.dropped();
    }
    const peer = peerOf(socket);
    const line = lineOf(peer, socket);
    byPeer.set(peer, line);
    lines.set(socket, line);
    line.place = idle.join(line);
    socket.once('close', () => {
      leave(line, idle);
      if (byPeer.get(peer) === line) byPeer.delete(peer);
      // After a CONNECT, Node forgets calls that wait behind others: they would count as in flight for ever.
      for (const { response } of [...line.open]) response.destroy();
    });
  });
  // With TLS, requests have the inner socket; it belongs to the same line.
  server.on('secureConnection', (socket: Socket) => {
    const line = byPeer.get(peerOf(socket));
    if (line === undefined) return;
    line.socket = socket;
    lines.set(socket, line);
  });
  const giveWay = (waiting: Queue<Line>): boolean => {
    const oldest = waiting.first();
    if (oldest === null) return false;
    leave(oldest, waiting);
    byPeer.delete(oldest.peer);
    oldest.socket.destroy();
    limits.dropped();
    return true;
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const line = lines.get(request.socket);
    if (line === undefined) return;
    join(line, response, idle);
    if (++line.requests === limits.max_requests_per_connection) endLine(line, response);
  });
  const looking = setInterval(() => {
    for (const line of byPeer.values()) if (line.open.length > 0) look(line, limits.write_timeout_ms);
  }, LOOK_MS).unref();
  return {
    /** Runs a connection's calls in order, until it ends: a cancel in one packet with its create would find nothing. */
    inTurn(response: ServerResponse, run: () => void): void {
      const line = lines.get(response.req.socket);
      const one = line === undefined ? undefined : openOf(line, response);
      if (one === undefined) return;
      if (line?.open[0] === one) run();
      else one.run = run;
    },
    /** The call is served from here on: its connection is not idle. */
    begin(response: ServerResponse): void {
      const line = lines.get(response.req.socket);
      if (line !== undefined && openOf(line, response) !== undefined) leave(line, idle);
    },
    /** The answer to send when the next bytes are no request: of the last complete request, else one begun, else null. */
    owed: (socket: Socket): ServerResponse | null => owedBy(lines.get(socket)?.open ?? []),
    /** False for a connection that was refused, or has not shaken hands: nothing can be sent on it. */
    isOpen: (socket: Socket): boolean => lines.has(socket),
    /** Ends the connection after this answer. */
    endWith(response: ServerResponse): void {
      const line = lines.get(response.req.socket);
      if (line !== undefined) endLine(line, response);
    },
    /** True for a request behind the last answer of its connection; it is not served. */
    isBehindTheEnd(response: ServerResponse): boolean {
      const last = lines.get(response.req.socket)?.last ?? null;
      return last !== null && last !== response;
    },
    /** Stops checking readers; connections stay open. */
    stop: (): void => clearInterval(looking),
  };
}

/** True when later bytes of its connection can't change its answer. */
function isSettled({ req, writableEnded }: ServerResponse): boolean {
  return req.complete || writableEnded;
}

function lineOf(peer: string, socket: Socket): Line {
  return { peer, socket, open: [], place: null, requests: 0, last: null, waited_ms: 0, taken: 0 };
}

function owedBy(open: readonly Open[]): ServerResponse | null {
  const broken = open.findIndex(({ response }) => !isSettled(response));
  const last = open[(broken === -1 ? open.length : broken) - 1];
  return last?.response ?? (open[0]?.response.headersSent === true ? open[0].response : null);
}

function openOf(line: Line, response: ServerResponse): Open | undefined {
  return line.open.find((one) => one.response === response);
}

function join(line: Line, response: ServerResponse, idle: Queue<Line>): void {
  if (line.open.length === 0) waitAnew(line);
  const one: Open = { response, run: null };
  line.open.push(one);
  response.once('close', () => {
    line.open.splice(line.open.indexOf(one), 1);
    if (line.place === null && !line.socket.destroyed) line.place = idle.join(line);
    runNext(line);
  });
}

function runNext(line: Line): void {
  const [next] = line.open;
  const run = next?.run ?? null;
  if (next === undefined || run === null || isAnswerImpossible(line, next.response)) return;
  next.run = null; // the end of a later call, which was refused, does not run it again
  run();
}

/** True when no answer can be sent any more, or the last answer of the connection has left. */
function isAnswerImpossible({ socket, last, open }: Line, response: ServerResponse): boolean {
  const is_behind = last !== null && open.every((one) => one.response !== last);
  return response.closed || socket.destroyed || socket.writableEnded || is_behind;
}

function leave(line: Line, idle: Queue<Line>): void {
  if (line.place !== null) idle.leave(line.place);
  line.place = null;
}

/** Ends the connection after this answer, whatever its headers say. */
function endLine(line: Line, response: ServerResponse): void {
  if (line.last === response) return; // bad bytes can arrive in many pieces
  line.last = response;
  response.shouldKeepAlive = false;
  response.once('finish', () => line.socket.destroySoon());
}

/** Ends a connection whose client reads too slowly (`test/faults/README.md` F96). */
function look(line: Line, write_timeout_ms: number): void {
  line.waited_ms += LOOK_MS;
  const wanted = (SLOWEST_READER_BYTES_PER_S * write_timeout_ms) / 1000;
  if (line.socket.writableLength === 0 || takenOf(line.socket) - line.taken >= wanted) waitAnew(line);
  else if (line.waited_ms > write_timeout_ms) line.socket.destroy();
}

function waitAnew(line: Line): void {
  line.waited_ms = 0;
  line.taken = takenOf(line.socket);
}

/** Bytes that left Puente's buffers. */
function takenOf(socket: Socket): number {
  return socket.bytesWritten - socket.writableLength;
}

function peerOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}
