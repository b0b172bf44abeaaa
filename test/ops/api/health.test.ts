/** Probes on a port of their own: the same two answers as the ops door gives, and nothing else. */
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { call, OPS_TOKEN, startBench } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { puente } from '../../run-cli.ts';

describe('health.port', () => {
  const bench = openForAll(() => startBench({ PUENTE_HEALTH_PORT: '0' }));
  const at = (path: string, headers = {}) => call(`${bench.app.health_url}${path}`, { headers });

  it.each(['/healthz', '/readyz'])('answers %s as the ops door does, whatever host name is asked for', async (path) => {
    const { status, body } = await at(path, { host: '10.0.0.7.example' });
    expect([status, body]).toEqual([200, (await bench.ops(path)).body]);
  });

  it.each(['/metrics', '/api/merchants', '/', '/_sandbox/reset'])(
    'has nothing at %s, with a token too',
    async (path) => {
      const { status, text } = await at(path, { authorization: `Bearer ${OPS_TOKEN}` });
      expect([status, text]).toEqual([404, '{"error":"not_found"}']);
    },
  );

  it('is a port that nothing else may listen on', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo; // a listening TCP server has one
    const data_dir = mkdtempSync(join(tmpdir(), 'puente-health-'));
    const ports = { PUENTE_PUBLIC_PORT: '0', PUENTE_OPS_PORT: '0', PUENTE_SANDBOX_PORT: '0' };
    const env = { PUENTE_DATA_DIR: data_dir, ...ports, PUENTE_HEALTH_PORT: String(port) };
    const { code, err } = await puente(['serve'], { env });
    other.close();
    expect([code, err]).toEqual([1, expect.stringMatching(/^Puente did not start: health\.port/)]);
  });
});

describe('without it', () => {
  const bench = openForAll(() => startBench());

  it('no further door is open', () => {
    expect(bench.app.health_url).toBeNull();
  });
});

it('a stopping Puente answers 503 there while calls may still come', async () => {
  const bench = await startBench({ PUENTE_HEALTH_PORT: '0', PUENTE_SHUTDOWN_FAREWELL_MS: '2000' });
  const url = `${bench.app.health_url}/readyz`;
  expect((await call(url)).status).toBe(200);
  const closed = bench.close();
  await expect.poll(() => call(url).then(({ status }) => status)).toBe(503);
  await closed;
  await expect(call(url)).rejects.toThrow();
});
