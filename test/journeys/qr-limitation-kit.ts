/** Shared by the tests of QR limitations: runs one script in two worlds and compares the transcripts. */
import { expect } from 'vitest';
import { call, tokenOf } from '../kit.ts';
import { isOfPoint, limitationsOf } from './limitation-hits.ts';
import { argentina, buyer, create, type QrFamily } from './qr-sales.ts';
import { newQrTill, type QrStep, type QrTill } from './qr-till-script.ts';
import { inEachQrWay, type OpenQrWorld } from './qr-worlds.ts';
import { narrowDifferences } from './transcript.ts';
import type { WorldOptions } from './worlds.ts';

export const { limitation, limitations, shown } = limitationsOf((id) => !isOfPoint(id));

type Run = (till: QrTill, world: OpenQrWorld) => Promise<string[]>;

/** The differences between the legacy API (`-`) and Puente on the orders lane (`+`), without equal heads and tails. */
export async function compare(run: QrStep[] | Run, options: Partial<WorldOptions> = {}): Promise<string[]> {
  const told = await inEachQrWay({ merchant: argentina.merchant, ...options }, ['direct', 'orders'], (world) => {
    const till = newQrTill(world, true);
    return typeof run === 'function' ? run(till, world) : till.run(run);
  });
  return narrowDifferences(told.direct, told.orders);
}

/** The differences as `compare` finds them, and the newest order of the orders lane as the orders API then shows it. */
export async function compareWithOrder(run: Run): Promise<{ found: string[]; order: Record<string, unknown> }> {
  let order: Record<string, unknown> = {};
  const found = await compare(async (till, world) => {
    const lines = await run(till, world);
    order = await newestOrder(world);
    return lines;
  });
  return { found, order };
}

export function each<T>(
  run: (till: QrTill, world: OpenQrWorld) => Promise<T>,
  options: Partial<WorldOptions> = {},
): Promise<Record<'direct' | 'orders', T>> {
  return inEachQrWay({ merchant: argentina.merchant, ...options }, ['direct', 'orders'], (world) =>
    run(newQrTill(world), world),
  );
}

export const sale = (family: QrFamily, changes: object = {}, headers?: Record<string, string>): QrStep =>
  create(family, family.body(argentina, changes), headers);
export const OPENED: QrStep = { notices: 1 };
export const PAID: QrStep = { notices: 2 };
export const pay = (family: QrFamily): QrStep[] => [buyer(family, 'pay'), PAID];
export const MERCHANT_ORDER: QrStep = { call: 'GET /merchant_orders/{merchant_order}' };
export const searchOf = (reference: string, more = ''): QrStep => ({
  call: `GET /v1/payments/search?external_reference=${reference}&sort=date_created&criteria=desc${more}`,
});
export const REFUND: QrStep = { call: 'POST /v1/payments/{payment}/refunds', body: {} };
export const NOTHING_SHOWN =
  '< 404 application/json {"error":"point_of_sale_in_store_order_not_found","message":"Point of sale has no in store order","status":404,"causes":[]}';

/** A read with the till's token, outside the transcript. */
export async function ask(world: OpenQrWorld, path: string, more: object = {}): Promise<Record<string, unknown>> {
  const answer = await call(world.door_url + path, { token: tokenOf(world.merchant), ...more });
  return answer.body as Record<string, unknown>; // read by key only
}

/** The newest order as the orders API shows it; an empty answer without one. */
async function newestOrder(world: OpenQrWorld): Promise<Record<string, unknown>> {
  const id = [...world.bench.sandbox.world.orders.keys()].at(-1);
  const answer = await call(`${world.control_url}/v1/orders/${id}`, { token: tokenOf(world.merchant) });
  return answer.body as Record<string, unknown>; // read by key only
}

/** Loses answers of the orders API after the request has taken effect. */
export async function loseAnswers(world: OpenQrWorld, method: string, path: string): Promise<void> {
  const rule = { method, path, kind: 'reset', when: 'after', times: 'always' };
  expect((await call(`${world.control_url}/_sandbox/faults`, { body: rule })).status).toBe(201);
}
