/** The baseline, a process of its own: bare Express 5 with http-proxy-middleware 4, at its best settings. */
import { Agent } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';

/** The limit of Puente's legacy lane; without a keep-alive agent the library is four times slower (measured). */
const MAX_SOCKETS = 256;

const target = process.argv[2];
if (target === undefined) throw new Error('Give the base URL of the upstream as the argument.');

const app = express();
app.disable('x-powered-by');
app.disable('etag');
app.use(
  createProxyMiddleware({ target, changeOrigin: true, agent: new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS }) }),
);
const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo; // a TCP server's address is never text
  process.stdout.write(`bare proxy on http://127.0.0.1:${port}\n`);
});
server.keepAliveTimeout = 600_000; // longer than any pause between two measurements
process.on('SIGTERM', () => process.exit(0));
