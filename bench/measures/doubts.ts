/** Creates in doubt, made the honest way: an upstream that takes every order and never says so. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createIntent } from '../cases/requests.ts';
import type { Ground } from '../contestants/contestants.ts';
import { startPuente } from '../contestants/puente.ts';

/** Made together. */
const TOGETHER = 50;
/** Above every number of the other sales. */
const FIRST = 5_000_000_000;

/** Leaves so many creates in doubt in the database of the directory. */
export async function makeDoubts(ground: Omit<Ground, 'upstream'>, count: number): Promise<void> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      if (request.method === 'POST') return request.socket.destroy();
      response.end('{"id":700100200,"nickname":"BENCH","site_id":"MLA","country_id":"AR"}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server's address is never text
  const puente = await startPuente(
    { ...ground, upstream: `http://127.0.0.1:${port}` },
    {
      PUENTE_CREATE_ATTEMPTS: '1',
      PUENTE_CREATE_ATTEMPT_TIMEOUT_MS: '1000',
      PUENTE_UPSTREAM_POOL_BREAKER_FAILURES: '0',
      PUENTE_RECONCILE_CALLS_PER_SECOND: '10',
    },
  );
  for (let at = 0; at < count; at += TOGETHER) {
    await Promise.all(
      Array.from({ length: Math.min(TOGETHER, count - at) }, async (_, index) => {
        const { method, path, headers, body } = createIntent('N', FIRST + at + index);
        await (await fetch(puente.said + path, { method, headers, body })).arrayBuffer();
      }),
    );
  }
  await puente.stop();
  server.closeAllConnections();
  server.close();
}
