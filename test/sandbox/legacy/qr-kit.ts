/** Shared by the tests of the legacy QR families: valid bodies, the paths, and a buyer. */

import type { BuyerAction, BuyerOptions } from '../../../src/sandbox/actions.ts';
import { actAsBuyer } from '../../../src/sandbox/control.ts';
import { type Kit, openKit } from '../kit.ts';

export const ARGENTINA = '700100200';
/** The first till of the first store. */
export const TILL = 'SUC001POS001';

export const v1Path = (till = TILL, user = ARGENTINA): string => `/mpmobile/instore/qr/${user}/${till}`;
export const v2Path = (till = TILL, user = ARGENTINA): string =>
  `/instore/qr/seller/collectors/${user}/pos/${till}/orders`;
export const storePath = (store = 'SUC001', till = TILL): string =>
  `/instore/qr/seller/collectors/${ARGENTINA}/stores/${store}/pos/${till}/orders`;
export const codePath = (till = TILL, user = ARGENTINA): string =>
  `/instore/orders/qr/seller/collectors/${user}/pos/${till}/qrs`;

export const preferenceItem = { id: 'A1', title: 'Coffee', currency_id: 'ARS', unit_price: 120.5, quantity: 2 };

export function preference(changes: object = {}): Record<string, unknown> {
  return { external_reference: 'INV 0001', items: [preferenceItem], ...changes };
}

export const storeItem = {
  sku_number: 'A1',
  category: 'food',
  title: 'Coffee',
  unit_price: 120.5,
  quantity: 2,
  unit_measure: 'unit',
  total_amount: 241,
};

export function storeOrder(changes: object = {}): Record<string, unknown> {
  return { external_reference: 'INV 0002', title: 'Sale', total_amount: 241, items: [storeItem], ...changes };
}

export interface Shop extends Kit {
  /** Acts as the buyer who scans the newest code, or the code of this id. */
  buyer(action: BuyerAction, options?: BuyerOptions, id?: string): void;
  /** Orders in the control door's state, oldest first. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the door shows and asserts on it
  orders(): Promise<any[]>;
}

export async function openShop(settings: object = {}): Promise<Shop> {
  const kit = await openKit(settings);
  return {
    ...kit,
    buyer(action, options = {}, id) {
      const { payables } = kit.sandbox.world;
      const payable = id === undefined ? [...payables.values()].at(-1) : payables.get(id);
      if (payable === undefined) throw new Error('there is nothing to pay');
      actAsBuyer(kit.sandbox.world, payable.id, action, options);
    },
    orders: async () => (await kit.control('GET', 'state')).body.legacy_qr.orders,
  };
}
