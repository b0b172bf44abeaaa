/** Changes without lost updates, avoided reads, the next check of a link (`docs/protocol.md` §3.3 e, §3.8, §3.12). */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Order } from '../../src/contract/orders.ts';
import { PuenteError } from '../../src/error.ts';
import { readStored } from '../../src/locales/message.ts';
import type { Link } from '../../src/proxy/sales/link.ts';
import {
  markSent,
  readableOrder,
  readLink,
  readOrder,
  refreshLink,
  sendCancel,
} from '../../src/proxy/sales/refresh.ts';
import {
  advanceRules,
  applyOrder,
  changeLink,
  type Decision,
  isHeld,
  nextLook,
  noticesFor,
  releaseHeld,
  settlementTime,
  unclaimed,
} from '../../src/proxy/sales/settle.ts';
import { MERCHANT, NOON, newLink, newNotice, orderId } from '../store/contract/harness.ts';
import { withMethods } from '../store/with-methods.ts';
import { answered, BROKEN, createStand, NOT_SENT, newDraft, orderOf, PAID, refusal, TOKEN } from './stand.ts';

const stand = createStand();
beforeEach(() => stand.reset());

const order = (change: Record<string, unknown> = {}, second = 0): Order => orderOf(change, second) as unknown as Order; // as parsed

async function live(change: Partial<Link> = {}): Promise<Link> {
  const link = await stand.link();
  return stand.store.links.saveLink(link, {
    state: 'LIVE',
    order_id: orderId(1),
    order: order(),
    order_version: '2026-01-05T12:00:00.000000000Z',
    client_answer: 'maybe',
    ...change,
  });
}

describe('a change', () => {
  it('writes what was decided, and when', async () => {
    const link = await stand.link();
    stand.now += 5;
    const saved = await changeLink(stand.ports, link, () => ({ change: { attempts: 7 } }));
    expect(saved).toMatchObject({ attempts: 7, updated_at: NOON + 5, revision: 2 });
    expect([stand.notices, stand.points]).toEqual([0, []]);
  });

  it('of nothing writes nothing', async () => {
    const link = await stand.link();
    expect(await changeLink(stand.ports, link, () => null)).toBe(link);
  });

  it('decides again on what is stored when another was faster', async () => {
    const link = await stand.link();
    await stand.store.links.saveLink(link, { attempts: 3 });
    const saved = await changeLink(stand.ports, link, ({ attempts }) => ({ change: { attempts: attempts + 1 } }));
    expect(saved.attempts).toBe(4);
  });

  it('gives up after eight lost races', async () => {
    const link = await stand.link();
    let decided = 0;
    const racing = changeLink(stand.ports, link, (current) => {
      decided++;
      void stand.store.links.saveLink(current, { attempts: decided });
      return { change: { attempts: 100 } };
    });
    await expect(racing).rejects.toMatchObject({
      code: 'store_failed',
      message: `the link ${link.legacy_id} changed 8 times during one change`,
    });
    expect(decided).toBe(8);
  });

  it('of a link that is gone is decided on what was known of it', async () => {
    const gone = newLink();
    let decided = 0;
    const changing = changeLink(stand.ports, gone, (current) => {
      expect(current).toBe(gone);
      decided++;
      return { change: {} };
    });
    await expect(changing).rejects.toMatchObject({ code: 'store_failed' });
    expect(decided).toBe(8);
  });

  it.each([new PuenteError('store_failed', 'the disk is gone'), new Error('the disk is gone')])(
    'that fails otherwise is told at once: %s',
    async (failure) => {
      const link = await stand.link();
      stand.restart({ store: withMethods(stand.store, { saveLink: () => Promise.reject(failure) }) });
      let decided = 0;
      const changing = changeLink(stand.ports, link, () => {
        decided++;
        return { change: {} };
      });
      await expect(changing).rejects.toBe(failure);
      expect(decided).toBe(1);
    },
  );

  it('brings its notices and its audit line along, and says that there are notices', async () => {
    const link = await stand.link();
    const audit = { at: NOON, who: 'ana', action: 'settle' as const, subject: MERCHANT, reason: 'why', detail: {} };
    await changeLink(stand.ports, link, () => ({ change: {}, notices: [newNotice(link, '{}')], audit }));
    expect(await stand.store.notices.countNotices({ legacy_id: link.legacy_id })).toBe(1);
    expect(await stand.store.audit.audits(1)).toMatchObject([{ action: 'settle' }]);
    expect([stand.notices, stand.points]).toEqual([1, ['notices.committed']]);
  });
});

