/** Proxied creates: recorded before they are sent, judged by legacy's answer, and never held by an invented token. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PortParts } from '../../../src/app/ports.ts';
import type { Ports, Store } from '../../../src/ops/ports.ts';
import { type Ports as CallPorts, forExchange, openDraft } from '../../../src/proxy/ports.ts';
import type { LegacySale } from '../../../src/proxy/records/routing.ts';
import {
  beginProxied,
  endProxied,
  noteProxiedEnd,
  type ProxiedAnswer,
} from '../../../src/proxy/routing/legacy-ledger.ts';
import { keepProxiedRefunds } from '../../../src/proxy/routing/legacy-refunds.ts';
import { hasEnded, type ProxiedCreate } from '../../../src/proxy/routing/legacy-sale-end.ts';
import { createLog } from '../../../src/proxy/telemetry/telemetry.ts';
import type { Upstream, UpstreamCall, UpstreamOutcome } from '../../../src/proxy/upstream/upstream.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { newLink, newSale, opened } from '../../store/contract/harness.ts';
import { newFolder, openStore } from '../../store/sqlite/kit.ts';
import { lanePorts } from './lane-ports.ts';

const DEVICE = 'PAX_A910__T1';
const POINT_SLOT = `point:${DEVICE}`;
const TILL_SLOT = 'qr:TILL1';
const INTENT = '7f25f9aa-eea6-4f9c-bf16-a341f71ba2f1';
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const NOON = Date.UTC(2026, 0, 5, 12);

const REFUNDED: Partial<LegacySale> = { state: 'ENDED', end_state: 'approved', legacy_id: '77', amount: '2.5' };
const UNREAD: Partial<LegacySale> = { state: 'ENDED', end_state: null, legacy_id: null };
const DOUBT: Partial<LegacySale> = { state: 'IN_DOUBT', end_state: null, legacy_id: null, amount: null };

/** Upstream outcomes by the name of the call; others break. */
const says = new Map<string, UpstreamOutcome>();
const asked: UpstreamCall[] = [];
const service: Upstream & { meanwhile: (() => Promise<void>) | null } = {
  meanwhile: null,
  async send(call) {
    asked.push(call);
    await service.meanwhile?.();
    return says.get(call.name) ?? { kind: 'broken', cause: 'nothing was said' };
  },
};
const answered = (status: number, body: unknown = {}): UpstreamOutcome => ({
  kind: 'answered',
  status,
  retry_after_ms: null,
  body,
});

const folder = newFolder();
const clock = { now: NOON };
const counts: string[] = [];
const warned: string[] = [];
let store: Store;
let ports: Ports;
let merchants = 800_000_000;
let merchant_id: string;
let token: Secret;
beforeAll(async () => {
  store = await openStore(folder.file('proxied.db'), { now: () => clock.now });
});
afterAll(async () => {
  await store?.close();
  folder.remove();
});
beforeEach(() => {
  says.clear();
  asked.length = 0;
  counts.length = 0;
  warned.length = 0;
  service.meanwhile = null;
  ports = runtimeOn(store);
  merchant_id = String(++merchants);
  token = new Secret(`APP_USR-1-112026-${'a'.repeat(32)}-${merchant_id}`);
});

function runtimeOn(its_store: Store, parts: Partial<PortParts> = {}): Ports {
  return lanePorts({
    ...{ store: its_store, upstreams: { orders: service, legacy: service } },
    clock: { now: () => clock.now, sleep: async () => undefined },
    count: (...count) => counts.push(count.join(' ')),
    ...parts,
  });
}

/** With its warnings in `warned`. */
function watchedOn(its_store: Store): Ports {
  return runtimeOn(its_store, { log: createLog('warn', { write: (line) => void warned.push(line) }) });
}

/** Upstream accepted the token once, at any time. */
async function prove(): Promise<void> {
  const fingerprint = ports.vault.fingerprint(token);
  const sealed_token = ports.vault.seal(token.reveal(), 'token');
  await store.merchants.acceptToken(
    { fingerprint, merchant_id, sealed_token, accepted_until: 0, seen_at: NOON },
    'MLA',
  );
}

function proxied(name: string, change: Partial<ProxiedCreate> = {}): ProxiedCreate {
  const operation = ports.tables.operations.find((one) => one.name === name);
  if (operation === undefined) throw new Error(`there is no operation ${name}`);
  const path = { device_id: DEVICE, user_id: merchant_id, external_pos_id: 'TILL1' };
  const body = name.startsWith('point')
    ? { amount: 1500, additional_info: { external_reference: 'mesa 4' } }
    : { external_reference: 'Factura 4' };
  return { merchant_id, operation, path, body, headers: {}, is_token_refused: false, token, ...change };
}

