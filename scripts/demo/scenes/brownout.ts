/** A brown-out: for an hour legacy refuses new work of merchants that moved, which shows tills that still use it. */
import type { BrownoutView } from '../../../src/ops/moves/brownouts.ts';
import type { Scene } from '../journey.ts';
import type { Office } from '../office.ts';
import { exchangesBetween } from '../papers.ts';
import { atTerminal, readIntent, tryIntent } from '../point-till.ts';
import { payByCode, tryCode } from '../qr-till.ts';
import type { Shop } from '../shop.ts';
import { plans, tradeByCard, tradeByCode } from '../trade.ts';
import { placeAll } from '../underneath.ts';
import { onOrders } from './canary.ts';

const HOUR_MS = 3_600_000;

export const brownout: Scene = {
  title: 'A brown-out at ten finds who still calls legacy, and is aborted at once',
  async play(journey) {
    const { shops, transcript, office, stand, nextDay } = journey;
    const moved = [shops.ar, shops.br, shops.cl];
    await nextDay();
    const from = stand.now() + HOUR_MS;
    const window = { from: new Date(from).toISOString(), until: new Date(from + HOUR_MS).toISOString() };
    const ask = { merchants: moved.map(({ merchant }) => merchant), ...window, reason: 'who is left on legacy?' };
    const { body } = await office.ask('eva', 'POST', '/api/brownouts', ask);
    const { id } = body as BrownoutView; // the API's shape
    await stand.pass(HOUR_MS + 60_000);
    const left = moved.flatMap((shop) => {
      const on_orders = onOrders(shop.sales);
      return shop.units.filter((unit) => !on_orders.includes(unit)).map((unit) => `${shop.merchant} ${unit}`);
    });
    const refused: string[] = [];
    for (const shop of moved)
      for (const unit of shop.units) {
        const status = await trySale(shop, unit);
        if (status === 503) refused.push(`${shop.merchant} ${unit}`);
      }
    transcript.tell('found', `refused: ${refused.join(', ')}`);
    transcript.expect('the tills that are on legacy were refused, and no other', refused, left);
    const [old] = shops.ar.sales;
    if (old !== undefined) await readIntent(shops.ar, old);
    transcript.expect('what exists goes on: an old sale is read', old?.state, 'FINISHED');
    const seen = await callersIn(office, from, stand.now() + 1);
    transcript.expect('the office sees the same tills in its records', seen, left.toSorted());
    const abort = await office.ask('ben', 'POST', `/api/brownouts/${id}/abort`, { reason: 'we know enough' });
    transcript.expect('Ben may end it alone', (abort.body as BrownoutView).state, 'aborted');
    const again = await Promise.all([
      tradeByCard(shops.ar, shops.ar.units.slice(-2), plans({ pay: 2 })),
      tradeByCode(shops.cl, shops.cl.units.slice(-1), plans({ pay: 1 })),
    ]);
    transcript.expect('the same tills sell at once', again.flat().length, 3);
    await placeAll(journey);
  },
};

/** A till tries to sell. @returns the status of its create. */
async function trySale(shop: Shop, unit: string): Promise<number> {
  if (shop.site === 'MLC') {
    const { sale, answer } = await tryCode(shop, unit);
    if (sale !== null) await payByCode(shop, sale);
    return answer.status;
  }
  const { sale, answer } = await tryIntent(shop, unit);
  if (sale !== null) await atTerminal(shop, sale, 'pay');
  return answer.status;
}

/** Units whose legacy calls were refused in the window, by the exchanges of a report. */
async function callersIn(office: Office, since: number, until: number): Promise<string[]> {
  const rows = await exchangesBetween(office, since, until);
  const refused = rows.filter(({ lane, status }) => lane === 'legacy' && status === '503');
  return [...new Set(refused.map(({ merchant_id, unit }) => `${merchant_id} ${unit?.split(':')[1]}`))].toSorted();
}
