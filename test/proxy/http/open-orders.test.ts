/** Open orders without events are read ever less often, and every read is stored. */
import { expect, it } from 'vitest';
import { createLog } from '../../../src/proxy/telemetry/telemetry.ts';
import { eventually } from '../../kit.ts';
import { openShop } from './till.ts';

it('an order that is open for a while is put off by whole milliseconds', async () => {
  // The store refused a quarter of an age that is not divisible by four, and the check failed after eight tries.
  const start = Date.now();
  const clock = {
    now: () => start + 1_001 * Math.floor((Date.now() - start) / 250),
    sleep: (duration_ms: number) => new Promise<void>((resolve) => setTimeout(resolve, duration_ms / 4)),
  };
  const lines: string[] = [];
  const log = createLog('error', { write: (line) => void lines.push(line) });
  const shop = await openShop({ PUENTE_RECONCILE_POINT_INTERVAL_MS: '100' }, { clock, log });
  try {
    await shop.create(shop.freshDevice());
    await eventually(
      () => shop.requests('/v1/orders/ORD'),
      (requests) => lines.length > 0 || requests.filter(({ method }) => method === 'GET').length >= 5,
    );
    expect(lines).toEqual([]);
  } finally {
    await shop.close();
  }
});
