/** A new sale: the row before the bytes, creates that join or wait, refusals (`docs/protocol.md` §3.3, §3.9, §3.10). */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Order } from '../../src/contract/orders.ts';
import { PuenteError } from '../../src/error.ts';
import type { Store } from '../../src/ops/ports.ts';
import type { LegacyAnswer, LegacyCall } from '../../src/proxy/http/answer.ts';
import { createIntent } from '../../src/proxy/point/create.ts';
import { getIntent } from '../../src/proxy/point/read.ts';
import { createDynamicCode } from '../../src/proxy/qr/create.ts';
import type { Merchant, Stage } from '../../src/proxy/routing/merchant.ts';
import { noteOwnDoubt, openSale } from '../../src/proxy/sales/create.ts';
import { type Link, type LinkChange, requestOf } from '../../src/proxy/sales/link.ts';
import { derivedReference, type Sale } from '../../src/proxy/sales/new-link.ts';
import type { UpstreamOutcome } from '../../src/proxy/upstream/upstream.ts';
import { Secret } from '../../src/proxy/vault.ts';
import { setMerchant } from '../proxy/routing/lane-ports.ts';
import { MERCHANT, NOON, newSale, orderId, TERMINAL } from '../store/contract/harness.ts';
import { withMethods } from '../store/with-methods.ts';
import {
  type Answer,
  answered,
  BROKEN,
  callOf,
  createStand,
  creates,
  NOT_SENT,
  newDraft,
  orderOf,
  PAID,
  refusal,
  TOKEN,
  textOf,
} from './stand.ts';

const stand = createStand();
beforeEach(() => stand.reset());

const pointCall = (change: Partial<LegacyCall> = {}): LegacyCall => callOf(stand, 'point.create_intent', change);
const open = async (change: Partial<LegacyCall> = {}): Promise<LegacyAnswer> =>
  createIntent(stand.ports, pointCall(await chosen(change)));
const said = (reference: string) => ({ amount: 1500, additional_info: { external_reference: reference } });
const OTHER = { body: said('mesa-5') };

const CODE = {
  external_reference: 'Factura 0002',
  title: 'Shop',
  total_amount: 301,
  items: [{ title: 'Coffee', unit_price: 150.5, quantity: 2, unit_measure: 'unit', total_amount: 301 }],
};
const QR_ORDER = {
  type: 'qr',
  total_amount: '301.00',
  transactions: { payments: [{ id: 'PAY1', amount: '301.00' }] },
  type_response: { qr_data: '0002' },
};
const codeCall = (change: Partial<LegacyCall> = {}): LegacyCall =>
  callOf(stand, 'qr.create_code', { body: CODE, ...change });
const keyedB = { headers: { 'x-idempotency-key': 'b' } };
const openCode = async (change: Partial<LegacyCall> = {}) =>
  createDynamicCode(stand.ports, codeCall(await chosen(change)));

/** As its lane was chosen: on stage legacy only work of the unit can bring a call to orders. */
async function chosen(change: Partial<LegacyCall>): Promise<Partial<LegacyCall>> {
  const { merchant = await shop() } = change;
  return { merchant, is_by_unit: merchant.settings.stage === 'legacy', ...change };
}

function told(answer: LegacyAnswer): { status: number; error: unknown; headers: Record<string, string> } {
  if (answer.kind !== 'answer') throw new Error('it was proxied');
  const { error } = answer.body as { error?: unknown };
  return { status: answer.status, error, headers: answer.headers ?? {} };
}

async function shop(): Promise<Merchant> {
  const merchant = await stand.store.merchants.merchant(MERCHANT);
  if (merchant === null) throw new Error('there is no merchant');
  return merchant;
}

const links = (): Promise<Link[]> => stand.store.history.linksOf(MERCHANT, 0, Number.MAX_SAFE_INTEGER, 100);
const names = (): string[] => stand.asked.map(({ name }) => name);
const stage = (to: Stage) => setMerchant(stand.store, MERCHANT, { stage: to });

async function live(change: LinkChange = {}): Promise<Link> {
  stand.answers = [creates()];
  await open();
  const [link] = await links();
  if (link === undefined) throw new Error('no sale was opened');
  stand.asked.length = 0;
  stand.counts.length = 0;
  return Object.keys(change).length === 0 ? link : stand.store.links.saveLink(link, change);
}

const PAID_LINK = { state: 'DONE', legacy_state: 'FINISHED', next_check_at: null } as const;

/** Ends the link as concurrent work does. */
const end = (link: Link) =>
  stand.store.links.saveLink(link, {
    state: 'DONE',
    legacy_state: 'CANCELED',
    next_check_at: null,
    order: orderOf({ status: 'canceled' }) as Order,
  });

