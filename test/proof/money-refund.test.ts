/**
 * The refund protocol without doors: rows, calls, recovery, answers; one refund at a time (`docs/protocol.md` §3.9).
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { order } from '../../src/contract/orders.ts';
import { PuenteError } from '../../src/error.ts';
import type { LegacyCall } from '../../src/proxy/http/answer.ts';
import { refused } from '../../src/proxy/http/answer.ts';
import { answerRefund, type Made, makeRefund } from '../../src/proxy/payments/make-refund.ts';
import { getPayment } from '../../src/proxy/payments/read.ts';
import { createRefund } from '../../src/proxy/payments/refund.ts';
import {
  expectRefund,
  hasDoubt,
  lookAfterRefunds,
  lookAtOrder,
  mayRepeat,
} from '../../src/proxy/payments/refund-decisions.ts';
import { createProcessMemory } from '../../src/proxy/process-memory.ts';
import type { Refund } from '../../src/proxy/records/refunds.ts';
import { LATE_EFFECT_MS } from '../../src/proxy/records/routing.ts';
import type { Link } from '../../src/proxy/sales/link.ts';
import { applyOrder } from '../../src/proxy/sales/settle.ts';
import type { UpstreamOutcome } from '../../src/proxy/upstream/upstream.ts';
import { MERCHANT, NOON, orderId } from '../store/contract/harness.ts';
import { withMethods } from '../store/with-methods.ts';
import {
  type Answer,
  answered,
  BROKEN,
  callOf,
  createStand,
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

const PAYMENT = '16500000001';
const answerOf = (name: Parameters<typeof refused>[1]) => ({ kind: 'answer', answer: refused('payments', name) });

/** Rises with every prepared read, so that each order is newer than the one before. */
let second = 0;

/** A read of the paid order with these refunds, each [id, amount, status]; without a status it is processed. */
function seen(...refunds: [string, string, string?][]): UpstreamOutcome {
  return answered(200, seenOrder(...refunds));
}

function seenOrder(...refunds: [string, string, string?][]) {
  const nodes = refunds.map(([id, amount, status = 'processed']) => ({ id, amount, transaction_id: 'PAY1', status }));
  const transactions = { ...PAID.transactions, refunds: nodes };
  const given = refunds.filter(([, , status]) => status !== 'failed');
  const sum_minor = given.reduce((sum, [, amount]) => sum + Math.round(Number(amount) * 100), 0);
  return orderOf({ ...PAID, status: sum_minor >= 1500 ? 'refunded' : 'processed', transactions }, ++second);
}

function makes(id: string, amount: string, status = 'processed'): Answer {
  const node = { id, amount, reference_id: '99', status, transaction_id: 'PAY1' };
  return answered(201, { id: orderId(1), status: 'processed', transactions: { refunds: [node] } });
}

/** The body of a refund names its seller. */
const SELLER = answered(200, { id: Number(MERCHANT), nickname: 'SHOP' });

/** Upstream does not know the order: it is older than three months. */
const GONE = refusal(404, 'order_not_found');

async function paid(change: Partial<Link> = {}): Promise<Link> {
  const link = await stand.link();
  const order = orderOf(PAID) as unknown as Link['order']; // as it would be parsed
  return stand.store.links.saveLink(link, {
    state: 'DONE',
    legacy_state: 'FINISHED',
    order_id: orderId(1),
    order,
    order_version: '2026-01-05T12:00:00.000000000Z',
    payment_id: PAYMENT,
    client_answer: 'maybe',
    sealed_body: null,
    ...change,
  });
}

const call = (change: Partial<LegacyCall> = {}): LegacyCall =>
  callOf(stand, 'payments.create_refund', { path: { payment_id: PAYMENT }, body: {}, ...change });
const keyed = (key: string): LegacyCall => call({ headers: { 'x-idempotency-key': key } });
const refund = (link: Link, asked_minor: number | null, asked = call()): Promise<Made> =>
  makeRefund(stand.ports, asked, link, asked_minor);
const rows = (link: Link): Promise<Refund[]> => stand.store.refunds.refunds(link.legacy_id);
const posts = () => stand.asked.filter(({ name }) => name === 'refund');
const names = () => stand.asked.map(({ name }) => name);

async function doubt(link: Link, asked_minor: number | null, asked = call()): Promise<Refund> {
  stand.answers = [seen(), BROKEN, BROKEN];
  expect(await refund(link, asked_minor, asked)).toEqual(answerOf('outcome_unknown'));
  stand.asked.length = 0;
  stand.points.length = 0;
  return last(link);
}

async function last(link: Link): Promise<Refund> {
  const row = (await rows(link)).at(-1);
  if (row === undefined) throw new Error('there is no refund');
  return row;
}

