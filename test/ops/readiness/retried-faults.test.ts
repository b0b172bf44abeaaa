/** Faults of a verdict on a real store: a sale whose create is tried again is one, also over midnight. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Ports } from '../../../src/ops/ports.ts';
import { merchantReadiness } from '../../../src/ops/readiness/readiness.ts';
import type { RecordedExchange } from '../../../src/proxy/records/evidence.ts';
import { lanePorts, setMerchant } from '../../proxy/routing/lane-ports.ts';
import { newExchange } from '../../store/contract/evidence-kit.ts';
import { DAY_MS, type Harness, MERCHANT, NOON } from '../../store/contract/harness.ts';
import { openHarness } from '../../store/sqlite/kit.ts';

const silent = { send: async () => ({ kind: 'not_sent' as const, cause: 'nobody is there' }) };
const MIDNIGHT = Math.ceil(NOON / DAY_MS) * DAY_MS;
const CREATE = { operation: 'point.create_intent', lane: 'orders', stage: 'orders' } as const;
const failed = { ...CREATE, status: 504, error: 'unknown_outcome', outcome: 'fault' } as const;

let harness: Harness;
let ports: Ports;
beforeEach(async () => {
  harness = await openHarness();
  const clock = { now: () => MIDNIGHT + DAY_MS, sleep: async () => undefined };
  ports = lanePorts({ store: harness.store, upstreams: { orders: silent, legacy: silent }, clock });
  await setMerchant(harness.store, MERCHANT, { stage: 'canary' });
});
afterEach(() => harness.dispose());

/** One call a minute, half of them before midnight. */
const calls = (count: number, of: (index: number) => Partial<RecordedExchange>): RecordedExchange[] =>
  Array.from({ length: count }, (_, index) =>
    newExchange({ at: MIDNIGHT + (index - count / 2) * 60_000, ...of(index) }),
  );

/** As the finding says it: faults and calls; null without the finding. */
async function faults(): Promise<string[] | null> {
  const { blockers } = await merchantReadiness(ports, MERCHANT);
  const found = blockers.find(({ code }) => code === 'faults');
  return found === undefined ? null : (/^(\d+) of (\d+)/.exec(found.what)?.slice(1) ?? []);
}

it('eleven retries of one sale over midnight are one fault, and block no move', async () => {
  await harness.store.exchanges.recordExchanges([
    ...calls(60, () => CREATE),
    ...calls(12, () => ({ ...failed, legacy_id: 'one-sale' })),
  ]);
  expect(await faults()).toBeNull();
});

it('as many sales that fail are as many faults, and each is counted once with its retries', async () => {
  await harness.store.exchanges.recordExchanges([
    ...calls(60, () => CREATE),
    ...calls(24, (index) => ({ ...failed, legacy_id: `sale-${index % 12}` })),
    ...calls(2, () => ({ ...failed, operation: 'point.get_intent', legacy_id: 'sale-1' })),
  ]);
  expect(await faults(), 'a read that fails is a fault of its own').toEqual(['14', '74']);
});
