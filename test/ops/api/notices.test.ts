/** The delivery log on the ops door: notices, their attempts, and redelivery with a reason and an audit line. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NoticeView } from '../../../src/ops/notices.ts';
import { ARGENTINA, BRAZIL, eventually, OPS_TOKEN, type Receiver, startReceiver } from '../../kit.ts';
import { auditsOf, idOf, openShop, type Shop } from '../../proxy/http/till.ts';
import { verifyAudit } from '../audit-chain.ts';
import { command } from '../moves/command.ts';

let shop: Shop;
let receiver: Receiver;
let status = 200;
beforeEach(async () => {
  status = 200;
  shop = await openShop();
  receiver = await startReceiver(() => status);
  const notice_url = `${receiver.url}?key=the-receivers-key`;
  await shop.notify(ARGENTINA, { notice_url, point_payment_notices: 'off' }); // one notice per sale
});
afterEach(async () => {
  await shop.close();
  await receiver.close();
});

const ALWAYS = { since: '2020-01-01T00:00:00Z', until: '2100-01-01T00:00:00Z' };

/** A paid sale on a terminal of its own; resolves after the first attempt of its notice. */
async function paidSale(): Promise<NoticeView> {
  const device = shop.freshDevice();
  const id = idOf(await shop.create(device));
  await shop.atTerminal('pay', { device });
  const found = await eventually(
    () => log(`?limit=500`),
    (notices) => notices.some((notice) => notice.legacy_id === id && notice.last_attempt !== null),
  );
  const notice = found.find(({ legacy_id }) => legacy_id === id);
  if (notice === undefined) throw new Error('no notice of the sale');
  return notice;
}

async function log(query = ''): Promise<NoticeView[]> {
  const answer = await shop.ops(`/api/notices${query}`);
  if (answer.status !== 200) throw new Error(`the log answered ${answer.status} ${answer.text}`);
  return (answer.body as { notices: NoticeView[] }).notices; // the API's shape
}

function redeliver(path: string, body: object) {
  return shop.ops(`/api/notices/${path}`, { body });
}

describe('keys that a merchant adds to its webhooks', () => {
  const set = (point_notice_extra: unknown, revision: number) =>
    shop.ops(`/api/merchants/${ARGENTINA}`, {
      method: 'PUT',
      body: { point_notice_extra, revision, reason: 'its receiver finds the shop by them' },
    });
  const many = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));

  it.each<[string, unknown, string]>([
    ['a field of the notice', { store_id: '77', id: 'x' }, 'id is a field of the notice itself'],
    ['fields that only some notices have', { payment: 1, client_id: 2 }, 'payment, client_id are fields of the notice'],
    ['an object as a value', { data: { id: 'x' } }, 'point_notice_extra.data'],
    ['a list', ['store_id'], 'such as {"store_id": "77"}'],
    ['a text', 'store_id', 'such as {"store_id": "77"}'],
    ['too many', many(21), 'at most 20 keys'],
    ['a long text', { store_id: 'x'.repeat(201) }, 'longer than 200 characters'],
    ['a long key', { ['x'.repeat(201)]: 1 }, 'longer than 200 characters'],
    ['a key that is no name', { __store: 1 }, 'keys begin with a letter'],
    ['a number beyond exact ones', { store_id: 1e300 }, 'keys begin with a letter'],
    ['a token', { store_id: 'APP_USR-1-112026-00000000000000000000000000000a01-7' }, 'it shows a password, a token'],
  ])('are refused as %s', async (_name, extra, says) => {
    const answer = await set(extra, 1);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(JSON.stringify(says).slice(1, -1))]);
  });

  it('are taken, shown and taken back', async () => {
    const extra = { ...many(19), store_id: 'x'.repeat(200) };
    const { revision } = (await shop.ops(`/api/merchants/${ARGENTINA}`)).body as { revision: number }; // the API's shape
    const taken = await set(extra, revision);
    expect(taken.body).toMatchObject({ settings: { point_notice_extra: { value: extra, from: 'merchant' } } });
    const back = await set(null, revision + 1);
    expect(back.body).toMatchObject({ settings: { point_notice_extra: { value: null, from: 'default' } } });
  });
});

