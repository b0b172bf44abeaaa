/** A legacy cancel with every possible outcome upstream (`docs/field-notes.md` Point §1.5, `docs/protocol.md` §3.9). */
import { beforeEach, describe, expect, it } from 'vitest';
import { ARGENTINA, eventually } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { idOf, LEFT_IN_DOUBT, legacyErrorOf, openShop } from './till.ts';

let device: string;
let id: string;
const shop = openForAll(() =>
  openShop({
    PUENTE_READS_FRESH_MS: '0',
    PUENTE_RECONCILE_POINT_INTERVAL_MS: '600000',
    PUENTE_RECONCILE_MAX_INTERVAL_MS: '600000',
  }),
);
beforeEach(async () => {
  await shop.clearFaults();
  await shop.upstreamSettings({ webhook_mode: 'normal', cancel_confirmation: 'automatic' });
  device = shop.freshDevice();
  id = idOf(await shop.create(device));
});

const CANCEL = { method: 'POST', path: '/v1/orders/*/cancel' };

async function status(): Promise<string | undefined> {
  return (await shop.orders(device))[0]?.status;
}

async function untilRow(state: string): Promise<void> {
  await eventually(
    async () => shop.rows(device)[0],
    (row) => row?.legacy_state === state,
  );
}

describe('refused', () => {
  it('when the order was paid and no event has come yet: the read after the refusal shows it', async () => {
    await shop.upstreamSettings({ webhook_mode: 'drop' });
    await shop.atTerminal('pay', { device });
    expect((await shop.cancel(device, id)).status).toBe(409);
    expect(shop.rows(device)[0]?.legacy_state).toBe('FINISHED');
  });

  it('when somebody else canceled the order and no event has come yet', async () => {
    await shop.upstreamSettings({ webhook_mode: 'drop' });
    await shop.atTerminal('cancel', { device });
    const answer = await shop.cancel(device, id);
    expect([answer.status, legacyErrorOf(answer).error]).toEqual([404, '101']);
    expect(shop.rows(device)[0]?.legacy_state).toBe('CANCELED');
  });

  it('of a paid sale, which its till knows from then on: an equal create is the next sale', async () => {
    await shop.atTerminal('pay', { device });
    await untilRow('FINISHED');
    expect((await shop.cancel(device, id)).status).toBe(409);
    expect(idOf(await shop.create(device))).not.toBe(id);
    expect(await shop.orders(device)).toHaveLength(2);
  });

  it('of a sale that the buyer canceled at the terminal: an equal create is the next sale', async () => {
    await shop.atTerminal('cancel', { device });
    await untilRow('CANCELED');
    const answer = await shop.cancel(device, id);
    expect([answer.status, legacyErrorOf(answer).error]).toEqual([404, '101']);
    expect(idOf(await shop.create(device))).not.toBe(id);
    expect(await shop.orders(device)).toHaveLength(2);
  });

  it('while a create is in doubt', async () => {
    const other = shop.freshDevice();
    await shop.fault(LEFT_IN_DOUBT);
    await shop.create(other);
    expect((await shop.cancel(other, shop.rows(other)[0]?.legacy_id ?? '')).status).toBe(409);
  });

  it.each([
    ['silence before the effect', { kind: 'no_answer', when: 'before' }],
    ['an unreadable 200', { kind: 'html', status: 200, when: 'before' }],
  ])('%s is told as unknown, never as canceled', async (_name, fault) => {
    await shop.fault({ ...CANCEL, ...fault });
    const answer = await shop.cancel(device, id);
    expect(answer.status).toBe(504);
    legacyErrorOf(answer);
    expect(await status()).toBe('created');
    expect(
      (await shop.requests(`/v1/orders/${shop.rows(device)[0]?.order_id}/cancel`)).length,
      'never repeated blindly',
    ).toBe(1);
    expect((await shop.cancel(device, id)).status, 'the till may press again').toBe(200);
  });
});