describe('an order that was read', () => {
  it('moves its link with its notices, in one commit', async () => {
    const link = await live();
    const moved = await applyOrder(stand.ports, link, order(PAID, 5));
    expect(moved).toMatchObject({ state: 'DONE', legacy_state: 'FINISHED', next_check_at: null, revision: 3 });
    expect(await stand.store.notices.notices({ legacy_id: link.legacy_id }, 9)).toMatchObject([
      { topic: 'payment' },
      { topic: 'point' },
    ]);
    expect([stand.notices, stand.points, stand.counts]).toEqual([1, ['notices.committed', 'order.applied'], []]);
  });

  it('that contradicts its sale changes nothing, and stands in the way of reads until one agrees again', async () => {
    const link = await live();
    const wrong = order({ ...PAID, transactions: { payments: [{ id: 'PAY1', amount: '99.00' }] } }, 5);
    expect(await applyOrder(stand.ports, link, wrong)).toBe(link);
    expect(await stand.store.notices.notices({ legacy_id: link.legacy_id }, 9)).toEqual([]);
    stand.answers = [answered(200, wrong), answered(200, order({}, 6))];
    stand.now += 1_500;
    const unknown = { code: 'refused', facts: { error: 'outcome_unknown' } };
    await expect(readLink(stand.ports, link, TOKEN), 'read').rejects.toMatchObject(unknown);
    await expect(readLink(stand.ports, link, TOKEN), 'not read again so soon').rejects.toMatchObject(unknown);
    expect(stand.asked).toHaveLength(1);
    stand.now += 1_500;
    expect((await readLink(stand.ports, link, TOKEN)).state).toBe('LIVE');
  });

  describe('that contradicts its sale', () => {
    const wrongAmount = order({ ...PAID, transactions: { payments: [{ id: 'PAY1', amount: '99.00' }] } }, 5);
    const wrongUnit = order({ config: { point: { terminal_id: 'ANOTHER' } } }, 5);
    const lines = async () =>
      (await stand.store.audit.audits(9))
        .filter(({ action }) => action.startsWith('mismatch'))
        .map(({ at, who, action, subject, reason, detail }) => ({
          at,
          who,
          action,
          subject,
          detail,
          said: readStored(reason).text,
        }));

    it('is counted, logged and written to the audit, once until it is another or one agreed', async () => {
      const link = await live();
      await applyOrder(stand.ports, link, wrongAmount);
      stand.now += 10;
      await applyOrder(stand.ports, link, wrongAmount);
      expect(stand.counts).toEqual(['contradictions amount']);
      await applyOrder(stand.ports, link, wrongUnit);
      const { unit, legacy_id: subject } = link;
      const detail = { order_id: orderId(1), merchant: MERCHANT, unit };
      expect(stand.counts).toEqual(['contradictions amount', 'contradictions unit']);
      expect(stand.log).toEqual(
        ['amount', 'unit'].map(
          (cause) =>
            `error an answer contradicts its sale, and is ignored ${JSON.stringify({ legacy_id: subject, ...detail, cause })}`,
        ),
      );
      expect((await lines()).toReversed()).toMatchObject([
        { at: NOON, who: 'puente', action: 'mismatch amount', subject, detail, said: expect.stringContaining('9900') },
        {
          at: NOON + 10,
          action: 'mismatch contradiction',
          subject,
          detail,
          said: expect.stringMatching(/terminal|unit/),
        },
      ]);
      const seen = stand.ports.memory.sales.contradicted.get(subject);
      expect((seen?.last_ms ?? 0) - (seen?.since_ms ?? 0), 'since the first').toBe(10);
      await applyOrder(stand.ports, link, order());
      await applyOrder(stand.ports, link, wrongUnit);
      expect(await lines()).toHaveLength(3);
    });

    it('is written by the next read where the store failed', async () => {
      const link = await live();
      const full = new PuenteError('store_failed', 'the disk is full');
      stand.restart({ store: withMethods(stand.store, { appendAudit: () => Promise.reject(full) }) });
      await expect(applyOrder(stand.ports, link, wrongAmount)).rejects.toBe(full);
      const failing = stand.ports;
      await applyOrder({ ...failing, store: stand.store }, link, wrongAmount);
      expect(await lines()).toMatchObject([{ action: 'mismatch amount' }]);
    });
  });

  it.each<[string, boolean, unknown[]]>([
    ['once', false, [{ status: 'processed' }]],
    ['twice', true, [{ status: 'processed' }, { id: 'PAY2', status: 'processed' }]],
    ['never, although it is paid', true, [{ status: 'failed' }]],
  ])('that was approved %s', async (_what, is_fault, payments) => {
    const link = await live();
    const paid = (second: number) =>
      order(
        {
          status: 'processed',
          transactions: {
            payments: payments.map((one) => ({ id: 'PAY1', amount: '15.00', ...(one as object) })),
            refunds: [],
          },
        },
        second,
      );
    const done = await applyOrder(stand.ports, link, paid(5));
    expect(done.state).toBe('DONE');
    await applyOrder(stand.ports, done, paid(6));
    const lines = (await stand.store.audit.audits(9)).filter(({ action }) => action === 'mismatch approvals');
    expect(lines).toHaveLength(is_fault ? 1 : 0);
    expect(stand.log.filter((line) => line.startsWith('error a sale was not approved exactly once'))).toHaveLength(
      is_fault ? 1 : 0,
    );
  });

  it('that was approved twice is stored with its audit line, beside that of its settlement, whatever comes after the commit', async () => {
    const link = await live({ client_answer: 'error' });
    const payments = ['PAY1', 'PAY2'].map((id) => ({ id, amount: '15.00', status: 'processed' }));
    const twice = order({ status: 'processed', transactions: { payments, refunds: [] } }, 5);
    stand.at.set('notices.committed', () => {
      throw new Error('the process ended');
    });
    await expect(applyOrder(stand.ports, link, twice)).rejects.toThrow('the process ended');
    stand.at.clear();
    const saved = await stand.stored(link);
    expect(saved.state).toBe('DONE');
    const subject = link.legacy_id;
    const lines = async () => (await stand.store.audit.auditsOf({ subject }, 9)).map(({ action }) => action);
    expect(await lines()).toEqual(['mismatch approvals', 'settle']);
    await applyOrder(stand.ports, saved, twice);
    expect(await lines()).toHaveLength(2);
  });

  it('that is lost with an approved payment has its audit line', async () => {
    const link = await live({ order: order({ transactions: { payments: [{ id: 'PAY1', status: 'processed' }] } }) });
    await changeLink(stand.ports, link, () => ({ change: { state: 'LOST' } }));
    expect(await stand.store.audit.audits(1)).toMatchObject([
      { action: 'mismatch approvals', subject: link.legacy_id, detail: { order_id: orderId(1) } },
    ]);
  });

  it('of a merchant that was erased is told as the installation tells it', async () => {
    const link = await live();
    stand.restart({ store: withMethods(stand.store, { merchant: async () => null }) });
    await applyOrder(stand.ports, link, order(PAID, 5));
    const told = await stand.store.notices.notices({ legacy_id: link.legacy_id }, 9);
    expect(told.map(({ topic }) => topic)).toEqual(['payment', 'point']);
  });

  it('that says nothing new writes nothing', async () => {
    const link = await live();
    expect(await applyOrder(stand.ports, link, order())).toBe(link);
    expect(stand.points).toEqual(['order.applied']);
  });

  it('that says nothing new brings along what came with it', async () => {
    const link = await live();
    const audit = { at: NOON, who: 'ana', action: 'reconcile' as const, subject: MERCHANT, reason: 'why', detail: {} };
    await applyOrder(stand.ports, link, order(), { extra: () => ({ change: {}, audit }) });
    expect(await stand.store.audit.audits(1)).toMatchObject([{ action: 'reconcile' }]);
    const again = await stand.stored(link);
    await applyOrder(stand.ports, again, order(), {
      extra: () => ({ change: {}, notices: [newNotice(link, '{}')] }),
    });
    expect(await stand.store.notices.countNotices({ legacy_id: link.legacy_id })).toBe(1);
  });

  it('tells what came with it how the link stands then', async () => {
    const link = await live();
    const seen: string[] = [];
    const extra = (current: Link): Decision => {
      seen.push(current.state);
      return { change: { cancel: 'acknowledged' } };
    };
    await applyOrder(stand.ports, link, order(PAID, 5), { extra });
    expect(seen).toEqual(['DONE']);
    expect(await stand.stored(link)).toMatchObject({ cancel: 'acknowledged', state: 'DONE' });
  });

  it('of an unknown status, or of the past, is counted and told', async () => {
    const link = await live();
    await applyOrder(stand.ports, link, order({ status: 'teleported' }, 5));
    await applyOrder(stand.ports, await stand.stored(link), order({ status: 'created' }, 1));
    expect(stand.counts).toEqual(['unknown_states', 'stale_versions']);
    const facts = (code: string) => JSON.stringify({ legacy_id: link.legacy_id, order_id: orderId(1), code });
    expect(stand.log).toEqual([
      `warn order: unknown states ${facts('teleported')}`,
      `warn order: stale versions ${facts('created')}`,
    ]);
  });

  it.each<[string, Partial<Link>, Record<string, unknown>, [text: string, label: string] | null]>([
    ['paid, and told', {}, PAID, null],
    ['paid', { client_answer: 'error' }, PAID, ['paid without a delivered answer', 'paid_but_unacknowledged']],
    [
      'canceled by us',
      { client_answer: 'none', cancel: 'sent' },
      { status: 'canceled' },
      ['order without a delivered answer canceled', 'unacknowledged_order_canceled'],
    ],
    ['canceled by somebody', { client_answer: 'none' }, { status: 'canceled' }, null],
    ['expired', { client_answer: 'none', cancel: 'sent' }, { status: 'expired' }, null],
    [
      'refunded after it was paid',
      { client_answer: 'none', legacy_state: 'FINISHED' },
      { ...PAID, status: 'refunded' },
      null,
    ],
    ['as it was', { client_answer: 'none' }, { status: 'created', description: 'other' }, null],
  ])('of a link that nobody was told of: %s', async (_what, change, said, expected) => {
    const link = await live(change);
    await applyOrder(stand.ports, link, order(said, 5));
    const lines = (await stand.store.audit.audits(10))
      .filter(({ action }) => action === 'settle')
      .map(({ reason }) => readStored(reason).text);
    expect(lines).toEqual(expected === null ? [] : [expected[0]]);
    const counted = stand.counts.filter((one) => one.startsWith('settlements'));
    expect(counted).toEqual(expected === null ? [] : [`settlements ${expected[1]}`]);
  });

  it('of a QR sale that is refunded after it was paid is no news to the audit', async () => {
    const link = await stand.link({ family: 'qr', unit: 'TILL1', merchant_order_id: 8_000_000_000_000_001 });
    const paid = { ...PAID, type: 'qr' };
    const sold = await applyOrder(stand.ports, { ...link, client_answer: 'maybe' }, order(paid, 5));
    stand.counts.length = 0;
    const untold = await stand.store.links.saveLink(sold, { client_answer: 'none' });
    await applyOrder(stand.ports, untold, order({ ...paid, status: 'refunded' }, 9));
    expect([stand.counts, (await stand.stored(link)).legacy_state]).toEqual([[], 'reverted']);
  });

  it('of an approval after a cancel is counted', async () => {
    const link = await live({ state: 'DONE', legacy_state: 'CANCELED', order: order({ status: 'canceled' }) });
    await applyOrder(stand.ports, link, order(PAID, 5));
    expect(stand.counts).toEqual(['late_approvals']);
  });
});