async function begin(name: string, change: Partial<ProxiedCreate> = {}) {
  const begun = await beginProxied(ports, proxied(name, change));
  if (begun.kind !== 'begun') throw new Error(`it was not begun: ${begun.kind}`);
  return begun.sale;
}

async function proxyCall(name: string, answer: ProxiedAnswer, change: Partial<ProxiedCreate> = {}): Promise<void> {
  await endProxied(ports, await begin(name, change), answer);
}

const held = (slot: string, at = clock.now): Promise<LegacySale | null> =>
  store.legacy_sales.heldByLegacy(merchant_id, slot, at);

describe('before the bytes leave', () => {
  it('an order of ours on the unit sends the call back to choose again', async () => {
    await opened(store, { merchant_id, unit: DEVICE });
    expect(await beginProxied(ports, proxied('point.create_intent'))).toEqual({ kind: 'elsewhere' });
    expect(await held(POINT_SLOT)).toBeNull();
    expect(counts).toEqual(['legacy_sales elsewhere']);
  });

  it.each([
    ['nobody known', { merchant_id: null }],
    ['a name that is no unit', { path: { device_id: 'PAX A910' } }],
  ])('%s is proxied without a note, and counted', async (_what, change) => {
    expect(await beginProxied(ports, proxied('point.create_intent', change))).toEqual({ kind: 'unrecorded' });
    expect(counts).toEqual(['legacy_sales unrecorded']);
  });

  it('a store that fails lets the call through and holds the unit in memory', async () => {
    const broken = await openStore(folder.file('closed.db'));
    await broken.close();
    ports = runtimeOn(broken);
    expect(await beginProxied(ports, proxied('point.create_intent'))).toEqual({ kind: 'unrecorded' });
    expect(ports.memory.unrecorded.holds(merchant_id, POINT_SLOT, clock.now + HOUR_MS - 1)).toBe(true);
    expect(ports.memory.unrecorded.holds(merchant_id, POINT_SLOT, clock.now + HOUR_MS)).toBe(false);
    expect(ports.memory.unrecorded.holds(merchant_id, TILL_SLOT, clock.now)).toBe(false);
  });

  it('the row holds the unit for an hour, because a process that ends now could not do it later', async () => {
    await begin('point.create_intent');
    expect(await held(POINT_SLOT, clock.now + HOUR_MS - 1)).toMatchObject({
      ...{ state: 'SENDING', client_reference: 'mesa 4' },
      unproven_token: ports.vault.fingerprint(token),
    });
    expect(await held(POINT_SLOT, clock.now + HOUR_MS)).toBeNull();
    await prove();
    await begin('qr.put_order');
    expect(await held(TILL_SLOT)).toMatchObject({ client_reference: 'Factura 4', unproven_token: null });
  });

  it('a token that was accepted for another merchant proves nothing', async () => {
    await prove();
    merchant_id = String(++merchants); // claimed by the token's form, or cached wrongly
    await begin('point.create_intent');
    expect((await held(POINT_SLOT))?.unproven_token).toBe(ports.vault.fingerprint(token));
  });

  it('one that orders refuse is written down only when legacy takes it', async () => {
    await proxyCall('point.create_intent', null, { is_token_refused: true });
    expect(await held(POINT_SLOT)).toBeNull();
    await proxyCall('point.create_intent', { status: 200, body: { id: INTENT } }, { is_token_refused: true });
    expect(await held(POINT_SLOT)).toMatchObject({ state: 'OPEN', legacy_id: INTENT, unproven_token: null });
  });

  it('a refund that the terminal carries out holds it too, until legacy says that it is over', async () => {
    await proxyCall('point.create_refund_intent', { status: 200, body: { id: INTENT, payment_id: '1' } });
    const refund = await held(POINT_SLOT);
    expect(refund).toMatchObject({ state: 'OPEN', work: 'refund', legacy_id: INTENT });
    says.set('legacy_intent', answered(200, { id: INTENT, state: 'FINISHED' }));
    expect(refund && (await hasEnded(ports, refund, token, clock.now + 9_000))).toBe(true);
    expect(asked.at(-1)?.path).toBe(`/point/integration-api/refund/${INTENT}`);
  });

  it('a dynamic code is remembered and holds nothing', async () => {
    const { row } = await begin('qr.create_code');
    expect(row).toMatchObject({ slot: null, unit: 'TILL1', family: 'qr' });
    expect(await held(TILL_SLOT)).toBeNull();
  });

  it.each<[string, object, string | null]>([
    ['point.create_intent', { amount: '1500' }, null],
    ['point.create_intent', { amount: 1.5 }, null],
    ['point.create_intent', {}, null],
    ['point.create_intent', { amount: 1500 }, '15.00'],
    ['qr.create_code', { total_amount: 'free' }, null],
    ['qr.create_code', { total_amount: 120.5 }, '120.5'],
    ['qr_v1.create', { items: [{ unit_price: 10, quantity: 'two' }] }, null],
    ['qr_v1.create', { items: [] }, null],
    [
      'qr_v1.create',
      {
        items: [
          { unit_price: 10.1, quantity: 3 },
          { unit_price: '0.05', quantity: 1 },
        ],
      },
      '30.350',
    ],
  ])('%s of %o has the amount %s', async (name, body, amount) => {
    expect((await begin(name, { body })).row.amount).toBe(amount);
  });

  it('a till by its number waits for nobody: it holds every till until legacy has taken it', async () => {
    says.set('pos', answered(200, { external_id: 'TILL1' }));
    const sale = await begin('qr_v1.create_by_number', { path: { pos_id: '1001' } });
    expect(asked).toEqual([]);
    expect(await held('qr:ANY')).toMatchObject({ slot: 'qr:*', unit: '1001' });
    await endProxied(ports, sale, { status: 200, body: { id: `${merchant_id}-${INTENT}` } });
    expect(await held('qr:ANY')).toBeNull();
    expect(await held(TILL_SLOT)).toMatchObject({ state: 'OPEN', slot: TILL_SLOT, unit: 'TILL1' });
    await begin('qr_v1.create_by_number', { path: { pos_id: '1001' } });
    expect(await held('qr:ANY')).toBeNull(); // known by now
  });

  it('a number that nobody can look up goes on holding every till, and the next create asks again', async () => {
    await proxyCall('qr_v1.create_by_number', { status: 200, body: { id: `${merchant_id}-${INTENT}` } }, number);
    const sale = await held('qr:ANY');
    expect(sale).toMatchObject({ state: 'OPEN', slot: 'qr:*' });
    expect(sale && (await hasEnded(ports, sale, token, clock.now + 9_000))).toBe(false);
    says.set('pos', answered(200, { external_id: 'TILL1' }));
    expect(sale && (await hasEnded(ports, sale, token, clock.now + 9_000))).toBe(true);
    expect([await held('qr:ANY'), (await held(TILL_SLOT))?.slot]).toEqual([null, TILL_SLOT]);
  });

  it('a number goes to no till while one of them is on orders', async () => {
    await opened(store, { merchant_id, family: 'qr', unit: 'TILL2' });
    expect(await beginProxied(ports, proxied('qr_v1.create_by_number', number))).toEqual({ kind: 'elsewhere' });
  });

  it.each([404, 403])('a number that is no till of orders (%i) holds nothing', async (status) => {
    says.set('pos', answered(status));
    await proxyCall('qr_v1.create_by_number', { status: 200, body: { id: `${merchant_id}-${INTENT}` } }, number);
    expect(await held('qr:ANY')).toBeNull();
  });

  it('a token refused by legacy frees every till, and nobody is asked for its number', async () => {
    await proxyCall('qr_v1.create_by_number', { status: 401, body: null }, number);
    expect(await held('qr:ANY')).toBeNull();
    expect(asked).toEqual([]);
  });
});

