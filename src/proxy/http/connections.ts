/** The connections of a door: their cap, whose oldest idle one gives way, their last request, and clients that do not read what they asked for. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createEntries, createQueue, type Place, type Queue } from '../concurrency.ts';

export interface ConnectionLimits {
  max_connections: number;
  /** How long an answer waits for its reader to take a kilobyte for every second of it. */
  write_timeout_ms: number;
  max_requests_per_connection: number;
}

export interface Connections {
  /**
   * Runs a call once its turn has come: the calls of a connection go one after the other, because a cancel that was sent
   * behind its create in one packet would find nothing to cancel. Not at all when the connection has ended meanwhile.
   */
  inTurn(response: ServerResponse, run: () => void): void;
  /** The call is served from here on, so that its connection is no longer idle. */
  begin(response: ServerResponse): void;
  /**
   * The answer that a connection must not lose when its next bytes are no request: the last one before them to a request
   * that has come whole, or else one that has begun to leave. Null when nothing has been promised.
   */
  owed(socket: Socket): ServerResponse | null;
  /** False for one that was turned away, or has not shaken hands: nothing can be told on it. */
  isOpen(socket: Socket): boolean;
  /** The connection ends with this answer, and not before. */
  endWith(response: ServerResponse): void;
  /** What came stands behind the answer that its connection ends with, and is no call any more. */
  isBehindTheEnd(response: ServerResponse): boolean;
  /** Ends the looking at readers; connections stay. */
  stop(): void;
}

/** A reader slower than this has no use for the answer; a phone line had five times as much. */
const SLOWEST_READER_BYTES_PER_S = 1024;
/** How often readers are looked at. */
const LOOK_MS = 1_000;

/** A call that is under way, or waits for those before it. */
interface Open {
  response: ServerResponse;
  /** Null unless it waits for its turn. */
  run: (() => void) | null;
}

interface Line {
  peer: string;
  socket: Socket;
  /** In the order of their requests. An array, because a Set holds on to what passed through it (`proxy/concurrency.ts`). */
  open: Open[];
  /** Among the idle ones; null while it is not. */
  place: Place<Line> | null;
  requests: number;
  /** The answer that the connection ends with, as soon as that is known. */
  last: ServerResponse | null;
  /** How long what is written has been waiting for the reader since `taken`. */
  waited_ms: number;
  /** Bytes that the reader's side had taken by then. */
  taken: number;
}

/** @param dropped told of each connection that was closed for the others' sake. */
export function watchConnections(server: Server, limits: ConnectionLimits, dropped: () => void): Connections {
  const byPeer = createEntries<Line>();
  const lines = new WeakMap<Socket, Line>();
  /** In the order in which they fell idle; one whose request is still coming counts as idle, so that a slow one gives way. */
  const idle = createQueue<Line>();
  server.on('connection', (socket) => {
    if (byPeer.size >= limits.max_connections && !giveWay(idle)) {
      socket.destroy();
      return dropped();
    }
    const peer = peerOf(socket);
    const line = lineOf(peer, socket);
    byPeer.set(peer, line);
    lines.set(socket, line);
    line.place = idle.join(line);
    socket.once('close', () => {
      leave(line, idle);
      if (byPeer.get(peer) === line) byPeer.delete(peer);
      // Node forgets calls that wait behind others once a CONNECT has come: they would count as under way for ever.
      for (const { response } of [...line.open]) response.destroy();
    });
  });
  // With TLS, requests name the socket inside: the same line.
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
    dropped();
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
    inTurn(response, run) {
      const line = lines.get(response.req.socket);
      const one = line === undefined ? undefined : openOf(line, response);
      if (one === undefined) return;
      if (line?.open[0] === one) run();
      else one.run = run;
    },
    begin(response) {
      const line = lines.get(response.req.socket);
      if (line !== undefined && openOf(line, response) !== undefined) leave(line, idle);
    },
    owed: (socket) => owedBy(lines.get(socket)?.open ?? []),
    isOpen: (socket) => lines.has(socket),
    endWith(response) {
      const line = lines.get(response.req.socket);
      if (line !== undefined) endLine(line, response);
    },
    isBehindTheEnd(response) {
      const last = lines.get(response.req.socket)?.last ?? null;
      return last !== null && last !== response;
    },
    stop: () => clearInterval(looking),
  };
}

/** What follows on its connection can change nothing of its answer. */
export function isSettled({ req, writableEnded }: ServerResponse): boolean {
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
  if (next === undefined || run === null || isOver(line, next.response)) return;
  next.run = null; // the end of a later call, which was refused, does not run it again
  run();
}

/** Nobody can be answered any more, or the last answer of the connection has left. */
function isOver({ socket, last, open }: Line, response: ServerResponse): boolean {
  const is_behind = last !== null && open.every((one) => one.response !== last);
  return response.closed || socket.destroyed || socket.writableEnded || is_behind;
}

function leave(line: Line, idle: Queue<Line>): void {
  if (line.place !== null) idle.leave(line.place);
  line.place = null;
}

/** By ourselves, whatever the answer's own headers say. */
function endLine(line: Line, response: ServerResponse): void {
  if (line.last === response) return; // bad bytes can come in many pieces
  line.last = response;
  response.shouldKeepAlive = false;
  response.once('finish', () => line.socket.destroySoon());
}

/** Ends a connection whose reader takes too little in the time that it has (`test/faults/README.md` F96). */
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

/** Bytes that left our own buffers. */
function takenOf(socket: Socket): number {
  return socket.bytesWritten - socket.writableLength;
}

function peerOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}