describe('an order that waits for a person', () => {
  const waiting = order({ status: 'action_required' });

  it.each<[string, Partial<Link>, boolean]>([
    ['is held', { order: waiting }, true],
    ['is not when it does not wait', { order: order() }, false],
    ['is not when nothing is known of it', { order: null }, false],
    ['is not when it is shown as over', { order: waiting, state: 'DONE' }, false],
  ])('%s', (_what, change, expected) => {
    expect(isHeld(stand.ports, newLink({ state: 'LIVE', ...change }))).toBe(expected);
  });

  it('is shown as final when its terminal is wanted', async () => {
    const link = await live({ order: waiting, legacy_state: 'ON_TERMINAL' });
    expect(await releaseHeld(stand.ports, link)).toMatchObject({
      state: 'DONE',
      legacy_state: 'CONFIRMATION_REQUIRED',
    });
    const unknown = newLink();
    expect(await releaseHeld(stand.ports, unknown)).toBe(unknown);
  });
});

describe('the next look', () => {
  const at = (change: Partial<Link>, age_ms: number): number | null => {
    stand.now = NOON + age_ms;
    const link = newLink({
      state: 'LIVE',
      client_answer: 'maybe',
      created_at: NOON,
      expires_at: NOON + 1e10,
      ...change,
    });
    const { next_check_at } = nextLook(stand.ports, link);
    return next_check_at === null ? null : next_check_at - stand.now;
  };
  const rules = () => stand.ports.settings.reconcile;

  it('is none for what is over', () => {
    for (const state of ['DONE', 'SENDING', 'LOST'] as const) expect(at({ state }, 0)).toBeNull();
  });

  it('grows with a quarter of the age, between the interval and the longest', () => {
    const { point_interval_ms, qr_interval_ms, max_interval_ms } = rules();
    expect(at({}, 0)).toBe(point_interval_ms);
    expect(at({}, -5_000)).toBe(point_interval_ms);
    expect(at({ family: 'qr' }, 0)).toBe(qr_interval_ms);
    expect(at({}, point_interval_ms * 8)).toBe(point_interval_ms * 2);
    expect(at({}, max_interval_ms * 400)).toBe(max_interval_ms);
    expect(at({ family: 'qr' }, max_interval_ms * 8)).toBe(max_interval_ms);
    expect(at({ family: 'qr' }, max_interval_ms * 400)).toBe(max_interval_ms * 40);
  });

  it('never sleeps through the end of its life, nor through the time after it', () => {
    const { action_required_grace_ms } = rules();
    expect(at({ expires_at: NOON + 2_000 }, 0)).toBe(3_000);
    expect(at({ expires_at: NOON - 1_000 }, 0)).toBe(
      Math.min(action_required_grace_ms - 1_000, rules().point_interval_ms),
    );
    expect(at({ expires_at: NOON - action_required_grace_ms }, 0)).toBe(rules().point_interval_ms);
  });

  it('comes when a wait for a person at the terminal is over', () => {
    stand.ports.settings.reconcile.action_required_grace_ms = 3_000;
    const waiting = order({ status: 'action_required' }, 1);
    expect(at({ order: waiting }, 1_500)).toBe(2_500);
    expect(at({ order: waiting }, 4_000)).toBe(rules().point_interval_ms);
    expect(at({ order: order({ status: 'at_terminal' }, 1) }, 1_500)).toBe(rules().point_interval_ms);
  });

  it('of what nobody was told of comes when it is settled', () => {
    expect(at({ client_answer: 'none' }, 38_999)).toBe(1);
    expect(at({ client_answer: 'maybe' }, 38_999)).toBeGreaterThan(1);
    expect(at({ client_answer: 'error' }, 39_000)).toBeGreaterThan(1);
    expect(settlementTime(stand.ports, newLink({ created_at: NOON }))).toBe(NOON + 39_000);
    expect(
      ['none', 'error', 'maybe'].map((client_answer) => unclaimed(newLink({ client_answer } as Partial<Link>))),
    ).toEqual([true, true, false]);
  });
});

