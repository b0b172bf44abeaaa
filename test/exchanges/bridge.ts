/** Plays golden exchanges through the whole of Puente, between a till and a scripted upstream. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { startApp } from '../../src/app/app.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { LoadedTables } from '../../src/mapping/tables.ts';
import { systemClock } from '../../src/proxy/clock.ts';
import { derivedReference } from '../../src/proxy/sales/new-link.ts';
import { beginWriter } from '../engines/writer-threads.ts';
import { call, type Delivery, OPS_TOKEN, type Receiver, startReceiver, tokenOf, topicOf } from '../kit.ts';
import { orderId } from './given.ts';
import { hmac, sendHook, WEBHOOK_SECRET } from './hook.ts';
import type { Exchange } from './kit.ts';
import { openLedger } from './ledger.ts';
import { fill, learn, type Names } from './placeholders.ts';
import { make, NOTICE_SECRET, namesOf, type Stand, settle } from './preparation.ts';
import { recording } from './recording.ts';
import { type Scene, type ScriptedUpstream, startUpstream } from './upstream.ts';

const SECRET_KEY = 'c7'.repeat(32);
/** The first merchant id; each exchange has its own merchant, so that none disturbs another. */
const FIRST_MERCHANT = 700_200_001;
/** Longer than every test: Puente reads an order only because of the exchange. */
const NEVER_MS = '3600000';
/** Divides the pauses before retries: forty exchanges wait for one of a second or more. */
const HASTE = 16;
/** A longer one is no pause but the end of a wait for upstream, which a busy machine may need. */
const LONGEST_PAUSE_MS = 3000;

export interface Bridge {
  /**
   * @returns the table rows that fired, without those of the preparation.
   * @throws an assertion of vitest where Puente differs from the file.
   */
  play(exchange: Exchange): Promise<Set<string>>;
  /** Merchants with more notices than their exchanges name. */
  surplus(): string[];
  close(): Promise<void>;
}

export async function startBridge(tables: LoadedTables): Promise<Bridge> {
  const upstream = await startUpstream();
  const receiver = await startReceiver();
  const data_dir = mkdtempSync(join(tmpdir(), 'puente-exchanges-'));
  const rows = { fired: new Set<string>() };
  const sleep = (duration_ms: number): Promise<void> =>
    delay(duration_ms > LONGEST_PAUSE_MS ? duration_ms : duration_ms / HASTE);
  const parts = {
    tables: recording(tables, (row) => rows.fired.add(row)),
    clock: { ...systemClock, sleep },
    beginWriter,
  };
  const app = await startApp(loadConfig({ env: environment(upstream, data_dir), cwd: process.cwd() }), parts);
  const world: World = {
    app,
    upstream,
    receiver,
    ledger: openLedger(data_dir, SECRET_KEY),
    orders: 0,
    merchants: 0,
    told: new Map(),
  };
  return {
    async play(exchange) {
      await play(world, exchange, () => {
        rows.fired = new Set();
      });
      return rows.fired;
    },
    surplus: () =>
      [...world.told].filter(([merchant, count]) => heardBy(receiver, merchant).length > count).map(([id]) => id),
    async close() {
      await app.close();
      world.ledger.close();
      await receiver.close();
      await upstream.close();
      rmSync(data_dir, { recursive: true, force: true });
    },
  };
}

interface World extends Stand {
  upstream: ScriptedUpstream;
  receiver: Receiver;
  merchants: number;
  /** How many notices each merchant is to have at the end, with those of the preparation. */
  told: Map<string, number>;
}

function environment(upstream: ScriptedUpstream, data_dir: string): Record<string, string> {
  return {
    PUENTE_DATA_DIR: data_dir,
    PUENTE_PUBLIC_PORT: '0',
    PUENTE_OPS_PORT: '0',
    PUENTE_OPS_TOKEN: OPS_TOKEN,
    PUENTE_LOG_LEVEL: 'silent',
    PUENTE_LIMITS_LAG_MS: '600000', // as in test/kit.ts
    // Exchanges in which upstream fails share it with all others: on a slow machine the breaker would keep reads back.
    PUENTE_UPSTREAM_POOL_BREAKER_FAILURES: '0',
    PUENTE_UPSTREAM: upstream.url,
    PUENTE_LEGACY_UPSTREAM: upstream.legacy_url,
    PUENTE_SECRET_KEY: SECRET_KEY,
    PUENTE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    PUENTE_ROUTING_DEFAULT_STAGE: 'orders',
    PUENTE_OUTBOUND_ALLOW_PRIVATE: 'true',
    PUENTE_RECONCILE_POINT_INTERVAL_MS: NEVER_MS,
    PUENTE_RECONCILE_QR_INTERVAL_MS: NEVER_MS,
    PUENTE_RECONCILE_MAX_INTERVAL_MS: NEVER_MS,
  };
}

