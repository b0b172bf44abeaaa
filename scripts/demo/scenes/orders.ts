/** Orders: the last stage, with a second person's approval; and the rollback. */
import type { RolledBack } from '../../../src/ops/moves/move.ts';
import type { DrainView } from '../../../src/ops/moves/preview.ts';
import type { Journey, Scene } from '../journey.ts';
import { askIntent, atTerminal, cancelIntent, openIntent, readIntent, refund } from '../point-till.ts';
import type { Shop } from '../shop.ts';
import { plans, tradeByCard, tradeByCode } from '../trade.ts';
import { placeAll } from '../underneath.ts';
import { until } from '../until.ts';
import { onOrders } from './canary.ts';

export const secondPerson: Scene = {
  title: 'From here on a second person must agree; BR goes to orders',
  async play(journey) {
    const { shops, transcript, office, stand, nextDay } = journey;
    const { br } = shops;
    await nextDay(3);
    const open = await openIntent(br, 'NEWLAND_N950__LOAD0000001');
    await stand.restart({ PUENTE_MOVES_SECOND_APPROVER: 'true' });
    transcript.tell('person', 'Puente is stopped, set to moves.second_approver, and started again; a sale is open');
    const ask = await office.move('ben', br.merchant, { stage: 'orders' }, 'the canary was quiet for a week');
    const { proposed } = ask.body as { proposed: { id: string; state: string } }; // the API's shape
    const own = await office.ask('ben', 'POST', `/api/moves/${proposed.id}/approve`, { reason: 'I agree with me' });
    const moved = await office.ask('eva', 'POST', `/api/moves/${proposed.id}/approve`, { reason: 'seen the report' });
    transcript.expect(
      'Ben proposes, may not approve; Eva does',
      [proposed.state, own.status, moved.status],
      ['waiting', 403, 200],
    );
    await placeAll(journey);
    await atTerminal(br, open, 'pay');
    transcript.expect(
      'the sale that was open lived through the restart',
      [open.born, open.state],
      ['orders', 'FINISHED'],
    );
    const sales = await tradeByCard(br, br.units, plans({ pay: 4, decline: 2, refund: 2 }));
    await placeAll(journey);
    transcript.expect('all terminals of BR sell on orders', onOrders(sales), br.units.toSorted());
  },
};

export const rollback: Scene = {
  title: 'Cashiers of BR complain: one person rolls it back at once, and what is open stays',
  async play(journey) {
    const { shops, transcript, office, nextDay } = journey;
    const { br } = shops;
    await nextDay();
    await Promise.all(br.units.slice(0, 3).map((unit) => openIntent(br, unit)));
    await placeAll(journey);
    const path = `/api/merchants/${br.merchant}/rollback`;
    const { body } = await office.ask('ben', 'POST', path, { reason: 'cashiers complain' });
    const { says, orders } = body as RolledBack; // the API's shape
    transcript.tell('said', says);
    const next = await tradeByCard(br, br.units.slice(3), plans({ pay: 5 }));
    await placeAll(journey);
    const found = [orders.open, onOrders(next)];
    transcript.expect('three sales are open on orders, new ones go to legacy', found, [3, []]);
    const busy = await askIntent(br, br.units[0] ?? '', br.nextReference());
    transcript.expect('a terminal with an open sale is busy, as ever', busy.status, 409);
  },
};

export const drained: Scene = {
  title: 'BR is drained to zero: each open sale ends where it was born',
  async play(journey) {
    const { shops, transcript, stand } = journey;
    const { br } = shops;
    const [paid, canceled, forgotten] = br.sales.filter(({ state }) => state === 'OPEN');
    if (paid === undefined || canceled === undefined || forgotten === undefined) throw new Error('Three are open.');
    const counted: number[] = [];
    await atTerminal(br, paid, 'pay');
    counted.push((await drainOf(journey, br)).orders.open);
    await cancelIntent(br, canceled);
    counted.push((await drainOf(journey, br)).orders.open);
    await stand.pass(LIFETIME_OVER_MS);
    const { orders, says } = await until(
      () => drainOf(journey, br),
      (view) => view.orders.open === 0,
    );
    counted.push(orders.open);
    transcript.tell('said', says);
    transcript.expect('the drain counts to zero: paid, canceled, expired', counted, [2, 1, 0]);
    await readIntent(br, forgotten);
    const ends = [paid, canceled, forgotten].map(({ state, born }) => `${state} on ${born}`);
    transcript.expect('where they were born', ends, [
      'FINISHED on orders',
      'CANCELED on orders',
      'ABANDONED on orders',
    ]);
    const back = await refund(br, paid);
    transcript.expect('what was paid as an order is refunded as one, by the legacy call', back.status, 201);
    const after = await tradeByCard(br, br.units.slice(0, 3), plans({ pay: 3 }));
    await placeAll(journey);
    transcript.expect('the drained terminals sell on legacy', [after.length, onOrders(after)], [3, []]);
  },
};

/** Longer than the default lifetime of an order and its grace. */
const LIFETIME_OVER_MS = 20 * 60_000;

async function drainOf({ office }: Journey, { merchant }: Shop): Promise<DrainView> {
  return (await office.look(`/api/merchants/${merchant}/drain`)) as DrainView; // the API's shape
}

export const lastStage: Scene = {
  title: 'AR and CL arrive: everything new is an order',
  async play(journey) {
    const { shops, transcript, office, nextDay } = journey;
    const { ar, cl } = shops;
    await nextDay();
    for (const shop of [ar, cl]) {
      const ask = await office.move('ben', shop.merchant, { stage: 'orders' }, 'the last step');
      const { proposed } = ask.body as { proposed: { id: string } }; // the API's shape
      const moved = await office.ask('eva', 'POST', `/api/moves/${proposed.id}/approve`, { reason: 'the last step' });
      transcript.expect(`${shop.name} is on orders, by two persons`, moved.status, 200);
    }
    const sales = await Promise.all([
      tradeByCard(ar, ar.units, plans({ pay: 8, decline: 2, cancel: 3, refund: 3 })),
      tradeByCode(cl, cl.units, plans({ pay: 3, cancel: 2, refund: 3 })),
    ]);
    const { legacy, orders } = await placeAll(journey);
    transcript.expect(`${sales.flat().length} sales, all of them orders`, [legacy, orders], [0, sales.flat().length]);
  },
};