describe('a refund', () => {
  it('of a part: looks, writes its row, sends it with its own key, and looks again', async () => {
    const link = await paid();
    stand.at.set('refund.row_written', () => expect(names()).toEqual(['get']));
    stand.answers = [seen(), makes('REF1', '5.00'), seen(['REF1', '5.00'])];
    const made = await refund(link, 500);
    const row = await last(link);
    expect(made).toMatchObject({ kind: 'made', refund: row, link: { order: { status: 'processed' } } });
    expect(row).toMatchObject({
      legacy_id: link.legacy_id,
      merchant_id: MERCHANT,
      payment_id: PAYMENT,
      client_key: null,
      amount_minor: 500,
      refunded_before_minor: 0,
      state: 'DONE',
      upstream_id: 'REF1',
      reference_id: '99',
      refunded_minor: 500,
      upstream_status: 'processed',
      answered_at: null,
      created_at: NOON,
      updated_at: NOON,
      revision: 2,
    });
    expect(names()).toEqual(['get', 'refund', 'get']);
    expect(posts()[0]).toMatchObject({
      method: 'POST',
      path: `/v1/orders/${orderId(1)}/refund`,
      idempotency_key: row.idempotency_key,
      token: TOKEN,
    });
    const sent = JSON.parse(textOf(posts()[0]?.body));
    expect(sent).toEqual({ transactions: [{ id: 'PAY1', amount: '5.00' }] });
    const order = ['refund.row_written', 'refund.answer_read', 'refund.settled'];
    expect(stand.points.filter((point) => point.startsWith('refund'))).toEqual(order);
    expect((await stand.stored(link)).order?.transactions?.refunds).toHaveLength(1);
  });

  it.each<[string, number | null, [string, string][]]>([
    ['all that is left', null, []],
    ['the whole amount by name', 1500, []],
    ['the rest by name', 1000, [['REF0', '5.00']]],
  ])('of %s goes without a body', async (_what, asked_minor, before) => {
    const link = await paid();
    stand.answers = [seen(...before), makes('REF1', '10.00'), seen(['REF0', '5.00'], ['REF1', '10.00'])];
    expect((await refund(link, asked_minor)).kind).toBe('made');
    expect(posts()[0]?.body).toBeUndefined();
    expect(await last(link)).toMatchObject({ amount_minor: null, refunded_before_minor: before.length * 500 });
  });

  it('counts what was refunded before by what the order says now, and what it does not show of those made here', async () => {
    const link = await paid();
    stand.answers = [seen(['REF0', '2.00']), makes('REF1', '5.00'), BROKEN];
    await refund(link, 500);
    expect(await last(link)).toMatchObject({ refunded_before_minor: 200 });
    stand.answers = [BROKEN, makes('REF2', '1.00'), BROKEN];
    await refund(await stand.stored(link), 100);
    expect(await last(link)).toMatchObject({ refunded_before_minor: 700, amount_minor: 100 });
    stand.answers = [BROKEN, makes('REF3', '7.00'), BROKEN];
    await refund(await stand.stored(link), 700);
    expect(await last(link), 'all that is left').toMatchObject({ refunded_before_minor: 800, amount_minor: null });
  });

  it('that was made is made, whether or not its order can be read afterwards', async () => {
    const link = await paid();
    stand.answers = [seen(), makes('REF1', '5.00'), BROKEN];
    expect(await refund(link, 500)).toMatchObject({ kind: 'made', refund: { state: 'DONE' } });
  });

  it.each([
    ['without a key', call],
    ['with its key', () => keyed('k')],
  ])('that failed gave nothing back: an equal request %s makes another one (LIM-42)', async (_how, asked) => {
    const link = await paid();
    stand.answers = [seen(), makes('REF1', '15.00', 'processing'), seen(['REF1', '15.00', 'processing'])];
    await refund(link, null, asked());
    const failed = ['REF1', '15.00', 'failed'] as [string, string, string];
    stand.answers = [seen(failed), makes('REF2', '15.00'), seen(failed, ['REF2', '15.00'])];
    const again = await refund(await stand.stored(link), null, asked());
    expect(again).toMatchObject({ kind: 'made', refund: { upstream_id: 'REF2' } });
    // That one stands, and is not made twice.
    stand.answers = [seen(failed, ['REF2', '15.00'])];
    expect(await refund(await stand.stored(link), null, asked())).toMatchObject({ refund: { upstream_id: 'REF2' } });
    expect(posts()).toHaveLength(2);
  });

  it('that was answered as made stands, whatever its order says of it: an equal request is not made', async () => {
    const link = await paid();
    stand.answers = [seen(), makes('REF1', '5.00'), seen(['REF1', '5.00', 'failed'])];
    await refund(link, 500, keyed('k'));
    stand.answers = [SELLER, seen(['REF1', '5.00', 'failed'])];
    const asked = { ...keyed('k'), body: { amount: 5 }, link: await stand.stored(link) };
    const again = await createRefund(stand.ports, asked);
    expect(again).toMatchObject({ status: 201, body: { status: 'approved' } });
    expect(posts()).toHaveLength(1);
  });

  it('that was answered as failed is rejected and made again, while its order still has it as processing', async () => {
    const link = await paid();
    const late = ['REF1', '5.00', 'processing'] as [string, string, string];
    const asked = { ...keyed('k'), body: { amount: 5 } };
    stand.answers = [SELLER, seen(), makes('REF1', '5.00', 'failed'), seen(late)];
    expect(await createRefund(stand.ports, { ...asked, link })).toMatchObject({ body: { status: 'rejected' } });
    stand.answers = [seen(late), makes('REF2', '5.00'), seen(late, ['REF2', '5.00'])];
    const again = await createRefund(stand.ports, { ...asked, link: await stand.stored(link) });
    expect(again).toMatchObject({ status: 201, body: { status: 'approved' } });
    expect(posts()).toHaveLength(2);
  });

  it('that failed keeps its key: with another amount it is refused', async () => {
    const link = await paid();
    stand.answers = [seen(), makes('REF1', '5.00', 'failed'), seen(['REF1', '5.00', 'failed'])];
    await refund(link, 500, keyed('k'));
    stand.answers = [seen(['REF1', '5.00', 'failed'])];
    expect(await refund(await stand.stored(link), 600, keyed('k'))).toEqual(answerOf('key_reused'));
    expect(posts()).toHaveLength(1);
  });

  it('is the same after upstream has numbered its payment', async () => {
    const link = await paid({ payment_id: '7000000000000001' });
    const unnumbered = (...refunds: [string, string][]): UpstreamOutcome => {
      const [payment] = PAID.transactions.payments;
      const { transactions, ...order } = seenOrder(...refunds);
      const payments = [{ ...payment, reference_id: undefined }];
      return answered(200, { ...order, transactions: { ...(transactions as object), payments } });
    };
    stand.answers = [unnumbered(), makes('REF1', '5.00'), unnumbered(['REF1', '5.00'])];
    await refund(link, 500);
    stand.answers = [seen(['REF1', '5.00'])];
    const again = await refund(await stand.stored(link), 500);
    expect(again).toMatchObject({ refund: { upstream_id: 'REF1' }, link: { payment_id: PAYMENT } });
    expect(posts()).toHaveLength(1);
  });

  it('that is answered with another amount is an incident, and the order decides', async () => {
    const link = await paid();
    stand.answers = [seen(), makes('REF1', '7.00'), seen(['REF1', '7.00'])];
    expect(await refund(link, 500)).toEqual(answerOf('outcome_unknown'));
    expect(await stand.store.audit.audits(1)).toMatchObject([
      { action: 'mismatch contradiction', subject: link.legacy_id },
    ]);
  });

  it('without a key is the one before, as long as its till can have lost that answer, and the exchange says so', async () => {
    const link = await paid();
    stand.answers = [seen(), makes('REF1', '5.00'), seen(['REF1', '5.00'])];
    const first = await refund(link, 500);
    if (first.kind !== 'made') throw new Error('it was not made');
    await answerRefund(stand.ports, call(), first.refund, { kind: 'answer', status: 201, body: {} }).onClosed?.(true);
    const draft = newDraft();
    const again = await stand.within(draft, async () => refund(await stand.stored(link), 500));
    expect(again).toMatchObject({ kind: 'made', refund: { id: first.refund.id } });
    expect([draft.limitations, posts().length]).toEqual([['LIM-59'], 1]);
  });

  it('keeps no key of a till, only what recognises it', async () => {
    const link = await paid();
    stand.answers = [seen(), makes('REF1', '5.00')];
    await refund(link, 500, keyed('till-key-1'));
    const { client_key, idempotency_key } = await last(link);
    expect(client_key).toBe(stand.ports.vault.keyed('client-key', 'till-key-1'));
    expect(idempotency_key).not.toContain('till-key-1');
    expect(posts()[0]?.idempotency_key).toBe(idempotency_key);
  });

  it('of an order that is not known is a defect, and writes nothing', async () => {
    const link = await stand.link();
    await expect(refund(link, 500)).rejects.toThrow(`the link ${link.legacy_id} has no order to refund`);
    expect([stand.asked, await rows(link)]).toEqual([[], []]);
  });

  it('of a payment whose number nobody has told yet goes by its order', async () => {
    const link = await paid({ payment_id: null, order: null });
    stand.answers = [BROKEN, makes('REF1', '5.00')];
    expect((await refund(link, null)).kind).toBe('made');
    expect(await last(link)).toMatchObject({ payment_id: '', amount_minor: null });
  });

  it('with less than 250 ms left is not begun', async () => {
    const { deadline_ms } = stand.ports.settings.create;
    const link = await paid();
    const late = call();
    stand.now = NOON + deadline_ms - 249;
    expect(await refund(link, 500, late)).toEqual(answerOf('unavailable'));
    expect([stand.asked, await rows(link)]).toEqual([[], []]);
    stand.now = NOON + deadline_ms - 250;
    stand.answers = [seen(), makes('REF1', '5.00')];
    expect((await refund(link, 500, late)).kind).toBe('made');
    expect(posts()[0]?.timeout_ms).toBe(250);
  });

  it('has the time of an attempt, and no more than is left of its call', async () => {
    const { deadline_ms, attempt_timeout_ms } = stand.ports.settings.create;
    const link = await paid();
    stand.answers = [seen(), makes('REF1', '1.00')];
    await refund(link, 100);
    expect(posts()[0]?.timeout_ms).toBe(attempt_timeout_ms);
    const late = call();
    stand.now += deadline_ms - 1_000;
    stand.answers = [seen(), makes('REF2', '2.00')];
    await refund(link, 200, late);
    expect(posts()[1]?.timeout_ms).toBe(1_000);
    // The read took all the time that was left; the row is already written.
    const slow = call();
    const looks = seen();
    stand.answers = [
      () => {
        stand.now = NOON + 2 * deadline_ms;
        return looks;
      },
      makes('REF3', '3.00'),
    ];
    await refund(link, 300, slow);
    expect(posts()[2]?.timeout_ms).toBe(250);
  });

  it.each<[string, Partial<Link>, Parameters<typeof refused>[1]]>([
    ['whose order has no payment', { order: { id: orderId(1), status: 'processed' } }, 'partial_unsupported'],
    ['whose order was never read', { order: null }, 'unavailable'],
  ])('of a part is refused for a sale %s, and holds nothing', async (_what, change, error) => {
    const link = await paid(change);
    expect(await refund(link, 500)).toEqual(answerOf(error));
    expect([posts(), await rows(link)]).toEqual([[], []]);
    stand.answers = [BROKEN, makes('REF1', '15.00')];
    expect((await refund(link, null)).kind, 'all of it needs none').toBe('made');
  });

  it('is not begun without room on the disk', async () => {
    const link = await paid();
    const room = { level: 'low', free_bytes: 1, log_bytes: 0, is_log_large: false } as const;
    stand.restart({ store: withMethods(stand.store, { room: () => room }) });
    stand.answers = [seen()];
    await expect(refund(link, 500)).rejects.toMatchObject({ code: 'refused', facts: { error: 'unavailable' } });
    expect([posts(), await rows(link)]).toEqual([[], []]);
  });
});

