/** Canceling a till's live order, by a cancel or before the next sale: what frees the till, what keeps it (LIM-22). */
import { beforeEach, describe, expect, it } from 'vitest';
import { refused } from '../../src/proxy/http/answer.ts';
import { cancelPointOfSale, clearPointOfSale, inTurn } from '../../src/proxy/qr/cancel.ts';
import type { Link } from '../../src/proxy/sales/link.ts';
import { setMerchant } from '../proxy/routing/lane-ports.ts';
import { MERCHANT, NOON, newLink, orderId } from '../store/contract/harness.ts';
import {
  type Answer,
  answered,
  BROKEN,
  callOf,
  createStand,
  NOT_SENT,
  orderOf,
  REFERENCE,
  refusal,
  TOKEN,
} from './stand.ts';

const stand = createStand();
beforeEach(() => stand.reset());

const DEADLINE = NOON + 9_000;
const QR = { type: 'qr', config: { qr: { external_pos_id: 'TILL1' } } };
const says = (status: string, second: number): Answer => answered(200, orderOf({ ...QR, status }, second));

const holder = (): Promise<Link> => stand.link({ family: 'qr', unit: 'TILL1', legacy_state: 'payment_required' });
async function live(): Promise<Link> {
  const order = orderOf(QR) as unknown as Link['order']; // as parsed
  const facts = { order_id: orderId(1), order, order_version: '2026-01-05T12:00:00.000000000Z', sealed_body: null };
  return stand.store.links.saveLink(await holder(), { state: 'LIVE', client_answer: 'maybe', ...facts });
}

const clear = (link: Link, operation = 'qr.cancel_order_of_store', deadline = DEADLINE) => {
  const path = { user_id: MERCHANT, external_pos_id: 'TILL1', external_store_id: 'STORE1' };
  return clearPointOfSale(stand.ports, callOf(stand, operation, { path, body: {} }), link, deadline);
};
const told = (name: Parameters<typeof refused>[1]) => refused('qr', name);
const names = () => stand.asked.map(({ name }) => name);

describe('a till is freed', () => {
  it('by the cancel of its order, which is written down before it is sent', async () => {
    const link = await live();
    stand.at.set('cancel.marked', () => expect(names()).toEqual([]));
    stand.answers = [says('canceled', 5)];
    expect(await clear(link)).toBe('freed');
    expect(await stand.stored(link)).toMatchObject({ state: 'DONE', cancel: 'acknowledged' });
    expect(stand.asked).toMatchObject([{ name: 'cancel', method: 'POST', path: `/v1/orders/${orderId(1)}/cancel` }]);
    expect(stand.asked[0]?.token).toBe(TOKEN);
    expect(stand.points).toContain('cancel.marked');
  });

  it('without a call when its order is over already, whatever the caller had seen', async () => {
    const link = await live();
    await stand.store.links.saveLink(link, { state: 'DONE', legacy_state: 'paid' });
    expect(await clear(link)).toBe('freed');
    expect(stand.asked).toEqual([]);
  });

  it.each<[string, Answer]>([
    ['was refused', refusal(409, 'cannot_cancel_order')],
    ['has no known outcome', BROKEN],
    ['was never sent', NOT_SENT],
    ['was answered with an order that is still open', says('created', 4)],
  ])('when the cancel %s, and the order says that it is over', async (_what, answer) => {
    const link = await live();
    stand.ports.memory.sales.reads.mark(orderId(1), NOON - 1, stand.ports.memory.sales.reads.begin()); // reads before the cancel do not count
    stand.answers = [answer, says('expired', 5)];
    expect(await clear(link)).toBe('freed');
    expect(names()).toEqual(['cancel', 'get']);
    expect(await stand.stored(link)).toMatchObject({ state: 'DONE' });
  });
});

describe('a till keeps its order', () => {
  it('while that is being paid', async () => {
    const link = await live();
    stand.answers = [refusal(409, 'instore_order_locked_error')];
    expect(await clear(link)).toEqual(told('order_locked'));
    expect(names()).toEqual(['cancel']);
    expect(await stand.stored(link)).toMatchObject({ state: 'LIVE', cancel: 'sent' });
  });

  it.each<[string, Answer, Parameters<typeof refused>[1]]>([
    ['is not known', BROKEN, 'outcome_unknown'],
    ['is a failure upstream', answered(500), 'outcome_unknown'],
    ['is a redirect', answered(302), 'outcome_unknown'],
    ['is that it was never sent', NOT_SENT, 'bad_gateway'],
  ])('when the outcome %s, and the order can not be read', async (_what, answer, expected) => {
    const link = await live();
    stand.answers = [answer, BROKEN];
    expect(await clear(link)).toEqual(told(expected));
    expect(await stand.stored(link)).toMatchObject({ state: 'LIVE' });
  });

  it('with an unknown outcome when the cancel is answered 408 and the order is open: it may still be canceled', async () => {
    const link = await live();
    stand.answers = [refusal(408, 'request_timeout'), says('created', 5)];
    expect(await clear(link)).toEqual(told('outcome_unknown'));
    expect(await stand.stored(link)).toMatchObject({ state: 'LIVE', cancel: 'sent' });
  });

  it.each([400, 404, 409, 429, 499])('when the cancel is refused with %d and the order is open', async (status) => {
    const link = await live();
    stand.answers = [refusal(status, 'said_upstream'), says('created', 5)];
    const answer = await clear(link);
    expect(answer).not.toEqual(told('outcome_unknown'));
    expect(answer).toMatchObject({ kind: 'answer' });
    expect((answer as { status: number }).status).toBeGreaterThanOrEqual(400);
    expect(await stand.stored(link)).toMatchObject({ state: 'LIVE', cancel: 'sent' });
  });

  it('with less than 250 ms left: nothing is begun', async () => {
    const link = await live();
    expect(await clear(link, undefined, stand.now + 249)).toEqual(told('unavailable'));
    expect([stand.asked, (await stand.stored(link)).cancel]).toEqual([[], null]);
    stand.answers = [says('canceled', 5)];
    expect(await clear(link, undefined, stand.now + 250)).toBe('freed');
    expect(stand.asked[0]?.timeout_ms).toBe(250);
  });

  it('no longer than an attempt, and its order is read within what is left', async () => {
    const link = await live();
    stand.answers = [
      () => {
        stand.now = DEADLINE - 400;
        return BROKEN;
      },
      says('created', 5),
    ];
    await clear(link);
    const { attempt_timeout_ms } = stand.ports.settings.create;
    expect(stand.asked.map(({ timeout_ms }) => timeout_ms)).toEqual([attempt_timeout_ms, 400]);
  });
});