describe('a cancel', () => {
  it('answers the id alone and frees the terminal; the second DELETE finds nothing [F93]', async () => {
    const answer = await shop.cancel(device, id);
    expect([answer.status, answer.body]).toEqual([200, { id }]);
    expect((await shop.read(id)).body).toMatchObject({ state: 'CANCELED' });
    const again = await shop.cancel(device, id);
    expect([again.status, legacyErrorOf(again).error]).toEqual([404, '101']);
    expect((await shop.create(device)).status).toBe(201);
  });

  it.each([
    ['a reset after the effect', { kind: 'reset', when: 'after' }],
    ['408 after the effect', { kind: 'error', status: 408, code: 'request_timeout', when: 'after' }],
    [
      '409 idempotency_key_already_used after the effect',
      { kind: 'error', status: 409, code: 'idempotency_key_already_used', when: 'after' },
    ],
  ])('%s is a success: the order itself says so', async (_name, fault) => {
    await shop.fault({ ...CANCEL, ...fault });
    const answer = await shop.cancel(device, id);
    expect([answer.status, answer.body]).toEqual([200, { id }]);
    expect(shop.rows(device)[0]?.legacy_state).toBe('CANCELED');
  });

  it('whose outcome could not be read is a success when it is repeated [F29]', async () => {
    await shop.fault({ ...CANCEL, kind: 'no_answer', when: 'after' });
    // Of this order: the sale that another test left in doubt is read meanwhile.
    const path = `/v1/orders/${shop.rows(device)[0]?.order_id}`;
    await shop.fault({ method: 'GET', path, kind: 'reset', times: 2 });
    await shop.upstreamSettings({ webhook_mode: 'drop' });
    expect((await shop.cancel(device, id)).status).toBe(504);
    const answer = await shop.cancel(device, id);
    expect([answer.status, answer.body]).toEqual([200, { id }]);
  });

  it('two at once are one, and so is a repetition until the till has read the outcome: one upstream call [F93]', async () => {
    const answers = await Promise.all([shop.cancel(device, id), shop.cancel(device, id)]);
    expect(answers.map((answer) => answer.status)).toEqual([200, 200]);
    expect((await shop.cancel(device, id)).status).toBe(200);
    expect((await shop.read(id)).body).toMatchObject({ state: 'CANCELED' });
    expect((await shop.cancel(device, id)).status).toBe(404);
    expect((await shop.requests(`/v1/orders/${shop.rows(device)[0]?.order_id}/cancel`)).length).toBe(1);
  });

  it('during the create waits for it [F93]', async () => {
    const other = shop.freshDevice();
    await shop.fault({ method: 'POST', path: '/v1/orders', kind: 'delay', delay_ms: 300 });
    const creating = shop.create(other);
    const row = await eventually(
      async () => shop.rows(other)[0],
      (found) => found !== undefined,
    );
    const canceled = await shop.cancel(other, row?.legacy_id ?? '');
    expect((await creating).status).toBe(201);
    expect(canceled.status).toBe(200);
    expect((await shop.orders(other)).map((order) => order.status)).toEqual(['canceled']);
  });
});

describe('on the terminal, where the merchant allows it', () => {
  beforeEach(async () => {
    expect((await shop.notify(ARGENTINA, { cancel_on_terminal: true })).status).toBe(200);
    await shop.atTerminal('pick_up', { device });
    await shop.read(id);
  });

  it('waits for the terminal, and is told as canceled once the terminal has confirmed', async () => {
    await shop.upstreamSettings({ cancel_confirmation: 'by_hand' });
    const asked = shop.cancel(device, id);
    await untilAsked();
    await shop.atTerminal('cancel', { device });
    const answer = await asked;
    expect([answer.status, answer.body]).toEqual([200, { id }]);
    expect((await shop.read(id)).body).toMatchObject({ state: 'CANCELED' });
  });

  it('a terminal that does not confirm in time leaves the outcome open: 504, and CANCELED when it does', async () => {
    await shop.upstreamSettings({ cancel_confirmation: 'by_hand' });
    const answer = await shop.cancel(device, id);
    expect(answer.status).toBe(504);
    legacyErrorOf(answer);
    expect((await shop.read(id)).body).toMatchObject({ state: 'ON_TERMINAL' });
    await shop.atTerminal('cancel', { device });
    await untilRow('CANCELED');
    // Puente's cancel caused it, and the till had no answer yet.
    expect((await shop.cancel(device, id)).status).toBe(200);
    await shop.read(id);
    expect((await shop.cancel(device, id)).status).toBe(404);
  });

  it('a payment that wins the race is FINISHED, and the cancel is blocked [F30]', async () => {
    await shop.upstreamSettings({ cancel_confirmation: 'by_hand' });
    const asked = shop.cancel(device, id);
    await untilAsked();
    await shop.atTerminal('pay', { device });
    const answer = await asked;
    expect([answer.status, legacyErrorOf(answer).message]).toEqual([
      409,
      'Verify if the intent is already being processed',
    ]);
    await untilRow('FINISHED');
  });

  /** Waits until upstream has accepted the cancel. */
  async function untilAsked(): Promise<void> {
    await eventually(
      async () =>
        (await shop.requests(`/v1/orders/${shop.rows(device)[0]?.order_id}/cancel`)).filter(
          (one) => one.status === 202,
        ),
      (found) => found.length > 0,
    );
  }

  it('an old terminal that can not be canceled is blocked', async () => {
    await shop.control(`/terminals/${ARGENTINA}/${device}`, { method: 'PUT', body: { software: 'old' } });
    const answer = await shop.cancel(device, id);
    expect([answer.status, legacyErrorOf(answer).message]).toEqual([
      409,
      'Verify if the intent is already being processed',
    ]);
  });
});