describe('a refusal', () => {
  it('is the end of the row, in the words of the family', async () => {
    const link = await paid();
    stand.answers = [seen(), refusal(400, 'bad_request')];
    expect(await refund(link, 500)).toMatchObject({ kind: 'answer', answer: { status: 400 } });
    expect(await last(link)).toMatchObject({ state: 'REFUSED', upstream_id: null });
    expect(names()).toEqual(['get', 'refund']);
  });

  it.each<[string, Answer, number]>([
    ['without a byte sent', NOT_SENT, refused('payments', 'bad_gateway').status],
    ['by a rate limit', answered(429), 429],
  ])('%s was not executed', async (_what, answer, status) => {
    const link = await paid();
    stand.answers = [seen(), answer];
    expect(await refund(link, 500)).toMatchObject({ kind: 'answer', answer: { status } });
    expect(await last(link)).toMatchObject({ state: 'NOT_SENT' });
  });

  it('leaves the payment free for the next one', async () => {
    const link = await paid();
    stand.answers = [seen(), refusal(400, 'bad_request'), seen(), makes('REF1', '5.00')];
    await refund(link, 500);
    expect((await refund(link, 500)).kind).toBe('made');
    const [first, second] = posts();
    expect(second?.idempotency_key).not.toBe(first?.idempotency_key);
  });
});