describe('the log', () => {
  it('shows a notice with every attempt, and of its URL only where it went', async () => {
    status = 500;
    const { id } = await paidSale();
    const { status: found, body, text } = await shop.ops(`/api/notices/${id}`);
    expect(found).toBe(200);
    expect(body).toMatchObject({
      id,
      merchant: ARGENTINA,
      topic: 'point',
      form: 'point',
      state: 'pending',
      replayed: false,
      attempts: 1,
      sequence: 1,
      next_attempt_at: expect.stringMatching(/Z$/),
      tries: [
        {
          at: expect.stringMatching(/Z$/),
          outcome: 'theirs',
          status: 500,
          url: `${new URL(receiver.url).origin}/…?…`,
          detail: 'The receiver answered 500; 200 or 201 was expected.',
        },
      ],
    });
    expect(text).not.toContain('the-receivers-key');
  });

  it('is filtered, newest first', async () => {
    const first = await paidSale();
    const second = await paidSale();
    const ids = async (query: string): Promise<string[]> => (await log(query)).map(({ id }) => id);
    expect(await ids('')).toEqual([second.id, first.id]);
    expect(await ids('?limit=1')).toEqual([second.id]);
    expect(await ids(`?merchant=${ARGENTINA}&state=delivered&topic=point`)).toEqual([second.id, first.id]);
    await shop.notify(BRAZIL, { notice_url: receiver.url });
    expect(await ids(`?merchant=${BRAZIL}`)).toEqual([]);
    expect(await ids('?state=dead')).toEqual([]);
    expect(await ids('?topic=payment')).toEqual([]);
    expect(await ids(`?since=${second.created_at}`)).toEqual([second.id]);
    expect(await ids(`?until=${encodeURIComponent(second.created_at)}`)).toEqual([first.id]);
    expect(await ids('?until=2020-01-01T00:00:00-03:00')).toEqual([]);
  });

  it('tells how often each receiver acknowledged, the worst first', async () => {
    await paidSale();
    status = 500;
    await paidSale();
    await paidSale();
    const { body } = await shop.ops('/api/notices/receivers');
    expect(body).toMatchObject({
      receivers: [
        {
          merchant: ARGENTINA,
          url: `${new URL(receiver.url).origin}/…?…`,
          delivered: 1,
          late: 0,
          refused: 2,
          held: 0,
          success_rate: 33.3,
          last_refused_at: expect.stringMatching(/Z$/),
        },
      ],
    });
    await shop.notify(BRAZIL, { notice_url: receiver.url });
    expect((await shop.ops(`/api/notices/receivers?merchant=${BRAZIL}`)).body).toMatchObject({ receivers: [] });
    expect((await shop.ops('/api/notices/receivers?since=yesterday')).status).toBe(400);
    // Their beginning follows from the end: a day, or 31 days, before it.
    for (const window of ['until=2099-01-01T00:00:00Z', 'since=2026-01-01T00:00:00Z&until=2099-01-01T00:00:00Z']) {
      const { status, text } = await shop.ops(`/api/notices/receivers?${window}`);
      expect([status, text]).toEqual([400, expect.stringContaining('the window begins in the future (')]);
    }
  });

  it('sends a test to a receiver once, addressed and signed as its notices, with an audit line', async () => {
    const send = (merchant: string) => shop.ops('/api/notices/test', { body: { merchant, reason: 'its new address' } });
    expect((await shop.ops('/api/notices/test', { body: { merchant: ARGENTINA } })).status).toBe(400);
    expect((await send(ARGENTINA)).body).toMatchObject({ outcome: 'delivered', status: 200 });
    const [test] = await receiver.waitFor(1);
    expect(test?.body).toMatchObject({ amount: 0, additional_info: { external_reference: 'puente-test' } });
    expect(test?.headers['x-signature']).toMatch(/^ts=\d+,v1=/);
    status = 500;
    expect((await send(ARGENTINA)).body).toMatchObject({ outcome: 'theirs', status: 500 });
    await shop.ops(`/api/merchants/${BRAZIL}/rollback`, { body: { reason: 'it has no address', new: true } });
    expect((await send(BRAZIL)).body).toMatchObject({ outcome: 'ours', url: null });
    expect(await log()).toEqual([]);
    const lines = (await auditsOf(shop.data_dir)).filter(({ action }) => action === 'test notice');
    expect(lines.map(({ subject }) => subject)).toEqual([ARGENTINA, ARGENTINA, BRAZIL]);
    const env = { PUENTE_OPS_URL: shop.app.ops_url, PUENTE_OPS_TOKEN: OPS_TOKEN };
    const typed = await command(['notices', 'test', ARGENTINA, '--reason', 'its new address'], env);
    expect([typed.code, typed.out]).toEqual([1, expect.stringContaining('not acknowledged')]);
  });

  it('refuses a query it does not know', async () => {
    for (const query of [
      '?state=lost',
      '?topic=morse',
      '?merchant=',
      '?since=yesterday',
      '?limit=0',
      '?limit=501',
      '?state=dead&state=pending',
      '?order=asc',
    ]) {
      const answer = await shop.ops(`/api/notices${query}`);
      const refusal = { error: 'bad_request', message: expect.stringMatching(/\S/) };
      expect([query, answer.status, answer.body]).toMatchObject([query, 400, refusal]);
    }
  });

  it('knows no notice of another id', async () => {
    for (const answer of [
      await shop.ops('/api/notices/nobody'),
      await redeliver('nobody/replay', { reason: 'why not' }),
    ]) {
      expect([answer.status, (answer.body as { error: string }).error]).toEqual([404, 'not_found']);
    }
    expect((await auditsOf(shop.data_dir)).filter(({ action }) => action.startsWith('replay'))).toEqual([]);
  });
});

