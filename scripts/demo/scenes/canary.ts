/** Canary: some units are on orders; the preview names them, open sales stay, and a higher share only adds units. */
import type { Judgement } from '../../../src/ops/moves/judge.ts';
import type { DrainView, Preview } from '../../../src/ops/moves/preview.ts';
import type { Journey, Scene } from '../journey.ts';
import { atTerminal, openIntent, readIntent } from '../point-till.ts';
import type { Sale, Shop } from '../shop.ts';
import { plans, tradeByCard, tradeByCode } from '../trade.ts';
import { placeAll } from '../underneath.ts';
import { until } from '../until.ts';

/** A unit outside the share, added by name. */
export const NAMED = 'NEWLAND_N950__LOAD0000006';
/** A unit in the share, with an open sale while the merchant is moved. */
const BUSY = 'NEWLAND_N950__SBX0000001';

export const firstUnits: Scene = {
  title: 'Canary in AR: a quarter of the terminals, and one by name; the preview says which',
  async play(journey) {
    const { shops, transcript, office, nextDay } = journey;
    const { ar } = shops;
    await nextDay(3);
    const open = await openIntent(ar, BUSY);
    await untilOpenOnLegacy(journey, ar, 1);
    transcript.tell('person', `a customer of AR is looking for a card: ${BUSY} has an open sale`);
    const preview = await previewOf(journey, ar, `stage=canary&share=25&units_in=point:${NAMED}`);
    const now = unitsOf(preview, 'now');
    const named = [now.includes(NAMED), unitsOf(preview, 'later')];
    transcript.expect('the named unit goes now, the busy one later', named, [true, [BUSY]]);
    const target = { stage: 'canary', share: 25, units_in: [`point:${NAMED}`] };
    const moved = await office.move('ben', ar.merchant, target, 'the first terminals');
    transcript.expect('Ben moves AR: the evidence is there', moved.status, 200);
    await finishWhereBorn(journey, ar, open, 'legacy');
    const sales = await tradeByCard(
      ar,
      ar.units,
      ar.units.map(() => 'pay'),
    );
    await placeAll(journey);
    transcript.expect(
      `the next sales are on orders on ${now.length + 1} of ${ar.units.length} terminals, exactly as previewed`,
      onOrders(sales),
      [...now, BUSY].toSorted(),
    );
  },
};

/** As many as `moves.min_sample` of the stand requires; in shadow both were seen on legacy only. */
const CANCELS_AND_REFUNDS = plans({ cancel: 10, refund: 10 });

export const moreUnits: Scene = {
  title: 'The share is raised; a sale that is open on orders meanwhile stays there',
  async play(journey) {
    const { shops, transcript, office, nextDay } = journey;
    const { ar } = shops;
    const before = onOrders(ar.sales);
    await nextDay(2);
    const open = await openIntent(ar, NAMED);
    await placeAll(journey);
    await untilOpenOnLegacy(journey, ar, 0);
    const preview = await previewOf(journey, ar, 'stage=canary&share=65');
    // On a busy machine a till may see its payment before Puente has stored that legacy accepted the sale. The next
    // sale then reads legacy, finds the earlier one ended and goes to orders, which the preview calls later.
    const gained = [...unitsOf(preview, 'now'), ...unitsOf(preview, 'later')];
    await office.move('ben', ar.merchant, { stage: 'canary', share: 65 }, 'nothing was heard from the shops');
    const sales = await tradeByCard(
      ar,
      ar.units.filter((unit) => unit !== NAMED),
      plans({ pay: ar.units.length - 1 }),
    );
    await finishWhereBorn(journey, ar, open, 'orders');
    await placeAll(journey);
    const expected = [...before.filter((unit) => unit !== NAMED), ...gained].toSorted();
    transcript.expect(`${gained.length} terminals more, as previewed, and none moved back`, onOrders(sales), expected);
    const proven = await tradeByCard(ar, onOrders(sales), CANCELS_AND_REFUNDS);
    const { legacy } = await placeAll(journey);
    transcript.expect('cancels and refunds there are seen on orders too', [proven.length, legacy], [20, 0]);
  },
};

