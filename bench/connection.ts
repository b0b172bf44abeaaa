/** One kept-alive HTTP/1.1 connection of the load generator: a raw socket, because a client library would be the bottleneck. */
import { connect } from 'node:net';
import type { BenchRequest } from './cases.ts';

export interface WireAnswer {
  status: number;
  body: Buffer;
}

export interface Connection {
  /** Sends one request; the next may be sent when the answer has come. */
  send(request: BenchRequest): void;
  close(): void;
}

/**
 * @param onAnswer called with each whole answer.
 * @param onEnd called when the connection breaks, or an answer can't be understood.
 */
export function openConnection(
  url: URL,
  onAnswer: (answer: WireAnswer) => void,
  onEnd: (error: Error) => void,
): Promise<Connection> {
  const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
  let received: Buffer = Buffer.alloc(0);
  let closing = false;
  const end = (error: Error): void => {
    if (!closing) onEnd(error);
    socket.destroy();
  };
  socket.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const answer = readAnswer(received);
    if (answer === 'unreadable') return end(new Error('an answer has no content-length'));
    if (answer === null) return;
    received = Buffer.alloc(0);
    onAnswer(answer);
  });
  socket.on('close', () => end(new Error('the connection was closed')));
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      socket.on('error', end);
      resolve({
        send: (request) => void socket.write(writeRequest(url.host, request), 'latin1'),
        close() {
          closing = true;
          socket.destroy();
        },
      });
    });
  });
}

/** Bodies of cases are ASCII, so characters are bytes. */
function writeRequest(host: string, { method, path, headers, body }: BenchRequest): string {
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-length: ${body.length}\r\n`;
  for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
  return `${head}\r\n${body}`;
}

/** The answer once all of it is there, else null. Every server of the benchmark sends a content-length. */
function readAnswer(bytes: Buffer): WireAnswer | 'unreadable' | null {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return null;
  const head = bytes.toString('latin1', 0, headEnd);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length === undefined) return 'unreadable';
  const start = headEnd + 4;
  const end = start + Number(length);
  if (bytes.length < end) return null;
  return { status: Number(head.slice(9, 12)), body: bytes.subarray(start, end) };
}