const number = { path: { pos_id: '1001' } };

describe('what legacy answers', () => {
  it.each([400, 401, 403, 404, 409, 422, 429])('%i frees the unit at once', async (status) => {
    await prove();
    await proxyCall('point.create_intent', { status, body: null });
    expect(await held(POINT_SLOT)).toBeNull();
  });

  it.each<[string, ProxiedAnswer]>([
    ['nothing', null],
    ['500', { status: 500, body: {} }],
    ['504', { status: 504, body: null }],
    ['408', { status: 408, body: null }],
    ['302', { status: 302, body: null }],
    ['200 without an id', { status: 200, body: { amount: 1500 } }],
    ['200 that nobody can read', { status: 200, body: null }],
  ])('%s leaves it in doubt, for an hour', async (_what, answer) => {
    await prove();
    await proxyCall('point.create_intent', answer);
    expect(await held(POINT_SLOT, clock.now + HOUR_MS - 1)).toMatchObject({ state: 'IN_DOUBT', legacy_id: null });
    expect(await held(POINT_SLOT, clock.now + HOUR_MS)).toBeNull();
  });

  it.each<[string, ProxiedAnswer, string | null]>([
    ['point.create_intent', { status: 201, body: { id: INTENT.toUpperCase() } }, INTENT],
    ['qr.put_order', { status: 204, body: null }, null],
    ['qr.put_order', { status: 200, body: { in_store_order_id: INTENT } }, INTENT],
    ['qr.put_code', { status: 201, body: { in_store_order_id: INTENT } }, INTENT],
  ])('%s that worked is open with its id, whoever sent it', async (name, answer, legacy_id) => {
    await proxyCall(name, answer);
    const slot = name.startsWith('point') ? POINT_SLOT : TILL_SLOT;
    expect(await held(slot, clock.now + HOUR_MS - 1)).toMatchObject({ state: 'OPEN', legacy_id });
  });

  it("v1's id is its preference, and another id is no answer", async () => {
    await proxyCall('qr_v1.create', { status: 200, body: { id: `${merchant_id}-${INTENT}` } });
    expect(await held(TILL_SLOT)).toMatchObject({ state: 'OPEN', legacy_id: `${merchant_id}-${INTENT}` });
    await proxyCall('qr_v1.create', { status: 200, body: { id: `1-${INTENT}` } });
    expect(await held(TILL_SLOT)).toMatchObject({ state: 'IN_DOUBT', legacy_id: null });
  });

  it('a sale that is open ends the one before it, and one in doubt when that can come no more', async () => {
    await prove();
    await proxyCall('point.create_intent', null);
    await proxyCall('point.create_intent', { status: 200, body: { id: INTENT } });
    const [doubt] = await store.legacy_sales.openLegacySales(merchant_id, clock.now, 9);
    expect(doubt?.state).toBe('IN_DOUBT');
    clock.now += MINUTE_MS;
    await proxyCall('point.create_intent', { status: 200, body: { id: INTENT } });
    expect(await store.legacy_sales.openLegacySales(merchant_id, clock.now, 9)).toMatchObject([{ state: 'OPEN' }]);
  });

  it('a QR that lives longer than the hour holds its till for so long', async () => {
    const expiration_date = new Date(clock.now + 5 * HOUR_MS).toISOString();
    await proxyCall('qr.put_order', { status: 204, body: null }, { body: { expiration_date } });
    expect(await held(TILL_SLOT, clock.now + 5 * HOUR_MS - 1)).toMatchObject({ state: 'OPEN' });
  });

  it.each(['qr_v1.create', 'qr.put_order'])('%s with a header that says so, too', async (name) => {
    const headers = { 'x-ttl-store-preference': '18000' };
    await begin(name, { headers });
    expect(await held(TILL_SLOT, clock.now + 5 * HOUR_MS - 1)).toMatchObject({ state: 'SENDING' });
    expect(await held(TILL_SLOT, clock.now + 5 * HOUR_MS)).toBeNull();
  });

  it('a sale whose end legacy tells holds its unit until legacy is asked, however long that is', async () => {
    await proxyCall('qr.put_order', { status: 204, body: null });
    await proxyCall('point.create_intent', { status: 200, body: { id: INTENT } });
    for (const slot of [TILL_SLOT, POINT_SLOT]) expect(await held(slot, clock.now + 24 * HOUR_MS)).not.toBeNull();
    await proxyCall('qr_v1.create', { status: 200, body: { id: `${merchant_id}-${INTENT}` } });
    expect((await held(TILL_SLOT, clock.now + HOUR_MS))?.legacy_id).toBeUndefined();
  });

  it('a store that fails afterwards holds the unit in memory', async () => {
    const sale = await begin('point.create_intent');
    const broken = await openStore(folder.file('closed-later.db'));
    await broken.close();
    const other = runtimeOn(broken);
    await endProxied(other, sale, { status: 200, body: { id: INTENT } });
    expect(other.memory.unrecorded.holds(merchant_id, POINT_SLOT, clock.now)).toBe(true);
  });
});

