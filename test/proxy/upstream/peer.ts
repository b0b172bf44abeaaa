/** A scriptable TCP server for tests: each accepted socket goes to the script; closing destroys all sockets. */
import { createServer, type Server, type Socket } from 'node:net';
import { listen } from '../../listen.ts';

export interface Peer {
  port: number;
  url: string;
  accepted: Socket[];
  close(): Promise<void>;
}

export async function startPeer(script: (socket: Socket, number: number) => void): Promise<Peer> {
  return listening(createServer(), script);
}

/** Runs the script on any server that emits sockets, a TLS server too. */
export async function listening(
  server: Server,
  script: (socket: Socket, number: number) => void,
  event = 'connection',
): Promise<Peer> {
  const accepted: Socket[] = [];
  const raw = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    raw.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => raw.delete(socket));
  });
  server.on(event, (socket: Socket) => {
    accepted.push(socket);
    socket.on('error', () => socket.destroy());
    script(socket, accepted.length);
  });
  const port = await listen(server);
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    accepted,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of raw) socket.destroy();
      }),
  };
}

/** Calls `then` for each complete request with its text; only requests with a content length or without a body. */
export function onRequest(socket: Socket, then: (text: string, number: number) => void): void {
  let text = '';
  let number = 0;
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    for (;;) {
      const end = text.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(text.slice(0, end))?.[1] ?? 0);
      if (text.length < end + 4 + length) return;
      const request = text.slice(0, end + 4 + length);
      text = text.slice(end + 4 + length);
      number++;
      then(request, number);
    }
  });
}

export function answer(status: number, body: string, headers: Record<string, string> = {}): string {
  const all = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Status\r\n${lines.join('')}\r\n${body}`;
}
