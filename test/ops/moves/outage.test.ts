/** A total outage of a small shop: too few calls for a sample, units held by doubtful sales; the safety stop trips. */
import { expect, it } from 'vitest';
import { ANA, ARGENTINA, eventually, POINT } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { FAST } from '../../proxy/http/till.ts';
import { startMoves } from './kit.ts';

const TILLS = ['NEWLAND_N950__SMALL00000001', 'NEWLAND_N950__SMALL00000002'];
const FAILING = { method: 'POST', path: '/v1/orders', kind: 'error', status: 500, code: 'internal_error' };

const bench = openForAll(() =>
  startMoves({ ...FAST, PUENTE_ROUTING_DEFAULT_STAGE: 'orders', PUENTE_SAFETY_MIN_SAMPLE: '20' }),
);

interface Safety {
  trips: { why: string }[];
}

const safety = async (): Promise<Safety> =>
  (await bench.as(ANA, 'GET', `/api/merchants/${ARGENTINA}/safety`)).body as Safety; // the API's shape

/** Each sale has another amount, so it is not a retry of the one in doubt. */
const sale = async (till: string, amount: number): Promise<number> =>
  (await bench.till(`${POINT}/devices/${till}/payment-intents`, { body: { amount } })).status;

it('eight sales on two terminals, of which the service fails all that reach it', async () => {
  expect((await bench.notify(ARGENTINA, { safety_stop: 'armed' })).status).toBe(200);
  await bench.control('/faults', { body: { ...FAILING, times: 'always' } });
  const statuses: number[] = [];
  for (let nth = 0; nth < 4; nth++) for (const till of TILLS) statuses.push(await sale(till, 1500 + nth));
  expect(statuses).toEqual([504, 504, 409, 409, 409, 409, 409, 409]);
  const { trips } = await eventually(safety, (view) => view.trips.length > 0);
  expect(trips).toMatchObject([
    {
      kind: 'intents',
      intended: 'orders',
      why: expect.stringMatching(/^\d faults in a row, with no successful call between/),
    },
  ]);
  expect((await bench.stageOf()).in_force.intents?.stage).toBe('shadow');
});