describe('an invented token', () => {
  it('frees the unit as soon as anybody says that it is none', async () => {
    await proxyCall('point.create_intent', { status: 401, body: null });
    expect(await held(POINT_SLOT)).toBeNull();
    says.set('users_me', answered(401));
    await proxyCall('point.create_intent', null);
    expect(await held(POINT_SLOT)).toBeNull();
  });

  it('of which nobody can say anything holds it for the hour, or until somebody can', async () => {
    await proxyCall('point.create_intent', null);
    const doubt = await held(POINT_SLOT, clock.now + HOUR_MS - 1);
    expect(doubt).toMatchObject({ state: 'IN_DOUBT' });
    const victim = new Secret('the token of the victim');
    const over = async (): Promise<boolean | null> => doubt && hasEnded(ports, doubt, victim, clock.now + 9_000);
    expect(await over()).toBe(false);
    says.set('users_me', answered(401));
    clock.now += MINUTE_MS; // the next identity call may be made
    expect(await over()).toBe(true);
    expect(await held(POINT_SLOT)).toBeNull();
  });

  it('that turns out to be real holds it for the hour; one of somebody else does not', async () => {
    says.set('users_me', answered(200, { id: Number(merchant_id), site_id: 'MLA' }));
    await proxyCall('point.create_intent', null);
    expect(await held(POINT_SLOT, clock.now + HOUR_MS - 1)).toMatchObject({ state: 'IN_DOUBT' });
    says.set('users_me', answered(200, { id: 1, site_id: 'MLA' }));
    token = new Secret('a token without a name');
    await proxyCall('qr.put_order', null);
    expect(await held(TILL_SLOT)).toBeNull();
  });
});

