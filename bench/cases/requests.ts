/** Requests of tills and of the vendor, ready to send. */
import { createHmac } from 'node:crypto';
import { WEBHOOK_SECRET } from '../contestants/puente.ts';
import { unitOf } from '../upstream/answers.ts';

export interface BenchRequest {
  method: 'GET' | 'POST' | 'PUT';
  path: string;
  headers: Record<string, string>;
  /** ASCII. */
  body: string;
}

/** Invented; the benchmark's upstream accepts every token and has one user. */
export const USER = '700100200';
const AUTHORIZATION = `Bearer APP_USR-4004001-112026-00000000000000000000000000000a01-${USER}`;
const READ = { authorization: AUTHORIZATION, accept: '*/*' };
export const WRITE = { ...READ, 'content-type': 'application/json' };

/** Creates sale `n` on a terminal whose id tells upstream its number and kind. */
export function createIntent(kind: 'N' | 'F', n: number): BenchRequest {
  return {
    method: 'POST',
    path: `/point/integration-api/devices/${unitOf(kind, n)}/payment-intents`,
    headers: WRITE,
    body: JSON.stringify({
      amount: 1500,
      additional_info: { external_reference: referenceOf(n), print_on_terminal: true },
    }),
  };
}

/** A chat completion as large as a create; Portkey's gateway takes the vendor and its address from headers. */
export function complete(upstream: string, n: number): BenchRequest {
  return {
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { ...WRITE, 'x-portkey-provider': 'anthropic', 'x-portkey-custom-host': `${upstream}/v1` },
    body: JSON.stringify({
      model: 'claude-bench',
      max_tokens: 64,
      user: referenceOf(n),
      messages: [{ role: 'user', content: 'Which terminal?' }],
    }),
  };
}

export function putSale(n: number): BenchRequest {
  return {
    method: 'PUT',
    path: `/instore/qr/seller/collectors/${USER}/pos/${unitOf('Q', n)}/orders`,
    headers: WRITE,
    body: JSON.stringify({
      external_reference: referenceOf(n),
      title: 'Two coffees',
      total_amount: 301,
      items: [{ title: 'Coffee', unit_price: 150.5, quantity: 2, unit_measure: 'unit', total_amount: 301 }],
    }),
  };
}

/** Event number `n`, signed as the vendor signs. */
export function eventAbout(order_id: string, n: number, action: string): BenchRequest {
  const ts = Date.now();
  const signed = `id:${order_id.toLowerCase()};request-id:event-${n};ts:${ts};`;
  const digest = createHmac('sha256', WEBHOOK_SECRET).update(signed).digest('hex');
  return {
    method: 'POST',
    path: `/webhooks/orders?data.id=${order_id}&type=order`,
    headers: {
      'content-type': 'application/json',
      'x-request-id': `event-${n}`,
      'x-signature': `ts=${ts},v1=${digest}`,
    },
    body: JSON.stringify({ action, type: 'order', user_id: USER, data: { id: order_id } }),
  };
}

export function get(path: string): BenchRequest {
  return { method: 'GET', path, headers: READ, body: '' };
}

export function referenceOf(n: number): string {
  return `12_4_sale${n}`;
}
