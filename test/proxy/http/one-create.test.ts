/** One create of a till is exactly one create upstream, in every stage, with every option (issue 4, Shown by). */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ARGENTINA,
  type Bench,
  BRAZIL,
  CHILE,
  DEVICE,
  eventually,
  MEXICO,
  POINT,
  SECOND_DEVICE,
  startBench,
  URUGUAY,
} from '../../kit.ts';
import { createsOf, keptExchanges, seed } from '../../ops/seed.ts';

const OPTIONS = {
  capture: true,
  safety_stop: 'armed',
  unknown_endpoint: 'note',
  unknown_field: 'note',
  unknown_header: 'note',
  deprecation: { deprecated_at: 0, sunset_at: 2_000_000_000_000, link: 'https://till.example/old' },
} as const;
const BODY = { amount: 1500, additional_info: { external_reference: 'ticket 1', print_on_terminal: true } };

let bench: Bench;
let data_dir: string;
let made = 0;
beforeAll(async () => {
  const settings = await seed({
    [CHILE]: { ...OPTIONS, stage: 'legacy' },
    [BRAZIL]: { ...OPTIONS, stage: 'shadow' },
    [ARGENTINA]: {
      ...OPTIONS,
      stage: 'canary',
      units_in: [`point:${DEVICE}`, 'qr:SUC001POS001'],
      units_out: [`point:${SECOND_DEVICE}`, 'qr:SUC001POS002'],
    },
    [MEXICO]: { ...OPTIONS, stage: 'orders' },
    [URUGUAY]: { ...OPTIONS, stage: 'orders' },
  });
  data_dir = settings.PUENTE_DATA_DIR ?? '';
  bench = await startBench({ ...settings, PUENTE_SHADOW_DOUBLE_READS: 'true' });
});
afterAll(async () => {
  await bench.close();
  rmSync(data_dir, { recursive: true, force: true });
});

async function creates(): Promise<{ legacy: number; orders: number }> {
  const { requests } = (await bench.control('/state')).body as { requests: { method: string; path: string }[] }; // the control door's form
  return createsOf(requests);
}

function pointCreate(merchant: string, device: string) {
  const path = `${POINT}/devices/${device}/payment-intents`;
  return bench.till(path, { merchant, body: BODY, headers: { 'x-shop': '1', 'x-test-scope': 'sandbox' } });
}

function qrCreate(merchant: string, till: string) {
  const unit_price = 15;
  return bench.till(`/instore/qr/seller/collectors/${merchant}/pos/${till}/orders`, {
    method: 'PUT',
    merchant,
    body: {
      external_reference: 'ticket 2',
      title: 'A sale',
      description: 'A sale',
      total_amount: unit_price,
      items: [{ title: 'Bread', unit_price, quantity: 1, unit_measure: 'unit', total_amount: unit_price }],
      tip: 1,
    },
  });
}

/** Device lists of both lanes run in between: double reads repeat these, and create nothing. */
async function causes(make: () => ReturnType<typeof pointCreate>): Promise<object> {
  const before = await creates();
  const answer = await make();
  expect([answer.status, answer.text]).toEqual([expect.toBeOneOf([200, 201, 204]), expect.anything()]);
  made++;
  // An exchange is stored only after all work of its call, its shadow too.
  await eventually(
    async () => keptExchanges(data_dir).filter(({ operation }) => operation !== 'point.list_devices'),
    (kept) => kept.length >= made,
  );
  const after = await creates();
  return { legacy: after.legacy - before.legacy, orders: after.orders - before.orders };
}

describe('one create', () => {
  it.each<[string, string, string, 'legacy' | 'orders']>([
    ['legacy', CHILE, 'SUC001POS001', 'legacy'],
    ['shadow', BRAZIL, 'SUC001POS001', 'legacy'],
    ['canary, in', ARGENTINA, 'SUC001POS001', 'orders'],
    ['canary, out', ARGENTINA, 'SUC001POS002', 'legacy'],
    ['orders', URUGUAY, 'SUC001POS001', 'orders'],
  ])('of a QR sale on %s', async (_stage, merchant, till, lane) => {
    expect(await causes(() => qrCreate(merchant, till))).toEqual({ legacy: 0, orders: 0, [lane]: 1 });
  });

  it.each<[string, string, string, 'legacy' | 'orders']>([
    ['shadow', BRAZIL, DEVICE, 'legacy'],
    ['canary, in', ARGENTINA, DEVICE, 'orders'],
    ['canary, out', ARGENTINA, SECOND_DEVICE, 'legacy'],
    ['orders', MEXICO, DEVICE, 'orders'],
  ])('of an intent on %s', async (_stage, merchant, device, lane) => {
    await bench.till(`${POINT}/devices`, { merchant });
    expect(await causes(() => pointCreate(merchant, device))).toEqual({ legacy: 0, orders: 0, [lane]: 1 });
  });

  it('and every one of them was kept, shadowed where it stayed on legacy and translated where it did not', () => {
    const kept = keptExchanges(data_dir).filter(({ operation }) => operation !== 'point.list_devices');
    expect(kept).toHaveLength(made);
    for (const { stage, lane, shadow, messages, fired, outcome } of kept) {
      expect([stage, outcome, shadow !== null]).toEqual([stage, 'ok', lane === 'legacy' && stage !== 'legacy']);
      expect([lane, (fired ?? []).length > 0]).toEqual([lane, lane === 'orders']);
      expect(messages?.request.body).toMatchObject({});
      const sent = messages?.upstream.filter(({ method, path }) => `${method} ${path}` === 'POST /v1/orders') ?? [];
      expect([lane, sent.length]).toEqual([lane, lane === 'orders' || shadow !== null ? 1 : 0]);
    }
  });
});
