/** Calls that each QR family refuses: bodies field by field, and paths with a till of another merchant or of none. */
import { BRAZIL } from '../kit.ts';
import {
  create,
  dynamic,
  type QrFamily,
  type QrSite,
  qrFamilies,
  read,
  remove,
  v1,
  v1Item,
  v1Number,
  v2,
  v2Item,
} from './qr-sales.ts';
import type { QrStep } from './qr-till-script.ts';

const UNKNOWN_TOKEN = 'APP_USR-4004001-112026-0000000000000000000000000000beef';

/** Bodies that all three routes refuse alike, before the till shows an order. */
const refusedBodies: Readonly<Record<string, (site: QrSite) => unknown[]>> = {
  'v1, the whole': (site) => [
    '',
    'not json',
    '[]',
    'null',
    '{}',
    `{"external_reference":"A","external_reference":"B","items":[${JSON.stringify(v1Item(site))}]}`,
    v1.body(site, { external_reference: undefined }),
    v1.body(site, { external_reference: '' }),
    v1.body(site, { external_reference: 'x'.repeat(257) }),
    v1.body(site, { external_reference: {} }),
    v1.body(site, { notification_url: 5 }),
    v1.body(site, { notification_url: `https://shop.example/${'x'.repeat(500)}` }),
    v1.body(site, { sponsor_id: 'nobody' }),
    v1.body(site, { marketplace_fee: 'x' }),
  ],
  'v1, items': (site) => [
    v1.body(site, { items: undefined }),
    v1.body(site, { items: {} }),
    v1.body(site, { items: [] }),
    v1.body(site, { items: ['x'] }),
    ...v1Changes.map((change) => v1.body(site, { items: [{ ...v1Item(site), ...change }] })),
  ],
  'v2, the whole': (site) => [
    '',
    'not json',
    '[]',
    'null',
    '{}',
    v2.body(site, { external_reference: undefined }),
    v2.body(site, { external_reference: '' }),
    v2.body(site, { external_reference: 'x'.repeat(257) }),
    v2.body(site, { external_reference: [] }),
    v2.body(site, { title: undefined }),
    v2.body(site, { title: '' }),
    v2.body(site, { title: 5 }),
    v2.body(site, { title: 'x'.repeat(257) }),
    v2.body(site, { description: 5 }),
    v2.body(site, { description: 'x'.repeat(257) }),
    v2.body(site, { notification_url: 5 }),
    v2.body(site, { expiration_date: 'tomorrow' }),
    v2.body(site, { expiration_date: '2020-01-01T10:00:00.000-04:00' }),
    v2.body(site, { expiration_date: 5 }),
    v2.body(site, { total_amount: undefined }),
    v2.body(site, { total_amount: 'x' }),
    v2.body(site, { total_amount: 0, items: [] }),
    v2.body(site, { total_amount: site.total + 1 }),
    v2.body(site, { sponsor: { id: 'nobody' } }),
    v2.body(site, { cash_out: 5 }),
    v2.body(site, { cash_out: { amount: 'x' } }),
  ],
  'v2, items': (site) => [
    v2.body(site, { items: undefined }),
    v2.body(site, { items: {} }),
    v2.body(site, { items: [] }),
    v2.body(site, { items: ['x'] }),
    ...v2Changes.map((change) => v2.body(site, { items: [{ ...v2Item(site), ...change }] })),
  ],
};

const itemChanges: readonly object[] = [
  { title: undefined },
  { title: '' },
  { title: 5 },
  { unit_price: undefined },
  { unit_price: 'x' },
  { unit_price: -1 },
  { unit_price: 1.015 },
  { quantity: undefined },
  { quantity: 'x' },
  { quantity: 1.5 },
  { quantity: 0 },
];
const v1Changes: readonly object[] = [
  ...itemChanges,
  { unit_price: 0 },
  { currency_id: undefined },
  { currency_id: 'XXX' },
  { description: 5 },
  { picture_url: 5 },
  { id: {} },
];
const v2Changes: readonly object[] = [
  ...itemChanges,
  { unit_measure: undefined },
  { unit_measure: '' },
  { total_amount: undefined },
  { currency_id: 'XXX' },
  { sku_number: {} },
  { category: 5 },
  { description: 5 },
];