describe('an outcome that is not known', () => {
  it('is found on the order', async () => {
    const link = await paid();
    stand.answers = [seen(), BROKEN, seen(['REF1', '5.00'])];
    expect(await refund(link, 500)).toMatchObject({
      kind: 'made',
      refund: { state: 'DONE', upstream_id: 'REF1', refunded_minor: 500 },
      link: { order: { transactions: { refunds: [{ id: 'REF1' }] } } },
    });
    expect(posts()).toHaveLength(1);
    expect(stand.log).toContainEqual(expect.stringMatching(/^warn refund: outcome not known .*"cause":"reset"/));
  });

  it.each<[string, Answer]>([
    ['does not show it', seen()],
    ['can not be read', BROKEN],
  ])('while the order %s is in doubt, and not sent again by itself', async (_what, look) => {
    const link = await paid();
    stand.answers = [seen(), answered(500), look];
    expect(await refund(link, 500)).toEqual(answerOf('outcome_unknown'));
    expect(await last(link)).toMatchObject({ state: 'IN_DOUBT' });
    expect(posts()).toHaveLength(1);
    expect(stand.log).toContainEqual(expect.stringContaining('"cause":"status 500"'));
  });

  it('that an unreadable success leaves is no refusal', async () => {
    const link = await paid();
    stand.answers = [seen(), answered(201, { id: orderId(2), status: 'processed' }), seen()];
    expect(await refund(link, 500)).toEqual(answerOf('outcome_unknown'));
    expect(await last(link)).toMatchObject({ state: 'IN_DOUBT' });
  });

  it('is sent again by its till, with the same key and bytes, after a look', async () => {
    const link = await paid();
    const row = await doubt(link, 500);
    stand.answers = [seen(), makes('REF1', '5.00')];
    expect(await refund(link, 500)).toMatchObject({ kind: 'made', refund: { id: row.id, state: 'DONE' } });
    expect(names()).toEqual(['get', 'refund', 'get']);
    expect(posts()[0]?.idempotency_key).toBe(row.idempotency_key);
    expect(JSON.parse(textOf(posts()[0]?.body))).toEqual({ transactions: [{ id: 'PAY1', amount: '5.00' }] });
    expect(await rows(link)).toHaveLength(1);
  });

  it('is not sent again when the look finds it', async () => {
    const link = await paid();
    const row = await doubt(link, 500);
    stand.answers = [seen(['REF1', '5.00'])];
    expect(await refund(link, 500)).toMatchObject({ kind: 'made', refund: { id: row.id, upstream_id: 'REF1' } });
    expect(posts()).toEqual([]);
  });

  it('found as late as this is the answer to the call that found it, and no new refund', async () => {
    const link = await paid();
    const row = await doubt(link, 500);
    stand.now = NOON + 16 * 60_000;
    stand.answers = [seen(['REF1', '5.00']), makes('REF2', '5.00')];
    expect(await refund(link, 500)).toMatchObject({ kind: 'made', refund: { id: row.id, upstream_id: 'REF1' } });
    expect(posts()).toEqual([]);
  });

  it('is not sent again when the key may have been forgotten upstream', async () => {
    const link = await paid();
    await doubt(link, 500);
    stand.now = NOON + stand.ports.settings.create.replay_window_ms;
    stand.answers = [BROKEN];
    expect(await refund(link, 500)).toEqual(answerOf('outcome_unknown'));
    expect(names()).toEqual(['get']);
    expect(stand.points).not.toContain('refund.row_written');
    expect(await last(link)).toMatchObject({ state: 'IN_DOUBT' });
  });

  it('holds the payment for every other refund of it', async () => {
    const link = await paid();
    await doubt(link, 500, keyed('a'));
    for (const other of [keyed('b'), call()]) {
      stand.answers = [seen()];
      expect(await refund(link, 700, other)).toEqual(answerOf('refund_in_progress'));
    }
    stand.answers = [seen()];
    expect(await refund(link, 700, keyed('a'))).toEqual(answerOf('key_reused'));
    expect([posts(), (await rows(link)).length]).toEqual([[], 1]);
  });

  it.each<[string, Answer]>([
    ['does not show it', seen()],
    ['can not be read', BROKEN],
  ])(
    'of a repeat that is refused now stays while the order %s: an earlier try may take effect',
    async (_what, look) => {
      const link = await paid();
      const row = await doubt(link, 500);
      stand.answers = [seen(), refusal(400, 'refund_amount_exceeds'), look];
      expect(await refund(link, 500)).toEqual(answerOf('outcome_unknown'));
      expect(await last(link)).toMatchObject({ id: row.id, state: 'IN_DOUBT' });
      stand.answers = [seen(['REF1', '5.00'])];
      expect(await refund(link, 500)).toMatchObject({ kind: 'made', refund: { id: row.id, upstream_id: 'REF1' } });
      expect(posts()).toHaveLength(1);
    },
  );

  it('of a repeat that is refused now was made when the order shows it', async () => {
    const link = await paid();
    await doubt(link, 500);
    stand.answers = [seen(), refusal(409, 'refund_already_made'), seen(['REF1', '5.00'])];
    expect(await refund(link, 500)).toMatchObject({ kind: 'made', refund: { upstream_id: 'REF1' } });
  });

  it('of a repeat that proves nothing stays in doubt', async () => {
    const link = await paid();
    await doubt(link, 500);
    for (const proof of [NOT_SENT, answered(429), refusal(409, 'idempotency_key_already_used')]) {
      stand.answers = [seen(), proof, seen()];
      expect(await refund(link, 500)).toEqual(answerOf('outcome_unknown'));
      expect(await last(link)).toMatchObject({ state: 'IN_DOUBT' });
    }
  });

  it('with the order fully refunded by others can not happen any more', async () => {
    const link = await paid();
    await doubt(link, 500);
    stand.answers = [seen(), BROKEN, seen(['REF8', '15.00'])];
    expect(await refund(link, 500)).toEqual(answerOf('outcome_unknown'));
    expect(await last(link)).toMatchObject({ state: 'REFUSED' });
  });

  it('with the order fully refunded by others can still happen if that refund fails', async () => {
    const link = await paid();
    const row = await doubt(link, 500);
    stand.answers = [seen(['REF8', '15.00', 'processing']), BROKEN, seen(['REF8', '15.00', 'processing'])];
    expect(await refund(link, 500)).toEqual(answerOf('outcome_unknown'));
    stand.answers = [seen(['REF8', '15.00', 'failed'], ['REF1', '5.00'])];
    expect(await refund(link, 500)).toMatchObject({ kind: 'made', refund: { id: row.id, upstream_id: 'REF1' } });
  });

  it('by a token that died meanwhile makes the token be asked about again', async () => {
    const link = await paid();
    await doubt(link, 500);
    stand.answers = [seen(), refusal(401, 'unauthorized'), seen()];
    expect(await refund(link, 500)).toEqual(answerOf('outcome_unknown'));
    const fingerprint = stand.ports.vault.fingerprint(TOKEN);
    expect(await stand.store.merchants.token(fingerprint)).toMatchObject({ accepted_until: 0 });
  });

  it.each<[string, Answer]>([
    ['another refusal', refusal(400, 'bad_request')],
    ['nothing', BROKEN],
  ])('by %s says nothing of the token', async (_what, answer) => {
    const link = await paid();
    await doubt(link, 500);
    stand.answers = [seen(), answer, BROKEN];
    await refund(link, 500);
    const fingerprint = stand.ports.vault.fingerprint(TOKEN);
    expect((await stand.store.merchants.token(fingerprint))?.accepted_until).toBeGreaterThan(NOON);
  });
});

describe('an outcome that could not be stored', () => {
  const failing = (error: Error) => withMethods(stand.store, { saveRefund: () => Promise.reject(error) });

  it('is told as not known: the row is durable, and its bytes may have left', async () => {
    const link = await paid();
    stand.restart({ store: failing(new PuenteError('store_failed', 'the disk is gone')) });
    stand.answers = [seen(), makes('REF1', '5.00')];
    expect(await refund(link, 500)).toEqual(answerOf('outcome_unknown'));
    expect(await last(link)).toMatchObject({ state: 'SENDING' });
    expect(stand.log).toContainEqual(
      `error refund: outcome could not be stored {"legacy_id":"${link.legacy_id}","cause":"the disk is gone"}`,
    );
    // The next process finds the refund on the order.
    stand.restart();
    stand.answers = [seen(['REF1', '5.00'])];
    expect(await refund(link, 500)).toMatchObject({ kind: 'made', refund: { upstream_id: 'REF1' } });
    expect(posts()).toHaveLength(1);
  });

  it.each([new TypeError('a defect'), new PuenteError('refused', 'said so')])('%s is no such thing', async (error) => {
    const link = await paid();
    stand.restart({ store: failing(error) });
    stand.answers = [seen(), makes('REF1', '5.00')];
    await expect(refund(link, 500)).rejects.toBe(error);
  });
});

describe('refunds of one payment', () => {
  it('go one after the other: two equal parts of one moment are one, and with a key each they are two', async () => {
    const link = await paid();
    stand.answers = [seen(), makes('REF1', '5.00'), seen(['REF1', '5.00']), seen(['REF1', '5.00'])];
    const one = await Promise.all([refund(link, 500), refund(link, 500)]);
    expect(one).toMatchObject([{ refund: { upstream_id: 'REF1' } }, { refund: { upstream_id: 'REF1' } }]);
    expect(names()).toEqual(['get', 'refund', 'get', 'get']);
    stand.answers = [
      seen(['REF1', '5.00']),
      makes('REF2', '5.00'),
      seen(['REF1', '5.00'], ['REF2', '5.00']),
      seen(['REF1', '5.00'], ['REF2', '5.00']),
      makes('REF3', '5.00'),
      seen(['REF1', '5.00'], ['REF2', '5.00'], ['REF3', '5.00']),
    ];
    const keyed = (key: string) => refund(link, 500, call({ headers: { 'x-idempotency-key': key } }));
    expect(await Promise.all([keyed('key-2'), keyed('key-3')])).toMatchObject([
      { refund: { upstream_id: 'REF2' } },
      { refund: { upstream_id: 'REF3' } },
    ]);
  });

  it('the same once more, that nobody heard of, is answered and not sent', async () => {
    const link = await paid();
    stand.answers = [seen(), makes('REF1', '5.00')];
    await refund(link, 500);
    stand.restart();
    stand.answers = [seen(['REF1', '5.00'])];
    expect(await refund(link, 500)).toMatchObject({ kind: 'made', refund: { upstream_id: 'REF1' } });
    expect(posts()).toHaveLength(1);
  });

  it('equal in amount and not in payment have fingerprints of their own', async () => {
    const link = await paid();
    stand.answers = [seen(), makes('REF1', '5.00'), BROKEN, seen(), makes('REF2', '6.00')];
    await refund(link, 500);
    await refund(link, 600);
    const prints = (await rows(link)).map(({ fingerprint }) => fingerprint);
    expect(new Set(prints).size).toBe(2);
  });
});