describe('the notices of a QR sale', () => {
  const notify = async (said: string | null, ipn_means: 'ipn' | 'webhook' = 'ipn') => {
    const merchant = await stand.store.merchants.merchant(MERCHANT);
    const { vault, settings } = stand.ports;
    const url = `https://till.example/ipn?source_news=${said}`;
    const sealed_notice_url = said === null ? null : vault.seal(url, 'notice-url');
    const link = newLink({ family: 'qr', sealed_notice_url });
    const ports = { ...stand.ports, settings: { ...settings, notices: { source_news_ipn: ipn_means } } };
    return noticesFor(ports, link, merchant, [newNotice(link, '{}', { topic: 'payment' })]).map(({ form }) => form);
  };

  it('have the form that its URL asks for, else that of the merchant or the settings', async () => {
    expect(await notify(null)).toEqual(['ipn']);
    expect(await notify('webhooks')).toEqual(['webhook']);
    expect(await notify('ipn', 'webhook')).toEqual(['webhook']);
  });
});

describe('what an order is judged by', () => {
  it('follows the merchant, or the settings', async () => {
    const merchant = await stand.store.merchants.merchant(MERCHANT);
    if (merchant === null) throw new Error('the merchant is gone');
    const settings = { ...merchant.settings, declined: 'finished' as const };
    expect(advanceRules(stand.ports, null)).toEqual({
      now: NOON,
      declined: 'error',
      action_required_grace_ms: stand.ports.settings.reconcile.action_required_grace_ms,
      default_lifetime_ms: 900_000,
      exponent: 2,
    });
    expect(advanceRules(stand.ports, { ...merchant, site: 'MLC', settings })).toMatchObject({
      declined: 'finished',
      exponent: 0,
    });
  });
});

