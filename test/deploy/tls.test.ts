/** A real HAProxy with deploy/haproxy/tls.cfg in front of Puente: tills and operators call it by TLS. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LONG_TIMEOUT_MS } from '../../src/ops/cli/ops-client.ts';
import { SILENCE_MS } from '../../src/proxy/http/passthrough.ts';
import { makeAuthority } from '../journeys/authority.ts';
import { VENDOR_HOST } from '../journeys/vendor-host.ts';
import { OPS_TOKEN, POINT, startBench, tokenOf } from '../kit.ts';
import { freePorts } from '../listen.ts';
import { HOUSE } from '../run-cli.ts';
import { missing, read } from './kit.ts';

const why = missing('haproxy');
const FILE = join(HOUSE, 'deploy', 'haproxy', 'tls.cfg');
/** Only ends a test that hangs. */
const PATIENCE_MS = 30_000;

describe('deploy/haproxy/tls.cfg', { timeout: 2 * PATIENCE_MS }, () => {
  it('holds by HAProxy’s own check, and proxies tills and operators', async ({ skip }) => {
    skip(why !== null, why ?? '');
    const directory = mkdtempSync(join(tmpdir(), 'puente-tls-'));
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

describe.each(['tls.cfg', 'haproxy.cfg'])('deploy/haproxy/%s', (name) => {
  it.each([
    ['public', SILENCE_MS],
    ['ops', LONG_TIMEOUT_MS],
  ])('waits longer at the %s door than Puente does', (door, puente_ms) => {
    const sections = read(`deploy/haproxy/${name}`).split(/^(?=[a-z])/m);
    const wait = (head: string, side: string): number => {
      const inSection = (start: string): string | undefined =>
        RegExp(`^ +timeout ${side} +(\\d+)s$`, 'm').exec(
          sections.find((one) => one.startsWith(`${start}\n`)) ?? '',
        )?.[1];
      return Number(inSection(head) ?? inSection('defaults')) * 1_000;
    };
    expect(wait(`frontend ${door}`, 'client')).toBeGreaterThan(puente_ms);
    expect(wait(`backend ${door}`, 'server')).toBeGreaterThan(puente_ms);
  });
});