describe('a refund that is told', () => {
  const ANSWER = { kind: 'answer', status: 201, body: {} } as const;

  async function made(): Promise<{ link: Link; refund: Refund }> {
    const link = await paid();
    stand.answers = [seen(), makes('REF1', '5.00')];
    const done = await refund(link, 500);
    if (done.kind !== 'made') throw new Error('it was not made');
    return { link, refund: done.refund };
  }

  it('is marked as told when its answer has left', async () => {
    const { link, refund } = await made();
    const answer = answerRefund(stand.ports, call(), refund, ANSWER);
    expect(answer).toMatchObject(ANSWER);
    stand.now += 7;
    await answer.onClosed?.(true);
    expect(await last(link)).toMatchObject({ answered_at: NOON + 7, state: 'DONE' });
  });

  it('is not when nobody waited for it: the same call is a repetition', async () => {
    const { link, refund } = await made();
    await answerRefund(stand.ports, call(), refund, ANSWER).onClosed?.(false);
    expect(await last(link)).toMatchObject({ answered_at: null });
  });

  it('keeps the time at which it was first told', async () => {
    const { link, refund } = await made();
    const told = await stand.store.refunds.saveRefund(refund, { answered_at: NOON - 1 });
    await answerRefund(stand.ports, call(), told, ANSWER).onClosed?.(true);
    expect(await last(link)).toMatchObject({ answered_at: NOON - 1, revision: told.revision });
  });

  it('twice at once is told once', async () => {
    const { link, refund } = await made();
    const answers = [1, 2].map(() => answerRefund(stand.ports, call(), refund, ANSWER));
    for (const { onClosed } of answers) await onClosed?.(true);
    expect(await last(link)).toMatchObject({ answered_at: NOON, revision: refund.revision + 1 });
  });

  it.each([new PuenteError('store_failed', 'the disk is gone'), new TypeError('a defect')])(
    'and could not be marked: %s',
    async (error) => {
      const { refund } = await made();
      const ports = { ...stand.ports, store: withMethods(stand.store, { saveAnswered: () => Promise.reject(error) }) };
      const { onClosed } = answerRefund(ports, call(), refund, ANSWER);
      await expect(onClosed?.(true)).rejects.toBe(error);
    },
  );
});

describe('a clock that is set forward between a refund and its repetition [F47]', () => {
  it.each([
    ['with a key', { 'x-idempotency-key': 'a key of the till' }],
    ['without one, whose till heard nothing', {}],
  ])('makes no second one, %s', async (_how, headers) => {
    const link = await paid();
    let tick = 0;
    stand.ports.clock = { ...stand.ports.clock, monotonic: () => tick };
    stand.answers = [seen(), makes('REF1', '5.00'), seen(['REF1', '5.00']), seen(['REF1', '5.00'])];
    const asked = (): LegacyCall => call({ headers, received_at: stand.now });
    const first = await makeRefund(stand.ports, asked(), link, 500);
    stand.now += 86_400_000;
    tick += 1_000;
    const again = await makeRefund(stand.ports, asked(), await stand.stored(link), 500);
    expect(again).toMatchObject({ kind: 'made', refund: { id: (first as { refund: Refund }).refund.id } });
    expect(stand.asked.filter(({ name }) => name === 'refund')).toHaveLength(1);
  });
});

describe('a row that takes long to store', () => {
  it('does not make the minute longer in which an equal refund is a repetition', async () => {
    const link = await paid();
    let tick = 0;
    const pass = (ms: number): void => {
      stand.now += ms;
      tick += ms;
    };
    const { refunds } = stand.store;
    const openRefund: typeof refunds.openRefund = (...args) => {
      if (tick === 0) pass(100);
      return refunds.openRefund(...args);
    };
    stand.restart({ store: withMethods(stand.store, { openRefund }) });
    stand.ports.clock = { ...stand.ports.clock, monotonic: () => tick };
    const both = seen(['REF1', '5.00'], ['REF2', '5.00']);
    stand.answers = [seen(), makes('REF1', '5.00'), seen(['REF1', '5.00'])];
    stand.answers.push(seen(['REF1', '5.00']), makes('REF2', '5.00'), both);
    const asked = (): LegacyCall => call({ received_at: stand.now });
    const first = await makeRefund(stand.ports, asked(), link, 500);
    const { refund } = first as { refund: Refund };
    await answerRefund(stand.ports, asked(), refund, refused('payments', 'internal')).onClosed?.(true);
    pass(60_001);
    const next = await makeRefund(stand.ports, asked(), await stand.stored(link), 500);
    expect(next).toMatchObject({ kind: 'made' });
    expect((next as { refund: Refund }).refund.id).not.toBe(refund.id);
  });
});