describe('is it over?', () => {
  const sale = async (change: Partial<LegacySale>): Promise<LegacySale> => {
    const one = newSale({
      ...{ merchant_id, state: 'OPEN', unit: 'TILL1', family: 'qr', legacy_id: null },
      ...{ ends_at: clock.now + HOUR_MS, created_at: clock.now, updated_at: clock.now },
      ...change,
    });
    await store.legacy_sales.openLegacySale(one);
    return one;
  };
  const over = (one: LegacySale, by = token): Promise<boolean> => hasEnded(ports, one, by, clock.now + 9_000);
  const point = { family: 'point', unit: DEVICE, legacy_id: INTENT } as const;

  it.each(['SENDING', 'IN_DOUBT'] as const)(
    '%s is not, and nobody is asked: what is not there may come',
    async (state) => {
      says.set('legacy_till', answered(404, { error: 'point_of_sale_in_store_order_not_found' }));
      expect(await over(await sale({ state }))).toBe(false);
      expect(asked).toEqual([]);
    },
  );

  it.each<[string, UpstreamOutcome | null]>([
    ['no answer', null],
    ['an error', answered(500, { error: '500' })],
    ['a token refused', answered(401, { error: '401' })],
    ['a page that is not the service', answered(404, 'not found')],
    ['an open intent', answered(200, { id: INTENT, state: 'OPEN' })],
    ['one on the terminal', answered(200, { id: INTENT, state: 'ON_TERMINAL' })],
    ['one that is being paid', answered(200, { id: INTENT, state: 'PROCESSED' })],
    ['a state nobody knows', answered(200, { id: INTENT, state: 'RESTING' })],
    ['something else', answered(200, [])],
  ])('an intent is not with %s', async (_what, outcome) => {
    if (outcome !== null) says.set('legacy_intent', outcome);
    expect(await over(await sale(point))).toBe(false);
    expect(await held(POINT_SLOT)).not.toBeNull();
  });

  it.each(['FINISHED', 'CANCELED', 'ERROR', 'ABANDONED', 'CONFIRMATION_REQUIRED'])(
    'an intent is with %s',
    async (state) => {
      says.set('legacy_intent', answered(200, { id: INTENT, state }));
      expect(await over(await sale(point))).toBe(true);
      expect(await held(POINT_SLOT)).toBeNull();
      expect((await store.legacy_sales.legacySale(INTENT))?.end_state).toBe(state);
      expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
        `GET /point/integration-api/payment-intents/${INTENT}`,
      ]);
    },
  );

  it.each<[string, Partial<LegacySale>, string, UpstreamOutcome, string]>([
    [
      ...(['an intent that legacy does not know', point, 'legacy_intent'] as const),
      answered(404, { error: '404', message: "Payment intent doesn't exist" }),
      `/point/integration-api/payment-intents/${INTENT}`,
    ],
    [
      ...(['a refund that legacy does not know', { ...point, work: 'refund' }, 'legacy_intent'] as const),
      answered(404, { error: '404', message: "Payment intent doesn't exist" }),
      `/point/integration-api/refund/${INTENT}`,
    ],
    [
      ...(['a till that shows nothing', {}, 'legacy_till'] as const),
      answered(404, { error: 'point_of_sale_in_store_order_not_found' }),
      'pos/TILL1/orders',
    ],
  ])('%s is from a minute after legacy accepted it: a read may lag', async (_what, change, name, outcome, path) => {
    const one = await sale(change);
    says.set(name, outcome);
    expect(await over(one)).toBe(false);
    clock.now += MINUTE_MS - 1;
    expect(await over(one)).toBe(false);
    expect(await held(String(one.slot))).toMatchObject({ state: 'OPEN' });
    clock.now += 1;
    expect(await over(one)).toBe(true);
    expect(await held(String(one.slot))).toBeNull();
    expect(asked.at(-1)?.path).toContain(path);
  });

  it('a v1 sale is when its merchant orders say so, and none say nothing', async () => {
    const legacy_id = `${merchant_id}-${INTENT}`;
    const ours = (order_status: string) => ({ preference_id: legacy_id, order_status });
    const one = await sale({ legacy_id });
    const whenFound = async (elements: object[] | null): Promise<boolean> => {
      clock.now += 1_000;
      says.set('merchant_order_search', answered(200, { elements, total: 0, next_offset: 0 }));
      return over(one);
    };
    expect(await whenFound(null)).toBe(false);
    expect(await whenFound([ours('payment_required')])).toBe(false);
    expect(await whenFound([ours('paid'), ours('payment_in_process')])).toBe(false);
    expect(await whenFound([ours('paid'), { preference_id: 'of others', order_status: 'paid' }])).toBe(false);
    expect(await whenFound([ours('expired'), ours('paid')])).toBe(true);
    expect((await store.legacy_sales.legacySale(legacy_id))?.end_state).toBe('paid');
    expect(asked.at(-1)).toMatchObject({ path: '/merchant_orders/search', query: { preference_id: legacy_id } });
  });

  it('is asked once in a short while for each token, and never when there is no time left', async () => {
    const one = await sale(point);
    says.set('legacy_intent', answered(401));
    expect(await over(one, new Secret('invented'))).toBe(false);
    says.set('legacy_intent', answered(200, { state: 'OPEN' }));
    expect([await over(one), await over(one)]).toEqual([false, false]);
    expect(asked.length).toBe(2);
    clock.now += 1_000;
    expect(await hasEnded(ports, one, token, clock.now + 100)).toBe(false);
    expect(asked.length).toBe(2);
  });

  it('is, when its time has come', async () => {
    expect(await over(await sale({ ends_at: clock.now, state: 'IN_DOUBT' }))).toBe(true);
  });
});