describe('redelivery of one', () => {
  it('delivers the same bytes with the same request id once more, and says who asked and why', async () => {
    await shop.notify(ARGENTINA, { dialect: 'point_integration_wh', notice_secret: 'a secret of eight' });
    const { id } = await paidSale();
    const answer = await redeliver(`${id}/replay`, { reason: 'the shop lost it' });
    expect([answer.status, answer.body]).toEqual([200, expect.objectContaining({ id, replayed: true })]);
    const [first, second] = await receiver.waitFor(2);
    expect(second?.text).toBe(first?.text);
    expect(second?.headers['x-request-id']).toBe(first?.headers['x-request-id']);
    expect(second?.headers['x-request-id']).toBe(id);
    const after = await eventually(
      async () => (await shop.ops(`/api/notices/${id}`)).body as NoticeView & { tries: unknown[] }, // the API's shape
      ({ tries }) => tries.length === 2,
    );
    expect(after).toMatchObject({ state: 'delivered', replayed: true, next_attempt_at: null });
    const lines = await auditsOf(shop.data_dir);
    expect(lines.at(-1)).toMatchObject({
      who: 'operator',
      action: 'replay notice',
      subject: after.legacy_id,
      reason: 'the shop lost it',
      detail: { notice: id, topic: 'point', form: 'point', state: 'delivered' },
    });
    expect(verifyAudit(lines)).toMatchObject({ intact: true });
  });

  it('needs a reason, and nothing else', async () => {
    const { id } = await paidSale();
    for (const body of [{}, { reason: '  ' }, { reason: 'why not', force: true }]) {
      expect([body, (await redeliver(`${id}/replay`, body)).status]).toEqual([body, 400]);
    }
    expect(receiver.received).toHaveLength(1);
  });
});

