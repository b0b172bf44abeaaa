/** The proof in numbers: the tills' books against the vendor's, the notices, and the lanes of birth. */
import type { Trace } from '../../../src/ops/trace/trace.ts';
import type { Journey, Scene } from '../journey.ts';
import { exchangesBetween } from '../papers.ts';
import { readIntent } from '../point-till.ts';
import { readOrder } from '../qr-till.ts';
import type { Sale, Shop } from '../shop.ts';
import { type Underneath, underneath } from '../underneath.ts';
import { until } from '../until.ts';

export const onceAndOnlyOnce: Scene = {
  title: "The tills' books against the vendor's: every sale exactly once, on one side, for ever",
  async play(journey) {
    const { shops, transcript, stand } = journey;
    for (const shop of Object.values(shops)) transcript.expect(...(await readsAgain(shop)));
    const below = await underneath(stand);
    for (const shop of Object.values(shops)) {
      const own = shop.sales.map((sale) => `${sale.born} ${sale.unit} ${sale.reference}`).toSorted();
      const theirs = (await vendorsBook(journey, shop, below)).toSorted();
      const text = `${shop.name}: ${own.length} sales at the tills, the same ${own.length} at the vendor, each once`;
      transcript.expect(text, theirs, own);
      const paid = shop.sales.filter(({ payment_id }) => payment_id !== null);
      const payments = below.payments.filter(({ merchant_id }) => merchant_id === shop.merchant);
      const sums = [sumOf(payments), new Set(paid.map(({ payment_id }) => payment_id)).size];
      transcript.expect(`${shop.name}: ${payments.length} payments, of the same amounts`, sums, [
        sumOf(paid),
        payments.length,
      ]);
    }
    await expectOneSide(journey);
  },
};

/** Every sale still reads as its till saw it last, whatever the stage is. */
async function readsAgain(shop: Shop): Promise<[string, unknown, unknown]> {
  const seen = shop.sales.map(({ state }) => state);
  await Promise.all(
    shop.units.map(async (unit) => {
      for (const sale of shop.sales.filter((one) => one.unit === unit))
        await (sale.family === 'point' ? readIntent(shop, sale) : readOrder(shop, sale));
    }),
  );
  const now = shop.sales.map(({ state }) => state);
  return [`${shop.name}: all ${seen.length} sales read as they did`, now, seen];
}

/** Lane, unit and till's reference of a merchant's sales at the vendor; orders are named by their trace. */
async function vendorsBook({ office }: Journey, shop: Shop, below: Underneath): Promise<string[]> {
  const { merchant, sales } = shop;
  const mine = <One extends { merchant_id: string }>(all: One[]): One[] =>
    all.filter(({ merchant_id }) => merchant_id === merchant);
  const by_id = new Map(sales.map((sale) => [sale.id, sale]));
  const intents = mine(below.legacy.intents).map(
    ({ id, device_id }) => `legacy ${device_id} ${by_id.get(id)?.reference ?? `unknown intent ${id}`}`,
  );
  const codes = mine(below.legacy_qr.orders).map(
    (order) => `legacy ${order.external_pos_id} ${order.external_reference}`,
  );
  const by_order = new Map<string | null, Sale>();
  for (const sale of sales.filter(({ born }) => born === 'orders')) {
    const query = new URLSearchParams({ id: sale.id ?? sale.reference, merchant });
    const { traces } = (await office.look(`/api/trace?${query}`)) as { traces: Trace[] }; // the API's shape
    for (const trace of traces) by_order.set(trace.sale?.order_id ?? null, sale);
  }
  const orders = mine(below.orders).map(({ id, config }) => {
    const unit = config.point?.terminal_id ?? config.qr?.external_pos_id;
    return `orders ${unit} ${by_order.get(id)?.reference ?? `unknown order ${id}`}`;
  });
  return [...intents, ...codes, ...orders];
}

function sumOf(all: readonly { amount_minor: number }[]): number {
  return all.reduce((sum, { amount_minor }) => sum + amount_minor, 0);
}

/** Checks by all exchanges that each legacy id was served on one lane only. */
async function expectOneSide(journey: Journey): Promise<void> {
  const { office, transcript, stand, began_at } = journey;
  const rows = await exchangesBetween(office, began_at, stand.now() + 1);
  const sides = Map.groupBy(
    rows.filter(({ legacy_id }) => legacy_id !== ''),
    ({ legacy_id }) => legacy_id,
  );
  const changed = [...sides].filter(([, calls]) => new Set(calls.map(({ lane }) => lane)).size > 1);
  transcript.expect(`${sides.size} ids in ${rows.length} calls, and none ever changed side`, changed, []);
}

export const toldOnce: Scene = {
  title: 'The receivers: every visible change was notified once',
  async play({ shops, transcript }) {
    for (const shop of Object.values(shops)) {
      const expected = expectedNotices(shop);
      const told = await until(
        async () => countsOf(shop),
        (counts) => counts.length >= expected.length,
      );
      transcript.expect(`${shop.name}: ${shop.told.length} deliveries, none missing, none twice`, told, expected);
      const wrong = shop.told.filter(({ signature_right }) => !signature_right);
      transcript.expect(`${shop.name}: all signed as the receivers check it`, wrong, []);
    }
  },
};

/** Topic, till's reference and count; a merchant order is announced when it is created and when it ends. */
function expectedNotices({ sales }: Shop): string[] {
  const lines = sales.flatMap(({ family, reference, state, payment_id, refunded }) => {
    if (family === 'point') return state === 'ABANDONED' ? [] : [`point_integration_wh ${reference} 1`];
    const payment = payment_id === null ? [] : [`payment ${reference} ${refunded ? 2 : 1}`];
    return [`merchant_order ${reference} 2`, ...payment];
  });
  return lines.toSorted();
}

function countsOf({ told }: Shop): string[] {
  const lines = Map.groupBy(told, ({ topic, reference }) => `${topic} ${reference}`);
  return [...lines].map(([line, all]) => `${line} ${all.length}`).toSorted();
}