describe('a new sale', () => {
  it('is written before a byte leaves, sent once, and answered', async () => {
    let seen: Link[] = [];
    stand.answers = [
      async (call) => {
        seen = await links();
        const made = creates();
        return typeof made === 'function' ? made(call) : made;
      },
    ];
    const draft = newDraft();
    const answer = await stand.within(draft, () => open());
    expect(seen).toMatchObject([
      { state: 'SENDING', client_answer: 'none', unit: TERMINAL, slot: `point:${TERMINAL}` },
    ]);
    const [link] = await links();
    expect(answer).toMatchObject({ kind: 'answer', status: 201, body: { id: link?.legacy_id, amount: 1500 } });
    expect(link).toMatchObject({ state: 'LIVE', client_answer: 'maybe', reference_sent: 'mesa-4' });
    expect(draft).toMatchObject({ legacy_id: link?.legacy_id, limitations: [] });
    expect(stand.counts).toEqual(['creates created']);
    expect(stand.points.slice(0, 3)).toEqual(['create.before_row', 'create.row_written', 'create.before_send']);
    expect(textOf(stand.asked[0]?.body)).toContain('"amount":"15.00"');
  });

  it('whose reference orders do not take has another one, and the exchange says so', async () => {
    const draft = newDraft();
    stand.answers = [creates()];
    await stand.within(draft, () => open({ body: said('Mesa 4') }));
    const [link] = await links();
    expect(link?.reference_sent).toBe(derivedReference(link?.legacy_id ?? ''));
    expect(draft.limitations).toEqual(['LIM-08']);
  });

  it('without a reference of its own misses none', async () => {
    const draft = newDraft();
    stand.answers = [creates()];
    await stand.within(draft, () => open({ body: { amount: 1500 } }));
    expect(draft.limitations).toEqual([]);
  });

  it('loses fields once, and says which', async () => {
    stand.answers = [refusal(400, 'external_reference is used'), creates()];
    await open({ body: { ...said('mesa-4'), description: 'x'.repeat(200) } });
    expect(stand.counts.filter((one) => one.startsWith('losses'))).toEqual(['losses point.create.request']);
    const [line] = stand.log.filter((one) => one.startsWith('info a field did not reach the order'));
    expect(line).toContain('"path":"body.description"');
    expect(line).toContain(`"merchant":"${MERCHANT}"`);
    expect(line).toContain(`"legacy_id":"${(await links())[1]?.legacy_id}"`);
    stand.counts.length = 0;
    await open({ body: { ...said('mesa-4'), description: 'x'.repeat(200) } });
    expect(stand.counts, 'its retry loses nothing more').toEqual(['creates created']);
  });

  it('loses a field of several items once', async () => {
    const items = CODE.items.map((item) => ({ ...item, tip: 1, quantity: 1, total_amount: 150.5 }));
    stand.answers = [creates(QR_ORDER)];
    expect(told(await openCode({ body: { ...CODE, items: [...items, ...items] } })).status).toBe(201);
    const lines = stand.log.filter((one) => one.startsWith('info a field did not reach the order'));
    expect(lines.map((one) => /"path":"([^"]*)"/.exec(one)?.[1])).toEqual(['body.items[0].tip']);
    expect(stand.counts.filter((one) => one.startsWith('losses'))).toHaveLength(2);
  });

  it.each([
    [8_999, 201],
    [9_000, 503],
  ])('that comes to the protocol after %d ms is answered %d', async (late_ms, status) => {
    const call = pointCall();
    stand.now += late_ms;
    stand.answers = [creates()];
    expect(told(await createIntent(stand.ports, call)).status).toBe(status);
    expect(await links()).toHaveLength(status === 201 ? 1 : 0);
    if (status === 503) expect(stand.counts).toEqual(['creates late']);
  });

  it('is not begun while nothing works upstream', async () => {
    stand.is_shut = true;
    const { status, headers } = told(await open());
    expect([status, headers]).toEqual([503, { 'retry-after': '1' }]);
    expect(await links()).toEqual([]);
    expect(stand.counts).toEqual(['creates shut']);
  });

  it.each<[string, Answer[], boolean]>([
    ['that upstream refuses', [refusal(402, 'rejected')], true],
    ['of which nothing was sent', [NOT_SENT, NOT_SENT, NOT_SENT], true],
    ['in doubt', [BROKEN, BROKEN, BROKEN], false],
    ['that is made', [creates()], false],
  ])('%s is known, or not, to have made no sale', async (_what, answers, is_not_made) => {
    stand.answers = answers;
    const draft = newDraft();
    await stand.within(draft, () => open());
    const [{ unit = '', amount_minor = 0 } = {}] = await links();
    expect(draft.not_made).toBe(is_not_made ? `${unit} ${amount_minor}` : undefined);
  });

  it('is not begun while the disk is low', async () => {
    const room = { level: 'low', free_bytes: 1, log_bytes: 0, is_log_large: false } as const;
    stand.restart({ store: withMethods(stand.store, { room: () => room }) });
    const draft = newDraft();
    const opening = stand.within(draft, () => open());
    await expect(opening).rejects.toMatchObject({ code: 'refused', facts: { error: 'unavailable' } });
    expect(draft.not_made).toMatch(/^\S+ 1500$/);
    expect(stand.counts).toEqual(['creates no_room']);
    expect(await links()).toEqual([]);
  });

  it('that the tables refuse is refused, and nothing is written', async () => {
    await expect(open({ body: { amount: 0 } })).rejects.toMatchObject({ code: 'refused' });
    expect(await links()).toEqual([]);
    expect(stand.points).toEqual([]);
  });

  it('of a merchant that is moved before the row is written begins anew', async () => {
    let rounds = 0;
    const openLink: Store['links']['openLink'] = async (...asked) => {
      if (++rounds === 1) await stage('legacy');
      return stand.store.links.openLink(...asked);
    };
    stand.restart({ store: withMethods(stand.store, { openLink }) });
    expect(await open()).toEqual({ kind: 'moved' });
    expect([rounds, await links(), stand.asked]).toEqual([1, [], []]);
  });

  it('of a merchant that was erased meanwhile begins anew', async () => {
    const merchant = { ...(await shop()), id: '700100300' };
    expect(await open({ merchant })).toEqual({ kind: 'moved' });
    expect([await stand.store.history.linksOf('700100300', 0, NOON, 1), stand.asked]).toEqual([[], []]);
  });

  it('is settled by the merchant that its row was written under', async () => {
    await setMerchant(stand.store, MERCHANT, { stage: 'orders', declined: 'finished' });
    stand.answers = [creates({ ...PAID, status: 'failed' })];
    await open();
    const [link] = await links();
    expect(link?.legacy_state).toBe('FINISHED');
  });

  it('whose row can not be written is not sent', async () => {
    const openLink = () => Promise.reject(new PuenteError('store_failed', 'the disk is gone'));
    stand.restart({ store: withMethods(stand.store, { openLink }) });
    await expect(open()).rejects.toThrow('the disk is gone');
    expect(stand.asked).toEqual([]);
  });
});