describe('redelivery of a window', () => {
  it('says how many there are, then tells what was not delivered again, then what was', async () => {
    await paidSale();
    status = 503;
    await paidSale();
    await paidSale();
    const dry = { ...ALWAYS, merchant: ARGENTINA, reason: 'the shop was down', dry_run: true };
    expect((await redeliver('replay', dry)).body).toEqual({ notices: 2, dry_run: true, delivered_left_out: 1 });
    expect((await redeliver('replay', { ...dry, states: ['delivered'] })).body).toEqual({
      notices: 1,
      dry_run: true,
      delivered_left_out: 0,
    });
    expect((await redeliver('replay', { ...dry, merchant: BRAZIL })).status).toBe(404);
    expect((await redeliver('replay', { ...dry, topic: 'payment' })).body).toMatchObject({ notices: 0, dry_run: true });
    const upside_down = await redeliver('replay', { ...dry, until: ALWAYS.since });
    expect([upside_down.status, upside_down.body]).toEqual([
      400,
      {
        error: 'bad_request',
        message: expect.stringContaining('must be later than since'),
        said: [{ code: 'refusal.empty_window', facts: expect.anything() }],
      },
    ]);
    expect((await auditsOf(shop.data_dir)).map(({ action }) => action)).toEqual(['merchant settings']);
    expect(receiver.received).toHaveLength(3);
    const surprised = await redeliver('replay', { ...dry, dry_run: false, expected: 1 });
    expect([surprised.status, surprised.body]).toMatchObject([
      409,
      { error: 'conflict', message: expect.stringContaining('there are 2 now'), expected: 1, notices: 2 },
    ]);
    const argv = [
      'notices',
      'replay',
      '--since',
      ALWAYS.since,
      '--until',
      ALWAYS.until,
      '--reason',
      'the shop was down',
    ];
    const typed = await command([...argv, '--expected', '1'], {
      PUENTE_OPS_URL: shop.app.ops_url,
      PUENTE_OPS_TOKEN: OPS_TOKEN,
    });
    expect([typed.code, typed.err]).toEqual([1, expect.stringContaining('there are 2 now')]);
    expect(receiver.received).toHaveLength(3);
    status = 200;
    const told = await redeliver('replay', { ...dry, dry_run: false, expected: 2 });
    expect([told.status, told.body]).toEqual([200, { notices: 2, dry_run: false, delivered_left_out: 1 }]);
    await receiver.waitFor(5);
    await eventually(
      () => log('?state=delivered'),
      (notices) => notices.length === 3,
    );
    const again = await redeliver('replay', { ...ALWAYS, states: ['delivered'], reason: 'all of it once more' });
    expect(again.body).toEqual({ notices: 3, dry_run: false, delivered_left_out: 0 });
    await receiver.waitFor(8);
    const redelivered = (await auditsOf(shop.data_dir)).filter(({ action }) => action === 'replay notices');
    expect(redelivered).toMatchObject([
      {
        subject: ARGENTINA,
        reason: 'the shop was down',
        detail: { since: '2020-01-01T00:00:00.000Z', states: ['pending', 'dead'], notices: 2 },
      },
      { subject: 'all merchants', reason: 'all of it once more', detail: { states: ['delivered'], notices: 3 } },
    ]);
  });

  it('refuses what names no window, no reason, or something unknown', async () => {
    const table: [string, object][] = [
      ['no reason', ALWAYS],
      ['no end', { since: ALWAYS.since, reason: 'why not' }],
      ['no beginning', { until: ALWAYS.until, reason: 'why not' }],
      ['a day without a time', { ...ALWAYS, since: '2026-01-01', reason: 'why not' }],
      ['no state', { ...ALWAYS, states: [], reason: 'why not' }],
      ['an unknown state', { ...ALWAYS, states: ['lost'], reason: 'why not' }],
      ['a merchant that is none', { ...ALWAYS, merchant: 'x', reason: 'why not' }],
      ['an unknown field', { ...ALWAYS, limit: 5, reason: 'why not' }],
    ];
    for (const [name, body] of table) expect([name, (await redeliver('replay', body)).status]).toEqual([name, 400]);
  });
});
