/** The legacy QR families as tills use them: paths, and bodies accepted by each site (`docs/field-notes.md` QR §1). */
import { ARGENTINA, BRAZIL, CHILE, URUGUAY } from '../kit.ts';
import type { QrStep } from './qr-till-script.ts';

export interface QrSite {
  name: string;
  merchant: string;
  currency: string;
  /** Price of one piece, as the till writes it. */
  unit_price: number;
  /** Total of the sale below: two pieces. */
  total: number;
  part: number;
}

export const argentina: QrSite = {
  name: 'Argentina',
  merchant: ARGENTINA,
  currency: 'ARS',
  unit_price: 120.5,
  total: 241,
  part: 40.5,
};
export const qrSites: readonly QrSite[] = [
  argentina,
  { name: 'Brazil', merchant: BRAZIL, currency: 'BRL', unit_price: 19.99, total: 39.98, part: 9.99 },
  { name: 'Chile', merchant: CHILE, currency: 'CLP', unit_price: 1250, total: 2500, part: 500 },
  { name: 'Uruguay', merchant: URUGUAY, currency: 'UYU', unit_price: 75.25, total: 150.5, part: 50.25 },
];

export interface QrFamily {
  name: string;
  create: string;
  /** Null where legacy had no such call. */
  get: string | null;
  remove: string | null;
  /** Whether the sale shows on the till's printed code. */
  on_till: boolean;
  body(site: QrSite, changes?: object): Record<string, unknown>;
}

export const v1Item = (site: QrSite) => ({
  id: 'A1',
  title: 'Coffee',
  description: 'Black',
  currency_id: site.currency,
  unit_price: site.unit_price,
  quantity: 2,
  picture_url: 'https://shop.example/coffee.png',
});
export const v2Item = (site: QrSite) => ({
  sku_number: 'A1',
  category: 'food',
  title: 'Coffee',
  description: 'Black',
  unit_price: site.unit_price,
  quantity: 2,
  unit_measure: 'unit',
  total_amount: site.total,
});

const NOTIFICATION_URL = '{receiver}?shop=9&lane=two';
const v1Body: QrFamily['body'] = (site, changes = {}) => ({
  external_reference: 'INV-0001',
  notification_url: NOTIFICATION_URL,
  items: [v1Item(site)],
  ...changes,
});
const v2Body: QrFamily['body'] = (site, changes = {}) => ({
  external_reference: 'INV-0001',
  title: 'Two coffees',
  description: 'At the bar',
  notification_url: NOTIFICATION_URL,
  total_amount: site.total,
  items: [v2Item(site)],
  ...changes,
});

const V1 = '/mpmobile/instore/qr/{merchant}/{till}';
const V1_NUMBER = '/mpmobile/instore/qr/{till_number}';
const V2 = '/instore/qr/seller/collectors/{merchant}/pos/{till}/orders';
const V2_STORE = '/instore/qr/seller/collectors/{merchant}/stores/SUC001/pos/{till}/orders';
const CODES = '/instore/orders/qr/seller/collectors/{merchant}/pos/{till}/qrs';

const attended = (name: string, method: string, path: string, body: QrFamily['body']): QrFamily => ({
  name,
  create: `${method} ${path}`,
  get: `GET ${path}`,
  remove: `DELETE ${path}`,
  on_till: true,
  body,
});

export const v1 = attended('v1 by external id', 'POST', V1, v1Body);
export const v1Put = attended('v1 put', 'PUT', V1, v1Body);
export const v1Number = attended('v1 by till number', 'POST', V1_NUMBER, v1Body);
export const v2 = attended('v2 without store', 'PUT', V2, v2Body);
export const v2Store = attended('v2 with store', 'PUT', V2_STORE, v2Body);
export const hybrid: QrFamily = {
  ...attended('hybrid', 'PUT', V2, v2Body),
  create: `PUT ${CODES}`,
};
export const dynamic: QrFamily = {
  name: 'dynamic',
  create: `POST ${CODES}`,
  get: null,
  remove: null,
  on_till: false,
  body: v2Body,
};
export const qrFamilies: readonly QrFamily[] = [v1, v1Put, v1Number, v2, v2Store, hybrid, dynamic];

export const create = (
  family: QrFamily,
  body: unknown,
  headers?: Record<string, string>,
): Extract<QrStep, { call: string }> => ({
  call: family.create,
  body,
  ...(headers === undefined ? {} : { headers }),
});
export const read = ({ get }: QrFamily): QrStep[] => (get === null ? [] : [{ call: get }]);
export const remove = (family: QrFamily): QrStep[] => (family.remove === null ? [] : [{ call: family.remove }]);
/** The buyer at the till's printed code, or at the code that was made. */
export const buyer = (family: QrFamily, action: string, options: object = {}): QrStep =>
  family.on_till ? { buyer: action, options } : { buyer: action, code: true, options };
