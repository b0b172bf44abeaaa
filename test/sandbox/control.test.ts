/** Refused starts, and settings and clock of the control door; other tests of it are in `conformance/control.yaml`. */
import { createServer } from 'node:http';
import { beforeEach, describe, expect, test } from 'vitest';
import { listAssumptions } from '../../src/sandbox/assumptions.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import { listen, shut } from '../listen.ts';
import { openForAll } from '../open.ts';
import { openKit } from './kit.ts';

const kit = openForAll(() => openKit());
beforeEach(() => kit.control('POST', 'reset'));

describe('start', () => {
  test('a bad setting is named and nothing listens', async () => {
    const start = (settings: object) => startSandbox({ port: 0, host: '127.0.0.1', settings });
    await expect(start({ replay: 'sometimes' })).rejects.toThrow('Sandbox setting replay');
    await expect(start({ speed: 3 })).rejects.toThrow('Sandbox setting speed');
  });

  test('a taken port is named with its setting', async () => {
    const taken = createServer();
    const port = await listen(taken);
    await expect(startSandbox({ port, host: '127.0.0.1' })).rejects.toMatchObject({
      code: 'bad_setting',
      message: `sandbox.port: 127.0.0.1:${port} is in use; choose another port, or 0 for a free one`,
    });
    await shut(taken);
  });
});

describe('settings and clock', () => {
  test('every setting has a sentence; the secret is not listed', async () => {
    const { settings, assumptions } = (await kit.control('GET', 'settings')).body;
    expect(assumptions).toEqual(listAssumptions(kit.sandbox.world.settings));
    const { webhook_secret, ...told } = kit.sandbox.world.settings;
    expect(settings).toEqual(told);
    expect((await kit.control('GET', 'settings')).body.profile).toBe('specification');
    expect(JSON.stringify([settings, (await kit.control('GET', 'state')).body])).not.toContain(webhook_secret);
    for (const { name, sentence } of assumptions)
      expect([name, sentence]).toEqual([name, expect.stringMatching(/^[A-Z].{15,}\.$/)]);
  });

  test('in real time a simulated state comes by itself', async () => {
    await kit.control('PUT', 'settings', { simulated_step_ms: 5 });
    await kit.control('POST', 'clock', { mode: 'real' });
    const path = `/v1/orders/${await kit.order()}`;
    await kit.call('POST', `${path}/events`, { body: { status: 'processed' } });
    await expect.poll(async () => (await kit.call('GET', path)).body.status).toBe('processed');
    await kit.control('POST', 'clock', { mode: 'manual' });
  });

  test('extra terminals come at reset', async () => {
    const busy = await openKit({ extra_terminals: 2 });
    const { body } = await busy.call('GET', '/terminals/v1/list');
    expect([body.paging.total, body.data.terminals[4].id]).toEqual([5, 'NEWLAND_N950__LOAD0000002']);
    await busy.close();
  });
});
