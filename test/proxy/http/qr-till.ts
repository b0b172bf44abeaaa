/** Shared by the QR tests of the doors: fresh tills, paths and bodies of each family, and the orders upstream. */
import type { AppParts } from '../../../src/app/app.ts';
import { type Answer, ARGENTINA } from '../../kit.ts';
import { openShop, type Shop, type UpstreamRequest } from './till.ts';

/** The sandbox's own till, for each merchant that has QR codes only. */
export const TILL = 'SUC001POS001';

export interface FreshTill {
  external_id: string;
  number: number;
}

export interface QrOrderUpstream {
  id: string;
  status: string;
  external_reference: string;
  description?: string;
  expiration_time?: string;
  total_amount: string;
  marketplace_fee?: string;
  items?: object[];
  integration_data?: object;
  config: { qr: { external_pos_id: string; mode: string } };
  transactions: { payments?: { amount: string }[] };
}

export interface QrShop extends Shop {
  freshTill(): FreshTill;
  ordersAt(external_id: string, merchant?: string): Promise<QrOrderUpstream[]>;
  /** Calls of the orders API whose path starts like this, since the shop opened. */
  asked(path: string): Promise<UpstreamRequest[]>;
  buyer(till: string, action: string, merchant?: string): Promise<Answer>;
}

export async function openQrShop(settings: Record<string, string> = {}, parts: AppParts = {}): Promise<QrShop> {
  const shop = await openShop(settings, parts);
  let used = 0;
  return {
    ...shop,
    freshTill() {
      used++;
      return { external_id: `LOAD${String(used).padStart(7, '0')}`, number: 1_001_000 + used };
    },
    async ordersAt(external_id, merchant = ARGENTINA) {
      const { orders } = (await shop.control('/state')).body as {
        orders: (QrOrderUpstream & { merchant_id: string })[];
      }; // the control door's form
      return orders.filter(
        (order) => order.merchant_id === merchant && order.config.qr?.external_pos_id === external_id,
      );
    },
    asked: (path) => shop.requests(path),
    buyer: (till, action, merchant = ARGENTINA) => shop.control(`/pos/${merchant}/${till}/${action}`, { body: {} }),
  };
}

export function preferencePath(till: string, merchant = ARGENTINA): string {
  return `/mpmobile/instore/qr/${merchant}/${till}`;
}

export function orderPath(till: string, merchant = ARGENTINA): string {
  return `/instore/qr/seller/collectors/${merchant}/pos/${till}/orders`;
}

export function codePath(till: string, merchant = ARGENTINA): string {
  return `/instore/orders/qr/seller/collectors/${merchant}/pos/${till}/qrs`;
}

export function preference(change: object = {}): Record<string, unknown> {
  return {
    external_reference: 'Factura 0001',
    notification_url: 'https://shop.example/ipn?tenant=7',
    items: [
      { id: 'A1', title: 'Coffee', currency_id: 'ARS', unit_price: 120.5, quantity: 2, description: 'black' },
      { title: 'Water', currency_id: 'ARS', unit_price: 60, quantity: 1 },
    ],
    ...change,
  };
}

export function storeOrder(change: object = {}): Record<string, unknown> {
  return {
    external_reference: 'Factura 0002',
    title: 'Shop',
    description: 'Table 4',
    notification_url: 'https://shop.example/ipn',
    total_amount: 301,
    items: [
      {
        sku_number: 'A1',
        category: 'food',
        title: 'Coffee',
        unit_price: 150.5,
        quantity: 2,
        unit_measure: 'unit',
        total_amount: 301,
      },
    ],
    ...change,
  };
}
