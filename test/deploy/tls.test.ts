/** A real HAProxy with deploy/haproxy/tls.cfg in front of Puente: tills and operators call it by TLS. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePorts } from '../free-ports.ts';
import { makeAuthority } from '../journeys/authority.ts';
import { VENDOR_HOST } from '../journeys/vendor-host.ts';
import { OPS_TOKEN, POINT, startBench, tokenOf } from '../kit.ts';
import { HOUSE } from '../run-cli.ts';
import { missing } from './kit.ts';

const why = missing('haproxy');
const FILE = join(HOUSE, 'deploy', 'haproxy', 'tls.cfg');
/** Only ends a test that hangs. */
const PATIENCE_MS = 30_000;

describe('deploy/haproxy/tls.cfg', { timeout: 2 * PATIENCE_MS }, () => {
  it('holds by HAProxy’s own check, and carries tills and operators', async ({ skip }) => {
    skip(why !== null, why ?? '');
    const directory = mkdtempSync(join(tmpdir(), 'puente-tls-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const { certificate_file, key_file, ca_file } = await makeAuthority(directory);
    const pem = join(directory, 'puente.pem');
    writeFileSync(pem, readFileSync(certificate_file, 'utf8') + readFileSync(key_file, 'utf8'), { mode: 0o600 });
    const [door = '', ops = '', tls = '', tls_ops = ''] = await freePorts(4);
    const bench = await startBench({
      PUENTE_PUBLIC_PORT: door,
      PUENTE_OPS_PORT: ops,
      PUENTE_OPS_HOSTS: VENDOR_HOST,
    });
    onTestFinished(() => bench.close());
    const env = {
      PATH: process.env.PATH,
      TLS_CERTIFICATE: pem,
      TLS_PUBLIC: tls,
      TLS_OPS: tls_ops,
      PUENTE_PUBLIC: door,
      PUENTE_OPS: ops,
    };
    const checked = spawnSync('haproxy', ['-c', '-f', FILE], { env, encoding: 'utf8' });
    expect([checked.status, checked.stderr]).toEqual([0, '']);
    const haproxy: ChildProcess = spawn('haproxy', ['-db', '-f', FILE], { env, stdio: 'ignore' });
    onTestFinished(async () => {
      haproxy.kill('SIGTERM');
      if (haproxy.exitCode === null) await once(haproxy, 'exit');
    });
    const dispatcher = new Agent({ connect: { ca: readFileSync(ca_file, 'utf8'), servername: VENDOR_HOST } });
    onTestFinished(() => dispatcher.close());
    const statusOf = async (port: string, path: string, token: string, host: string): Promise<number> => {
      const headers = { authorization: `Bearer ${token}`, host };
      const { statusCode, body } = await request(`https://127.0.0.1:${port}${path}`, { dispatcher, headers });
      await body.dump();
      return statusCode;
    };
    const till = () => statusOf(tls, `${POINT}/devices`, tokenOf('700100200'), VENDOR_HOST).catch(() => 0);
    await expect.poll(till, { timeout: PATIENCE_MS }).toBe(200);
    expect(await statusOf(tls_ops, '/api/merchants', OPS_TOKEN, VENDOR_HOST)).toBe(200);
    expect(await statusOf(tls_ops, '/api/merchants', OPS_TOKEN, 'api.mercadolibre.com')).toBe(403);
  });
});