describe('what upstream said', () => {
  it.each([
    ['a sure refusal', [refusal(400, 'bad_request')], 400, 'creates refused'],
    ['nothing left', [NOT_SENT, NOT_SENT, NOT_SENT], 502, 'creates not_sent'],
    ['nothing came back', [], 504, 'creates in_doubt'],
  ])('%s', async (_what, answers, status, count) => {
    stand.answers = answers;
    expect(told(await open()).status).toBe(status);
    expect(stand.counts.filter((one) => one.startsWith('creates'))).toEqual([count]);
  });

  it('a rate limit is told with its wait', async () => {
    stand.answers = [answered(429, null, 9_500)];
    expect(told(await open())).toMatchObject({ status: 429, headers: { 'retry-after': '10' } });
  });

  it('an outcome in doubt names the intent that it is about', async () => {
    const { headers } = told(await open());
    expect(headers).toEqual({ 'x-puente-intent': (await links())[0]?.legacy_id });
  });

  it('a token that died is asked about again; another refusal says nothing about it', async () => {
    const accepted = async () =>
      (await stand.store.merchants.token(stand.ports.vault.fingerprint(TOKEN)))?.accepted_until ?? 0;
    stand.answers = [refusal(403, 'forbidden_checking_terminal_owner')];
    await open();
    expect(await accepted()).toBeGreaterThan(NOON);
    stand.answers = [refusal(401, 'unauthorized')];
    expect(told(await open()).status).toBe(401);
    expect(await accepted()).toBe(0);
  });

  it('a terminal that holds an order of nobody is told busy, and is known for it once [F16]', async () => {
    for (let again = 0; again < 2; again++) {
      stand.answers = [refusal(409, 'already_queued_order_on_terminal')];
      expect(told(await open()).status).toBe(409);
    }
    expect(stand.counts.filter((one) => one.startsWith('held'))).toEqual(Array(2).fill('held_terminals foreign'));
    expect(await stand.store.audit.audits(9)).toMatchObject([
      { action: 'terminal held' },
      { action: 'merchant settings' },
    ]);
  });

  describe('an answer that did not leave whole has told nothing, unless another one did', () => {
    const closing = async (change: Partial<LegacyCall> = {}): Promise<(whole: boolean) => Promise<void>> => {
      const answer = await open(change);
      if (answer.kind !== 'answer' || answer.onClosed === undefined) throw new Error('nothing follows the answer');
      return answer.onClosed;
    };
    const acknowledged = async () => (await links()).map(({ acknowledged_at }) => acknowledged_at);
    type Closed = [answer: 'first' | 'retry', whole: boolean][];
    const CLOSED: [string, Closed, number | null][] = [
      ['the first is lost', [['first', false]], null],
      [
        'both are lost',
        [
          ['first', false],
          ['retry', false],
        ],
        null,
      ],
      [
        'the retry is lost before',
        [
          ['retry', false],
          ['first', true],
        ],
        NOON,
      ],
      [
        'the retry is lost after',
        [
          ['first', true],
          ['retry', false],
        ],
        NOON,
      ],
      [
        'the first is lost before',
        [
          ['first', false],
          ['retry', true],
        ],
        NOON,
      ],
      [
        'the first is lost after',
        [
          ['retry', true],
          ['first', false],
        ],
        NOON,
      ],
    ];

    it.each(CLOSED)('%s', async (_what, closed, expected) => {
      stand.answers = [creates()];
      const answers = { first: await closing(), retry: await closing() };
      expect(await acknowledged()).toEqual([NOON]);
      for (const [which, whole] of closed) await answers[which](whole);
      expect(await acknowledged()).toEqual([expected]);
      expect(names()).toEqual(['create']);
    });

    it('both close at once', async () => {
      stand.answers = [creates()];
      const [first, retry] = [await closing(), await closing()];
      await Promise.all([first(false), retry(true)]);
      expect(await acknowledged()).toEqual([NOON]);
    });

    it.each([...CLOSED.slice(0, 1), ...CLOSED.slice(2)])('by two processes: %s', async (_what, closed, expected) => {
      stand.answers = [creates()];
      const first = await closing();
      const one = stand.ports;
      stand.restart();
      stand.now += 2_000;
      const answers = { first, retry: await closing() };
      for (const [which, whole] of closed) await answers[which](whole);
      expect(one).not.toBe(stand.ports);
      expect((await acknowledged())[0] === null).toBe(expected === null);
    });

    it('all three are lost, one of them while the last is committed', async () => {
      const { store } = stand;
      let meanwhile = async (): Promise<void> => undefined;
      const saveLink: Store['links']['saveLink'] = async (link, change, extra) => {
        if (change.client_answer === 'maybe') await meanwhile();
        return store.links.saveLink(link, change, extra);
      };
      stand.restart({ store: withMethods(store, { saveLink }) });
      stand.answers = [creates()];
      const [first, retry] = [await closing(), await closing()];
      await first(false);
      stand.now += 1_000;
      meanwhile = () => retry(false);
      await (await closing())(false);
      expect(await acknowledged()).toEqual([null]);
    });

    it.each<[string, number, boolean]>([
      ['that is not stored at once does not undo a delivered one', 2, true],
      ['that is stored, while the delivered one is not at once', 0, true],
    ])('a loss %s', async (_what, failures_before, whole) => {
      const { store } = stand;
      let failures = 0;
      const saveLink: Store['links']['saveLink'] = (link, change, extra) =>
        failures-- > 0
          ? Promise.reject(new PuenteError('store_failed', 'the connection is gone'))
          : store.links.saveLink(link, change, extra);
      stand.restart({ store: withMethods(store, { saveLink }) });
      stand.answers = [creates()];
      const [first, retry] = [await closing(), await closing()];
      failures = failures_before;
      const lost = first(false);
      if (failures_before === 0) {
        await lost;
        failures = 2;
      }
      await Promise.all([lost, retry(whole)]);
      expect(await acknowledged()).toEqual([expect.any(Number)]);
    });

    it('two equal sales lost while nothing can be stored are both taken back by the next equal create', async () => {
      const { store } = stand;
      let is_dead = false;
      const saveLink: Store['links']['saveLink'] = (link, change, extra) =>
        is_dead
          ? Promise.reject(new PuenteError('store_failed', 'the connection is gone'))
          : store.links.saveLink(link, change, extra);
      stand.restart({ store: withMethods(store, { saveLink }) });
      stand.answers = [creates(QR_ORDER), creates(QR_ORDER, 2), creates(QR_ORDER, 3)];
      const codes = [await openCode({ headers: { 'x-idempotency-key': 'a' } }), await openCode(keyedB)];
      is_dead = true;
      for (const code of codes)
        await expect(code.kind === 'answer' ? code.onClosed?.(false) : null).rejects.toThrow('the connection is gone');
      is_dead = false;
      await openCode({ headers: { 'x-idempotency-key': 'c' } });
      expect((await acknowledged()).toSorted()).toEqual([expect.any(Number), null, null]);
    });

    it('the answer of an earlier process is the first one for good', async () => {
      stand.answers = [creates()];
      const keyed = { headers: { 'x-idempotency-key': 'k-1' } };
      await closing(keyed);
      stand.restart();
      stand.now += 9_000;
      const [link] = await links();
      await (await closing(keyed))(true);
      expect(await links()).toEqual([link]);
    });

    it('a sale after the first that was lost is another one once the till knows the first', async () => {
      stand.answers = [creates()];
      const [first, retry] = [await closing(), await closing()];
      await first(false);
      await retry(true);
      const [link] = await links();
      stand.answers = [answered(200, orderOf({ external_reference: link?.reference_sent, ...PAID }, 15))];
      await getIntent(
        stand.ports,
        callOf(stand, 'point.get_intent', { link: link ?? null, path: { intent_id: link?.legacy_id ?? '' } }),
      );
      stand.answers = [creates({}, 2)];
      expect(await open()).not.toMatchObject({ body: { id: link?.legacy_id } });
    });
  });

  it('a refusal of its reference makes it go once more, with a derived one', async () => {
    const body = { errors: [{ code: 'property_value', details: ['external_reference: not unique'] }] };
    stand.answers = [answered(400, body), creates()];
    expect(told(await open()).status).toBe(201);
    const references = stand.asked.map((call) => JSON.parse(textOf(call.body)).external_reference);
    expect(references).toEqual(['mesa-4', expect.stringMatching(/^pnt/)]);
    const rows = (await links()).map(({ state, reference_sent }) => `${state} ${reference_sent}`);
    expect(rows.toSorted()).toEqual([expect.stringMatching(/^LIVE pnt/), 'REJECTED mesa-4']);
    expect(stand.counts).toEqual(['creates created']);
  });

  it('a reference that another sale has had goes once, and the next ones are not written in vain', async () => {
    stand.answers = [creates(), creates({}, 2), creates({}, 3)];
    for (const device_id of ['T1', 'T2', 'T3']) {
      expect(told(await open({ path: { device_id } })).status).toBe(201);
    }
    const references = stand.asked.map((call) => JSON.parse(textOf(call.body)).external_reference);
    expect(references).toEqual(['mesa-4', expect.stringMatching(/^pnt/), expect.stringMatching(/^pnt/)]);
    expect((await links()).map(({ client_reference }) => client_reference)).toEqual(['mesa-4', 'mesa-4', 'mesa-4']);
    const rows = stand.points.filter((point) => point === 'create.before_row');
    expect(rows, 'each one once, and the second once more').toHaveLength(4);
  });

  it('a refusal of a derived reference is told', async () => {
    const body = { errors: [{ code: 'property_value', details: ['external_reference: not unique'] }] };
    stand.answers = [answered(400, body), answered(400, body), creates()];
    expect(told(await open()).status).toBe(400);
    expect(names()).toHaveLength(2);
  });

  it.each([
    ['another property', answered(400, { errors: [{ code: 'property_value', details: ['description'] }] })],
    ['no body', { kind: 'answered', status: 400, retry_after_ms: null, body: undefined } as const],
    ['another status that names it', answered(403, { errors: [{ code: 'forbidden', message: 'external_reference' }] })],
  ])('a refusal of %s is told', async (_what, answer) => {
    stand.answers = [answer, creates()];
    expect(told(await open()).status).toBeGreaterThanOrEqual(400);
    expect(names()).toHaveLength(1);
  });

  it('can not be stored: it is in doubt, and said so', async () => {
    const saveLink = () => Promise.reject(new PuenteError('store_failed', 'the disk is gone'));
    stand.restart({ store: withMethods(stand.store, { saveLink }) });
    stand.answers = [creates()];
    const { status, headers } = told(await open());
    expect([status, headers]).toEqual([504, { 'x-puente-intent': (await links())[0]?.legacy_id }]);
    expect(stand.log.join()).toContain('error create: outcome could not be stored');
    expect(stand.log.join()).toContain('the disk is gone');
    expect(stand.counts).toEqual(['creates in_doubt']);
  });

  describe('and is stored all the same', () => {
    const failing = { commits: 1, is_dead: false, dies: false };
    const retryAfterPayment = async () => {
      const [link] = await links();
      if (link === undefined) throw new Error('no sale was opened');
      await stand.store.links.saveLink(link, { ...PAID_LINK, order: orderOf({ ...PAID }, 15) as Order });
      stand.asked.length = 0;
      stand.answers = [creates({}, 2)];
      const answer = await open({ headers: { 'x-idempotency-key': 'k-2' } });
      return { is_same: told(answer).status === 201 && (await links()).length === 1, asked: names() };
    };
    beforeEach(() => {
      const { store } = stand;
      Object.assign(failing, { commits: 1, is_dead: false, dies: false });
      const saveLink: Store['links']['saveLink'] = async (link, change, extra) => {
        if (failing.is_dead) throw new PuenteError('store_failed', 'the connection is gone');
        const saved = await store.links.saveLink(link, change, extra);
        if (change.client_answer !== 'maybe' || failing.commits-- <= 0) return saved;
        failing.is_dead = failing.dies;
        throw new PuenteError('store_failed', 'the connection is gone');
      };
      stand.restart({ store: withMethods(store, { saveLink }) });
      stand.answers = [creates()];
    });

    it('the till was answered an error: it may repeat the sale with any key when it is paid', async () => {
      expect(told(await open({ headers: { 'x-idempotency-key': 'k-1' } })).status).toBe(504);
      await expect
        .poll(async () => (await links())[0])
        .toMatchObject({ acknowledged_at: null, client_answer: 'maybe' });
      expect(await retryAfterPayment()).toEqual({ is_same: true, asked: [] });
    });

    it('also when nothing could be stored until then', async () => {
      failing.dies = true;
      expect(told(await open({ headers: { 'x-idempotency-key': 'k-1' } })).status).toBe(504);
      await expect.poll(() => stand.log.join()).toContain('create: answer could not be taken back');
      expect(await links()).toMatchObject([{ acknowledged_at: NOON }]);
      failing.is_dead = false;
      expect(await retryAfterPayment()).toEqual({ is_same: true, asked: [] });
    });
  });

  it.each([new PuenteError('bad_tables', 'a defect'), new Error('a defect')])(
    'a defect is no doubt',
    async (defect) => {
      stand.restart({ store: withMethods(stand.store, { saveLink: () => Promise.reject(defect) }) });
      stand.answers = [creates()];
      await expect(open()).rejects.toThrow('a defect');
    },
  );
});

