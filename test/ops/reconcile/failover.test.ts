/** A standby that takes over without the newest lines of the audit trail and calls: a process that has read them reads on from no lost one. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createFleet, createIncidents } from '../../../src/ops/fleet/fleet.ts';
import { fleetQuery } from '../../../src/ops/fleet/line.ts';
import type { Ramp, RampItem } from '../../../src/ops/moves/ramp.ts';
import { readEvidence } from '../../../src/ops/moves/ramp-evidence.ts';
import type { Ports, Store } from '../../../src/ops/ports.ts';
import { standingMismatches } from '../../../src/ops/reconcile/mismatches.ts';
import { newMerchant } from '../../../src/ops/seen.ts';
import type { AuditAction } from '../../../src/proxy/audit.ts';
import { type Pair, startPair } from '../../engines/pair.ts';
import { eventually } from '../../kit.ts';
import { portsAt } from '../../proxy/routing/lane-ports.ts';
import { newExchange } from '../../store/contract/evidence-kit.ts';
import { MERCHANT, MINUTE_MS, NOON } from '../../store/contract/harness.ts';
import { openStore } from '../../store/postgres/kit.ts';

let pair: Pair;
let store: Store;
/** Of the process that goes on. */
let running: Ports;
beforeAll(async () => {
  pair = await startPair();
  store = await openStore(pair.url, { connections: 2, connect_timeout_ms: 2_000, statement_timeout_ms: 2_000 });
  running = portsAt(store, () => NOON);
});
afterAll(async () => {
  await store?.close();
  await pair?.remove();
});

const write = (action: AuditAction, subject: string, repaired = false): Promise<void> =>
  store.audit.appendAudit({
    ...{ at: NOON, who: 'puente', action, subject, reason: `said of ${subject}` },
    detail: { merchant: MERCHANT, repaired },
  });
const standing = async (ports: Ports): Promise<string[]> =>
  (await standingMismatches(ports)).mismatches.map(({ subject }) => subject);

const called = (times: number, outcome: 'ok' | 'fault' = 'ok') =>
  store.exchanges.recordExchanges(
    Array.from({ length: times }, () =>
      newExchange({ merchant_id: MERCHANT, operation: 'point.create_intent', lane: 'orders', at: NOON + 1, outcome }),
    ),
  );
/** Calls of a step of a ramp, and those on the board, as the process that goes on counts them. */
function counting(): () => Promise<(number | undefined)[]> {
  let now = NOON;
  const ports = { ...running, clock: { ...running.clock, now: () => now } };
  const board = createFleet(ports);
  const from = { stage: 'shadow', share: 0, units_in: [] } as const;
  const item: RampItem = {
    ...{ merchant_id: MERCHANT, state: 'waiting', detail: '', at: null },
    ramp: { step: 0, start: -1, since: NOON, from, legacy_p95_ms: 700 },
  };
  return async () => {
    now += MINUTE_MS;
    const { calls } = await readEvidence(ports, {} as Ramp, item, newMerchant(MERCHANT), 'calls'); // of calls it reads no more
    const [line] = (await board.view(fleetQuery.parse({}))).merchants;
    return [calls?.calls, line?.health.orders?.calls];
  };
}

it('what stands against sales, the last incident, and the calls of a step and of the board, are those of what is left and was written since', async () => {
  const incidents = createIncidents(store);
  const counted = counting();
  const shown = async (): Promise<string | undefined> => {
    await incidents.update(NOON);
    return incidents.of(MERCHANT)?.why;
  };
  await write('mismatch amount', 'sale 1');
  expect([await standing(running), await shown()]).toEqual([['sale 1'], 'said of sale 1']);
  await called(1);
  expect(await counted()).toEqual([1, 1]);
  await pair.fallBehind();
  // More than the server's sequence was ahead on the standby.
  await called(200);
  expect(await counted()).toEqual([201, 201]);
  for (const subject of ['sale 2', 'sale 3', 'sale 4']) await write('mismatch amount', subject);
  await write('mismatch amount', 'sale 1', true);
  expect([await standing(running), await shown()]).toEqual([['sale 4', 'sale 3', 'sale 2'], 'said of sale 1']);

  await pair.failOver();
  await eventually(
    () => write('mismatch amount', 'sale 5').then(...[() => true, () => false]),
    (is_written) => is_written,
  );
  expect([await standing(running), await shown()]).toEqual([['sale 5', 'sale 1'], 'said of sale 5']);
  // From here on the trail has as many lines as were read before, and more.
  for (const subject of ['sale 6', 'sale 7', 'sale 8', 'sale 9']) await write('mismatch amount', subject);
  expect(await standing(running)).toEqual(await standing(portsAt(store, () => NOON)));
  expect(await standing(running)).toContain('sale 6');
  expect(await shown()).toBe('said of sale 9');
  await called(2, 'fault');
  expect(await counted()).toEqual([3, 3]);
  await called(150);
  expect(await counted()).toEqual([153, 153]);
});
