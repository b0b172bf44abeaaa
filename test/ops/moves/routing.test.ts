/** Moves with open sales: the preview equals the result, a rollback leaves sales on their lane, the drain counts. */
import { describe, expect, it } from 'vitest';
import type { DrainView, Preview } from '../../../src/ops/moves/preview.ts';
import { ANA, ARGENTINA, BEN, EVA, eventually, POINT } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { auditsOf, idOf } from '../../proxy/http/till.ts';
import { startMoves } from './kit.ts';

const TERMINALS = Array.from({ length: 12 }, (_, nth) => `NEWLAND_N950__LOAD${String(nth + 1).padStart(7, '0')}`);
const CANARY = { stage: 'canary', share: 40, kind: 'intents' };

const terminals = JSON.stringify({ extra_terminals: TERMINALS.length });
const bench = openForAll(() => startMoves({ PUENTE_MOVES_GATE: 'advise', PUENTE_SANDBOX_SETTINGS: terminals }));

const sell = (device: string) => bench.till(`${POINT}/devices/${device}/payment-intents`, { body: { amount: 1500 } });
const slotOf = (device: string): string => `point:${device}`;

/** A proxied answer reaches the till before Puente has read it, so the cancel waits until the sale is known. */
async function cancel(device: string, id: string): Promise<void> {
  await eventually(drain, ({ legacy }) => legacy.in_doubt === 0);
  expect((await bench.till(`${POINT}/devices/${device}/payment-intents/${id}`, { method: 'DELETE' })).status).toBe(200);
}

/** Lane that a terminal's new sale is routed to; the sale is canceled again. */
async function sideOf(device: string): Promise<'orders' | 'legacy'> {
  const id = idOf(await sell(device));
  const { body } = await bench.control('/state');
  const { legacy } = body as { legacy: { intents: { id: string }[] } }; // the sandbox's shape
  await cancel(device, id);
  return legacy.intents.some((intent) => intent.id === id) ? 'legacy' : 'orders';
}

async function previewOf(query: string): Promise<Preview> {
  const answer = await bench.as(ANA, 'GET', `/api/merchants/${ARGENTINA}/stage/preview?${query}`);
  return (answer.body as { judgement: { preview: Preview } }).judgement.preview;
}

async function drain(): Promise<DrainView> {
  return (await bench.as(ANA, 'GET', `/api/merchants/${ARGENTINA}/drain`)).body as DrainView; // the API's shape
}

describe('the preview equals what then happens', () => {
  it('unit by unit, of a canary with a share, a unit in, and an open sale', async () => {
    await bench.move({ stage: 'shadow' });
    for (const device of TERMINALS.slice(1)) expect(await sideOf(device)).toBe('legacy');
    const [busy = ''] = TERMINALS;
    const open = idOf(await sell(busy));
    await eventually(
      () => previewOf('stage=shadow'),
      ({ units_seen, open_on_legacy }) => units_seen === TERMINALS.length && open_on_legacy === 1,
    );
    await eventually(drain, ({ legacy }) => legacy.in_doubt === 0);
    const preview = await previewOf(`stage=canary&share=40&kind=intents&units_in=${slotOf(busy)}`);
    const now = preview.units.filter(({ when }) => when === 'now').map(({ slot }) => slot);
    expect(preview.units.filter(({ when }) => when === 'later')).toMatchObject([
      { slot: slotOf(busy), to: 'orders', why: `a sale on legacy may still be open there (${open})` },
    ]);
    expect(now.length).toBeGreaterThan(0);
    expect(now.length).toBeLessThan(TERMINALS.length - 1);
    expect(preview.calls_a_day_touched).toBeGreaterThan(0);
    const moved = await bench.move({ ...CANARY, units_in: [slotOf(busy)] }, EVA);
    expect((moved.body as { judgement: { preview: Preview } }).judgement.preview.units_now).toBe(now.length);
    for (const device of TERMINALS.slice(1)) {
      const side = await sideOf(device);
      expect([device, side]).toEqual([device, now.includes(slotOf(device)) ? 'orders' : 'legacy']);
    }
    await cancel(busy, open);
    expect(await sideOf(busy)).toBe('orders');
  });

  it('a higher share takes more units, and leaves those that it had', async () => {
    const before = await previewOf('stage=canary&share=40&kind=intents');
    expect(before.units_now).toBe(0);
    const more = await previewOf('stage=canary&share=80&kind=intents');
    expect(more.units.map(({ to }) => to)).toEqual(more.units.map(() => 'orders'));
    expect(more.units_now).toBeGreaterThan(0);
  });
});

describe('rollback', () => {
  it('takes all kinds back now, without a revision; open orders stay, and the drain counts them down', async () => {
    await bench.move({ stage: 'orders' }, EVA);
    await bench.move({ stage: 'orders', kind: 'intents' }, EVA);
    const [first = '', second = ''] = TERMINALS;
    const open = [idOf(await sell(first)), idOf(await sell(second))];
    const rolled = await bench.as(BEN, 'POST', `/api/merchants/${ARGENTINA}/rollback`, {
      reason: 'tills report errors',
    });
    expect(rolled.body).toMatchObject({
      before: { intents: { stage: 'orders' }, qr: { stage: 'orders' } },
      in_force: { intents: { stage: 'legacy' }, qr: { stage: 'legacy' }, devices: { stage: 'legacy' } },
      orders: { open: 2, in_doubt: 0 },
    });
    const view = await drain();
    const units = view.orders.units.filter((unit) => unit.open > 0);
    expect(units).toMatchObject([
      { unit: slotOf(first), open: 1 },
      { unit: slotOf(second), open: 1 },
    ]);
    expect(view.says).toMatch(/^2 sales are open on orders; they end by .+, in \d+ min, at the latest\./);
    expect(Date.parse(view.safe_to_close_at ?? '')).toBeGreaterThanOrEqual(Date.parse(view.orders.latest_end_at ?? ''));
    for (const [nth, device] of [first, second].entries()) {
      expect((await bench.till(`${POINT}/payment-intents/${open[nth]}`)).body).toMatchObject({ state: 'OPEN' });
      await cancel(device, open[nth] ?? '');
    }
    const empty = await drain();
    expect([empty.orders.open, empty.says]).toEqual([0, expect.stringContaining('Nothing is open on orders')]);
    expect(await sideOf(first)).toBe('legacy');
    expect((await auditsOf(bench.data_dir)).at(-1)).toMatchObject({
      who: BEN.name,
      action: 'rollback',
      reason: 'tills report errors',
      detail: { before: { stage: 'orders' }, after: { stage: 'legacy' }, rollback: true },
    });
  });

  it('shows what is open on legacy when the merchant moves forward', async () => {
    const [device = ''] = TERMINALS;
    const open = idOf(await sell(device));
    const { legacy, orders } = await eventually(drain, (view) => view.legacy.open === 1 && view.legacy.in_doubt === 0);
    expect([legacy.open, legacy.units, orders.open]).toMatchObject([1, [{ unit: slotOf(device) }], 0]);
    await cancel(device, open);
  });

  it('twice does no harm, and ten at once are ten lines and one merchant on legacy', async () => {
    const again = () => bench.as(BEN, 'POST', `/api/merchants/${ARGENTINA}/rollback`, { reason: 'once more' });
    const answers = await Promise.all(Array.from({ length: 5 }, again));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect((await bench.stageOf()).stage).toBe('legacy');
  });
});
