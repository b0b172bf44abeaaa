/** fast-proxy, a process of its own; installed by whoever wants to see it beside the others, because Puente has no use for it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const base = process.argv[2];
if (base === undefined) throw new Error('Give the base URL of the upstream as the argument.');

/** Named by a variable, because the compiler can't see a package that is not in package.json. */
const name: string = 'fast-proxy';
const { default: createProxy } = await import(name);
const { proxy } = createProxy({ base, undici: { connections: 256, pipelining: 1 } }) as {
  proxy(request: IncomingMessage, response: ServerResponse, path: string, options: object): void;
};
const server = createServer((request, response) => proxy(request, response, request.url ?? '/', {}));
server.keepAliveTimeout = 600_000; // longer than any pause between two measurements
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo; // a TCP server's address is never text
  process.stdout.write(`fast-proxy on http://127.0.0.1:${port}\n`);
});
process.on('SIGTERM', () => process.exit(0));