describe('a read', () => {
  const answers = (status: string, second: number) => answered(200, orderOf({ status }, second));

  it('of a link without an order is none', async () => {
    const link = await stand.link();
    expect(await refreshLink(stand.ports, link, TOKEN)).toBe(link);
    expect(stand.asked).toEqual([]);
  });

  it('moves the link, and is not repeated while it is fresh', async () => {
    const link = await live();
    stand.answers = [answers('at_terminal', 3), answers('at_terminal', 4)];
    expect(await refreshLink(stand.ports, link, TOKEN)).toMatchObject({ legacy_state: 'ON_TERMINAL' });
    const draft = newDraft();
    stand.now += 899;
    const again = await stand.within(draft, () => refreshLink(stand.ports, link, TOKEN));
    expect(again.legacy_state).toBe('ON_TERMINAL');
    expect([stand.asked.length, draft.limitations]).toEqual([1, ['LIM-11']]);
    stand.now += 1;
    await refreshLink(stand.ports, link, TOKEN);
    expect(stand.asked).toHaveLength(2);
  });

  it('that is fresh of what is over keeps nothing from anybody', async () => {
    const link = await live();
    stand.answers = [answered(200, orderOf(PAID, 3))];
    await refreshLink(stand.ports, link, TOKEN);
    stand.now += 10;
    const draft = newDraft();
    await stand.within(draft, () => refreshLink(stand.ports, link, TOKEN));
    expect([stand.asked.length, draft.limitations]).toEqual([1, []]);
  });

  it('that was asked for before it began is good enough, even by force', async () => {
    const link = await live();
    stand.answers = [answers('at_terminal', 3), answers('at_terminal', 3)];
    const force = { force: true };
    await Promise.all([refreshLink(stand.ports, link, TOKEN, force), refreshLink(stand.ports, link, TOKEN, force)]);
    expect(stand.asked).toHaveLength(1);
    stand.now += 1;
    await refreshLink(stand.ports, link, TOKEN, force);
    expect(stand.asked).toHaveLength(2);
  });

  it('that fails leaves what is stored', async () => {
    const link = await live();
    for (const answer of [BROKEN, refusal(404, 'order_not_found')]) {
      stand.answers = [answer];
      const kept = await refreshLink(stand.ports, link, TOKEN);
      expect([kept.legacy_id, kept.revision]).toEqual([link.legacy_id, link.revision]);
    }
    expect(stand.asked, 'a failed read is not fresh').toHaveLength(2);
  });

  it('of a link that the store has lost moves what was known', async () => {
    const link = newLink({ state: 'LIVE', order_id: orderId(1) });
    expect(await refreshLink(stand.ports, link, TOKEN)).toBe(link);
  });

  it.each([
    [undefined, 5_000],
    [NOON + 3_000, 3_000],
    [NOON + 9_000, 5_000],
    [NOON + 100, 250],
    [NOON - 100, 250],
  ])('with the deadline %s waits for %d ms', async (deadline, timeout_ms) => {
    const link = await live();
    await refreshLink(stand.ports, link, TOKEN, deadline === undefined ? {} : { deadline });
    expect(stand.asked[0]).toMatchObject({ method: 'GET', path: `/v1/orders/${orderId(1)}`, timeout_ms });
  });

  it.each([
    ['nothing left', NOT_SENT, null, 'ECONNREFUSED'],
    ['nothing came', BROKEN, null, 'reset'],
    ['a failure', answered(500), null, 'status 500'],
    ['no order', answered(200, {}), null, 'status 200'],
    ['another order', answered(200, orderOf({ id: orderId(2) })), null, 'status 200'],
    ['a redirect', answered(301, orderOf()), null, 'status 301'],
    ['it is not there', answered(404), 'missing', 'status 404'],
  ])('%s: nothing is known', async (_what, answer, expected, cause) => {
    stand.answers = [answer];
    expect(await readOrder(stand.ports, TOKEN, orderId(1))).toBe(expected);
    expect(stand.log).toEqual([
      `warn order could not be read; the stored state is used ${JSON.stringify({ order_id: orderId(1), cause })}`,
    ]);
    expect(stand.ports.memory.sales.reads.last(orderId(1))).toBe(0);
  });

  it('is remembered by when it began', async () => {
    stand.answers = [
      () => {
        stand.now += 40;
        return answered(200, orderOf());
      },
    ];
    expect(await readOrder(stand.ports, TOKEN, orderId(1))).toMatchObject({ id: orderId(1) });
    expect(stand.ports.memory.sales.reads.last(orderId(1))).toBe(NOON);
  });

  it('that says 401 makes the token be asked about, and no other does', async () => {
    const accepted = async () =>
      (await stand.store.merchants.token(stand.ports.vault.fingerprint(TOKEN)))?.accepted_until ?? 0;
    stand.answers = [answered(403), answered(401)];
    await readOrder(stand.ports, TOKEN, orderId(1));
    expect(await accepted()).toBeGreaterThan(0);
    await readOrder(stand.ports, TOKEN, orderId(1));
    expect(await accepted()).toBe(0);
  });

  it.each([
    [199, false],
    [200, true],
    [299, true],
    [300, false],
  ])('with status %d is an order: %s', (status, expected) => {
    expect(readableOrder(answered(status, orderOf()), orderId(1)) !== null).toBe(expected);
  });
});

