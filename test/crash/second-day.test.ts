/** The second day of the quick start: after a kill or a stop the sandbox has every order that Puente has. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { ARGENTINA, call, DEVICE, eventually, OPS_TOKEN, POINT, SECOND_DEVICE, tokenOf } from '../kit.ts';
import { idOf } from '../proxy/http/till.ts';
import { type Child, killChildren, startChild } from './child.ts';

afterAll(killChildren);

it.each(['kill', 'stop'] as const)('begins without a lost order after a %s', async (end) => {
  const data_dir = mkdtempSync(join(tmpdir(), 'puente-second-day-'));
  const children: Child[] = [];
  const start = async (): Promise<Child> => {
    const child = await startChild({
      PUENTE_DATA_DIR: data_dir,
      PUENTE_SANDBOX_KEEPS_WORLD: 'true',
      PUENTE_OPS_TOKEN: OPS_TOKEN,
      PUENTE_PUBLIC_PORT: '0',
      PUENTE_OPS_PORT: '0',
      PUENTE_SANDBOX_PORT: '0',
    });
    if (child === null) throw new Error('it did not start');
    children.push(child);
    return child;
  };
  const sell = (child: Child, device: string) =>
    call(`${child.public_url}${POINT}/devices/${device}/payment-intents`, {
      token: tokenOf(ARGENTINA),
      body: { amount: 1500 },
    });
  const pay = async (child: Child, device: string) => {
    const [, sandbox] = /the sandbox, (http:\S+)/.exec(child.output()) ?? [];
    return call(`${sandbox}/_sandbox/terminals/${ARGENTINA}/${device}/pay`, { method: 'POST' });
  };
  const ops = (child: Child, path: string, body?: object) =>
    call(`${child.ops_url}${path}`, { token: OPS_TOKEN, ...(body === undefined ? {} : { body }) });
  try {
    const first = await start();
    const paid = idOf(await sell(first, DEVICE));
    expect((await pay(first, DEVICE)).status).toBe(200);
    // The last answer before the end.
    const open = idOf(await sell(first, SECOND_DEVICE));
    await first[end]();
    const second = await start();
    expect((await pay(second, SECOND_DEVICE)).status).toBe(200);
    for (const id of [paid, open])
      await eventually(
        async () => (await ops(second, `/api/trace?id=${id}`)).text,
        (text) => text.includes('"legacy_state":"FINISHED"'),
      );
    expect((await ops(second, '/api/reconcile', {})).text).not.toContain('"mismatch"');
    expect((await ops(second, '/api/sales?state=lost')).body).toMatchObject({ sales: [] });
    expect((await ops(second, '/api/incidents')).body).toMatchObject({ incidents: [] });
    const { sums } = (await ops(second, '/api/report')).body as { sums: { outcome: string; count: number }[] };
    expect(sums.map(({ outcome, count }) => [outcome, count])).toEqual([['paid', 2]]);
    const { findings } = (await ops(second, '/api/doctor')).body as { findings: { level: string }[] };
    expect(findings.filter(({ level }) => level === 'problem')).toEqual([]);
  } finally {
    for (const child of children) if (child.alive()) await child.kill();
  }
});