describe('a terminal that has something', () => {
  it('the same again is a retry, of the same order', async () => {
    const link = await live();
    const draft = newDraft();
    expect(await stand.within(draft, () => open())).toMatchObject({ body: { id: link.legacy_id } });
    expect(names()).toEqual([]);
    expect(draft).toMatchObject({ limitations: ['LIM-14'], legacy_id: link.legacy_id });
  });

  it('with a key of its own is told apart, and misses nothing', async () => {
    const keyed = { headers: { 'x-idempotency-key': 'k-1' } };
    stand.answers = [creates()];
    await open(keyed);
    const draft = newDraft();
    await stand.within(draft, () => open(keyed));
    expect(draft.limitations).toEqual([]);
    expect(await links()).toHaveLength(1);
  });

  it('another sale with the same key is none: the terminal is busy', async () => {
    const keyed = { headers: { 'x-idempotency-key': 'k-1' } };
    stand.answers = [creates(), answered(200, orderOf({ external_reference: 'mesa-4', status: 'at_terminal' }, 2))];
    await open(keyed);
    expect(told(await open({ ...OTHER, ...keyed }))).toMatchObject({ status: 409, error: '2205' });
    expect(await links()).toHaveLength(1);
  });

  const over = { state: 'DONE', legacy_state: 'FINISHED' } as const;
  const untold = { client_answer: 'error', acknowledged_at: null } as const;

  it.each<[string, LinkChange]>([
    ['was answered an error', { ...over, ...untold }],
    ['was answered a moment ago', over],
    ['was answered a moment ago, and how it ended nobody read', { ...over, order: null }],
  ])('the same again is answered with the first, which is paid, while its till %s', async (_what, change) => {
    const link = await live(change);
    expect(await open()).toMatchObject({ status: 201, body: { id: link.legacy_id } });
    expect(names()).toEqual([]);
    expect(await links()).toMatchObject([{ state: 'DONE', client_answer: 'maybe', acknowledged_at: NOON }]);
  });

  it('the same again is a new sale when its till has read the first one, paid [F91]', async () => {
    const link = await live(over);
    await getIntent(stand.ports, callOf(stand, 'point.get_intent', { link, path: { intent_id: link.legacy_id } }));
    stand.answers = [creates({}, 2)];
    expect(await open()).not.toMatchObject({ body: { id: link.legacy_id } });
    expect(await links()).toMatchObject([
      { state: 'LIVE', order_id: orderId(2) },
      { state: 'DONE', known_by: 'till' },
    ]);
  });

  it('the same again is a new sale when its till has read the first one, which could not be written down', async () => {
    let is_broken = false;
    const saveLink: Store['links']['saveLink'] = (...asked) =>
      is_broken
        ? Promise.reject(new PuenteError('store_failed', 'the disk is gone'))
        : stand.store.links.saveLink(...asked);
    stand.restart({ store: withMethods(stand.store, { saveLink }) });
    const link = await live(over);
    is_broken = true;
    await getIntent(stand.ports, callOf(stand, 'point.get_intent', { link, path: { intent_id: link.legacy_id } }));
    is_broken = false;
    stand.answers = [creates({}, 2)];
    expect(await open()).not.toMatchObject({ body: { id: link.legacy_id } });
    expect(await links()).toMatchObject([{ order_id: orderId(2) }, { known_by: null }]);
  });

  it('the same again under its key is a retry within 15 s, when its receiver has heard of the sale and its till has not', async () => {
    const keyed = { headers: { 'x-idempotency-key': 'k-1' } };
    stand.answers = [creates()];
    await open(keyed);
    const [link] = await links();
    await stand.store.links.saveLink(link as Link, { ...over, ...untold, known_by: 'notice' }); // it was just opened
    stand.now += 14_999;
    expect(await open(keyed)).toMatchObject({ body: { id: link?.legacy_id } });
    await stand.store.links.saveLink(await stand.stored(link as Link), { acknowledged_at: null });
    stand.now += 1;
    stand.answers = [creates({}, 2)];
    expect(await open(keyed)).not.toMatchObject({ body: { id: link?.legacy_id } });
  });

  describe('that was first answered while this create waited', () => {
    const arrivedAt = (started_tick_ms: number, change: Partial<LegacyCall> = {}): Promise<LegacyAnswer> =>
      stand.within({ ...newDraft(), started_tick_ms }, () => open(change));
    const SINCE = Number.POSITIVE_INFINITY;

    it('is repeated by it, whatever was heard since: its till sent it before', async () => {
      for (const known_by of ['notice', 'till'] as const) {
        await stand.reset();
        const link = await live({ ...over, known_by });
        expect(await arrivedAt(0), known_by).toMatchObject({ body: { id: link.legacy_id } });
        expect(await arrivedAt(0, { headers: { 'x-idempotency-key': 'k' } })).toMatchObject({
          body: { id: link.legacy_id },
        });
        expect(names()).toEqual([]);
        stand.answers = [creates({}, 2)];
        expect(await arrivedAt(SINCE), known_by).not.toMatchObject({ body: { id: link.legacy_id } });
      }
    });

    it('is not, when it was canceled at the wish of the till', async () => {
      const link = await live({ ...over, cancel: 'acknowledged', order: orderOf({ status: 'canceled' }) as Order });
      stand.answers = [creates({}, 2)];
      expect(await arrivedAt(0)).not.toMatchObject({ body: { id: link.legacy_id } });
    });

    it('counts from the answer that arrived', async () => {
      stand.answers = [creates()];
      const lost = await open();
      if (lost.kind !== 'answer') throw new Error('it was proxied');
      const [link] = await links();
      const answeredAt = () => stand.ports.memory.sales.answered.get(requestOf(link as Link))?.at_ms; // it was just opened
      expect(answeredAt()).toBeGreaterThan(0);
      await lost.onClosed?.(false);
      expect(answeredAt(), 'nobody was told').toBeUndefined();
      expect(await arrivedAt(SINCE)).toMatchObject({ status: 201 });
      expect(answeredAt()).toBeGreaterThan(0);
      await stand.store.links.saveLink(await stand.stored(link as Link), { ...over, known_by: 'notice' });
      expect(await arrivedAt(0)).toMatchObject({ body: { id: link?.legacy_id } });
      expect(await links()).toHaveLength(1);
    });

    it.each<[string, boolean, LinkChange, number]>([
      ['it is repeated likewise', true, {}, 0],
      ['it is not, when it was answered before', false, {}, 1],
      ['it is not, when the create waited for less than a sale takes', false, { acknowledged_at: NOON + 1_500 }, 1_001],
      [
        'it is not, when that was answered later, by a clock that was set back',
        false,
        { acknowledged_at: NOON + 2_001 },
        0,
      ],
      ['it is not, when nobody was answered', false, { acknowledged_at: null }, 0],
    ])('by another process: %s', async (_what, is_repeated, change, arrived_ms) => {
      const link = await live({ ...over, known_by: 'till', ...change });
      stand.ports.memory.sales.answered.delete(requestOf(link));
      stand.now = NOON + 2_000;
      stand.answers = [creates({}, 2)];
      const answer = await arrivedAt(SINCE, { received_at: NOON + arrived_ms });
      expect((answer as { body?: { id?: unknown } }).body?.id === link.legacy_id).toBe(is_repeated);
      expect(names()).toEqual(is_repeated ? [] : ['create']);
    });

    it('by another process is not repeated by another request', async () => {
      const link = await live({ ...over, known_by: 'till' });
      stand.ports.memory.sales.answered.delete(requestOf(link));
      stand.now = NOON + 2_000;
      stand.answers = [creates({ external_reference: 'mesa-5' }, 2)];
      expect(await arrivedAt(SINCE, { ...OTHER, received_at: NOON })).not.toMatchObject({
        body: { id: link.legacy_id },
      });
      expect(names()).toEqual(['create']);
    });

    it('by this process is known by the monotonic clock, whatever the wall clock says', async () => {
      const link = await live({ ...over, known_by: 'till' });
      stand.now = NOON + 2_000;
      stand.answers = [creates({}, 2)];
      expect(await arrivedAt(SINCE, { received_at: NOON })).not.toMatchObject({ body: { id: link.legacy_id } });
    });

    it('does not stand in the way when it was erased', async () => {
      const link = await live({ ...over, known_by: 'notice' });
      stand.ports.memory.sales.answered.set(requestOf(link), { legacy_id: 'erased', at_ms: 1 });
      stand.answers = [creates({}, 2)];
      expect(await arrivedAt(0)).not.toMatchObject({ body: { id: link.legacy_id } });
    });
  });

  it('a read of a sale whose till was answered an error is somebody else’s: its till does not know the id', async () => {
    const link = await live({ ...over, ...untold });
    await getIntent(stand.ports, callOf(stand, 'point.get_intent', { link, path: { intent_id: link.legacy_id } }));
    expect(await links()).toMatchObject([{ known_by: null }]);
    expect(await open()).toMatchObject({ body: { id: link.legacy_id } });
  });

  it('one whose till was not told is joined without a look', async () => {
    const link = await live(untold);
    expect(await open()).toMatchObject({ body: { id: link.legacy_id } });
    expect(names()).toEqual([]);
  });

  it('another sale finds it busy', async () => {
    await live();
    stand.answers = [answered(200, orderOf({ external_reference: 'mesa-4', status: 'at_terminal' }, 2))];
    const draft = newDraft();
    const answer = await stand.within(draft, () => open(OTHER));
    expect(told(answer)).toMatchObject({ status: 409, error: '2205' });
    expect(stand.counts).toEqual(['creates busy']);
    expect(draft.doubt_of).toBeUndefined();
    expect(await links()).toHaveLength(1);
  });

  it('another sale whose token is none any more is told so: nobody has said that it is busy', async () => {
    await live();
    stand.answers = [answered(401)];
    expect(told(await open(OTHER))).toMatchObject({ status: 401, error: '401' });
    stand.answers = [answered(403)];
    expect(told(await open(OTHER)).status).toBe(409);
    expect(await links()).toMatchObject([{ state: 'LIVE' }]);
  });

  it.each([
    ['of the same amount, which counts as the same sale', {}, ''],
    ['of another amount, which counts for itself', { amount: 900 }, ' 900'],
  ])('another sale finds an order in doubt, which is nobody’s fault but ours: one %s', async (_what, change, fault) => {
    await open();
    const draft = newDraft();
    const other = { body: { ...OTHER.body, ...change } };
    expect(told(await stand.within(draft, () => open(other))).status).toBe(409);
    const [doubt] = await links();
    expect(draft.doubt_of).toBe(`${doubt?.legacy_id}${fault}`);
  });

  it.each<[string, LinkChange | null, number, boolean]>([
    ['being sent, by another till that is busy', { state: 'SENDING' }, 0, false],
    ['being sent, later than its till waits', { state: 'SENDING' }, 60_000, true],
    ['gone, erased meanwhile', null, 0, false],
  ])('a refusal because of a create that is %s', async (_what, change, later_ms, is_doubt) => {
    const link = await live(change ?? {});
    stand.now += later_ms;
    const draft = newDraft();
    const holder = change === null ? { ...link, legacy_id: '00000000-0000-7000-8000-000000000000' } : link;
    await stand.within(draft, () => noteOwnDoubt(stand.ports, holder));
    expect(draft.doubt_of).toBe(is_doubt ? link.legacy_id : undefined);
  });

  it('another sale finds it over, and goes on', async () => {
    await live();
    stand.answers = [answered(200, orderOf({ ...PAID, external_reference: 'mesa-4' }, 5)), creates({}, 2)];
    expect(told(await open(OTHER)).status).toBe(201);
    expect(await links()).toMatchObject([{ order_id: orderId(2) }, { state: 'DONE' }]);
  });

  it('another sale takes a terminal whose order only waits for a person', async () => {
    await live();
    const waiting = orderOf({ external_reference: 'mesa-4', status: 'action_required' }, 2);
    stand.answers = [answered(200, waiting), answered(200, waiting), creates({}, 2)];
    stand.now += 2_000;
    await open(OTHER);
    stand.now += 2_000;
    await open(OTHER);
    expect(await links()).toMatchObject([
      { order_id: orderId(2), state: 'LIVE' },
      { legacy_state: 'CONFIRMATION_REQUIRED' },
    ]);
  });

  it('that frees itself again and again is busy in the end', async () => {
    await live();
    let asked = 0;
    const sale: Sale = {
      family: 'point',
      unit: TERMINAL,
      holds_unit: true,
      client_reference: 'mesa-5',
      held: {},
      notice_url: null,
      context: {},
      busy_error: 'queued_intent',
      freeUnit: async () => {
        asked++;
        return 'freed';
      },
      created: () => ({ kind: 'answer', status: 201, body: {} }),
    };
    expect(told(await openSale(stand.ports, pointCall(OTHER), sale)).status).toBe(409);
    expect(asked).toBe(5);
    expect(stand.counts).toEqual(['creates busy']);
  });

  it('a retry of what was canceled at the wish of the till meanwhile is a new sale', async () => {
    const link = await live({ client_answer: 'error', acknowledged_at: null, cancel: 'sent' });
    const openLink: Store['links']['openLink'] = async (...asked) => {
      const opened = await stand.store.links.openLink(...asked);
      if (opened.opening.kind === 'join') await end(link);
      return opened;
    };
    stand.restart({ store: withMethods(stand.store, { openLink }) });
    stand.answers = [creates({}, 2)];
    expect(told(await open()).status).toBe(201);
    expect(await links()).toMatchObject([{ order_id: orderId(2) }, { legacy_state: 'CANCELED' }]);
  });

  const slowly = (answer: UpstreamOutcome) => () =>
    new Promise<UpstreamOutcome>((done) => setTimeout(done, 10, answer));

  it.each([
    ['refuses it', refusal(401, 'unauthorized'), 401, 1],
    ['limits it', answered(429, null, 60_000), 429, 1],
    ['can not be reached', NOT_SENT, 502, 3],
  ])('many tries at once are one while upstream %s, and told the same', async (_what, answer, status, sent) => {
    for (const once of [open, openCode]) {
      stand.answers = Array.from({ length: 9 }, () => slowly(answer));
      const answers = await Promise.all(Array.from({ length: 6 }, () => once()));
      expect(answers.map((one) => told(one).status)).toEqual(answers.map(() => status));
      expect(names().filter((name) => name === 'create')).toHaveLength(sent);
      expect(stand.ports.memory.sales.in_flight.size).toBe(0);
      stand.asked.length = 0;
    }
  });

  it('a retry with another token is not told what the first one was refused for', async () => {
    stand.answers = [slowly(refusal(401, 'unauthorized')), creates()];
    const token = new Secret(`APP_USR-4004001-112026-00000000000000000000000000000b02-${MERCHANT}`);
    const answers = await Promise.all([open(), open({ token })]);
    expect(answers.map((one) => told(one).status)).toEqual([401, 201]);
  });

  it('what could not be stored is told to its own till alone', async () => {
    let saves = 0;
    const saveLink: Store['links']['saveLink'] = async (...asked) => {
      if (++saves === 1) throw new PuenteError('store_failed', 'the disk is gone');
      return stand.store.links.saveLink(...asked);
    };
    stand.restart({ store: withMethods(stand.store, { saveLink }) });
    stand.answers = [slowly(answered(500)), slowly(answered(500)), slowly(answered(500)), creates(), BROKEN];
    const answers = await Promise.all([open(), open()]);
    expect(answers.map((one) => told(one).status)).toEqual([504, 201]);
  });

  it('a retry whose terminal is busy with the first try says what a busy terminal says', async () => {
    await open();
    stand.answers = [refusal(409, 'already_queued_order_on_terminal')];
    expect(told(await open())).toMatchObject({ status: 409, error: '2205' });
  });
});