describe('a cancel', () => {
  it('is written down once, before it is sent', async () => {
    const link = await live();
    const marked = await markSent(stand.ports, link);
    expect(marked).toMatchObject({ cancel: 'sent', revision: 3 });
    expect(await markSent(stand.ports, marked)).toBe(marked);
    const acknowledged = await stand.store.links.saveLink(marked, { cancel: 'acknowledged' });
    expect(await markSent(stand.ports, acknowledged)).toBe(acknowledged);
    expect(stand.points).toEqual(Array(3).fill('cancel.marked'));
  });

  it('of an order that is not known is a defect, and asks nothing', async () => {
    const link = await stand.link();
    await expect(sendCancel(stand.ports, link, TOKEN)).rejects.toThrow(`the link ${link.legacy_id} has no order`);
    expect(stand.asked).toEqual([]);
  });

  it('is not sent once its time is over', async () => {
    const cancel = sendCancel(stand.ports, await live(), TOKEN, {}, stand.ports.clock.now());
    expect(await cancel).toEqual({ kind: 'not_sent', cause: 'its time was over' });
    expect(stand.asked).toEqual([]);
  });

  it('has a key for each stored revision, and what it was given', async () => {
    const link = await live();
    stand.answers = [answered(200), answered(200), answered(200)];
    await sendCancel(stand.ports, link, TOKEN);
    await sendCancel(stand.ports, link, TOKEN, { 'x-allow': 'yes' }, stand.ports.clock.now() + 77);
    await sendCancel(stand.ports, { ...link, revision: 9 }, TOKEN);
    const keys = stand.asked.map(({ idempotency_key }) => idempotency_key);
    expect(keys[0]).toBe(stand.ports.vault.keyed('cancel-key', `${link.legacy_id}:${link.revision}`));
    expect([keys[1] === keys[0], keys[2] === keys[0]]).toEqual([true, false]);
    expect(stand.asked[0]).toMatchObject({ path: `/v1/orders/${orderId(1)}/cancel`, timeout_ms: 4_000, headers: {} });
    expect(stand.asked[1]).toMatchObject({ timeout_ms: 77, headers: { 'x-allow': 'yes' } });
    expect(stand.points).toEqual(Array(3).fill('cancel.sent'));
  });
});
