/** A period of business: the units of a shop sell in parallel, each one sale after the other, by plan. */
import { atTerminal, cancelIntent, type Extras, openIntent, POINT, refund } from './point-till.ts';
import { payByCode, showSale, takeAway } from './qr-till.ts';
import type { Sale, Shop } from './shop.ts';

export type Plan = 'pay' | 'refund' | 'decline' | 'cancel';

/** A list with this many of each plan. */
export function plans(counts: Partial<Record<Plan, number>>): Plan[] {
  return (Object.entries(counts) as [Plan, number][]).flatMap(([plan, count]) => Array<Plan>(count).fill(plan)); // keys of the record
}

/** @returns the sales, in the order of their plans. @throws Error when one is refused. */
export async function tradeByCard(
  shop: Shop,
  devices: readonly string[],
  wanted: readonly Plan[],
  extras: (nth: number) => Extras = () => ({}),
): Promise<Sale[]> {
  return inTurns(devices, wanted, async (device, plan, nth) => {
    const sale = await openIntent(shop, device, extras(nth));
    if (plan === 'cancel') await cancelIntent(shop, sale);
    else await atTerminal(shop, sale, plan === 'decline' ? 'decline' : 'pay');
    if (plan === 'refund') await refund(shop, sale);
    return sale;
  });
}

export async function tradeByCode(shop: Shop, tills: readonly string[], wanted: readonly Plan[]): Promise<Sale[]> {
  return inTurns(tills, wanted, async (till, plan) => {
    const sale = await showSale(shop, till);
    if (plan === 'cancel') await takeAway(shop, sale);
    else await payByCode(shop, sale);
    if (plan === 'refund') await refund(shop, sale);
    return sale;
  });
}

/** A till lists its terminals, as it does at every start. */
export async function listDevices(shop: Shop, times: number): Promise<void> {
  for (let nth = 0; nth < times; nth++) await shop.call('point.list_devices', 'GET', `${POINT}/devices`);
}

async function inTurns(
  units: readonly string[],
  wanted: readonly Plan[],
  sell: (unit: string, plan: Plan, nth: number) => Promise<Sale>,
): Promise<Sale[]> {
  const sales: Sale[] = [];
  const lines = units.map(async (unit, line) => {
    for (const [nth, plan] of wanted.entries())
      if (nth % units.length === line) sales[nth] = await sell(unit, plan, nth);
  });
  await Promise.all(lines);
  return sales;
}