describe('a sale of a merchant on legacy', () => {
  it('is proxied, and nothing is written', async () => {
    await stage('legacy');
    expect(await open()).toEqual({ kind: 'proxy' });
    expect([await links(), stand.asked]).toEqual([[], []]);
  });

  it('begins anew, and nothing is written, when it was moved after its lane was chosen', async () => {
    const merchant = await shop();
    await stage('legacy');
    expect(await open({ merchant })).toEqual({ kind: 'moved' });
    expect([await links(), stand.points, stand.asked]).toEqual([[], ['create.before_row'], []]);
  });

  it('begins anew when its merchant was set after its lane was chosen, and says one amount everywhere', async () => {
    const merchant = await shop();
    const why = { at: NOON, who: 'ana', subject: MERCHANT, reason: 'asked by the shop', detail: {} };
    await stand.store.merchants.saveMerchant({ ...merchant, site: 'MLC' }, merchant.revision, {
      ...why,
      action: 'merchant settings',
    });
    expect(await open({ merchant })).toEqual({ kind: 'moved' });
    expect([await links(), stand.asked]).toEqual([[], []]);
    const echo = { transactions: { payments: [{ id: 'PAY1', amount: '1500' }] } };
    stand.answers = [creates(echo)];
    expect(await open()).toMatchObject({ status: 201, body: { amount: 1500 } });
    expect(await links()).toMatchObject([{ state: 'LIVE', amount_minor: 1500 }]);
    expect(textOf(stand.asked[0]?.body), 'pesos of Chile have no cents').toContain('"amount":"1500"');
  });

  it('that may be the one on orders is joined there', async () => {
    const link = await live({ client_answer: 'error', acknowledged_at: null });
    await stage('legacy');
    expect(await open()).toMatchObject({ body: { id: link.legacy_id } });
  });

  it('waits for a terminal that has one on orders', async () => {
    await live();
    await stage('legacy');
    stand.answers = [answered(200, orderOf({ external_reference: 'mesa-4', status: 'at_terminal' }, 2))];
    expect(told(await open(OTHER)).status).toBe(409);
    stand.answers = [answered(200, orderOf({ ...PAID, external_reference: 'mesa-4' }, 5))];
    stand.now += 5_000;
    expect(await open(OTHER)).toEqual({ kind: 'proxy' });
    expect(await links()).toHaveLength(1);
  });

  it('that orders could never take waits too', async () => {
    await live();
    await stage('legacy');
    stand.answers = [answered(200, orderOf({ external_reference: 'mesa-4', status: 'at_terminal' }, 2))];
    expect(told(await open({ body: { amount: 0 } })).status).toBe(409);
    expect(stand.counts).toEqual(['creates busy']);
    stand.answers = [answered(200, orderOf({ ...PAID, external_reference: 'mesa-4' }, 5))];
    stand.now += 5_000;
    expect(await open({ body: { amount: 0 } })).toEqual({ kind: 'proxy' });
  });

  it('that orders could never take goes to legacy when the terminal was freed meanwhile', async () => {
    const link = await live();
    await stage('legacy');
    await end(link);
    expect(await open({ body: { amount: 0 } })).toEqual({ kind: 'proxy' });
    expect(stand.asked).toEqual([]);
  });

  it.each([new PuenteError('bad_tables', 'a defect'), new Error('a defect')])(
    'a defect is not proxied',
    async (defect) => {
      await live();
      await stage('legacy');
      const request = () => {
        throw defect;
      };
      stand.restart({ tables: { ...stand.ports.tables, request } });
      await expect(open(OTHER)).rejects.toThrow('a defect');
    },
  );

  it('goes to legacy when its terminal was freed before the row was written', async () => {
    const link = await live();
    await stage('legacy');
    const openLink: Store['links']['openLink'] = async (...asked) => {
      await end(link);
      return stand.store.links.openLink(...asked);
    };
    stand.restart({ store: withMethods(stand.store, { openLink }) });
    expect(await open(OTHER)).toEqual({ kind: 'proxy' });
    expect(await links()).toHaveLength(1);
  });
});

