/** Misbehavior of a server after a complete request, one `Act` of the fault server each. */
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { Act } from './fault-server.ts';

type Headers = Record<string, string>;

/** A complete, correct answer; the connection stays open. */
export function answer(status: number, body: string | Buffer = '', headers: Headers = {}): Act {
  const bytes = Buffer.from(body);
  return raw(Buffer.concat([head(status, { 'content-length': String(bytes.length), ...headers }), bytes]));
}

export function json(status: number, body: unknown, headers: Headers = {}): Act {
  return answer(status, JSON.stringify(body), { 'content-type': 'application/json', ...headers });
}

/** Writes these bytes; the connection stays open. */
export function raw(bytes: string | Buffer): Act {
  return (socket) => void socket.write(bytes);
}

/** Writes these bytes, then closes in order (FIN). */
export function rawThenClose(bytes: string | Buffer): Act {
  return (socket) => void socket.end(bytes);
}

/** Resets the connection (RST) after the request was read. */
export const reset: Act = (socket) => void socket.resetAndDestroy();

/** Closes in order (FIN) without a byte after the request was read. */
export const close: Act = (socket) => void socket.end();

export const silence: Act = () => undefined;

/** The first `bytes` that `whole` would write, then an orderly close or a reset. */
export function cutAt(bytes: number, whole: Act, end: 'close' | 'reset' = 'close'): Act {
  return (socket, heard) => {
    const kept = Buffer.concat(writtenBy(whole, heard)).subarray(0, bytes);
    socket.write(kept, () => (end === 'reset' ? socket.resetAndDestroy() : socket.end()));
  };
}

/** The bytes that `whole` would write, in pieces of `bytes` every `every_ms`. */
export function drip(whole: Act, bytes = 1, every_ms = 100): Act {
  return (socket, heard) => {
    const all = Buffer.concat(writtenBy(whole, heard));
    let at = 0;
    repeat(socket, every_ms, () => {
      if (at < all.length) socket.write(all.subarray(at, at + bytes));
      at += bytes;
    });
  };
}

export function late(whole: Act, wait_ms: number): Act {
  return (socket, heard) => {
    const timer = setTimeout(() => whole(socket, heard), wait_ms);
    socket.on('close', () => clearTimeout(timer));
  };
}

/** `whole`, then a close, although the answer announces keep-alive. */
export function thenClose(whole: Act): Act {
  return (socket, heard) => void socket.end(Buffer.concat(writtenBy(whole, heard)));
}

/** `whole` takes effect, but its answer is lost: `then` acts on the socket instead. */
export function unheard(whole: Act, then: Act): Act {
  return (socket, heard) => {
    writtenBy(whole, heard);
    then(socket, heard);
  };
}

/** A body whose content length is `by` bytes too large (too small when negative). */
export function wrongLength(status: number, body: string, by: number): Act {
  const length = String(Buffer.byteLength(body) + by);
  return rawThenClose(
    Buffer.concat([head(status, { 'content-type': 'application/json', 'content-length': length }), Buffer.from(body)]),
  );
}

/** Content length and chunked together, as in response splitting. */
export function lengthAndChunked(status: number, body: string): Act {
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'transfer-encoding': 'chunked',
  };
  return raw(Buffer.concat([head(status, headers), chunk(Buffer.from(body)), Buffer.from('0\r\n\r\n')]));
}

/** A chunked body: `start`, then spaces without end, as fast as the client reads. */
export function endlessChunked(status = 201, start = ' '): Act {
  const piece = chunk(Buffer.alloc(64 * 1024, 0x20));
  return (socket) => {
    socket.write(head(status, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }));
    socket.write(chunk(Buffer.from(start)));
    pour(socket, piece);
  };
}

/** A body announced with `bytes`: `start`, then spaces, as fast as the client reads. */
export function hugeBody(bytes: number, status = 201, start = ''): Act {
  return (socket) => {
    socket.write(head(status, { 'content-type': 'application/json', 'content-length': String(bytes) }));
    socket.write(start);
    pour(socket, Buffer.alloc(64 * 1024, 0x20));
  };
}

/** `start` and `bytes` of spaces, compressed to a thousandth. */
export function gzipBomb(bytes: number, status = 201, start = ''): Act {
  const squeezed = gzipSync(Buffer.concat([Buffer.from(start), Buffer.alloc(bytes, 0x20)]));
  return answer(status, squeezed, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
}

export function manyHeaders(count: number, status = 201, body = '{}'): Act {
  const length = Buffer.byteLength(body);
  return raw(`HTTP/1.1 ${status} Status\r\n${'x-many: 1\r\n'.repeat(count)}content-length: ${length}\r\n\r\n${body}`);
}

export function longHeader(bytes: number, status = 201, body = '{}'): Act {
  return answer(status, body, { 'x-long': 'a'.repeat(bytes) });
}

export function informationalFlood(status = 103): Act {
  return (socket) => {
    repeat(socket, 5, () => void socket.write(`HTTP/1.1 ${status} Wait\r\nlink: </x>\r\n\r\n`.repeat(20)));
  };
}

/** Header lines without end, one at a time. */
export function endlessHeaders(every_ms = 5): Act {
  return (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    repeat(socket, every_ms, () => void socket.write('x-more: 1\r\n'));
  };
}

export function redirect(status: number, to: string): Act {
  return answer(status, '', { location: to });
}

function head(status: number, headers: Headers): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`HTTP/1.1 ${status} Status\r\n${lines.join('')}\r\n`, 'latin1');
}

function chunk(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

/** Writes as fast as the other side reads, and buffers no more than the socket does. */
function pour(socket: Socket, piece: Buffer): void {
  const more = (): void => {
    while (!socket.destroyed && socket.writable && socket.write(piece));
  };
  socket.on('drain', more);
  more();
}

function repeat(socket: Socket, every_ms: number, act: () => void): void {
  const timer = setInterval(() => (socket.writable ? act() : undefined), every_ms);
  socket.on('close', () => clearInterval(timer));
}

/** The bytes of an act that writes synchronously, captured without a socket. */
function writtenBy(whole: Act, heard: Parameters<Act>[1]): Buffer[] {
  const pieces: Buffer[] = [];
  const keep = (bytes: string | Buffer): boolean => pieces.push(Buffer.from(bytes)) > 0;
  whole({ write: keep, end: keep } as unknown as Socket, heard); // these acts use nothing else
  return pieces;
}
