/** Reading an intent: few upstream calls; never an older state, even with upstream down (`docs/protocol.md` §3.12). */
import { afterEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/proxy/clock.ts';
import { ARGENTINA, eventually, POINT, startReceiver } from '../../kit.ts';
import { idOf, openShop, type Shop } from './till.ts';

let shop: Shop;
afterEach(() => shop.close());

const SLOW_LOOKS = { PUENTE_RECONCILE_POINT_INTERVAL_MS: '600000', PUENTE_RECONCILE_MAX_INTERVAL_MS: '600000' };

function reads(): Promise<unknown[]> {
  return shop.requests('/v1/orders/ORD');
}

describe('nothing to read', () => {
  it('a refused create has no intent', async () => {
    shop = await openShop();
    const device = shop.freshDevice();
    await shop.fault({ method: 'POST', path: '/v1/orders', kind: 'error', status: 400, code: 'bad_request' });
    await shop.create(device);
    const answer = await shop.read(shop.rows(device)[0]?.legacy_id ?? '');
    expect([answer.status, answer.body]).toEqual([
      404,
      { error: '404', message: "Payment intent doesn't exist", status: 404 },
    ]);
  });
});

describe('a till that polls', () => {
  it('twenty at once cause one upstream read', async () => {
    shop = await openShop({ ...SLOW_LOOKS, PUENTE_READS_FRESH_MS: '5000' });
    const id = idOf(await shop.create(shop.freshDevice()));
    await Promise.all(Array.from({ length: 20 }, () => shop.read(id)));
    expect((await reads()).length).toBe(1);
  });
});

describe('an outcome that has to be confirmed', () => {
  it('is held at the terminal, then shows as CONFIRMATION_REQUIRED and is announced without a payment', async () => {
    let ahead_ms = 0;
    const clock: Clock = {
      now: () => Date.now() + ahead_ms,
      sleep: (duration_ms) => new Promise((resolve) => setTimeout(resolve, duration_ms)),
    };
    shop = await openShop(
      { PUENTE_READS_FRESH_MS: '0', PUENTE_RECONCILE_ACTION_REQUIRED_GRACE_MS: '60000' },
      { clock },
    );
    const receiver = await startReceiver();
    await shop.notify(ARGENTINA, { notice_url: receiver.url });
    const device = shop.freshDevice();
    const id = idOf(await shop.create(device));
    await shop.atTerminal('confirm_needed', { device });
    await eventually(
      async () => (await shop.read(id)).body,
      (body) => (body as { state: string }).state === 'ON_TERMINAL',
    );
    ahead_ms = 30_000; // within the grace period
    expect((await shop.read(id)).body).toMatchObject({ state: 'ON_TERMINAL' });
    expect(receiver.received).toEqual([]);
    ahead_ms = 90_000;
    const [notice] = await receiver.waitFor(1);
    expect(notice?.body).toMatchObject({ id, state: 'CONFIRMATION_REQUIRED', payment: { state: '', type: '' } });
    expect((await shop.read(id)).body).toMatchObject({ state: 'CONFIRMATION_REQUIRED' });
    expect((await shop.till(`${POINT}/payment-intents/${id}/events`)).body).toMatchObject({
      status: 'CONFIRMATION_REQUIRED',
    });
    await receiver.close();
  });
});