describe('a look', () => {
  const plan = { token: TOKEN, exponent: 2, deadline: NOON + 9_000 };
  const look = (link: Link) => lookAtOrder(stand.ports, link, plan);

  it('at a link without an order is none', async () => {
    const link = await stand.link();
    expect(await look(link)).toEqual({ link, order: null, settled: null });
    expect(stand.asked).toEqual([]);
  });

  it('that reads nothing gives the link as it is stored', async () => {
    const link = await paid();
    const stored = await stand.store.links.saveLink(link, { attempts: 5 });
    for (const [answer, order] of [
      [BROKEN, null],
      [GONE, 'missing'],
    ] as const) {
      stand.answers = [answer];
      expect(await look(link)).toEqual({ link: stored, order, settled: null });
    }
  });

  it('at a link that is gone is decided on what was known of it', async () => {
    const link = await paid();
    stand.restart({ store: withMethods(stand.store, { link: async () => null }) });
    for (const [answer, order] of [
      [BROKEN, null],
      [GONE, 'missing'],
    ] as const) {
      stand.answers = [answer];
      expect(await look(link)).toEqual({ link, order, settled: null });
    }
  });

  it('that reads it moves the link, within the time of its caller', async () => {
    const link = await paid();
    stand.answers = [seen(['REF1', '15.00'])];
    const found = await lookAtOrder(stand.ports, link, { ...plan, deadline: NOON + 400 });
    expect(found).toMatchObject({ link: { order: { status: 'refunded' } }, order: { status: 'refunded' } });
    expect(found.settled).toBeNull();
    expect(stand.asked[0]?.timeout_ms).toBe(400);
  });

  it('settles only what is in doubt, and claims no refund twice', async () => {
    const link = await paid();
    stand.answers = [seen(), makes('REF1', '5.00'), BROKEN];
    await refund(link, 500);
    await stand.store.refunds.markRefundsKnown(link.legacy_id, stand.now, 1_500); // its till has read the first
    // The order was read before it showed the first refund: when that appears, it is no sign of the second.
    await doubt(link, 500);
    stand.answers = [seen(['REF1', '5.00'])];
    expect((await look(link)).settled).toBeNull();
    stand.answers = [seen(['REF1', '5.00'], ['REF2', '5.00'])];
    expect((await look(link)).settled).toMatchObject({ state: 'DONE', upstream_id: 'REF2' });
    stand.answers = [seen(['REF1', '5.00'], ['REF2', '5.00'])];
    expect((await look(link)).settled).toBeNull();
  });

  it('is taken by a till that reads the payment while a refund of it is in doubt, unless one is being made', async () => {
    const link = await paid();
    await doubt(link, 500);
    const read = async () => {
      const asked = callOf(stand, 'payments.get', { link: await stand.stored(link), path: { payment_id: PAYMENT } });
      return getPayment(stand.ports, asked);
    };
    stand.answers = [refusal(404, 'not_found')];
    await stand.ports.memory.mutex.run(link.legacy_id, read);
    expect([names(), (await last(link)).state]).toEqual([['payment'], 'IN_DOUBT']);
    stand.answers = [seen(['REF1', '5.00']), refusal(404, 'not_found')];
    expect(await read()).toMatchObject({ status: 200, body: { refunds: [{ amount: 5 }] } });
    expect(await last(link)).toMatchObject({ state: 'DONE', upstream_id: 'REF1' });
  });

  it('finds it although another one has failed meanwhile, and never takes one that failed for it (LIM-42)', async () => {
    const link = await paid();
    const other = ['R1', '5.00', 'processing'] as [string, string, string];
    stand.answers = [seen(other), makes('R0', '2.00'), seen(other, ['R0', '2.00'])];
    await refund(link, 200);
    stand.answers = [seen(other, ['R0', '2.00']), BROKEN, BROKEN];
    expect(await refund(await stand.stored(link), 500)).toEqual(answerOf('outcome_unknown'));
    const failed = ['R1', '5.00', 'failed'] as [string, string, string];
    stand.answers = [seen(failed, ['R0', '2.00'])];
    expect((await look(link)).settled).toBeNull();
    stand.answers = [seen(failed, ['R0', '2.00'], ['R2', '5.00', 'failed'])];
    expect((await look(link)).settled).toBeNull();
    stand.answers = [seen(['R2', '5.00'], failed, ['R0', '2.00'])];
    expect((await look(link)).settled).toMatchObject({ state: 'DONE', upstream_id: 'R2', refunded_minor: 500 });
  });

  it('finds one of all that was left although another one has failed since: it is not made twice (LIM-42)', async () => {
    const link = await paid();
    const other = ['R0', '10.00', 'processing'] as [string, string, string];
    const failed = ['R0', '10.00', 'failed'] as [string, string, string];
    stand.answers = [seen(), makes('R0', '10.00'), seen(other)];
    await refund(link, 1000);
    stand.answers = [seen(other), BROKEN, BROKEN];
    expect(await refund(await stand.stored(link), 500)).toEqual(answerOf('outcome_unknown'));
    expect(await last(link)).toMatchObject({ amount_minor: null });
    stand.now += stand.ports.settings.create.replay_window_ms;
    for (const shown of [seen(failed), seen(failed, ['R1', '5.00', 'failed'])]) {
      stand.answers = [shown];
      expect((await look(link)).settled).toBeNull();
    }
    stand.now += LATE_EFFECT_MS;
    stand.answers = [seen(failed, ['R1', '5.00'])];
    expect(await refund(await stand.stored(link), 500)).toMatchObject({ kind: 'made', refund: { upstream_id: 'R1' } });
    expect(posts()).toHaveLength(2);
  });

  it('waits for the last try of a refund, whichever process sent it, however long it was not shown before', async () => {
    const link = await paid();
    const row = await doubt(link, 500);
    const other = { ...stand.ports, memory: createProcessMemory({ now: () => stand.now }) };
    const lookAs = async (ports: typeof other): Promise<Refund | null> => {
      stand.answers = [seen()];
      return (await lookAtOrder(ports, link, { ...plan, deadline: stand.now + 9_000 })).settled;
    };
    for (const ports of [other, stand.ports]) expect(await lookAs(ports)).toBeNull();
    stand.now = row.created_at + stand.ports.settings.create.replay_window_ms - 1;
    stand.answers = [seen(), BROKEN, BROKEN];
    expect(await refund(link, 500)).toEqual(answerOf('outcome_unknown'));
    stand.now++;
    for (const ports of [other, stand.ports]) expect(await lookAs(ports)).toBeNull();
    stand.now += LATE_EFFECT_MS;
    expect(await lookAs(other)).toMatchObject({ id: row.id, state: 'REFUSED' });
  });

  it('gives up what its order never showed while it could be repeated', async () => {
    const link = await paid();
    const row = await doubt(link, 500);
    expect(await hasDoubt(stand.ports, link)).toBe(true);
    expect(await hasDoubt(stand.ports, await stand.link())).toBe(false);
    stand.now = row.created_at + stand.ports.settings.create.replay_window_ms - 1;
    stand.answers = [seen()];
    expect((await look(link)).settled).toBeNull();
    stand.now++;
    stand.answers = [seen()];
    expect((await look(link)).settled).toBeNull(); // it may still be in flight
    stand.now += LATE_EFFECT_MS;
    stand.answers = [seen()];
    expect((await look(link)).settled).toMatchObject({ id: row.id, state: 'REFUSED' });
    expect(await hasDoubt(stand.ports, link)).toBe(false);
    expect(stand.log).toContainEqual(
      `warn a refund in doubt never showed on its order {"legacy_id":"${link.legacy_id}","order_id":"${orderId(1)}"}`,
    );
  });

  it('after the clock was put back trusts no key: the order decides', async () => {
    const link = await paid();
    const row = await doubt(link, 500);
    stand.now = row.created_at;
    expect(mayRepeat(stand.ports, row)).toBe(true);
    stand.now--;
    expect(mayRepeat(stand.ports, row)).toBe(false);
  });
});

