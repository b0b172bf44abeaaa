/** HTTP written by hand: requests that no client library sends, and answers as raw bytes. */
import { connect, createServer, type Socket } from 'node:net';
import { listen } from '../../listen.ts';

export interface RawAnswer {
  status: number;
  text: string;
  closed: boolean;
}

/** Sends bytes and reads until one answer is complete, or the connection ends. */
export function sendRaw(url: string, bytes: string | Buffer): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let text = '';
    const finish = (closed: boolean): void => {
      socket.destroy();
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
      resolve({ status, text, closed });
    };
    socket.on('connect', () => socket.write(bytes));
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (isWhole(text) && !/connection: close/i.test(text)) finish(false);
    });
    socket.on('close', () => finish(true));
    socket.on('error', (error) => (text === '' ? reject(error) : undefined));
  });
}

/** A request as bytes; content-length is added unless a header frames the body. */
export function rawRequest(line: string, headers: string[], body: string | Buffer = ''): Buffer {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
  const framed = headers.some((header) => /^(content-length|transfer-encoding):/i.test(header));
  const length = framed || bytes.length === 0 ? [] : [`content-length: ${bytes.length}`];
  const head = [`${line} HTTP/1.1`, 'host: till.example', ...headers, ...length].join('\r\n');
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), bytes]);
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1 || /^HTTP\/1\.1 100/.test(text)) return false;
  if (/^HTTP\/1\.1 [23]04/.test(text)) return true; // they have no body
  if (/\r\ntransfer-encoding: chunked/i.test(text.slice(0, end + 2))) return text.endsWith('\r\n0\r\n\r\n');
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, end + 2))?.[1];
  return length !== undefined && Buffer.byteLength(text.slice(end + 4), 'latin1') >= Number(length);
}

export interface RawUpstream {
  url: string;
  requests: string[];
  close(): Promise<void>;
}

/**
 * @param answer is called for each complete request, and for each head whose client withholds the body.
 * @param is_hasty calls it as soon as a head is complete.
 */
export async function startRawUpstream(
  answer: (request: string, socket: Socket) => void,
  is_hasty = false,
): Promise<RawUpstream> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let text = '';
    let is_asked = false;
    socket.on('error', () => undefined); // a reset ends it, too
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const is_held = /\r\nexpect: .*\r\n\r\n$/is.test(text);
      const is_early = is_held || (is_hasty && text.includes('\r\n\r\n'));
      if (is_early && !is_asked) answer(text, socket);
      is_asked = is_early;
      if (is_held || !isWholeRequest(text)) return;
      const request = text;
      text = '';
      is_asked = false;
      requests.push(request);
      if (!is_early) answer(request, socket);
    });
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function isWholeRequest(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const head = text.slice(0, end + 2);
  if (/\r\ntransfer-encoding: chunked\r\n/i.test(head)) return /\r\n0\r\n(.+\r\n)*\r\n$/.test(text);
  return text.length >= end + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
}
