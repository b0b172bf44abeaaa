/** The webhook of the orders API, signed as the vendor signs it (`docs/field-notes.md` Orders §4.2). */
import { createHmac, randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { App } from '../../src/app/app.ts';
import { call } from '../kit.ts';

export const WEBHOOK_SECRET = 'webhook-secret-of-the-tests';

export interface Hook {
  merchant: string;
  order_id: string;
  reference: string | undefined;
  action: string;
  type: 'point' | 'qr';
}

export async function sendHook(
  { public_url }: App,
  { merchant, order_id, reference, action, type }: Hook,
): Promise<void> {
  const request_id = randomUUID();
  const ts = Date.now();
  const v1 = hmac(WEBHOOK_SECRET, `id:${order_id.toLowerCase()};request-id:${request_id};ts:${ts};`);
  const data = { id: order_id, type, external_reference: reference };
  const answer = await call(`${public_url}/webhooks/orders?data.id=${order_id}&type=order`, {
    headers: { 'x-request-id': request_id, 'x-signature': `ts=${ts},v1=${v1}` },
    body: { action, api_version: 'v1', type: 'order', user_id: merchant, data },
  });
  expect(answer.status).toBe(200);
}

export function hmac(secret: string, manifest: string): string {
  return createHmac('sha256', secret).update(manifest).digest('hex');
}
