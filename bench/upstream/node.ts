/** The benchmark's upstream without nginx: a process that answers from the routes and stores only request numbers. */
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { BODY, LARGE_BYTES, LARGE_PATH, type Route, routes } from './answers.ts';

/** Longer than any pause between two measurements. */
const KEEP_ALIVE_MS = 600_000;
const [directory = '.', born = '', born_later = ''] = process.argv.slice(2);
const compiled = routes.map((route) => ({ route, path: new RegExp(`^${route.path}$`), seen: [] as string[] }));
const readings = Object.values(BODY).map((pattern) => new RegExp(pattern));
const unknown: string[] = [];
const large = Buffer.alloc(LARGE_BYTES, 'x');

const server = createServer(
  { keepAliveTimeout: KEEP_ALIVE_MS, noDelay: true, requestTimeout: 0 },
  (request, response) => {
    const path = request.url?.split('?', 1)[0] ?? '';
    if (path === LARGE_PATH) return send(response, 200, large);
    for (const { route, path: pattern, seen } of compiled) {
      const found = pattern.exec(path);
      if (found !== null) return answer(request, response, { route, seen, said: found.groups ?? {} });
    }
    unknown.push(path);
    send(response, 404, Buffer.from('{"errors":[{"code":"order_not_found","message":"Nothing is kept here"}]}'));
  },
);
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo; // a TCP server's address is never text
  process.stdout.write(`upstream on http://127.0.0.1:${port}\n`);
});
process.on('SIGTERM', () => {
  for (const { route, seen } of compiled) {
    if (route.counted) writeFileSync(join(directory, `${route.name}.log`), seen.map((line) => `${line}\n`).join(''));
  }
  writeFileSync(join(directory, 'unknown.log'), unknown.map((line) => `${line}\n`).join(''));
  process.exit(0);
});

interface Found {
  route: Route;
  seen: string[];
  said: Record<string, string>;
}

function answer(request: IncomingMessage, response: ServerResponse, { route, seen, said }: Found): void {
  const chunks: Buffer[] = [];
  if (route.name === 'upload') request.resume();
  else request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = route.reads_body ? Buffer.concat(chunks).toString('latin1') : '';
    const read: Record<string, string> = { ...said, born, born_later };
    for (const pattern of readings) {
      for (const [name, value] of Object.entries(pattern.exec(body)?.groups ?? {})) read[`body_${name}`] = value;
    }
    if (route.counted)
      seen.push(`${read.body_number ?? read.path_number ?? ''} ${request.headers['x-idempotency-key'] ?? ''}`);
    const text = route.text.replace(/\$(\w+)/g, (_all, name: string) => read[name] ?? '');
    send(response, route.status ?? 200, Buffer.from(text));
  });
}

function send(response: ServerResponse, status: number, body: Buffer): void {
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
}
