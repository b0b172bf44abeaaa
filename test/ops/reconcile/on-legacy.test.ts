/** Legacy is asked which of its open sales have ended: slowly, with any token of the merchant, and never more is believed than it shows. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { Ports, Store } from '../../../src/ops/ports.ts';
import { type ReconcileNews, reconcile } from '../../../src/ops/reconcile/reconcile.ts';
import type { LegacySale } from '../../../src/proxy/records/routing.ts';
import type { UpstreamCall, UpstreamOutcome } from '../../../src/proxy/upstream/upstream.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { lanePorts, setMerchant } from '../../proxy/routing/lane-ports.ts';
import { newSale } from '../../store/contract/harness.ts';
import { newFolder, openStore } from '../../store/sqlite/kit.ts';
import { withMethods } from '../../store/with-methods.ts';

const NOON = Date.UTC(2026, 0, 5, 12);
const HOUR_MS = 3_600_000;
const answered = (status: number, body: unknown = {}): UpstreamOutcome => ({
  kind: 'answered',
  status,
  retry_after_ms: null,
  body,
});
const SHOWN_OVER = answered(200, { state: 'FINISHED' });
const NOT_SHOWN = answered(404, { error: '404', message: "Payment intent doesn't exist" });
const SILENT: UpstreamOutcome = { kind: 'broken', cause: 'ECONNRESET' };

const folder = newFolder();
const clock = { now: NOON };
const asked: UpstreamCall[] = [];
let answer: (call: UpstreamCall) => Promise<UpstreamOutcome> | UpstreamOutcome;
let files = 0;
let store: Store;
let ports: Ports;
afterAll(() => folder.remove());
beforeEach(async () => {
  await store?.close();
  clock.now = NOON;
  asked.length = 0;
  answer = () => SHOWN_OVER;
  store = await openStore(folder.file(`on-legacy-${++files}.db`), { now: () => clock.now });
  const legacy = {
    send: async (call: UpstreamCall) => {
      asked.push(call);
      return answer(call);
    },
  };
  const sleep = async (ms: number): Promise<void> => {
    clock.now += ms;
  };
  ports = lanePorts({ store, upstreams: { orders: legacy, legacy }, clock: { now: () => clock.now, sleep } });
});
afterAll(() => store?.close());

/** A merchant whose new work is all on orders, with a token. */
async function onOrders(id: string, token = `till-of-${id}`): Promise<void> {
  await setMerchant(store, id, { stage: 'orders' });
  const fingerprint = ports.vault.fingerprint(new Secret(token));
  const sealed_token = ports.vault.seal(token, 'token');
  await store.merchants.acceptToken(
    { fingerprint, merchant_id: id, sealed_token, accepted_until: 0, seen_at: NOON },
    'MLA',
  );
}

async function sale(merchant_id: string, number: number, change: Partial<LegacySale> = {}): Promise<LegacySale> {
  const unit = `PAX_A910__${number}`;
  const one = newSale({
    ...{ merchant_id, state: 'OPEN', family: 'point', unit, slot: `point:${unit}` },
    ...{ legacy_id: `7f25f9aa-eea6-4f9c-bf16-${String(number).padStart(12, '0')}` },
    ...{ ends_at: NOON + 999 * HOUR_MS, created_at: NOON - HOUR_MS, updated_at: NOON - HOUR_MS },
    ...change,
  });
  await store.legacy_sales.openLegacySale(one);
  return one;
}

async function run(ask: { merchant?: string } = {}): Promise<ReconcileNews | undefined> {
  const news: ReconcileNews[] = [];
  for await (const one of reconcile(ports, { ...ask, apply: true, reason: 'the last ones' }, 'ana')) news.push(one);
  return news.at(-1);
}

const openOf = async (id: string) => (await store.legacy_sales.openLegacySales(id, clock.now, 99)).length;

