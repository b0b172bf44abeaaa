/** Plays golden exchanges through the whole of Puente, between a till and an upstream that knows its lines by heart. */
import { createHmac, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type App, startApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { derivedReference } from '../../src/core/reference.ts';
import { call, type Delivery, OPS_TOKEN, POINT, type Receiver, startReceiver, tokenOf } from '../kit.ts';
import { endedOrder, orderId, orderOf } from './given.ts';
import type { Exchange, Given } from './kit.ts';
import { fill, learn, type Names } from './placeholders.ts';
import { type Scene, type ScriptedUpstream, startUpstream } from './upstream.ts';

const WEBHOOK_SECRET = 'webhook-secret-of-the-tests';
const NOTICE_SECRET = 'notice-secret-of-the-tests';
/** Merchants of the tests count up from here, one for each exchange, so that no exchange can disturb another. */
const FIRST_MERCHANT = 700_200_001;
/** Long after every test: only what an exchange says is read. */
const NEVER_MS = '3600000';

export interface Bridge {
  /** @throws an assertion of vitest where Puente does something else than the file. */
  play(exchange: Exchange): Promise<void>;
  /** Merchants that were told more often than their exchanges say. */
  surplus(): string[];
  close(): Promise<void>;
}

/** Puente with its own data directory, the upstream, and the receiver of all merchants' notices. */
export async function startBridge(): Promise<Bridge> {
  const upstream = await startUpstream();
  const receiver = await startReceiver();
  const data_dir = mkdtempSync(join(tmpdir(), 'puente-exchanges-'));
  const app = await startApp(loadConfig({ env: environment(upstream, data_dir), cwd: process.cwd() }));
  const world: World = { app, upstream, receiver, merchants: 0, orders: 0, told: new Set() };
  return {
    play: (exchange) => play(world, exchange),
    surplus() {
      const counts = Map.groupBy(receiver.received, (one) => one.path.split('/').at(-1) ?? '');
      return [...counts].filter(([merchant, all]) => all.length > (world.told.has(merchant) ? 1 : 0)).map(([id]) => id);
    },
    async close() {
      await app.close();
      await receiver.close();
      await upstream.close();
      rmSync(data_dir, { recursive: true, force: true });
    },
  };
}

interface World {
  app: App;
  upstream: ScriptedUpstream;
  receiver: Receiver;
  merchants: number;
  orders: number;
  /** Merchants whose exchange has a notice. */
  told: Set<string>;
}

function environment(upstream: ScriptedUpstream, data_dir: string): Record<string, string> {
  return {
    PUENTE_DATA_DIR: data_dir,
    PUENTE_PUBLIC_PORT: '0',
    PUENTE_OPS_PORT: '0',
    PUENTE_OPS_TOKEN: OPS_TOKEN,
    PUENTE_LOG_LEVEL: 'silent',
    PUENTE_UPSTREAM: upstream.url,
    PUENTE_LEGACY_UPSTREAM: upstream.legacy_url,
    PUENTE_SECRET_KEY: 'a-secret-key-that-only-these-tests-use',
    PUENTE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    PUENTE_ROUTING_DEFAULT_STAGE: 'orders',
    PUENTE_OUTBOUND_ALLOW_PRIVATE: 'true',
    PUENTE_RECONCILE_POINT_INTERVAL_MS: NEVER_MS,
    PUENTE_RECONCILE_MAX_INTERVAL_MS: NEVER_MS,
  };
}

async function play(world: World, exchange: Exchange): Promise<void> {
  const merchant = String(FIRST_MERCHANT + world.merchants++);
  const names: Names = { merchant, now: new Date().toISOString() };
  const scene = world.upstream.open({ merchant, site: exchange.merchant.site, token: tokenOf(merchant), names });
  await settle(world, exchange, merchant);
  for (const [index, given] of exchange.given.entries()) await make(world, given, scene, index + 1);
  names['order id'] ??= orderId(++world.orders);
  scene.lines.push(...exchange.upstream);
  await ask(world, exchange, scene);
  scene.answered = true;
  if (exchange.event !== undefined) await announce(world, exchange, scene);
  await listen(world, exchange, scene);
  await scene.finished();
  expect(scene.problems).toEqual([]);
  // A derived reference is made of the intent's id, so that support can find one by the other.
  if (names.reference?.startsWith('pnt') && names.intent) expect(names.reference).toBe(derivedReference(names.intent));
}

/** The merchant's settings, by the ops door. */
async function settle({ app, receiver }: World, exchange: Exchange, merchant: string): Promise<void> {
  const { site: _site, ...settings } = exchange.merchant;
  const answer = await call(`${app.ops_url}/api/merchants/${merchant}`, {
    method: 'PUT',
    token: OPS_TOKEN,
    body: {
      reason: 'a golden exchange',
      revision: 0,
      // What is prepared with an ended intent has notices of its own, which are not what the exchange shows.
      ...(exchange.given.some((given) => given.ends) ? {} : { notice_url: `${receiver.url}/${merchant}` }),
      notice_secret: NOTICE_SECRET,
      ...(exchange.notice ? { dialect: exchange.notice.dialect } : {}),
      ...settings,
    },
  });
  expect(answer.status, answer.text).toBe(200);
}

/** Creates an intent for an exchange to begin with, and ends it by a read where it is over. */
async function make(world: World, given: Given, scene: Scene, number: number): Promise<void> {
  const { names, merchant } = scene;
  const token = tokenOf(merchant);
  const door = world.app.public_url + POINT;
  const facts = { order_id: orderId(++world.orders), merchant, reference: '' };
  scene.improvise = ({ body }) => {
    facts.reference = (body as { external_reference: string }).external_reference; // Puente sends one, or it is no order
    return { status: 201, body: orderOf(given, facts) };
  };
  const create = await call(`${door}/devices/${given.device}/payment-intents`, { token, body: given.body });
  expect(create.status, create.text).toBe(200);
  const { id: intent } = create.body as { id: string }; // a success has one
  if (given.ends) {
    scene.improvise = () => ({ status: 200, body: fill(endedOrder(given, facts), names) });
    await call(`${door}/payment-intents/${intent}`, { token });
  }
  scene.improvise = null;
  const own = { intent, 'order id': facts.order_id, reference: facts.reference };
  Object.assign(names, own, { [`intent ${number}`]: intent, [`order id ${number}`]: facts.order_id });
}

async function ask({ app }: World, { legacy_request, legacy_answer }: Exchange, scene: Scene): Promise<void> {
  const { names } = scene;
  const query = new URLSearchParams(fill(legacy_request.query ?? {}, names)).toString();
  const path = fill(legacy_request.path, names) + (query === '' ? '' : `?${query}`);
  const body = legacy_request.text ?? legacy_request.body;
  const answer = await call(app.public_url + path, {
    method: legacy_request.method,
    token: tokenOf(scene.merchant),
    ...(body === undefined ? {} : { body }),
    ...(legacy_request.headers === undefined ? {} : { headers: legacy_request.headers }),
  });
  expect(scene.problems).toEqual([]);
  learn(legacy_answer.body, answer.body, names);
  expect(answer.text).toBe(textOf(fill(legacy_answer.body, names)));
  expect(answer.status).toBe(legacy_answer.status);
  learn(legacy_answer.headers, answer.headers, names);
  expect(answer.headers).toMatchObject(fill(legacy_answer.headers ?? {}, names));
}

/** The webhook, signed as the vendor signs it (`orders-api.md` §4.2). */
async function announce({ app }: World, exchange: Exchange, { merchant, names }: Scene): Promise<void> {
  const id = names['order id'] ?? '';
  const request_id = randomUUID();
  const ts = Date.now();
  const v1 = hmac(WEBHOOK_SECRET, `id:${id.toLowerCase()};request-id:${request_id};ts:${ts};`);
  const data = { id, type: 'point', external_reference: names.reference };
  const answer = await call(`${app.public_url}/webhooks/orders?data.id=${id}&type=order`, {
    headers: { 'x-request-id': request_id, 'x-signature': `ts=${ts},v1=${v1}` },
    body: { action: exchange.event, api_version: 'v1', type: 'order', user_id: merchant, data },
  });
  expect(answer.status).toBe(200);
}

async function listen({ receiver, told }: World, { notice }: Exchange, { merchant, names }: Scene): Promise<void> {
  if (!notice) return;
  told.add(merchant);
  const own = (): Delivery | undefined => receiver.received.find((one) => one.path.endsWith(`/${merchant}`));
  while (own() === undefined) await receiver.waitFor(receiver.received.length + 1);
  const delivery = own() as Delivery; // the loop has just seen it
  learn(notice.headers, delivery.headers, names);
  learn(notice.body, delivery.body, names);
  expect(delivery.text).toBe(JSON.stringify(fill(notice.body, names)));
  expect([...delivery.query]).toEqual(Object.entries(fill(notice.query, names)));
  expect(delivery.headers).toMatchObject(fill(notice.headers, names));
  const signature = notice.dialect === 'point_integration_wh' ? signatureOf(delivery, names) : undefined;
  expect(delivery.headers['x-signature']).toBe(signature);
}

/** `legacy-point.md` finding 3: the intent's own id, the request id, and the time. */
function signatureOf({ headers }: Delivery, names: Names): string {
  const ts = /^ts=(\d+)/.exec(String(headers['x-signature']))?.[1];
  return `ts=${ts},v1=${hmac(NOTICE_SECRET, `id:${names.intent};request-id:${headers['x-request-id']};ts:${ts};`)}`;
}

function hmac(secret: string, manifest: string): string {
  return createHmac('sha256', secret).update(manifest).digest('hex');
}

function textOf(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}
