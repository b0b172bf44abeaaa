/** Reads complete HTTP/1.1 requests from a socket: with a content length, chunked, or without a body. */
import type { Socket } from 'node:net';

export interface WholeRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer;
}

/** Calls `then` for each complete request on the connection. */
export function readRequests(socket: Socket, then: (request: WholeRequest) => void): void {
  let unread = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    unread = Buffer.concat([unread, chunk]);
    for (;;) {
      const whole = readOne(unread);
      if (whole === null) return;
      unread = unread.subarray(whole.length);
      then(whole.request);
    }
  });
}

function readOne(bytes: Buffer): { request: WholeRequest; length: number } | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [line = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const [method = '', path = ''] = line.split(' ');
  const headers = Object.fromEntries(
    lines.map((text) => [text.slice(0, text.indexOf(':')).toLowerCase(), text.slice(text.indexOf(':') + 1).trim()]),
  );
  const rest = bytes.subarray(end + 4);
  const content = headers['transfer-encoding'] === 'chunked' ? readChunks(rest) : readLength(rest, headers);
  if (content === null) return null;
  return { request: { method, path, headers, body: content.body }, length: end + 4 + content.length };
}

function readLength(rest: Buffer, headers: Record<string, string>): { body: Buffer; length: number } | null {
  const length = Number(headers['content-length'] ?? 0);
  return rest.length < length ? null : { body: Buffer.from(rest.subarray(0, length)), length };
}

function readChunks(rest: Buffer): { body: Buffer; length: number } | null {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const line_end = rest.indexOf('\r\n', at);
    if (line_end < 0) return null;
    const size = Number.parseInt(rest.toString('latin1', at, line_end), 16);
    const next = line_end + 2 + size + 2;
    if (rest.length < next) return null;
    if (size === 0) return { body: Buffer.concat(chunks), length: next };
    chunks.push(Buffer.from(rest.subarray(line_end + 2, line_end + 2 + size)));
    at = next;
  }
}
