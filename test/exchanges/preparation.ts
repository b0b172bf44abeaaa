/** Prepares a merchant of the whole app for an exchange: its settings, its intents and its QR sales. */
import { expect } from 'vitest';
import type { App } from '../../src/app/app.ts';
import { call, OPS_TOKEN, POINT, tokenOf } from '../kit.ts';
import { type AskedOrder, ended, isSale, orderId, orderOf, qrOrderOf } from './given.ts';
import { type Hook, sendHook } from './hook.ts';
import type { Exchange, Given, GivenIntent, GivenSale } from './kit.ts';
import type { Ledger, Row } from './ledger.ts';
import { fill } from './placeholders.ts';
import type { Scene } from './upstream.ts';

export const NOTICE_SECRET = 'notice-secret-of-the-tests';

export interface Stand {
  app: App;
  ledger: Ledger;
  orders: number;
}

/** Sets the merchant's settings at the ops door. @param notice_url null for no notices. */
export async function settle(app: App, exchange: Exchange, merchant: string, notice_url: string | null): Promise<void> {
  const { site: _site, ...settings } = exchange.merchant;
  const [first] = exchange.operation.startsWith('point.') ? (exchange.told ?? []) : [];
  const answer = await call(`${app.ops_url}/api/merchants/${merchant}`, {
    method: 'PUT',
    token: OPS_TOKEN,
    body: {
      reason: 'a golden exchange',
      new: true,
      revision: 0,
      notice_secret: NOTICE_SECRET,
      ...(notice_url === null ? {} : { notice_url }),
      ...(first ? { dialect: first.dialect } : {}),
      ...settings,
    },
  });
  expect(answer.status, answer.text).toBe(200);
}

/** Creates a given intent or sale, and ends it if the file says so. */
export async function make(stand: Stand, given: Given, scene: Scene, number: number): Promise<void> {
  const order_id = orderId(++stand.orders);
  const order = isSale(given)
    ? await openSale(stand, given, scene, order_id)
    : await openIntent(stand, given, scene, order_id);
  const row = stand.ledger.byOrder(order_id);
  if (given.ends) await end(stand, given, scene, ended(order, given), row);
  scene.improvise = null;
  remember(scene, stand.ledger.byOrder(order_id), number);
}

/** Names of a created link: the plain ones for the last link, and with its number for each. */
function remember({ names }: Scene, row: Row, number: number): void {
  for (const [name, value] of Object.entries(namesOf(row))) {
    names[name] = value;
    names[`${name} ${number}`] = value;
  }
}

export function namesOf(row: Row): Record<string, string> {
  const { merchant_order_id, payment_id } = row;
  return {
    intent: row.legacy_id,
    reference: row.reference_sent,
    preference: `${row.merchant_id}-${row.legacy_id}`,
    ...(row.order_id === null ? {} : { 'order id': row.order_id }),
    ...(merchant_order_id === null ? {} : { 'merchant order': String(merchant_order_id) }),
    ...(payment_id === null ? {} : { payment: payment_id }),
  };
}

async function openIntent(
  stand: Stand,
  given: GivenIntent,
  scene: Scene,
  order_id: string,
): Promise<Record<string, unknown>> {
  const { merchant } = scene;
  let order: Record<string, unknown> = {};
  scene.improvise = ({ body }) => {
    const { external_reference: reference } = body as AskedOrder; // Puente's create has one
    order = orderOf(given, { order_id, merchant, reference });
    return { status: 201, body: order };
  };
  const door = `${stand.app.public_url + POINT}/devices/${given.device}/payment-intents`;
  const create = await call(door, { token: tokenOf(merchant), body: given.body });
  expect(create.status, create.text).toBe(201);
  return order;
}

async function openSale(
  stand: Stand,
  given: GivenSale,
  scene: Scene,
  order_id: string,
): Promise<Record<string, unknown>> {
  const { merchant, names } = scene;
  const { method, path, headers = {}, body, external_pos_id } = fill(given.sale, names);
  let order: Record<string, unknown> = {};
  scene.improvise = (heard) => {
    if (heard.path.startsWith('/pos/')) return { status: 200, body: { external_id: external_pos_id } };
    const asked = heard.body as AskedOrder; // a create
    order = fill(qrOrderOf(given, { order_id, merchant, reference: asked.external_reference }, asked), names);
    return { status: 201, body: order };
  };
  const create = await call(stand.app.public_url + path, { method, token: tokenOf(merchant), headers, body });
  expect(create.status, create.text).toBeLessThan(300);
  return order;
}

/** An intent ends when Puente reads its order, a QR sale when Puente has processed the webhook. */
async function end(stand: Stand, given: Given, scene: Scene, order: object, row: Row): Promise<void> {
  const { merchant, names } = scene;
  scene.improvise = () => ({ status: 200, body: fill(order, names) });
  if (isSale(given)) {
    const hook: Hook = {
      merchant,
      order_id: row.order_id ?? '',
      reference: row.reference_sent,
      action: 'order.updated',
      type: 'qr',
    };
    await sendHook(stand.app, hook);
    await stand.ledger.untilRead();
  } else {
    await call(`${stand.app.public_url + POINT}/payment-intents/${row.legacy_id}`, { token: tokenOf(merchant) });
  }
}
