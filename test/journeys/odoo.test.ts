/**
 * A till in Odoo's style, which depends on signed and truthful webhooks (`docs/field-notes.md` Point §4.1); how its other
 * calls are answered: `fidelity.test.ts`.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ARGENTINA, type Bench, DEVICE, SECOND_DEVICE, startBench, tokenOf } from '../kit.ts';
import { listen, shut } from '../listen.ts';
import { type OdooSettings, type OdooTill, startOdooTill } from './odoo-till.ts';

const SECRET = 'secret-of-this-merchants-panel';

/** Puente polls no order during these tests. */
const NO_LOOKS = { PUENTE_RECONCILE_POINT_INTERVAL_MS: '60000' };

let bench: Bench;
let till: OdooTill;

async function open(
  { webhook_delay_ms = 0 }: Pick<OdooSettings, 'webhook_delay_ms'> = {},
  environment: Record<string, string> = {},
): Promise<void> {
  bench = await startBench(environment);
  till = await startOdooTill({
    door_url: bench.app.public_url,
    token: tokenOf(ARGENTINA),
    webhook_secret: SECRET,
    webhook_delay_ms,
  });
  await bench.notify(ARGENTINA, {
    notice_url: till.webhook_url,
    dialect: 'point_integration_wh',
    notice_secret: SECRET,
  });
}

afterEach(async () => {
  await till?.close();
  await bench?.close();
});

describe('with references of its own form', () => {
  beforeEach(() => open());

  test('paid: the webhook, the intent inside its handler, and the payment all say so', async () => {
    const { id, reference } = await sale(25.5);
    await bench.atTerminal('pay');
    const line = await till.conclude(id);
    expect(line).toEqual({ kind: 'done', payment_id: expect.any(Number) });
    expect(till.handled).toEqual([
      {
        answered: 200,
        read_state: 'FINISHED',
        query: `type=point_integration_wh&data.id=${id}`,
        body: {
          id,
          state: 'FINISHED',
          amount: 2550,
          caller_id: Number(ARGENTINA),
          client_id: 4_004_001,
          created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
          payment: { id: line.kind === 'done' ? line.payment_id : 0, state: 'approved', type: 'credit_card' },
          additional_info: { external_reference: reference, print_on_terminal: true },
        },
      },
    ]);
  });

  test('the platform of the header and the cent that their float loses reach the order', async () => {
    await sale(19.99);
    const order = [...bench.sandbox.world.orders.values()].at(-1);
    expect(order?.integration_data).toEqual({ platform_id: 'dev_cdf1cfac242111ef9fdebe8d845d0987' });
    expect(order?.transaction.amount_minor).toBe(1998);
  });

  test('a webhook signed with another secret is 401, and is tried again after the secret is put right', async () => {
    await bench.notify(ARGENTINA, { notice_secret: 'not-the-panels-secret' });
    const { id } = await sale(25.5);
    await bench.atTerminal('pay');
    await expect.poll(() => till.handled.map(({ answered }) => answered), { timeout: 15_000 }).toEqual([401]);
    await bench.notify(ARGENTINA, { notice_secret: SECRET });
    expect(await till.conclude(id)).toMatchObject({ kind: 'done' });
  });
});