describe('a proxied call that shows an end', () => {
  const read = (answer: ProxiedAnswer) => answer && { status: answer.status, body: async () => answer.body };
  const end = (name: string, path: Record<string, string>, answer: ProxiedAnswer, at = clock.now) =>
    noteProxiedEnd(ports, proxied(name, { path }), read(answer), at);
  const till = { external_pos_id: 'TILL1' };
  const byId = { intent_id: INTENT.toUpperCase() };

  it.each<[string, ProxiedAnswer]>([
    ['no answer', null],
    ['a refusal', { status: 409, body: {} }],
    ['a failure', { status: 500, body: {} }],
  ])('does not with %s', async (_what, answer) => {
    await proxyCall('qr.put_order', { status: 204, body: null });
    await end('qr.cancel_order', till, answer);
    expect(await held(TILL_SLOT)).toMatchObject({ state: 'OPEN' });
  });

  it('a cancel that came in before the sale was open ends nothing: legacy may have done it first', async () => {
    const sale = await begin('qr.put_order');
    clock.now += 1;
    const canceled_at = clock.now;
    clock.now += 1;
    await endProxied(ports, sale, { status: 204, body: null });
    await end('qr.cancel_order', till, { status: 204, body: null }, canceled_at);
    expect(await held(TILL_SLOT)).toMatchObject({ state: 'OPEN' });
  });

  it('a cancel of a till, but not of a later sale, nor of one without an answer', async () => {
    await proxyCall('qr.put_order', { status: 204, body: null });
    await end('qr.cancel_order', till, { status: 204, body: null }, clock.now - 1);
    expect(await held(TILL_SLOT)).toMatchObject({ state: 'OPEN' });
    await end('qr.cancel_order', till, { status: 204, body: null });
    expect(await held(TILL_SLOT)).toBeNull();
    await prove();
    await proxyCall('qr.put_order', null);
    await end('qr.cancel_order', till, { status: 204, body: null });
    expect(await held(TILL_SLOT)).toMatchObject({ state: 'IN_DOUBT' });
  });

  it('a read of an intent in a final state, for its own merchant', async () => {
    await proxyCall('point.create_intent', { status: 200, body: { id: INTENT } });
    await end('point.get_intent', byId, { status: 200, body: { id: INTENT, state: 'PROCESSING' } });
    const foreign = proxied('point.get_intent', { path: byId, merchant_id: '1' });
    await noteProxiedEnd(ports, foreign, read({ status: 200, body: { state: 'FINISHED' } }), clock.now);
    expect(await held(POINT_SLOT)).toMatchObject({ state: 'OPEN' });
    await end('point.last_status', byId, { status: 200, body: { status: 'FINISHED' } });
    expect(await held(POINT_SLOT)).toBeNull();
  });
});