/** Chapters that send each refused body through each call of its family. */
export function refusalChapters(site: QrSite): Record<string, QrStep[]> {
  const chapters: Record<string, QrStep[]> = {};
  for (const [name, bodies] of Object.entries(refusedBodies)) {
    const family = name.startsWith('v1') ? v1 : v2;
    for (const [index, body] of bodies(site).entries()) {
      chapters[`${name}: ${index + 1}`] = [create(family, body), ...read(family)];
    }
  }
  chapters['a notification_url that is none, dynamic alone'] = [
    create(dynamic, dynamic.body(site, { notification_url: 'nowhere' })),
  ];
  for (const family of qrFamilies) chapters[`${family.name}: not for you`] = foreign(family, site);
  chapters['no such till'] = noSuchTill(site);
  return chapters;
}

/** Missing and unknown tokens, and a path user that does not own the token. */
function foreign(family: QrFamily, site: QrSite): QrStep[] {
  const body = family.body(site);
  const calls = [create(family, body), ...read(family), ...remove(family)] as Extract<QrStep, { call: string }>[]; // none is a buyer's step
  const other = site.merchant === BRAZIL ? '700100200' : BRAZIL;
  const named = calls.filter(({ call }) => call.includes('{merchant}'));
  return [
    ...calls.map((step) => ({ ...step, token: null })),
    ...calls.map((step) => ({ ...step, token: `${UNKNOWN_TOKEN}-${site.merchant}` })),
    ...calls.map((step) => ({ ...step, token: 'short' })),
    ...named.map((step) => ({ ...step, call: step.call.replace('{merchant}', other) })),
    ...named.map((step) => ({ ...step, call: step.call.replace('{merchant}', 'me') })),
  ];
}

function noSuchTill(site: QrSite): QrStep[] {
  const on = ({ create: path }: QrFamily, from: string, to: string): string => path.replace(from, to);
  return [
    { call: on(v1, '{till}', 'NOTHERE'), body: v1.body(site) },
    { call: on(v1, '{till}', '{till_number}'), body: v1.body(site) },
    { call: on(v1Number, '{till_number}', '999999'), body: v1.body(site) },
    { call: on(v1Number, '{till_number}', 'NOTHERE'), body: v1.body(site) },
    { call: on(v2, '{till}', 'NOTHERE'), body: v2.body(site) },
    { call: on(v2, '{till}', '{till_number}'), body: v2.body(site) },
    { call: on(v2, '{till}', 'a%20b'), body: v2.body(site) },
    { call: on(dynamic, '{till}', 'NOTHERE'), body: v2.body(site) },
    { call: on(dynamic, 'collectors', 'collector').replace('{till}', 'NOTHERE'), body: v2.body(site) },
    { call: 'GET /mpmobile/instore/qr/999999' },
    { call: 'DELETE /mpmobile/instore/qr/999999' },
    { call: 'POST /v1/payments/1/refounds', body: {} },
    { call: 'GET /instore/integrator' },
    { call: 'GET /users/me' },
    { call: 'GET /merchant_orders/1' },
    { call: 'GET /merchant_orders/nonsense' },
    { call: 'GET /merchant_orders/search?external_reference=nothing' },
    { call: 'GET /merchant_orders?external_reference=nothing' },
    { call: 'GET /merchant_orders/?limit=1' },
    { call: 'GET /v1/payments/1' },
    { call: 'GET /v1/payments/nonsense' },
    { call: 'GET /v1/payments/search?external_reference=nothing' },
    { call: 'POST /v1/payments/1/refunds', body: {} },
    { call: 'GET /v1/payments/1/refunds/' },
    { call: 'PUT /collections/1', body: { status: 'refunded' } },
  ];
}