it('a sale that the token does not see is not over: legacy shows it to its till alone', async () => {
  await onOrders('700100301', 'another-application');
  const { legacy_id } = await sale('700100301', 1);
  const to_till = answered(200, { id: legacy_id, state: 'OPEN' });
  answer = ({ token }) => (token?.reveal() === 'another-application' ? NOT_SHOWN : to_till);
  const left = { open_on_legacy: 1, asked_on_legacy: 1, ended_on_legacy: 0, not_asked: 0 };
  expect(await run()).toMatchObject(left);
  expect(await store.legacy_sales.legacySale(String(legacy_id))).toMatchObject({ state: 'OPEN' });
  answer = () => SHOWN_OVER;
  expect(await run()).toMatchObject({ open_on_legacy: 0, asked_on_legacy: 1, ended_on_legacy: 1 });
  expect(await store.legacy_sales.legacySale(String(legacy_id))).toMatchObject({
    state: 'ENDED',
    end_state: 'FINISHED',
  });
});

it('asks about nothing of which legacy shows no final state, and changes no such row', async () => {
  const id = '700100302';
  await onOrders(id);
  await sale(id, 1, { state: 'IN_DOUBT', legacy_id: null });
  await sale(id, 2, { family: 'qr', unit: 'TILL1', slot: 'qr:TILL1', legacy_id: null });
  expect(await run()).toMatchObject({ open_on_legacy: 2, asked_on_legacy: 0, not_asked: 0 });
  expect(asked).toEqual([]);
  expect(await openOf(id)).toBe(2);
});

it('asks once a second, of merchants whose new work is all on orders, or of the one named', async () => {
  await onOrders('700100303');
  for (const number of [1, 2, 3]) await sale('700100303', number);
  await onOrders('700100304');
  await setMerchant(store, '700100304', { stage: 'canary' });
  await sale('700100304', 4);
  expect(await run()).toMatchObject({ open_on_legacy: 0, ended_on_legacy: 3 });
  expect(clock.now).toBeGreaterThanOrEqual(NOON + 2_000);
  expect(await openOf('700100304')).toBe(1);
  expect(await run({ merchant: '700100304' })).toMatchObject({ open_on_legacy: 0, ended_on_legacy: 1 });
});

it('a consumer that stops reading ends it, and the audit trail says what was done until then', async () => {
  await onOrders('700100305');
  for (const number of [1, 2, 3]) await sale('700100305', number);
  for await (const news of reconcile(ports, { apply: true, reason: 'the last ones' }, 'ana')) {
    expect(news).toMatchObject({ news: 'progress', asked_on_legacy: 1 });
    break;
  }
  expect(asked).toHaveLength(1);
  expect(await openOf('700100305')).toBe(2);
  const [line] = await store.audit.auditsOf({ action: 'reconcile' }, 1);
  expect(line?.detail).toMatchObject({ ended_on_legacy: 1, not_asked: 2, is_through: false });
});

it('two runs at once share the rate, and one that would make the same is refused with who began the other', async () => {
  for (const id of ['700100341', '700100342']) {
    await onOrders(id);
    for (const number of [1, 2]) await sale(id, Number(`${id.at(-1)}${number}`));
  }
  const apply = (merchant: string, who: string) =>
    reconcile(ports, { merchant, apply: true, reason: 'the last ones' }, who);
  const times: number[] = [];
  answer = () => {
    times.push(clock.now);
    return SHOWN_OVER;
  };
  const [first, second] = [apply('700100341', 'ana'), apply('700100342', 'ben')];
  for (const one of [first, second, first, second]) expect(await one.next()).toMatchObject({ done: false });
  expect(times.map((at, nth) => at - (times[nth - 1] ?? at))).toEqual([0, 1_000, 1_000, 1_000]);
  await expect(apply('700100341', 'eva').next()).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(/^A repair of merchant 700100341 is under way: ana began it at 2026-01-05T12:00:00/),
  });
  const of_all = reconcile(
    ports,
    { since: Date.parse('2026-01-01T00:00:00Z'), apply: true, reason: 'all of them' },
    'eva',
  );
  await expect(of_all.next(), 'one of all would repair it too').rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(/^A repair of merchant 7001003/),
  });
  // A comparison alone asks legacy nothing.
  for await (const news of reconcile(ports, { merchant: '700100341', apply: false }, 'eva'))
    expect(news).toMatchObject({ news: 'done' });
  await first.return(undefined);
  expect(await run({ merchant: '700100341' })).toMatchObject({ news: 'done' });
  await second.return(undefined);
  const all = reconcile(ports, { apply: true, reason: 'all of them' }, 'ben');
  await sale('700100341', 49);
  expect(await all.next()).toMatchObject({ done: false });
  await expect(apply('700100342', 'eva').next(), 'one of all repairs it').rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(/^A repair of all merchants is under way: ben began it at /),
  });
  await all.return(undefined);
  expect(await run({ merchant: '700100342' })).toMatchObject({ news: 'done' });
});

