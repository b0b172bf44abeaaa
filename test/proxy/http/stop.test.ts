/** Stopping: calls in flight end, no new work begins, and the next start resumes (`test/faults/README.md` F53). */
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import express from 'express';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listen } from '../../../src/proxy/http/server.ts';
import { createLog } from '../../../src/proxy/telemetry/telemetry.ts';
import { startSandbox } from '../../../src/sandbox/server.ts';
import { ARGENTINA, call, DEVICE, eventually, POINT, tokenOf } from '../../kit.ts';
import { openForEach } from '../../open.ts';
import { DOOR } from './door.ts';
import { idOf, rowsOf } from './till.ts';
import { startOutside } from './unruly.ts';

const PATH = `${POINT}/devices/${DEVICE}/payment-intents`;
let data_dir: string;
const sandbox = openForEach(() => startSandbox({ port: 0, host: '127.0.0.1' }));
beforeEach(async () => {
  data_dir = mkdtempSync(join(tmpdir(), 'puente-test-'));
});
afterEach(async () => {
  rmSync(data_dir, { recursive: true, force: true });
});

function fault(rule: object) {
  return call(`${sandbox.url}/_sandbox/faults`, { body: { method: 'POST', path: '/v1/orders', ...rule } });
}

it('another key than the data was sealed with is refused at the start, and the right one still opens it', async () => {
  const settings = { PUENTE_DATA_DIR: data_dir };
  await (await startOutside(sandbox.url, settings)).close();
  const wrong = { ...settings, PUENTE_SECRET_KEY: 'another key that is long enough as well' };
  await expect(startOutside(sandbox.url, wrong)).rejects.toThrow('PUENTE_SECRET_KEY is not the key');
  await (await startOutside(sandbox.url, settings)).close();
});

describe('with a create under way', () => {
  it('that never ends, the grace ends it, and the next start finishes it: one order', async () => {
    const settings = {
      PUENTE_DATA_DIR: data_dir,
      PUENTE_SHUTDOWN_GRACE_MS: '100',
      PUENTE_CREATE_DEADLINE_MS: '900',
      PUENTE_CREATE_ATTEMPT_TIMEOUT_MS: '800',
    };
    const first = await startOutside(sandbox.url, settings);
    await fault({ kind: 'no_answer', when: 'after' });
    const creating = first.till(PATH, { body: { amount: 1500 } }).catch((error: unknown) => error);
    await eventually(
      async () => sandbox.world.orders.size,
      (orders) => orders === 1,
    );
    await first.close();
    expect(await creating, 'the till is cut off, not told a success').not.toMatchObject({ status: 200 });
    const second = await startOutside(sandbox.url, settings);
    const row = await eventually(
      async () => rowsOf(data_dir, DEVICE)[0],
      (found) => found?.state === 'LIVE',
    );
    expect([...sandbox.world.orders.keys()]).toEqual([row?.order_id]);
    const retry = await second.till(PATH, { body: { amount: 1500 } });
    expect(idOf(retry)).toBe(row?.legacy_id);
    expect(sandbox.world.orders.size).toBe(1);
    await second.close();
  });
});

describe('behind a balancer that has yet to notice', () => {
  it('calls are still taken, on new connections too when none was left, and their answers end their connections', async () => {
    const puente = await startOutside(sandbox.url, { PUENTE_DATA_DIR: data_dir, PUENTE_SHUTDOWN_FAREWELL_MS: '3000' });
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    const read = (agent: Agent) => answerOf(puente.app.public_url, agent);
    const before = await read(kept);
    expect(before).toEqual({ status: 200, connection: 'keep-alive' });
    const began_ms = performance.now();
    const closing = puente.close();
    expect((await call(`${puente.app.ops_url}/readyz`)).status).toBe(503);
    expect(await read(kept), 'on the connection of before').toEqual({ status: 200, connection: 'close' });
    await pause(500); // a load balancer that has not noticed may still open a connection
    expect(await read(new Agent()), 'on a new connection').toEqual({ status: 200, connection: 'close' });
    await closing;
    expect(performance.now() - began_ms, 'with nobody connected').toBeGreaterThan(2_900);
    await expect(read(new Agent())).rejects.toThrow('ECONNREFUSED');
  });

  it('a connection that stays idle is closed when the time is over', async () => {
    const puente = await startOutside(sandbox.url, { PUENTE_DATA_DIR: data_dir, PUENTE_SHUTDOWN_FAREWELL_MS: '200' });
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    await answerOf(puente.app.public_url, kept);
    await puente.close();
    await expect(answerOf(puente.app.public_url, kept)).rejects.toThrow();
  });
});

describe('the farewell of a door', () => {
  it('that few know ends when none of them is connected, and waits for one that is', async () => {
    const door = await listen(
      express().use((_request, response) => void response.end('ok')),
      DOOR,
    );
    const answers = `http://127.0.0.1:${door.port}/`;
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    await answerOf(answers, kept);
    const waiting = door.farewell(0, 30_000).then(() => 'over');
    expect(await Promise.race([waiting, pause(300).then(() => 'waits')])).toBe('waits');
    expect((await answerOf(answers, kept)).connection).toBe('close');
    expect(await waiting).toBe('over');
    await door.close(1_000);
  });
});

/** A list of devices, with the answer's Connection header. */
function answerOf(url: string, agent: Agent): Promise<{ status: number | undefined; connection: string | undefined }> {
  return new Promise((resolve, reject) => {
    const path = `${url}${POINT}/devices`;
    const headers = { authorization: `Bearer ${tokenOf(ARGENTINA)}` };
    const asking = get(path, { agent, headers }, (response) => {
      response.resume();
      response.once('end', () => resolve({ status: response.statusCode, connection: response.headers.connection }));
    });
    asking.once('error', reject);
  });
}

describe('with nothing under way', () => {
  it('it is quick, twice does no harm, and the file opens again', async () => {
    for (let start = 0; start < 3; start++) {
      const puente = await startOutside(sandbox.url, { PUENTE_DATA_DIR: data_dir });
      expect((await puente.ops(`/api/merchants/${ARGENTINA}`)).status).toBe(200);
      await puente.close();
    }
  });
});

describe('with a sealed value that was damaged', () => {
  it('what was sealed can not be opened: the work is put off and said, not repeated in a circle', async () => {
    const lines: string[] = [];
    const log = createLog('error', { write: (line) => lines.push(line) });
    const quick = { PUENTE_DATA_DIR: data_dir, PUENTE_RECONCILE_POINT_INTERVAL_MS: '200' };
    const first = await startOutside(sandbox.url, quick);
    idOf(await first.till(PATH, { body: { amount: 1500 } }));
    await first.close();
    const file = new Database(join(data_dir, 'puente.db'));
    file.exec('UPDATE tokens SET sealed_token = zeroblob(64)');
    file.close();
    const second = await startOutside(sandbox.url, quick, { log });
    await call(`${second.app.public_url}/webhooks/orders`, {
      body: { type: 'order', data: { id: rowsOf(data_dir, DEVICE)[0]?.order_id } },
    });
    await eventually(
      async () => lines.filter((line) => line.includes('failed')).length,
      (count) => count >= 2,
    );
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(lines.filter((line) => line.includes('completer failed'))).toHaveLength(1);
    expect(lines.filter((line) => line.includes('inbox failed'))).toHaveLength(1);
    await second.close();
  });
});