async function play(world: World, exchange: Exchange, begin: () => void): Promise<void> {
  const merchant = String(FIRST_MERCHANT + world.merchants++);
  const notices = `${world.receiver.url}/${merchant}`;
  const names: Names = {
    merchant,
    notices,
    puente: world.app.public_url,
    token: tokenOf(merchant),
    now: new Date().toISOString(),
  };
  const scene = world.upstream.open({ merchant, site: exchange.merchant.site, token: tokenOf(merchant), names });
  // Every QR create causes notices, which most exchanges are not about.
  const watched = exchange.told !== null || exchange.operation.startsWith('point.');
  await settle(world.app, exchange, merchant, watched ? notices : null);
  for (const [index, given] of exchange.given.entries()) await make(world, given, scene, index + 1);
  if (watched) await world.ledger.untilTold(merchant);
  const before = heardBy(world.receiver, merchant).length;
  if (watched) world.told.set(merchant, before + (exchange.told?.length ?? 0));
  names['new order id'] = orderId(++world.orders);
  names['order id'] ??= names['new order id'];
  begin();
  scene.lines.push(...exchange.upstream);
  await ask(world, exchange, scene);
  scene.answered = true;
  nameWhatIsNew(world, exchange, scene);
  if (exchange.event !== undefined) await announce(world, exchange, scene);
  await listen(world, exchange, scene, before);
  await scene.finished();
  expect(scene.problems).toEqual([]);
  // A derived reference contains the intent's id, so that support can find either by the other.
  if (names.reference?.startsWith('pnt') && names.intent) expect(names.reference).toBe(derivedReference(names.intent));
}

async function ask({ app }: World, { legacy_request, legacy_answer }: Exchange, scene: Scene): Promise<void> {
  const { names } = scene;
  const query = new URLSearchParams(fill(legacy_request.query ?? {}, names)).toString();
  const path = fill(legacy_request.path, names) + (query === '' ? '' : `?${query}`);
  const body = fill(legacy_request.text ?? legacy_request.body, names);
  const answer = await call(app.public_url + path, {
    method: legacy_request.method,
    // A token in the query is the only token (`docs/field-notes.md` QR finding 13).
    token: legacy_request.query?.access_token === undefined ? tokenOf(scene.merchant) : null,
    ...(body === undefined ? {} : { body }),
    ...(legacy_request.headers === undefined ? {} : { headers: fill(legacy_request.headers, names) }),
  });
  expect(scene.problems).toEqual([]);
  learn(legacy_answer.body, answer.body, names);
  expect(answer.text).toBe(legacy_answer.text ?? textOf(fill(legacy_answer.body, names)));
  expect(answer.status).toBe(legacy_answer.status);
  learn(legacy_answer.headers, answer.headers, names);
  expect(answer.headers).toMatchObject(fill(legacy_answer.headers ?? {}, names));
}

/** Numbers that are in no answer yet, such as the merchant order of a new sale. */
function nameWhatIsNew({ ledger }: World, exchange: Exchange, { merchant, names }: Scene): void {
  const [opened] = ledger.links(merchant).slice(exchange.given.length);
  if (!opened) return;
  for (const [name, value] of Object.entries(namesOf(opened))) {
    if (exchange.given.length === 0) names[name] ??= value;
    names[`new ${name}`] ??= value;
  }
}

async function announce({ app }: World, exchange: Exchange, { merchant, names }: Scene): Promise<void> {
  const type = exchange.operation.startsWith('point.') ? 'point' : 'qr';
  const { event: action = '' } = exchange;
  await sendHook(app, { merchant, order_id: names['order id'] ?? '', reference: names.reference, action, type });
}

async function listen(world: World, { told }: Exchange, { merchant, names }: Scene, before: number): Promise<void> {
  const { receiver, ledger } = world;
  for (const notice of told ?? []) {
    // Notices of one change are sent independently, in any order.
    const topic = notice.query.topic ?? notice.query.type;
    const own = (): Delivery | undefined =>
      heardBy(receiver, merchant)
        .slice(before)
        .find((one) => topicOf(one) === topic);
    while (own() === undefined) await receiver.waitFor(receiver.received.length + 1);
    const delivery = own() as Delivery; // the loop has just seen it
    nameWhatIsPaid(ledger.links(merchant), names);
    learn(notice.headers, delivery.headers, names);
    learn(notice.body, delivery.body, names);
    expect(delivery.text).toBe(textOf(fill(notice.body, names)));
    expect(delivery.path).toBe(`/notices/${merchant}${notice.path}`);
    expect([...delivery.query]).toEqual(Object.entries(fill(notice.query, names)));
    expect(delivery.headers).toMatchObject(fill(notice.headers, names));
    const { signed = notice.dialect === 'point_integration_wh' } = notice;
    expect(delivery.headers['x-signature']).toMatch(/^ts=\d{10,13},v1=[0-9a-f]{64}$/);
    expect(delivery.headers['x-signature'] === signatureOf(delivery)).toBe(signed);
  }
}

/** A payment's number exists only after the payment. */
function nameWhatIsPaid(rows: ReturnType<World['ledger']['links']>, names: Names): void {
  const payment = rows.at(-1)?.payment_id ?? null;
  if (payment !== null) names.payment ??= payment;
}

function heardBy({ received }: Receiver, merchant: string): Delivery[] {
  return received.filter((one) => one.path.split('/')[2] === merchant);
}

/** `docs/field-notes.md` Point finding 3: the id as written, the request id, and the time. */
function signatureOf({ headers, query }: Delivery): string {
  const ts = /^ts=(\d+)/.exec(String(headers['x-signature']))?.[1];
  const manifest = `id:${query.get('data.id')};request-id:${headers['x-request-id']};ts:${ts};`;
  return `ts=${ts},v1=${hmac(NOTICE_SECRET, manifest)}`;
}

function textOf(body: unknown): string {
  if (body === undefined) return '';
  return typeof body === 'string' ? body : JSON.stringify(body);
}
