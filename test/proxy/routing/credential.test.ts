/** The token for work after a call: whose it is, and how long it is used. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DAY_MS } from '../../../src/contract/duration.ts';
import type { Ports } from '../../../src/ops/ports.ts';
import { credentialOf, identify } from '../../../src/proxy/routing/merchant-identity.ts';
import type { Upstream } from '../../../src/proxy/upstream/upstream.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { type Harness, MERCHANT, NOON } from '../../store/contract/harness.ts';
import { openHarness } from '../../store/sqlite/kit.ts';
import { lanePorts } from './lane-ports.ts';

const TOKEN = new Secret(`APP_USR-1-010101-invented-${MERCHANT}`);
const upstream: Upstream = {
  send: async () => ({ kind: 'answered', status: 200, retry_after_ms: null, body: { id: Number(MERCHANT) } }),
};

let harness: Harness;
let ports: Ports;
let now = NOON;
let tick_ms = 0;

const open = (): Ports =>
  lanePorts({
    store: harness.store,
    upstreams: { orders: upstream, legacy: upstream },
    clock: { now: () => now, monotonic: () => tick_ms, sleep: async () => undefined },
  });

beforeEach(async () => {
  harness = await openHarness();
  now = NOON;
  tick_ms = 0;
  ports = open();
});
afterEach(() => harness.dispose());

const pass = (duration_ms: number): void => {
  now += duration_ms;
  tick_ms += duration_ms;
};
const isUsed = async (of = ports): Promise<boolean> => (await credentialOf(of, MERCHANT)) !== null;

describe('the last token of a merchant', () => {
  it('is used for seven days, also by a process that started since', async () => {
    await identify(ports, TOKEN);
    pass(7 * DAY_MS);
    expect([await isUsed(), await isUsed(open())]).toEqual([true, true]);
    pass(1);
    expect([await isUsed(), await isUsed(open())]).toEqual([false, false]);
  });

  it('is used for seven days, although the clock was two years slow when it was stored [F47]', async () => {
    now -= 730 * DAY_MS;
    await identify(ports, TOKEN);
    now += 730 * DAY_MS;
    expect(await isUsed()).toBe(true);
    pass(7 * DAY_MS);
    expect(await isUsed()).toBe(true);
    pass(1);
    expect(await isUsed()).toBe(false);
  });

  it('is none once retention has blanked it, whatever the clock said', async () => {
    now -= 730 * DAY_MS;
    await identify(ports, TOKEN);
    now += 730 * DAY_MS;
    const before = now - 7 * DAY_MS;
    const limits = { links_before: 0, notices_before: 0, events_before: 0, sums_before: 0, tokens_before: before };
    expect(await harness.store.upkeep.tidyOld(limits, 10)).toMatchObject({ tokens: 1 });
    expect(await isUsed()).toBe(false);
  });
});
