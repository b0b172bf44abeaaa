/** One kept-alive HTTP/1.1 connection of the load generator: a raw socket; a client library would be the bottleneck. */
import { connect, type Socket } from 'node:net';
import type { BenchRequest } from '../cases/requests.ts';

export interface WireAnswer {
  status: number;
  /** Null for a body longer than `KEPT_BYTES`. */
  body: Buffer | null;
  length: number;
}

export interface Connection {
  /** Sends one request; the next may follow after the answer. */
  send(request: BenchRequest): void;
  close(): void;
}

/** Longer bodies are counted and not kept. */
const KEPT_BYTES = 65_536;

interface Reading {
  status: number;
  length: number;
  missing: number;
  is_last: boolean;
  chunks: Buffer[];
}

/**
 * Reconnects to a server that closes after some requests, as Puente does, or between two, when no request came for long.
 * @param onAnswer called with each whole answer.
 * @param onEnd called when the connection breaks or an answer is malformed.
 */
export async function openConnection(
  url: URL,
  onAnswer: (answer: WireAnswer) => void,
  onEnd: (error: Error) => void,
): Promise<Connection> {
  let socket: Socket | null = null;
  let head: Buffer = Buffer.alloc(0);
  let reading: Reading | null = null;
  let is_waiting = false;
  let closed = false;

  const end = (error: Error): void => {
    if (!closed) onEnd(error);
    closed = true;
    socket?.destroy();
  };
  const received = (chunk: Buffer): void => {
    if (reading === null) {
      head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
      const begun = readHead(head);
      if (begun === 'unreadable') end(new Error('an answer has no content-length'));
      if (begun === 'unreadable' || begun === null) return;
      reading = begun;
      head = Buffer.alloc(0);
    } else {
      reading.missing -= chunk.length;
      if (reading.length <= KEPT_BYTES) reading.chunks.push(chunk);
    }
    if (reading.missing > 0) return;
    const { status, length, chunks, is_last } = reading;
    reading = null;
    is_waiting = false;
    if (is_last) letGo();
    onAnswer({ status, length, body: length <= KEPT_BYTES ? joined(chunks) : null });
  };
  const letGo = (): void => {
    socket?.removeAllListeners();
    socket?.on('error', () => undefined);
    socket?.destroy();
    socket = null;
  };
  const open = (): Socket => {
    const opened = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
    opened.on('data', received);
    opened.on('error', end);
    opened.on('close', () => (is_waiting ? end(new Error('the connection was closed')) : letGo()));
    socket = opened;
    return opened;
  };
  const first = open();
  await new Promise<void>((resolve, reject) => {
    first.once('connect', resolve);
    first.once('error', reject);
  });
  return {
    send(request) {
      is_waiting = true;
      (socket ?? open()).write(writeRequest(url.host, request), 'latin1');
    },
    close() {
      closed = true;
      socket?.destroy();
    },
  };
}

function joined(chunks: readonly Buffer[]): Buffer {
  const [only] = chunks;
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
}

/** Bodies of cases are ASCII, so characters are bytes. */
function writeRequest(host: string, { method, path, headers, body }: BenchRequest): string {
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`;
  if (method !== 'GET') head += `content-length: ${body.length}\r\n`;
  for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
  return `${head}\r\n${body}`;
}

/** The answer so far once its head is complete, else null. Every server of the benchmark sends a content-length. */
function readHead(bytes: Buffer): Reading | 'unreadable' | null {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return null;
  const head = bytes.toString('latin1', 0, headEnd);
  const status = Number(head.slice(9, 12));
  const found = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (found === undefined && status !== 204) return 'unreadable';
  const length = Number(found ?? 0);
  const body = bytes.subarray(headEnd + 4);
  const is_last = /\r\nconnection: *close/i.test(head);
  return { status, length, missing: length - body.length, is_last, chunks: [body] };
}