describe('the refund of a payment', () => {
  const called = (name: string, answer: ProxiedAnswer, change: Partial<ProxiedCreate>, on: CallPorts = ports) => {
    const call = proxied(name, { path: { payment_id: '1234' }, body: {}, ...change });
    return keepProxiedRefunds(on, { ...call, at: clock.now - 50 }, answer);
  };
  const refund = (answer: ProxiedAnswer, change: Partial<ProxiedCreate> = {}, on: CallPorts = ports) =>
    called('payments.create_refund', answer, change, on);
  const list = (answer: ProxiedAnswer, of = merchant_id) =>
    called('payments.list_refunds', answer, { merchant_id: of });
  const made = (status: string, id: unknown = 77): ProxiedAnswer => ({
    status: 201,
    body: { id, amount: 2.5, status },
  });
  const keyed = { headers: { 'x-idempotency-key': 'till-1' }, body: { amount: 2.5 } };
  const rows = () =>
    store.legacy_sales.legacySalesMade({ merchant_id, since: 0, until: clock.now, after: null, limit: 10 });

  it.each<[string, ProxiedAnswer, unknown, Partial<LegacySale>]>([
    ['made', made('approved'), {}, REFUNDED],
    ['made, by the amount of its answer', made('approved', '77'), { amount: 9 }, REFUNDED],
    ['of an id with many digits', made('approved', 1234567890123), {}, { ...REFUNDED, legacy_id: '1234567890123' }],
    ['rejected', made('rejected'), {}, { ...REFUNDED, end_state: 'rejected' }],
    ['of a state that nobody knows', made('x'), {}, { ...REFUNDED, end_state: null }],
    ['of an answer that can not be read', { status: 201, body: null }, { amount: 4 }, { ...UNREAD, amount: '4' }],
    ['refused', { status: 400, body: { id: 77 } }, { amount: '4.10' }, { ...DOUBT, state: 'REFUSED', amount: '4.10' }],
    ['received in part', { status: 408, body: null }, {}, DOUBT],
    ['answered by a failure', { status: 502, body: null }, {}, DOUBT],
    ['not answered', null, { amount: 4 }, { ...DOUBT, amount: '4' }],
  ])('%s has a row, which holds no unit and begins with its call', async (_what, answer, body, expected) => {
    await prove();
    await refund(answer, { body });
    const [row] = await rows();
    const { legacy_id, ...facts } = expected;
    expect(row).toMatchObject({ family: 'payments', work: 'refund', unit: '1234', slot: null, ...facts });
    expect(row).toMatchObject({ created_at: clock.now - 50, updated_at: clock.now });
    // Without an id of legacy's it has its own, by which it is traced.
    expect(row?.legacy_id).toBe(legacy_id ?? row?.id);
    expect(await store.legacy_sales.openLegacySales(merchant_id, clock.now, 10)).toEqual([]);
  });

  it('that is repeated has one row: by the id of legacy’s answer, or by the key of the till', async () => {
    await prove();
    await refund(made('approved'));
    await refund(made('approved'));
    await refund(made('approved', 78), keyed);
    await refund(null, keyed);
    const found = (await rows()).map(({ legacy_id, state }) => [legacy_id, state]);
    expect(Object.fromEntries(found)).toEqual({ 77: 'ENDED', 78: 'ENDED' });
    // Two equal parts without a key are two.
    await refund(made('approved', 79));
    expect(await rows()).toHaveLength(3);
  });

  it('in doubt, and its repeat is answered, is that one', async () => {
    await prove();
    await refund(null, keyed);
    await refund({ status: 500, body: null }, keyed);
    expect(await rows()).toMatchObject([{ state: 'IN_DOUBT', amount: '2.5' }]);
    await refund({ status: 201, body: { id: 77, amount: 2.25, status: 'approved' } }, keyed);
    expect(await rows()).toMatchObject([{ ...REFUNDED, amount: '2.25' }]);
    // Of another payment it is another refund, whatever its key.
    await refund(null, { ...keyed, path: { payment_id: '99' } });
    expect(await rows()).toHaveLength(2);
  });

  it('with a token that is not proven: what legacy made is the merchant’s, and what it refused is not kept', async () => {
    await refund({ status: 401, body: {} });
    await refund(null, { is_token_refused: true });
    expect(await rows()).toEqual([]);
    says.set('users_me', answered(401));
    await refund(null);
    await refund(made('approved'));
    const found = (await rows()).map(({ state, unproven_token }) => [state, unproven_token !== null]);
    expect(Object.fromEntries(found)).toEqual({ REFUSED: true, ENDED: false });
  });

  it('refused, and then not answered, is in doubt; a repeat that shows its end ends it', async () => {
    await prove();
    await refund({ status: 429, body: null }, keyed);
    await refund(null, keyed);
    expect(await rows()).toMatchObject([{ state: 'IN_DOUBT' }]);
    await refund({ status: 400, body: null }, keyed);
    expect(await rows()).toMatchObject([{ state: 'IN_DOUBT' }]);
    await refund(made('in_process'), keyed);
    await refund(made('approved'));
    expect(await rows()).toMatchObject([{ state: 'ENDED', end_state: 'approved', legacy_id: '77' }]);
    await refund(made('rejected'));
    expect(await rows()).toMatchObject([{ end_state: 'approved' }]);
  });

  it('that was refused stays made, when another try that was sent at the same time was not answered', async () => {
    await prove();
    await refund({ status: 429, body: null }, keyed);
    let is_first = true;
    const legacy_sales = {
      ...store.legacy_sales,
      // The try without an answer has read the row, and has not changed it yet.
      async saveLegacySale(...change: Parameters<Store['legacy_sales']['saveLegacySale']>) {
        if (is_first) {
          is_first = false;
          await refund(made('approved'), keyed, runtimeOn(store));
        }
        return store.legacy_sales.saveLegacySale(...change);
      },
    };
    ports = watchedOn({ ...store, legacy_sales });
    await refund(null, keyed);
    expect(is_first).toBe(false);
    expect(await rows()).toMatchObject([REFUNDED]);
    expect(warned).toEqual([]);
  });

  it('in doubt by a token that turns out to be refused stays made, when another process knows so by then', async () => {
    const valid = new Secret(`${token.reveal()}-valid`);
    service.meanwhile = () => refund(made('approved'), { ...keyed, token: valid }, runtimeOn(store));
    says.set('users_me', answered(401));
    ports = watchedOn(store);
    await refund(null, keyed);
    expect(asked.map(({ name }) => name)).toEqual(['users_me']);
    expect(await rows()).toMatchObject([{ ...REFUNDED, unproven_token: null }]);
    expect([warned, counts]).toEqual([[], []]);
  });

  it('in doubt is so by its repeat with a proven token, when the first token is refused before that is written', async () => {
    await prove();
    const [arrived, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const saveLegacySale: Store['legacy_sales']['saveLegacySale'] = async (...change) => {
      arrived.resolve();
      await written.promise;
      return store.legacy_sales.saveLegacySale(...change);
    };
    const other = runtimeOn({ ...store, legacy_sales: { ...store.legacy_sales, saveLegacySale } });
    let repeat = Promise.resolve();
    service.meanwhile = () => {
      repeat = refund(null, keyed, other);
      return arrived.promise;
    };
    says.set('users_me', answered(401));
    await refund(null, { ...keyed, token: new Secret(`${token.reveal()}-expired`) });
    expect(await rows()).toMatchObject([{ state: 'REFUSED', unproven_token: expect.any(String) }]);
    written.resolve();
    await repeat;
    expect(await rows()).toMatchObject([{ state: 'IN_DOUBT', unproven_token: null }]);
  });

  it('in doubt by a token that nobody could prove then is the merchant’s when its repeat is proven', async () => {
    says.set('users_me', { kind: 'broken', cause: 'reset' });
    const named = async () => {
      const draft = openDraft(0);
      await refund(null, keyed, forExchange(ports, draft));
      return draft.legacy_id;
    };
    // Until then its call names no row, and counts by itself.
    expect(await named()).toBeNull();
    expect(await rows()).toMatchObject([{ unproven_token: expect.any(String) }]);
    await prove();
    expect(await named()).toBe((await rows())[0]?.legacy_id);
    expect(await rows()).toMatchObject([{ state: 'IN_DOUBT', unproven_token: null }]);
  });

  it('that is in process ends when a read of its merchant shows it', async () => {
    await prove();
    await refund(made('in_process'));
    const read = (status: number, body: unknown, of = merchant_id) => list({ status, body }, of);
    await read(200, { id: 77, status: 'in_process' });
    await read(404, { id: 77, status: 'approved' });
    await read(200, { id: 77, status: 'approved' }, '800000001');
    await read(200, { id: 78, status: 'approved' });
    await list(null);
    expect(await rows()).toMatchObject([{ end_state: 'in_process' }]);
    await read(200, [{ id: 'none' }, { id: 77, status: 'approved' }]);
    expect(await rows()).toMatchObject([{ end_state: 'approved' }]);
    await read(200, { id: 77, status: 'rejected' });
    expect(await rows()).toMatchObject([{ end_state: 'approved' }]);
  });

  it('of nobody, or of a path that names no payment, has none; nor has one that the store refuses', async () => {
    await refund({ status: 404, body: {} }, { merchant_id: null });
    await refund({ status: 404, body: {} }, { path: {} });
    await refund({ status: 404, body: {} }, { path: { payment_id: 'a b' } });
    const failing = () => Promise.reject(new Error('full'));
    const legacy_sales = { ...store.legacy_sales, openLegacySale: failing, legacySale: failing };
    ports = runtimeOn({ ...store, legacy_sales });
    await refund(made('approved'));
    await list(made('approved'));
    expect(await rows()).toEqual([]);
  });
});

it('the slot of a sale is free for a link as soon as it is over, and not before', async () => {
  await proxyCall('point.create_intent', { status: 200, body: { id: INTENT } });
  const link = newLink({ merchant_id, unit: DEVICE, created_at: clock.now });
  const { opening, elsewhere } = await store.links.openLink(link, () => ({ kind: 'open' }));
  expect([opening.kind, elsewhere?.legacy_id]).toEqual(['elsewhere', INTENT]);
  says.set('legacy_intent', answered(200, { state: 'FINISHED' }));
  expect(elsewhere && (await hasEnded(ports, elsewhere, token, clock.now + 9_000))).toBe(true);
  expect((await store.links.openLink(link, () => ({ kind: 'open' }))).opening.kind).toBe('open');
});