describe('a terminal that legacy has something on', () => {
  const INTENT = '7f25f9aa-eea6-4f9c-bf16-a341f71ba2f1';
  const sale = () =>
    stand.store.legacy_sales.openLegacySale(newSale({ state: 'OPEN', legacy_id: INTENT, unit: TERMINAL }));

  it('is left to legacy while legacy says so', async () => {
    await sale();
    stand.legacy_answers = [answered(200, { state: 'OPEN' })];
    expect(await open()).toEqual({ kind: 'proxy' });
    expect(await links()).toEqual([]);
  });

  it('has its next sale on orders as soon as it is over', async () => {
    await sale();
    stand.legacy_answers = [answered(200, { state: 'FINISHED' })];
    stand.answers = [creates()];
    expect(told(await open()).status).toBe(201);
  });

  it('that could not be written down is left to legacy, unless there is work on orders', async () => {
    stand.ports.memory.unrecorded.hold(MERCHANT, `point:${TERMINAL}`, NOON + 60_000);
    expect(await open()).toEqual({ kind: 'proxy' });
    await stand.reset();
    const paid = { state: 'DONE', legacy_state: 'FINISHED' } as const;
    const link = await live({ ...paid, client_answer: 'error', acknowledged_at: null });
    stand.ports.memory.unrecorded.hold(MERCHANT, `point:${TERMINAL}`, NOON + 60_000);
    expect(await open(OTHER), 'no retry').toEqual({ kind: 'proxy' });
    expect(await open()).toMatchObject({ body: { id: link.legacy_id } });
  });
});

