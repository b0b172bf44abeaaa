/** A standby that takes over without the newest lines of the audit trail: a process that has read them reads on from no lost one. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createIncidents } from '../../../src/ops/fleet/fleet.ts';
import type { Ports, Store } from '../../../src/ops/ports.ts';
import { standingMismatches } from '../../../src/ops/reconcile/mismatches.ts';
import type { AuditAction } from '../../../src/proxy/audit.ts';
import { type Pair, startPair } from '../../engines/pair.ts';
import { eventually } from '../../kit.ts';
import { portsAt } from '../../proxy/routing/lane-ports.ts';
import { MERCHANT, NOON } from '../../store/contract/harness.ts';
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

it('what stands against sales, and the last incident, are those of the lines that are left and of those written since', async () => {
  const incidents = createIncidents(store);
  const shown = async (): Promise<string | undefined> => {
    await incidents.update(NOON);
    return incidents.of(MERCHANT)?.why;
  };
  await write('mismatch amount', 'sale 1');
  expect([await standing(running), await shown()]).toEqual([['sale 1'], 'said of sale 1']);
  await pair.fallBehind();
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
});
