/** The fleet, incidents, the register and single exchanges on the ops door, and their commands. */
import { describe, expect, it } from 'vitest';
import type { FleetView } from '../../../src/ops/fleet/line.ts';
import {
  ANA,
  ARGENTINA,
  BRAZIL,
  call,
  DEVICE,
  eventually,
  PEOPLE,
  POINT,
  SECOND_DEVICE,
  startBench,
} from '../../kit.ts';
import { openForAll } from '../../open.ts';
import type { Ran } from '../../run-cli.ts';
import { command } from '../moves/command.ts';

const bench = openForAll(() => startBench(PEOPLE));

const ask = (path: string) => call(bench.app.ops_url + path, { token: ANA.token });
const fleet = async (query = ''): Promise<FleetView> => (await ask(`/api/fleet${query}`)).body as FleetView; // the API's shape
const puente = (...argv: string[]): Promise<Ran> =>
  command(argv, { PUENTE_OPS_TOKEN: ANA.token, PUENTE_OPS_URL: bench.app.ops_url });

describe('a fleet', () => {
  it('that is empty says what to do next', async () => {
    expect(await fleet()).toMatchObject({ found: 0, pages: 1, merchants: [], totals: { merchants: 0 } });
    expect((await puente('fleet')).out).toContain('Point a till at Puente');
  });

  it('shows who called, on which lane, how long it took, and what is open', async () => {
    await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount: 1500 } });
    await bench.till(`${POINT}/devices`, { merchant: BRAZIL });
    const view = await eventually(
      () => fleet(),
      ({ merchants }) => merchants.length === 2 && merchants.every(({ readiness }) => readiness !== null),
    );
    const argentina = view.merchants.find(({ merchant_id }) => merchant_id === ARGENTINA);
    expect(argentina).toMatchObject({ site: 'MLA', stage: 'orders', stopped: [], waiting_moves: 0 });
    expect(argentina?.health.orders).toMatchObject({ calls: 1, faults: 0 });
    expect(argentina?.health.legacy).toBeNull();
    expect(argentina?.open).toMatchObject({ orders: 1, legacy: 0 });
    expect(view.totals.stages.orders).toBe(2);
    expect((await fleet('?search=300')).merchants.map(({ merchant_id }) => merchant_id)).toEqual([BRAZIL]);
  });

  it('drains after a rollback', async () => {
    await bench.ops(`/api/merchants/${ARGENTINA}/rollback`, { body: { reason: 'a test rolls it back' } });
    const [line] = (
      await eventually(
        () => fleet(`?search=${ARGENTINA}`),
        ({ merchants }) => merchants[0]?.stage === 'legacy',
      )
    ).merchants;
    expect(line?.draining).toEqual({ lane: 'orders', open: 1 });
    const { out } = await puente('fleet', '--search', ARGENTINA);
    expect(out).toContain('1 open (drain)');
    expect(JSON.parse((await puente('fleet', '--json', '--stage', 'legacy')).out)).toMatchObject({ found: 1 });
  });

  it('refuses what it does not take', async () => {
    expect((await ask('/api/fleet?sort=colour')).status).toBe(400);
    expect((await ask('/api/fleet?per_page=501')).status).toBe(400);
  });
});

describe('the register', () => {
  it('lists limitations and assumptions', async () => {
    expect((await ask('/api/limitations')).body).toMatchObject({ limitations: expect.arrayContaining([]) });
    expect((await puente('limitations')).out).toContain('LIM-01  a declined payment shows as ERROR');
    expect((await puente('assumptions')).out).toContain('merchants.declined');
  });
});

describe('incidents', () => {
  it('are what nobody decided', async () => {
    const answer = (await ask('/api/incidents')).body;
    expect(answer).toEqual({ incidents: [] });
    expect((await puente('incidents', 'list', '--merchant', ARGENTINA)).out).toContain('No incident');
    expect((await ask('/api/incidents?until=2020-01-01T00:00:00Z&since=2021-01-01T00:00:00Z')).status).toBe(400);
  });
});

describe('a single call', () => {
  it('is shown with its messages only while the merchant is captured', async () => {
    const { body } = await bench.ops(`/api/merchants/${ARGENTINA}`);
    const { revision } = body as { revision: number }; // every view has a revision
    await puente('capture', 'on', ARGENTINA, '--reason', 'refused to a viewer');
    await bench.ops(`/api/merchants/${ARGENTINA}`, {
      method: 'PUT',
      body: { capture: true, reason: 'look', revision },
    });
    const intent = await bench.till(`${POINT}/devices/${SECOND_DEVICE}/payment-intents`, { body: { amount: 1900 } });
    const id = (await bench.ops(`/api/trace?id=${(intent.body as { id: string }).id}`)).body as {
      traces: { steps: { kind: string; id: string }[] }[];
    }; // the API's shape
    const till = id.traces[0]?.steps.find(({ kind }) => kind === 'till');
    const { out } = await puente('capture', 'show', till?.id ?? '');
    expect(out).toContain('"amount": 1900');
    expect(out).not.toContain('APP_USR');
    expect((await ask('/api/exchanges/nobody')).status).toBe(404);
  });
});