describe('a dynamic code', () => {
  const order = (change: object = {}) => ({ ...QR_ORDER, ...change });

  it('holds nothing, so that others come beside it', async () => {
    stand.answers = [creates(order()), creates(order(), 2)];
    expect(told(await openCode()).status).toBe(201);
    expect(told(await openCode({ body: { ...CODE, title: 'Other' } })).status).toBe(201);
    expect(await links()).toMatchObject([
      { slot: null, family: 'qr' },
      { slot: null, family: 'qr' },
    ]);
  });

  it('the same again is a retry, which the exchange says', async () => {
    stand.answers = [creates(order()), answered(200, orderOf(order()))];
    await openCode();
    const draft = newDraft();
    await stand.within(draft, () => openCode());
    expect(draft.limitations).toContain('LIM-29');
    expect(await links()).toHaveLength(1);
  });

  it.each([
    ['is a retry, although the wall clock was set forward meanwhile', false, 59_999, 24 * 3_600_000, 1],
    ['is a retry while the wall clock says so, which was set back', false, 60_000, -3_600_000, 1],
    ['is another sale after a minute', false, 60_000, 60_000, 2],
    ['of an earlier process goes by the wall clock', true, 0, 60_000, 2],
  ])('the same again %s [F47]', async (_what, is_earlier, later_ms, set_ms, count) => {
    let tick_ms = 5_000;
    const clock = () => ({ ...stand.ports.clock, monotonic: () => tick_ms });
    stand.answers = [creates(order()), answered(200, orderOf(order())), creates(order(), 2)];
    await createDynamicCode({ ...stand.ports, clock: clock() }, codeCall());
    if (is_earlier) stand.restart();
    tick_ms += later_ms;
    stand.now += set_ms;
    await createDynamicCode({ ...stand.ports, clock: clock() }, codeCall());
    expect(await links()).toHaveLength(count);
  });

  it('asked for on legacy with an unknown outcome goes there again', async () => {
    await stand.store.legacy_sales.openLegacySale(
      newSale({ family: 'qr', unit: 'TILL1', slot: null, client_reference: 'Factura 0002', state: 'IN_DOUBT' }),
    );
    expect(await openCode()).toEqual({ kind: 'proxy' });
    stand.answers = [creates(order())];
    expect(told(await openCode({ body: { ...CODE, external_reference: 'Factura 3' } })).status).toBe(201);
  });

  it('of a merchant moved back: an untold one is joined, others are proxied', async () => {
    await openCode();
    await stage('legacy');
    expect(await openCode({ body: { ...CODE, external_reference: 'Factura 3' } })).toEqual({ kind: 'proxy' });
    expect(await openCode({ body: { ...CODE, items: [] } }), 'what orders never take').toEqual({ kind: 'proxy' });
    stand.answers = [creates(order()), answered(200, orderOf(order({ external_reference: undefined })))];
    expect(told(await openCode()).status).toBe(201);
    expect(await links()).toHaveLength(1);
  });

  it('of a merchant moved back, equal to one that its till was told of long ago, is proxied', async () => {
    stand.answers = [creates(order())];
    await openCode();
    await openCode({ body: { ...CODE, title: 'Untold' } });
    await stage('legacy');
    stand.now += 61_000;
    expect(await openCode()).toEqual({ kind: 'proxy' });
    expect(await links()).toHaveLength(2);
  });

  it('in doubt does not stop another one', async () => {
    stand.answers = [BROKEN, BROKEN, BROKEN, creates(order(), 2)];
    expect(told(await openCode()).status).toBe(504);
    expect(told(await openCode({ body: { ...CODE, title: 'Other' } })).status).toBe(201);
  });
});
