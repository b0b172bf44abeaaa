/** Calls of one operation on devices share the till's deadline, however many they are. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Ports, Store } from '../../../src/ops/ports.ts';
import type { Answered, LegacyCall } from '../../../src/proxy/http/answer.ts';
import { changeMode, listDevices } from '../../../src/proxy/point/devices.ts';
import type { Merchant } from '../../../src/proxy/routing/merchant.ts';
import { SHORTEST_READ_MS, type UpstreamCall, type UpstreamOutcome } from '../../../src/proxy/upstream/upstream.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { operationOf } from '../../mapping/kit.ts';
import { openOwnStore } from '../../store/sqlite/kit.ts';
import { lanePorts } from '../routing/lane-ports.ts';

const NOON = Date.UTC(2026, 0, 5, 12);
const DEVICE = 'PAX_A910__SMARTPOS0000000001';
const ARGENTINA = '700100200';

/** What upstream says to the calls, in their order, and how long it takes; unsaid: silence until the call gives up. */
let says: { after_ms: number; outcome: UpstreamOutcome }[] = [];
let now = NOON;
let sent: Pick<UpstreamCall, 'name' | 'timeout_ms'>[] = [];
let store: Store;
let ports: Ports;

beforeAll(async () => {
  store = await openOwnStore();
});
afterAll(() => store?.close());
beforeEach(() => {
  says = [];
  now = NOON;
  sent = [];
  const sleep = async (duration_ms: number): Promise<void> => {
    now += duration_ms;
  };
  const service = {
    async send({ name, timeout_ms }: UpstreamCall): Promise<UpstreamOutcome> {
      sent.push({ name, timeout_ms });
      const { after_ms, outcome } = says.shift() ?? { after_ms: timeout_ms, outcome: silence };
      now += after_ms;
      return outcome;
    },
  };
  ports = lanePorts({
    store,
    upstreams: { orders: service, legacy: service },
    clock: { now: () => now, sleep },
  });
});

const silence: UpstreamOutcome = { kind: 'broken', cause: 'timeout' };

function terminals(): UpstreamOutcome {
  const body = {
    data: { terminals: [{ id: DEVICE, operating_mode: 'STANDALONE' }] },
    paging: { total: 1, offset: 0, limit: 50 },
  };
  return { kind: 'answered', status: 200, retry_after_ms: null, body };
}

function call(name: string): LegacyCall {
  const body = name === 'point.change_mode' ? { operating_mode: 'PDV' } : undefined;
  const merchant = { id: ARGENTINA, site: 'MLA', settings: {} } as Merchant; // all that the tables use
  const token = new Secret(`APP_USR-1-112026-${'a'.repeat(32)}-${ARGENTINA}`);
  const path = { device_id: DEVICE };
  return {
    operation: operationOf(ports.tables, name),
    ...{ path, query: {}, headers: {}, body, merchant, token, received_at: NOON },
  } as unknown as LegacyCall; // all that the stories use
}

const tried = (): string[] => sent.map(({ name, timeout_ms }) => `${name} ${timeout_ms}`);
const deadline = (): number => NOON + ports.settings.create.deadline_ms;

describe('while upstream says nothing', () => {
  it('a list is tried for as long as one read, and again for what is left', async () => {
    const answer = (await listDevices(ports, call('point.list_devices'))) as Answered;
    expect(answer.status).toBe(504);
    expect(tried()).toEqual(['terminals_list 5000', 'terminals_list 4000']);
    expect(now).toBe(deadline());
  });

  it('a change of mode sends nothing when reading the list has taken all the time', async () => {
    const answer = (await changeMode(ports, call('point.change_mode'))) as Answered;
    expect(answer.status).toBe(504);
    expect(tried()).toEqual(['terminals_list 5000', 'terminals_list 4000']);
  });

  it('a change of mode has what the list left, for both of its tries', async () => {
    says = [{ after_ms: 4_500, outcome: terminals() }];
    const answer = (await changeMode(ports, call('point.change_mode'))) as Answered;
    expect(answer.status).toBe(504);
    expect(tried()).toEqual(['terminals_list 5000', 'terminals_setup 4000', 'terminals_setup 500']);
    expect(now).toBe(deadline());
  });
});

it('a change of mode is not begun with too little time left, and is answered as not sent', async () => {
  says = [{ after_ms: ports.settings.create.deadline_ms - SHORTEST_READ_MS + 1, outcome: terminals() }];
  const answer = (await changeMode(ports, call('point.change_mode'))) as Answered;
  expect(answer.status).toBe(502);
  expect(tried()).toEqual(['terminals_list 5000']);
});