describe('a till whose create is not known yet', () => {
  it.each(['SENDING', 'IN_DOUBT'] as const)('%s: it is finished first, then taken away', async (state) => {
    const link = await stand.store.links.saveLink(await holder(), { state, attempts: 1 });
    stand.answers = [
      answered(201, orderOf({ ...QR, external_reference: REFERENCE })),
      says('created', 1),
      says('canceled', 5),
    ];
    expect(await clear(link)).toBe('freed');
    expect(names()).toEqual(['create', 'get', 'cancel']);
    expect(await stand.stored(link)).toMatchObject({ state: 'DONE', client_answer: 'none' });
  });

  it('and stays unknown keeps it', async () => {
    const link = await stand.store.links.saveLink(await holder(), { state: 'IN_DOUBT', attempts: 1 });
    stand.answers = [];
    expect(await clear(link, undefined, stand.now + 300)).toEqual(told('order_in_doubt'));
    expect(names()).not.toContain('cancel');
    expect(await stand.stored(link)).toMatchObject({ state: 'IN_DOUBT' });
  });

  it('and was never sent has nothing to take away', async () => {
    const link = await holder();
    stand.answers = [refusal(400, 'bad_request')];
    expect(await clear(link)).toBe('freed');
    expect(names()).toEqual(['create']);
  });

  it('and is nowhere any more is told so', async () => {
    expect(await clear(newLink({ family: 'qr', unit: 'TILL1' }))).toEqual(told('order_in_doubt'));
    expect(stand.asked).toEqual([]);
  });
});

describe('what takes an order away', () => {
  it('from a create has no cancel of the till behind it', async () => {
    const link = await live();
    stand.answers = [says('canceled', 5)];
    expect(await clear(link, 'qr.put_order_of_store')).toBe('freed');
    expect(stand.asked[0]?.headers).toEqual({});
  });

  it('by the till itself goes with what its table makes of the cancel', async () => {
    const { tables } = stand.ports;
    let headers: Record<string, string> | undefined = { 'x-of-the-table': 'yes' };
    const request: typeof tables.request = (...asked) => {
      const made = tables.request(...asked);
      const { headers: _own, ...rest } = made.value;
      return { ...made, value: headers === undefined ? rest : { ...rest, headers } };
    };
    stand.restart({ tables: { ...tables, request } });
    const link = await live();
    for (const operation of ['qr.put_order_of_store', 'qr.cancel_order_of_store']) {
      stand.answers = [refusal(409, 'said_upstream'), says('created', 5)];
      await clear(link, operation);
    }
    headers = undefined;
    stand.answers = [refusal(409, 'said_upstream'), says('created', 5)];
    await clear(link);
    const cancels = stand.asked.filter(({ name }) => name === 'cancel');
    expect(cancels.map(({ headers }) => headers)).toEqual([{}, { 'x-of-the-table': 'yes' }, {}]);
  });

  it('goes in turn, for each till of each merchant', async () => {
    const done: string[] = [];
    let finish = (): void => undefined;
    const first = inTurn(stand.ports, MERCHANT, 'qr:TILL1', async () => {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      done.push('first');
    });
    const second = inTurn(stand.ports, MERCHANT, 'qr:TILL1', async () => done.push('second'));
    await inTurn(stand.ports, MERCHANT, 'qr:TILL2', async () => done.push('other till'));
    await inTurn(stand.ports, '700100201', 'qr:TILL1', async () => done.push('other merchant'));
    finish();
    await Promise.all([first, second]);
    expect(done).toEqual(['other till', 'other merchant', 'first', 'second']);
  });
});

describe('a cancel of a point of sale', () => {
  const cancel = (path: Record<string, string> = {}) =>
    cancelPointOfSale(
      stand.ports,
      callOf(stand, 'qr.cancel_order_of_store', {
        path: { user_id: MERCHANT, external_pos_id: 'TILL1', external_store_id: 'STORE1', ...path },
        body: {},
      }),
    );
  const noContent = { kind: 'answer', status: 204, body: undefined };

  it("of another seller's is refused", async () => {
    expect(await cancel({ user_id: '700100299' })).toEqual(told('foreign_collector'));
  });

  it('without an order is answered 204, and proxied once its merchant is on legacy', async () => {
    expect(await cancel()).toEqual(noContent);
    await setMerchant(stand.store, MERCHANT, { stage: 'legacy' });
    expect(await cancel()).toEqual({ kind: 'proxy' });
    expect(stand.asked).toEqual([]);
  });

  it('cancels its order, or answers what keeps it', async () => {
    await live();
    stand.answers = [says('canceled', 5)];
    expect(await cancel()).toEqual(noContent);
    await stand.reset();
    await live();
    stand.answers = [refusal(409, 'said_upstream'), says('created', 5)];
    expect(await cancel()).toMatchObject({ kind: 'answer', status: 400 });
  });
});