describe('the sale before, whose outcome stands on the terminal alone', () => {
  const lines = (): unknown[] => till.handled.map(({ body }) => [body.id, body.state]);

  test('is told by itself, so that the next sale is concluded as paid', async () => {
    await open({}, { PUENTE_RECONCILE_ACTION_REQUIRED_GRACE_MS: '500' });
    const first = await sale(25.5);
    await bench.atTerminal('confirm_needed');
    expect(await till.conclude(first.id)).toEqual({ kind: 'unknown status', state: 'CONFIRMATION_REQUIRED' });
    const next = await sale(30);
    const line = till.conclude(next.id);
    await bench.atTerminal('pay');
    expect(await line).toMatchObject({ kind: 'done' });
    expect(lines()).toEqual([
      [first.id, 'CONFIRMATION_REQUIRED'],
      [next.id, 'FINISHED'],
    ]);
  });

  test.each([
    ['is waited for', 'confirm_needed', {}, 'CONFIRMATION_REQUIRED'],
    ['was waited for, and its event is lost', 'confirm_needed', { webhook_mode: 'drop' }, 'CONFIRMATION_REQUIRED'],
    ['is paid, and its event is lost', 'pay', { webhook_mode: 'drop' }, 'FINISHED'],
    ['is declined, and its event is lost', 'decline', { webhook_mode: 'drop' }, 'ERROR'],
    ['is canceled, and its event is lost', 'cancel', { webhook_mode: 'drop' }, 'CANCELED'],
  ])('%s: its notice comes before the next create is answered', async (_what, action, settings, state) => {
    await open({ webhook_delay_ms: 500 }, NO_LOOKS);
    expect((await bench.control('/settings', { method: 'PUT', body: settings })).status).toBe(200);
    const first = await sale(25.5);
    await bench.atTerminal(action);
    const next = await sale(30);
    expect(lines()).toEqual([[first.id, state]]);
    await bench.control('/settings', { method: 'PUT', body: { webhook_mode: 'normal' } });
    const line = till.conclude(next.id);
    await bench.atTerminal('pay');
    expect(await line).toMatchObject({ kind: 'done' });
    expect(lines().slice(1)).toEqual([[next.id, 'FINISHED']]);
  });

  describe('with a receiver that never answers', () => {
    let silent: Receiver;

    afterEach(() => silent.close());

    async function openWithSilence(environment: Record<string, string> = {}): Promise<void> {
      await open({}, { ...NO_LOOKS, ...environment });
      silent = await startReceiver(() => undefined);
      await bench.notify(ARGENTINA, { notice_url: silent.url });
    }

    test('keeps the terminal from each next sale for one call', async () => {
      await openWithSilence();
      await sale(25.5);
      for (const amount of [30, 35]) {
        await bench.atTerminal('confirm_needed');
        expect(await till.create(DEVICE, amount, newReference())).toMatchObject({ error: '2205' });
        await sale(amount); // the first attempt is still pending
      }
      expect(await noticeStates()).toEqual(['pending', 'pending']);
    });

    test('keeps it for one call where the earlier sale was paid and its event was lost', async () => {
      await openWithSilence();
      await sale(25.5);
      await bench.control('/settings', { method: 'PUT', body: { webhook_mode: 'drop' } });
      await bench.atTerminal('pay');
      expect(await till.create(DEVICE, 30, newReference())).toMatchObject({ error: '2205' });
      await sale(30);
    });

    test('keeps it for one call where it takes every place, so that no attempt can begin', async () => {
      await openWithSilence({ PUENTE_NOTICES_PER_HOST: '1' });
      expect(await till.create(SECOND_DEVICE, 25.5, newReference())).toHaveProperty('id');
      await bench.atTerminal('pay', { device: SECOND_DEVICE });
      await expect.poll(() => silent.calls()).toBe(1);
      await sale(25.5);
      await bench.atTerminal('confirm_needed');
      expect(await till.create(DEVICE, 30, newReference())).toMatchObject({ error: '2205' });
      await sale(30);
      expect(silent.calls()).toBe(1);
    });

    test('keeps it for no call where the till has read how the earlier sale ended', async () => {
      await openWithSilence();
      const first = await sale(25.5);
      await bench.atTerminal('pay');
      await expect.poll(async () => (await till.read(first.id)).state).toBe('FINISHED');
      await sale(30);
      expect(await noticeStates()).toEqual(['pending']);
    });
  });

  test('is not waited for when its notice has nowhere to go', async () => {
    await open({}, NO_LOOKS);
    await bench.notify(ARGENTINA, { notice_url: null });
    await sale(25.5);
    await bench.atTerminal('confirm_needed');
    await sale(30);
    expect(await noticeStates()).toEqual(['pending']);
  });

  test('is not waited for when its notice was refused', async () => {
    await open({}, NO_LOOKS);
    const refusing = await startReceiver((response) => void response.writeHead(500).end());
    await bench.notify(ARGENTINA, { notice_url: refusing.url });
    await sale(25.5);
    await bench.atTerminal('confirm_needed');
    await sale(30);
    expect(await noticeStates()).toEqual(['pending']);
    await refusing.close();
  });

  test('is not waited for when its receiver is down', async () => {
    await open({}, NO_LOOKS);
    const gone = await startReceiver(() => undefined);
    await bench.notify(ARGENTINA, { notice_url: gone.url });
    await gone.close();
    await sale(25.5);
    await bench.atTerminal('confirm_needed');
    await sale(30);
    expect(await noticeStates()).toEqual(['pending']);
  });
});

/** States of this merchant's Point notices, newest first. */
async function noticeStates(): Promise<unknown[]> {
  const { body } = await bench.ops('/api/notices?topic=point');
  return (body as { notices: { state: unknown }[] }).notices.map(({ state }) => state); // the API's shape
}

interface Receiver {
  url: string;
  calls(): number;
  close(): Promise<void>;
}

async function startReceiver(answer: (response: ServerResponse) => void): Promise<Receiver> {
  let calls = 0;
  const server = createServer((_, response) => {
    calls++;
    answer(response);
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}/`,
    calls: () => calls,
    async close() {
      await shut(server);
    },
  };
}

function newReference(): string {
  return `12_3_${randomUUID()}`;
}

async function sale(amount: number): Promise<{ id: string; reference: string }> {
  const reference = newReference();
  const reply = await till.create(DEVICE, amount, reference);
  if (!('id' in reply)) throw new Error(`not created: ${JSON.stringify(reply)}`);
  return { id: String(reply.id), reference };
}