describe('a refund of an order that upstream shows no longer', () => {
  const stored = async (link: Link) => (await stand.stored(link)).order;
  const MINUTE = 60_000;

  it('is shown as it was answered, with its notices, and counted', async () => {
    const link = await paid();
    stand.now += MINUTE;
    stand.answers = [GONE, makes('REF1', '5.00'), GONE];
    const notices = stand.notices;
    expect(await refund(link, 500)).toMatchObject({
      kind: 'made',
      link: {
        order: {
          status: 'processed',
          status_detail: 'partially_refunded',
          last_updated_date: '2026-01-05T12:01:00.000Z',
          transactions: {
            payments: [{ id: 'PAY1', status: 'processed', refunded_amount: '5.00' }],
            refunds: [{ id: 'REF1', transaction_id: 'PAY1', reference_id: '99', amount: '5.00', status: 'processed' }],
          },
        },
      },
    });
    expect(stand.notices).toBe(notices + 1);
    stand.answers = [GONE, refusal(400, 'refund_amount_exceeds')];
    expect(await refund(await stand.stored(link), 1500)).toMatchObject({ answer: { status: 400 } });
    expect(JSON.parse(textOf(posts()[1]?.body)), 'it is more than is left').toMatchObject({
      transactions: [{ amount: '15.00' }],
    });
    stand.answers = [GONE, makes('REF2', '10.00'), GONE];
    expect((await refund(await stand.stored(link), 1000)).kind).toBe('made');
    expect(posts()[2]?.body, 'all that is left').toBeUndefined();
    expect(await stored(link)).toMatchObject({
      status: 'refunded',
      status_detail: 'refunded',
      transactions: {
        payments: [{ status: 'refunded', refunded_amount: '15.00' }],
        refunds: [{ id: 'REF1' }, { id: 'REF2' }],
      },
    });
    expect(stand.notices).toBe(notices + 2);
    stand.answers = [GONE];
    await lookAfterRefunds(stand.ports, await stand.stored(link));
    expect((await stand.stored(link)).next_check_at).toBeNull();
  });

  it('is shown by a later look, where the process died before it was, and once', async () => {
    const link = await paid();
    stand.answers = [GONE, makes('REF1', '5.00'), BROKEN];
    await refund(link, 500);
    expect((await stored(link))?.transactions?.refunds, 'a read that fails is no sign').toBeUndefined();
    for (const _look of ['first', 'second']) {
      stand.answers = [GONE];
      await lookAfterRefunds(stand.ports, await stand.stored(link));
      const { order, next_check_at } = await stand.stored(link);
      expect(order?.transactions).toMatchObject({ payments: [{ refunded_amount: '5.00' }], refunds: [{ id: 'REF1' }] });
      expect(next_check_at).toBeNull();
    }
  });

  it('that failed gives nothing back', async () => {
    const link = await paid();
    const failed = { id: 'REF1', amount: '15.00', status: 'failed' };
    stand.now += MINUTE;
    stand.answers = [
      GONE,
      answered(201, { id: orderId(1), status: 'processed', transactions: { refunds: [failed] } }),
      GONE,
    ];
    await refund(link, null);
    expect(await stored(link)).toMatchObject({ status: 'processed', transactions: { refunds: [failed] } });
    expect((await stored(link))?.transactions?.payments?.[0]?.refunded_amount).toBeUndefined();
  });

  it('is read on for a day while it is processing, and not for ever', async () => {
    const link = await paid();
    const node = { id: 'REF1', amount: '15.00', status: 'processing' };
    stand.answers = [
      GONE,
      answered(201, { id: orderId(1), status: 'refunded', transactions: { refunds: [node] } }),
      GONE,
    ];
    await refund(link, null);
    expect(await stored(link)).toMatchObject({ status: 'refunded' });
    for (const [hours, is_over] of [
      [23, false],
      [1, true],
    ] as const) {
      stand.now += hours * 60 * MINUTE;
      stand.answers = [GONE];
      await lookAfterRefunds(stand.ports, await stand.stored(link));
      expect((await stand.stored(link)).next_check_at === null).toBe(is_over);
    }
  });

  it('is not invented for a sale that was not paid as far as is known', async () => {
    const link = await paid();
    stand.answers = [seen(), makes('REF1', '5.00'), BROKEN];
    await refund(link, 500);
    const order = { id: orderId(1), status: 'created' };
    const unpaid = await stand.store.links.saveLink(await stand.stored(link), { order });
    stand.answers = [GONE];
    expect(
      (await lookAtOrder(stand.ports, unpaid, { token: TOKEN, exponent: 2, deadline: NOON + 9_000 })).link,
    ).toEqual(unpaid);
    const unread = await stand.store.links.saveLink(unpaid, { order: null });
    stand.answers = [GONE];
    await lookAtOrder(stand.ports, unread, { token: TOKEN, exponent: 2, deadline: NOON + 9_000 });
    expect(await stored(link)).toBeNull();
  });
});

describe('a refund in doubt of an order that upstream shows no longer', () => {
  const shows = (...refunds: [number, number, string?][]): UpstreamOutcome => {
    const listed = refunds.map(([id, amount, status = 'approved']) => ({ id, amount, status }));
    const transaction_amount_refunded = listed.reduce(
      (sum, { amount, status }) => sum + (status === 'rejected' ? 0 : amount),
      0,
    );
    const status = transaction_amount_refunded >= 15 ? 'refunded' : 'approved';
    return answered(200, { id: Number(PAYMENT), status, transaction_amount_refunded, refunds: listed });
  };
  const look = async (link: Link, payment?: Answer) => {
    stand.asked.length = 0;
    stand.answers = [GONE, ...(payment === undefined ? [] : [payment])];
    return lookAtOrder(stand.ports, await stand.stored(link), {
      token: TOKEN,
      exponent: 2,
      deadline: stand.now + 9_000,
    });
  };
  const window = () => stand.ports.settings.create.replay_window_ms;
  /** After the last moment at which its key might be sent again, and late effects of it. */
  const later = async (link: Link, payment?: Answer): Promise<void> => {
    stand.now = (await last(link)).created_at + window();
    expect((await look(link, payment)).settled).toBeNull();
    stand.now += LATE_EFFECT_MS;
  };

  it('was made when its payment shows it, and moves the sale', async () => {
    const link = await paid();
    const row = await doubt(link, 500);
    const found = await look(link, shows([17, 5]));
    expect(names()).toEqual(['get', 'payment']);
    expect(found).toMatchObject({
      order: 'missing',
      settled: { id: row.id, state: 'DONE', reference_id: '17', refunded_minor: 500 },
      link: { order: { status_detail: 'partially_refunded', transactions: { refunds: [{ reference_id: '17' }] } } },
    });
    await look(link);
    expect(names(), 'nothing is in doubt').toEqual(['get']);
  });

  it('of all that was left was made when the payment is refunded', async () => {
    const link = await paid();
    stand.answers = [GONE, makes('REF1', '5.00'), GONE];
    await refund(link, 500);
    await stand.store.refunds.markRefundsKnown(link.legacy_id, stand.now, 1_500);
    stand.answers = [GONE, BROKEN, BROKEN];
    await refund(await stand.stored(link), 1_000);
    // The first has the number 99, and is not taken for it.
    expect((await look(link, shows([99, 5]))).settled).toBeNull();
    expect(await look(link, shows([99, 5], [17, 10]))).toMatchObject({
      settled: { state: 'DONE', reference_id: '17', refunded_minor: 1_000 },
      link: { order: { status: 'refunded' } },
    });
  });

  it.each<[string, Answer]>([
    ['does not show it', shows()],
    ['shows one that failed', shows([17, 5, 'rejected'])],
    ['is not there', refusal(404, 'not_found')],
    ['may not be read', refusal(403, 'forbidden')],
  ])('is given up after the window when the payment %s', async (_what, payment) => {
    const link = await paid();
    const row = await doubt(link, 500);
    await later(link, payment);
    expect((await look(link, payment)).settled).toMatchObject({ id: row.id, state: 'REFUSED' });
    stand.answers = [GONE, makes('REF2', '5.00'), GONE];
    expect((await refund(await stand.stored(link), 500)).kind, 'the payment is free').toBe('made');
  });

  it.each<[string, Answer]>([
    ['can not be read now', BROKEN],
    ['is busy', answered(503)],
    ['is limited', answered(429)],
    ['is not shown to this token', answered(401)],
    ['is unreadable', answered(200, { id: Number(PAYMENT) })],
    ['is another one', answered(200, { id: 5, status: 'approved' })],
    [
      'belongs to another sale',
      answered(200, { id: Number(PAYMENT), status: 'approved', external_reference: 'other' }),
    ],
  ])('is never given up while the payment %s', async (_what, payment) => {
    const link = await paid();
    await doubt(link, 500);
    await later(link, payment);
    expect((await look(link, payment)).settled).toBeNull();
    expect((await look(link, shows([17, 5]))).settled).toMatchObject({ state: 'DONE' });
  });

  it.each<[string, Partial<Link>]>([
    ['has a number of Puente itself', { payment_id: '8000000000000001' }],
    ['was never read', { order: null }],
  ])('is given up after the window, without a further call, where the sale %s', async (_what, change) => {
    const link = await paid(change);
    stand.answers = [GONE, BROKEN, BROKEN];
    await refund(link, null);
    await later(link);
    expect((await look(link)).settled).toMatchObject({ state: 'REFUSED' });
    expect(names()).toEqual(['get']);
  });

  it('is in doubt while only the order can not be read', async () => {
    const link = await paid();
    await doubt(link, 500);
    stand.now += window() + LATE_EFFECT_MS;
    stand.answers = [answered(503)];
    const plan = { token: TOKEN, exponent: 2, deadline: stand.now + 9_000 };
    expect((await lookAtOrder(stand.ports, link, plan)).settled).toBeNull();
    expect(names()).toEqual(['get']);
  });
});