it('waits for its turn among the processes on its store', async () => {
  await onOrders('700100343');
  for (const number of [1, 2]) await sale('700100343', number);
  ports = { ...ports, store: withMethods(store, { turnToAsk: async () => 7_000 }) };
  expect(await run()).toMatchObject({ ended_on_legacy: 2 });
  expect(clock.now).toBeGreaterThanOrEqual(NOON + 14_000);
});

describe('where legacy does not answer', () => {
  it.each<[string, UpstreamOutcome]>([
    ['no answer', SILENT],
    ['a failure', answered(503)],
    ['a request for fewer calls', answered(429)],
    ['a refused token', answered(401, { error: '401' })],
  ])('%s ends the questions of that merchant', async (_what, outcome) => {
    await onOrders('700100306');
    for (const number of [1, 2, 3]) await sale('700100306', number);
    answer = () => outcome;
    expect(await run()).toMatchObject({ open_on_legacy: 3, asked_on_legacy: 0, not_asked: 3 });
    expect(asked).toHaveLength(1);
  });

  it('three merchants in a row end those of the run', async () => {
    for (const number of [1, 2, 3, 4, 5]) {
      await onOrders(`70010031${number}`);
      await sale(`70010031${number}`, number);
    }
    answer = () => SILENT;
    expect(await run()).toMatchObject({ open_on_legacy: 5, not_asked: 5 });
    expect(asked).toHaveLength(3);
  });

  it('a failure of one sale or token leaves the others', async () => {
    await onOrders('700100321');
    await onOrders('700100322');
    await onOrders('700100323');
    for (const number of [1, 2, 3]) await sale(`70010032${number}`, number);
    const fingerprint = ports.vault.fingerprint(new Secret('of another key'));
    const unreadable = { fingerprint, merchant_id: '700100321', sealed_token: Buffer.from('not sealed by this key') };
    await store.merchants.acceptToken({ ...unreadable, accepted_until: 0, seen_at: NOON + 1 }, 'MLA');
    answer = async ({ path }) => {
      // Its row is ended by a proxied answer while legacy is asked.
      const legacy_id = path.split('/').at(-1) ?? '';
      const row = await store.legacy_sales.legacySale(legacy_id);
      if (row?.merchant_id === '700100322')
        await store.legacy_sales.saveLegacySale(row.id, { state: 'ENDED', end_state: 'CANCELED' });
      return SHOWN_OVER;
    };
    expect(await run()).toMatchObject({ open_on_legacy: 1, ended_on_legacy: 1, not_asked: 1 });
    expect(await store.legacy_sales.legacySale('7f25f9aa-eea6-4f9c-bf16-000000000002')).toMatchObject({
      end_state: 'CANCELED',
    });
  });
});

it('what legacy says of one sale leaves the others, and a sale whose merchant order expired stays open', async () => {
  const id = '700100331';
  await onOrders(id);
  const preference_id = `${id}-7f25f9aa-eea6-4f9c-bf16-00000000000a`;
  await sale(id, 1);
  await sale(id, 2, { family: 'qr', unit: 'TILL1', slot: 'qr:TILL1', legacy_id: preference_id });
  await sale(id, 3);
  const expired = answered(200, { elements: [{ preference_id, order_status: 'expired' }] });
  const forbidden = answered(403, { error: '403' });
  answer = ({ path, name }) =>
    name === 'merchant_order_search' ? expired : path.endsWith('1') ? forbidden : SHOWN_OVER;
  expect(await run()).toMatchObject({ open_on_legacy: 2, asked_on_legacy: 3, ended_on_legacy: 1, not_asked: 0 });
  expect(asked).toHaveLength(3);
});

it('asks about two hundred sales of a merchant in a run', async () => {
  await onOrders('700100330');
  for (let number = 0; number < 203; number++) await sale('700100330', number);
  expect(await run()).toMatchObject({ open_on_legacy: 3, ended_on_legacy: 200, not_asked: 3 });
});
