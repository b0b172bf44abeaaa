/** A real HAProxy with deploy/'s configuration before two Puentes: one stops, and no call is lost. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, call, OPS_TOKEN, POINT, startBench, tokenOf } from '../kit.ts';
import { freePorts } from '../listen.ts';
import { HOUSE } from '../run-cli.ts';
import { missing } from './kit.ts';

const why = missing('haproxy');
/** Only ends a test that hangs: the balancer checks each Puente once a second. */
const NOTICED_MS = 30_000;
/** Time for three checks by the balancer, on a busy machine too. */
const FAREWELL_MS = '12000';

describe('deploy/haproxy/haproxy.cfg', { timeout: 2 * NOTICED_MS }, () => {
  let first: Bench;
  let second: Bench;
  let balancer: ChildProcess;
  let public_url: string;
  let ops_url: string;

  beforeAll(async () => {
    if (why !== null) return;
    const [door = '', ops = '', balanced = '', balanced_ops = ''] = await freePorts(4);
    const common = { PUENTE_PUBLIC_PORT: door, PUENTE_OPS_PORT: ops, PUENTE_SHUTDOWN_FAREWELL_MS: FAREWELL_MS };
    first = await startBench({ ...common, PUENTE_OPS_HOSTS: 'puente-1' });
    second = await startBench({ ...common, PUENTE_PUBLIC_HOST: '127.0.0.2', PUENTE_OPS_HOST: '127.0.0.2' });
    balancer = spawn('haproxy', ['-db', '-f', join(HOUSE, 'deploy', 'haproxy', 'haproxy.cfg')], {
      env: {
        PATH: process.env.PATH,
        PUENTE_1: '127.0.0.1',
        PUENTE_2: '127.0.0.2',
        PUENTE_PUBLIC: door,
        PUENTE_OPS: ops,
        BALANCER_PUBLIC: balanced,
        BALANCER_OPS: balanced_ops,
      },
      stdio: 'ignore',
    });
    public_url = `http://127.0.0.1:${balanced}`;
    ops_url = `http://127.0.0.1:${balanced_ops}`;
  });
  afterAll(async () => {
    if (why !== null) return;
    await second.close();
    balancer.kill('SIGTERM');
    await once(balancer, 'exit');
  });

  it('proxies tills and operators, and leaves out a Puente that stops', async ({ skip }) => {
    skip(why !== null, why ?? '');
    await expect.poll(() => statusOf(`${ops_url}/readyz`), { timeout: NOTICED_MS }).toBe(200);
    const devices = () => call(`${public_url}${POINT}/devices`, { token: tokenOf('700100200') });
    expect((await devices()).status).toBe(200);
    expect((await call(`${ops_url}/api/merchants`, { token: OPS_TOKEN })).status).toBe(200);
    const statuses = new Set<number>();
    let is_stopping = true;
    const stopped = first.close().then(() => {
      is_stopping = false;
    });
    while (is_stopping) statuses.add((await devices()).status);
    await stopped;
    for (let count = 0; count < 10; count++) statuses.add((await devices()).status);
    expect([...statuses]).toEqual([200]);
    expect((await call(`${ops_url}/api/merchants`, { token: OPS_TOKEN })).status).toBe(200);
  });
});

function statusOf(url: string): Promise<number> {
  return call(url).then(
    ({ status }) => status,
    () => 0, // not listening yet
  );
}