describe('the reads that follow a refund', () => {
  const HALF_A_MINUTE = 30_000;
  const next = async (link: Link): Promise<number | null> => (await stand.stored(link)).next_check_at;
  const follow = async (link: Link): Promise<number | null> => {
    await lookAfterRefunds(stand.ports, await stand.stored(link));
    return next(link);
  };

  it('begin half a minute after it was requested', async () => {
    const link = await paid();
    await expectRefund(stand.ports, link);
    expect(await next(link)).toBe(stand.now + HALF_A_MINUTE);
  });

  it('end when nothing is missing, without a call', async () => {
    const link = await paid({ next_check_at: NOON });
    expect(await follow(link)).toBeNull();
    expect(stand.asked).toEqual([]);
  });

  it('look for none that was refused', async () => {
    const link = await paid();
    stand.answers = [seen(), refusal(400, 'bad_request')];
    await refund(link, 500);
    stand.asked.length = 0;
    expect(await follow(link)).toBeNull();
    expect(stand.asked).toEqual([]);
  });

  it('of a refund that failed leave all of the payment to be refunded again', async () => {
    const link = await paid();
    stand.answers = [seen(), makes('R1', '15.00'), seen(['R1', '15.00', 'failed'])];
    await refund(link, null);
    await stand.store.refunds.markRefundsKnown(link.legacy_id, stand.now, 1_500);
    stand.answers = [
      seen(['R1', '15.00', 'failed']),
      makes('R2', '15.00'),
      seen(['R1', '15.00', 'failed'], ['R2', '15.00']),
    ];
    expect(await refund(link, null)).toMatchObject({
      kind: 'made',
      refund: { upstream_id: 'R2' },
    });
    expect(posts()).toHaveLength(2);
  });

  it('go on, ever less often, until the order shows it', async () => {
    const link = await paid();
    stand.answers = [seen(), makes('R1', '5.00')];
    await refund(link, 500);
    stand.now += 10 * 60_000;
    stand.answers = [seen()];
    expect(await follow(link)).toBe(stand.now + 150_000);
    stand.now += 1; // a row holds whole milliseconds, which a quarter of an age may not be
    stand.answers = [seen()];
    expect(await follow(link)).toBe(stand.now + 150_000);
    stand.answers = [seen(['R1', '5.00'])];
    expect(await follow(link)).toBeNull();
  });

  it.each(['processed', 'failed'])('go on while a total refund is processing, until it is %s (LIM-42)', async (end) => {
    const link = await paid();
    stand.answers = [seen(), makes('R1', '15.00'), seen(['R1', '15.00', 'processing'])];
    await refund(link, null);
    // As upstream's event does, which comes while it is processing.
    await applyOrder(stand.ports, await stand.stored(link), order.parse(seenOrder(['R1', '15.00', 'processing'])));
    expect(await next(link)).toBe(stand.now + HALF_A_MINUTE);
    stand.now += 10 * 60_000;
    stand.answers = [seen(['R1', '15.00', 'processing'])];
    expect(await follow(link)).toBe(stand.now + 10 * 60_000);
    stand.now += 10 * 60_000;
    stand.answers = [seen(['R1', '15.00', end])];
    expect(await follow(link)).toBeNull();
    expect((await stand.stored(link)).order?.transactions?.refunds).toMatchObject([{ status: end }]);
  });

  it('end after a day when the order was read and a refund is made, and not while it is in doubt, or nothing can be read', async () => {
    const link = await paid();
    stand.answers = [seen(), makes('R1', '5.00')];
    await refund(link, 500);
    stand.now += 25 * 60 * 60_000;
    stand.answers = [BROKEN];
    expect(await follow(link)).toBe(stand.now + 15 * 60_000);
    stand.answers = [seen()];
    expect(await follow(link)).toBeNull();
  });

  it('of one that only has to end are given up after a week in which nothing could be read', async () => {
    const link = await paid();
    stand.answers = [seen(), makes('R1', '15.00'), seen(['R1', '15.00', 'processing'])];
    await refund(link, null);
    const day = 24 * 60 * 60_000;
    for (const [days, next_look] of [
      [6, 6 * day],
      [1, null],
    ] as const) {
      stand.now += days * day;
      stand.answers = [BROKEN, BROKEN];
      expect(await follow(link)).toBe(next_look === null ? null : stand.now + next_look);
    }
  });

  it('wait where no token of the merchant is known', async () => {
    const link = await paid();
    stand.answers = [seen(), makes('R1', '5.00')];
    await refund(link, 500);
    stand.asked.length = 0;
    await stand.store.merchants.forgetToken(stand.ports.vault.fingerprint(TOKEN));
    expect(await follow(link)).toBe(stand.now + HALF_A_MINUTE);
    expect(stand.asked).toEqual([]);
  });

  it('count what an answer without an amount refunded as nothing, whoever the merchant is', async () => {
    const link = await paid({ next_check_at: NOON });
    stand.answers = [seen(), makes('R1', '5.00')];
    await refund(link, 500);
    const [row] = await rows(link);
    if (row === undefined) throw new Error('there is a refund');
    await stand.store.refunds.saveRefund(row, { refunded_minor: null });
    stand.restart({ store: withMethods(stand.store, { merchant: async () => null }) });
    expect(await follow(link)).toBeNull();
  });
});