export const brazilAndChile: Scene = {
  title: 'BR and CL follow on canary, with declines and refunds',
  async play(journey) {
    const { shops, transcript, office } = journey;
    const { br, cl } = shops;
    const moves = [
      await office.move('ben', br.merchant, { stage: 'canary', share: 50 }, 'AR went well'),
      await office.move(
        'ben',
        cl.merchant,
        { stage: 'canary', share: 50, units_in: ['qr:SUC001POS001'] },
        'AR went well',
      ),
    ];
    transcript.expect(
      'both may go',
      moves.map(({ status }) => status),
      [200, 200],
    );
    const [by_card, by_code] = await Promise.all([
      tradeByCard(br, br.units, plans({ pay: 8, decline: 8, refund: 8 })),
      tradeByCode(cl, cl.units, plans({ pay: 6, cancel: 6, refund: 6 })),
    ]);
    const sides = await placeAll(journey);
    transcript.tell('trade', `${sides.orders} sales on orders, ${sides.legacy} on legacy`);
    const told = (sales: Sale[]) => [...new Set(sales.map(({ state, born }) => `${state} on ${born}`))].toSorted();
    await Promise.all([
      tradeByCard(br, onOrders(by_card), CANCELS_AND_REFUNDS),
      tradeByCode(cl, onOrders(by_code), CANCELS_AND_REFUNDS),
    ]);
    await placeAll(journey);
    transcript.expect(
      'tills get the same answers on both sides',
      [...told(by_card), ...told(by_code)],
      [
        ...['FINISHED on legacy', 'FINISHED on orders'],
        ...['closed on legacy', 'closed on orders', 'expired on legacy', 'expired on orders'],
      ],
    );
  },
};

/** A sale that was open during the move is paid; its state and lane are unchanged by the move. */
async function finishWhereBorn(journey: Journey, shop: Shop, sale: Sale, side: 'legacy' | 'orders'): Promise<void> {
  await readIntent(shop, sale);
  const seen = sale.state;
  await placeAll(journey);
  await atTerminal(shop, sale, 'pay');
  const found = [seen, sale.state, sale.born];
  journey.transcript.expect(`the sale that was open stays on ${side}, and is paid there`, found, [
    'OPEN',
    'FINISHED',
    side,
  ]);
}

/**
 * Puente learns the end of a legacy sale from its till's reads. A sale that ended before Puente had stored it as open
 * is read once more, as polling tills do.
 */
async function untilOpenOnLegacy({ office }: Journey, shop: Shop, open: number): Promise<void> {
  const look = async (): Promise<DrainView['legacy']> => {
    const { legacy } = (await office.look(`/api/merchants/${shop.merchant}/drain`)) as DrainView; // the API's shape
    for (const { unit } of legacy.units) {
      const sale = shop.sales.findLast((one) => `point:${one.unit}` === unit && one.born === 'legacy');
      if (sale !== undefined) await readIntent(shop, sale);
    }
    return legacy;
  };
  await until(look, (legacy) => legacy.open === open && legacy.in_doubt === 0);
}

async function previewOf({ office, transcript }: Journey, { merchant }: Shop, query: string): Promise<Preview> {
  const path = `/api/merchants/${merchant}/stage/preview?${query}`;
  const { judgement } = (await office.ask('ana', 'GET', path)).body as { judgement: Judgement }; // the API's shape
  const { preview } = judgement;
  transcript.tell('found', `${preview.units_now} units now, ${preview.units_later} later, of ${preview.units_seen}`);
  return preview;
}

function unitsOf({ units }: Preview, when: 'now' | 'later'): string[] {
  return units
    .filter((unit) => unit.when === when)
    .map(({ slot }) => slot.replace('point:', ''))
    .toSorted();
}

/** Units whose newest sale was created on orders. */
export function onOrders(sales: readonly Sale[]): string[] {
  const newest = new Map(sales.map((sale) => [sale.unit, sale.born]));
  return [...newest].flatMap(([unit, born]) => (born === 'orders' ? [unit] : [])).toSorted();
}
