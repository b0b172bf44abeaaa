/** From a stored create to its outcome: calls, rows, and answers to the till (`docs/protocol.md` §3.3, §3.5). */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Order } from '../../src/contract/orders.ts';
import { encoded, say } from '../../src/locales/message.ts';
import type { Ports } from '../../src/ops/ports.ts';
import type { Link } from '../../src/proxy/sales/link.ts';
import {
  type AttemptPlan,
  attemptCreate,
  mayRepeat,
  type SendPlan,
  sendInTurn,
  sendLink,
} from '../../src/proxy/sales/submit.ts';
import type { UpstreamOutcome } from '../../src/proxy/upstream/upstream.ts';
import { NOON, newLink, orderId } from '../store/contract/harness.ts';
import { withMethods } from '../store/with-methods.ts';
import {
  type Answer,
  answered,
  BROKEN,
  createStand,
  creates,
  NOT_SENT,
  orderOf,
  PAID,
  REFERENCE,
  refusal,
  TOKEN,
  textOf,
  withCreate,
} from './stand.ts';

const stand = createStand();
beforeEach(() => stand.reset());

const DEADLINE = NOON + 9_000;
const BODY = Buffer.from(JSON.stringify({ external_reference: REFERENCE }));

function send(link: Pick<Link, 'legacy_id'>, plan: Partial<SendPlan> = {}, read: Link | null = null) {
  return sendLink(stand.ports, link.legacy_id, { token: TOKEN, deadline: DEADLINE, body: null, ...plan }, read);
}

async function known(change: Partial<Link>): Promise<Link> {
  const link = await stand.link();
  return stand.store.links.saveLink(link, { order_id: orderId(1), sealed_body: null, ...change });
}

const CANCELED = { status: 'canceled' } as Order; // the decision reads the status only

describe('a retry that waited for a create', () => {
  const PLAN = { token: TOKEN, deadline: DEADLINE, body: null };

  it('is no refusal when that one was made, and canceled by us since: it is a new sale', async () => {
    const link = await known({ state: 'DONE', legacy_state: 'CANCELED', order: CANCELED, cancel: 'sent' });
    stand.ports.memory.sales.in_flight.set(link.legacy_id, {
      token: TOKEN,
      sent: Promise.resolve({ kind: 'created', link }),
    });
    expect(await sendInTurn(stand.ports, link, PLAN)).toMatchObject({ kind: 'terminal' });
  });
});

describe('a create that has its outcome', () => {
  it('is a defect when its row is gone', async () => {
    await expect(send({ legacy_id: 'nobody' })).rejects.toThrow('the link nobody was written just now and is missing');
  });

  it('is told, and that it is told is written down first', async () => {
    const live = await known({ state: 'LIVE' });
    expect(await send(live)).toMatchObject({ kind: 'created', link: { client_answer: 'maybe' } });
    expect(await stand.stored(live)).toMatchObject({ client_answer: 'maybe', revision: live.revision + 1 });
    expect(stand.asked).toEqual([]);
  });

  it.each<[string, Partial<Link>, Partial<SendPlan>]>([
    ['it was told before', { client_answer: 'maybe', acknowledged_at: NOON }, {}],
    ['nobody waits', {}, { for_client: false }],
  ])('writes nothing when %s', async (_why, change, plan) => {
    const live = await known({ state: 'LIVE', ...change });
    expect(await send(live, plan)).toEqual({ kind: 'created', link: live });
    expect((await stand.stored(live)).revision).toBe(live.revision);
  });

  it.each<[Link['state'], Link['legacy_state'], string]>([
    ['DONE', 'FINISHED', 'created'],
    ['DONE', 'CONFIRMATION_REQUIRED', 'created'],
    ['DONE', 'ERROR', 'created'],
    ['DONE', 'CANCELED', 'created'],
    ['DONE', 'ABANDONED', 'created'],
    ['REJECTED', 'OPEN', 'terminal'],
    ['NOT_SENT', 'OPEN', 'terminal'],
    ['LOST', 'ABANDONED', 'terminal'],
    ['LOST', 'CONFIRMATION_REQUIRED', 'terminal'],
  ])('%s and shown as %s is %s', async (state, legacy_state, kind) => {
    expect((await send(await known({ state, legacy_state }))).kind).toBe(kind);
    expect(stand.asked).toEqual([]);
  });
});

describe('an order that nobody was told of and that a dead process may have taken away', () => {
  const MARKED = { state: 'LIVE', cancel: 'sent', client_answer: 'error' } as const;

  it('is over when its cancel has worked, and the report says so', async () => {
    stand.answers = [answered(200, orderOf({ status: 'canceled' }, 50))];
    const link = await known(MARKED);
    expect(await send(link)).toMatchObject({ kind: 'terminal' });
    expect(await stand.store.audit.audits(1)).toMatchObject([
      { reason: encoded(say('settled.canceled', {})), subject: link.legacy_id },
    ]);
  });

  it('is told when it is paid', async () => {
    stand.answers = [answered(200, orderOf(PAID))];
    const link = await known(MARKED);
    expect(await send(link)).toMatchObject({ kind: 'created', link: { state: 'DONE', client_answer: 'maybe' } });
    expect(stand.asked.map(({ name }) => name)).toEqual(['get']);
  });

  it('is told when it is still there once no cancel of another process can be on its way, and to nobody before', async () => {
    stand.answers = [answered(200, orderOf()), answered(200, orderOf())];
    const link = await known(MARKED);
    expect(await send(link)).toMatchObject({ kind: 'in_doubt' });
    expect(await stand.stored(link)).toMatchObject({ client_answer: 'error' });
    stand.now += stand.ports.settings.create.attempt_timeout_ms;
    expect(await send(link)).toMatchObject({ kind: 'created', link: { state: 'LIVE', client_answer: 'maybe' } });
    expect(stand.asked.map(({ name }) => name)).toEqual(['get', 'get']);
  });

  it('is told to nobody when another process marks its cancel anew before the order is read', async () => {
    const link = await known(MARKED);
    stand.now += 60_000;
    const { store } = stand;
    let reads = 0;
    const marked = async (legacy_id: string) => {
      if (++reads === 2)
        await store.links.saveLink(await stand.stored(link), { cancel: 'sent', updated_at: stand.now });
      return store.links.link(legacy_id);
    };
    stand.restart({ store: withMethods(store, { link: marked }) });
    stand.answers = [answered(200, orderOf())];
    expect(await send(link)).toMatchObject({ kind: 'in_doubt' });
    expect(reads).toBeGreaterThan(1);
  });

  it.each<[string, Partial<Link>, string, string]>([
    ['nobody when another process has just marked its cancel', { cancel: 'sent' }, 'in_doubt', 'error'],
    ['its till when another process has just told it', { cancel: 'sent', client_answer: 'maybe' }, 'created', 'maybe'],
    ['its till when something else has changed', { next_check_at: NOON }, 'created', 'maybe'],
  ])('is told to %s', async (_what, change, kind, client_answer) => {
    const read = await known({ ...MARKED, cancel: null });
    await stand.store.links.saveLink(read, change);
    expect(await send(read, {}, read)).toMatchObject({ kind });
    expect(await stand.stored(read)).toMatchObject({ client_answer });
  });

  it('is told to nobody while it can’t be read', async () => {
    stand.answers = [BROKEN];
    const link = await known(MARKED);
    expect(await send(link)).toEqual({ kind: 'in_doubt', link, busy: false });
    expect(await stand.stored(link)).toMatchObject({ client_answer: 'error' });
  });
});

describe('the same bytes may go again', () => {
  it.each<[string, Partial<Link>, number, boolean]>([
    ['at once', {}, 0, true],
    ['to the end of the window', {}, 899_999, true],
    ['not after it', {}, 900_000, false],
    ['not when the clock was set back', {}, -1, false],
    ['not when the order would be over', { expires_at: NOON + 30_000 }, 30_000, false],
    ['until then', { expires_at: NOON + 30_000 }, 29_999, true],
    ['not for longer than the window, however long the order lives', { expires_at: NOON + 9e6 }, 900_000, false],
    ['not without the bytes', { sealed_body: null }, 0, false],
    ['not when it was never sent', { first_sent_at: null }, 0, false],
  ])('%s', (_when, change, after_ms, expected) => {
    stand.now = NOON + after_ms;
    expect(mayRepeat(stand.ports, newLink({ first_sent_at: NOON, created_at: NOON, ...change }))).toBe(expected);
  });
});

describe('a row that may have been sent before', () => {
  const SENT_BEFORE: [string, (link: Link) => Promise<unknown> | unknown][] = [
    ['by another process', () => stand.restart()],
    ['by an attempt', (link) => stand.store.links.saveLink(link, { attempts: 1 })],
    ['by a call that has not been heard of', (link) => stand.ports.memory.sales.unsettled.set(link.legacy_id, true)],
  ];

  it.each(SENT_BEFORE)('%s: is not sent after the window [F15]', async (_how, sent) => {
    const link = await stand.link();
    await sent(link);
    stand.now = NOON + 900_000;
    expect(await send(link, { deadline: stand.now + 9_000 })).toMatchObject({ kind: 'in_doubt', busy: true });
    expect(stand.asked).toEqual([]);
  });

  it.each(SENT_BEFORE)('%s: is not sent from the deadline on', async (_how, sent) => {
    const link = await stand.link();
    await sent(link);
    stand.now = DEADLINE;
    expect(await send(link)).toMatchObject({ kind: 'in_doubt', busy: false });
    expect(stand.asked).toEqual([]);
  });

  it.each(SENT_BEFORE)('%s: is a repeat, whose order is read', async (_how, sent) => {
    const link = await stand.link();
    await sent(link);
    stand.now = DEADLINE - 1;
    stand.answers = [creates(), answered(200, orderOf({ status: 'at_terminal' }, 3))];
    expect(await send(link)).toMatchObject({ kind: 'created', link: { order: { status: 'at_terminal' } } });
    expect(stand.asked.map(({ name }) => name)).toEqual(['create', 'get']);
  });

  it('that is answered with an order of another amount stays in doubt', async () => {
    const link = await stand.link();
    await stand.store.links.saveLink(link, { attempts: 1 });
    const other = { transactions: { payments: [{ id: 'PAY1', amount: '99.00' }] } };
    stand.answers = [creates(), answered(200, orderOf(other, 3))];
    expect(await send(link)).toMatchObject({ kind: 'in_doubt', link: { state: 'IN_DOUBT' }, busy: false });
    expect(await stand.stored(link)).toMatchObject({ state: 'IN_DOUBT', client_answer: 'error' });
  });

  it('of a merchant that was erased meanwhile is sent all the same', async () => {
    stand.restart({ store: withMethods(stand.store, { merchant: async () => null }) });
    const link = await stand.link();
    stand.answers = [creates()];
    expect(await send(link)).toMatchObject({ kind: 'created' });
  });

  it('in doubt is sent as one that is being sent', async () => {
    const link = await stand.link();
    await stand.store.links.saveLink(link, { state: 'IN_DOUBT' });
    stand.answers = [creates()];
    expect(await send(link)).toMatchObject({ kind: 'created', link: { state: 'LIVE', attempts: 1 } });
  });
});

describe('one that was never sent', () => {
  it('goes even at the deadline: its row says that it will', async () => {
    const link = await stand.link();
    stand.now = DEADLINE;
    stand.answers = [creates()];
    expect((await send(link)).kind).toBe('created');
  });

  it('sends its stored bytes, and those of the call when it has them', async () => {
    const link = await stand.link();
    stand.answers = [refusal(400, 'bad_request')];
    await send(link);
    expect(textOf(stand.asked[0]?.body)).toBe(BODY.toString());
    const other = await stand.link({ unit: 'PAX_2' });
    await send(other, { body: Buffer.from('{"fresh":true}') });
    expect(textOf(stand.asked[1]?.body)).toBe('{"fresh":true}');
  });

  it('without any bytes is a defect', async () => {
    const link = await stand.link({ sealed_body: null });
    await expect(send(link)).rejects.toThrow(`the link ${link.legacy_id} has no body to repeat`);
  });
});

describe('one that another process has sent meanwhile', () => {
  const cases: [string, Answer][] = [
    ['a refusal', refusal(400, 'bad_request')],
    ['one that no byte of was sent', NOT_SENT],
  ];
  /** While the attempt of this process is under way, another one settles the row. */
  const meanwhile = (link: Link, change: Partial<Link>, own: Answer): Answer[] => {
    const answer = async (): Promise<UpstreamOutcome> => {
      await stand.store.links.saveLink(link, change);
      return own as UpstreamOutcome; // none of the cases is a function
    };
    return [answer, own, own];
  };

  it.each(cases)('and made stays made after %s', async (_what, own) => {
    const link = await stand.link();
    const order = orderOf({}) as unknown as Link['order']; // as it would be parsed
    const made: Partial<Link> = { state: 'LIVE', order_id: orderId(1), order, attempts: 1, client_answer: 'maybe' };
    stand.answers = meanwhile(link, made, own);
    expect(await send(link)).toMatchObject({ kind: 'created', link: { state: 'LIVE', order_id: orderId(1) } });
    expect(await stand.stored(link)).toMatchObject({ state: 'LIVE', order_id: orderId(1), client_answer: 'maybe' });
  });

  it.each(cases)('and is in doubt stays in doubt after %s', async (_what, own) => {
    const link = await stand.link();
    stand.answers = meanwhile(link, { state: 'IN_DOUBT', attempts: 1 }, own);
    expect(await send(link)).toMatchObject({ kind: 'in_doubt' });
    expect(await stand.stored(link)).toMatchObject({ state: 'IN_DOUBT' });
  });

  it('and was refused is not sent again by one that could not send it', async () => {
    const link = await stand.link();
    stand.answers = meanwhile(link, { state: 'REJECTED', attempts: 1, sealed_body: null }, NOT_SENT);
    expect(await send(link)).toMatchObject({ kind: 'not_sent', link: { state: 'REJECTED' } });
  });
});

describe('a success', () => {
  it('is live, told, and forgets its bytes', async () => {
    const link = await stand.link();
    stand.answers = [creates()];
    stand.at.set('create.answer_read', () =>
      expect(stand.ports.memory.sales.unsettled.keys()).toContain(link.legacy_id),
    );
    expect((await send(link)).kind).toBe('created');
    expect(await stand.stored(link)).toMatchObject({
      state: 'LIVE',
      order_id: orderId(1),
      attempts: 1,
      sealed_body: null,
      client_answer: 'maybe',
    });
    expect(stand.ports.memory.sales.unsettled.keys()).not.toContain(link.legacy_id);
    expect(stand.points).toEqual(['create.before_send', 'create.answer_read', 'order.applied', 'create.settled']);
    expect(stand.asked).toHaveLength(1);
  });

  it('that nobody waits for is told to nobody', async () => {
    const link = await stand.link();
    stand.answers = [creates()];
    await send(link, { for_client: false });
    expect(await stand.stored(link)).toMatchObject({ state: 'LIVE', client_answer: 'none' });
  });

  it('that is paid already stays so', async () => {
    const link = await stand.link();
    stand.answers = [creates(PAID)];
    expect(await send(link)).toMatchObject({ kind: 'created', link: { state: 'DONE', legacy_state: 'FINISHED' } });
  });

  it.each<[string, Answer]>([
    ['can not be read', BROKEN],
    ['is said to be missing', refusal(404, 'order_not_found')],
  ])('on a repeat whose order %s is what the create said', async (_what, read) => {
    const link = await stand.link({ attempts: 1 });
    stand.answers = [creates(), read];
    expect(await send(link)).toMatchObject({ kind: 'created', link: { order: { status: 'created' }, attempts: 2 } });
  });
});

describe('no outcome', () => {
  it.each([
    [0, 1_000],
    [1, 1_000],
    [2, 1_000],
    [3, 2_000],
    [4, 4_000],
    [5, 8_000],
    [6, 15_000],
    [7, 30_000],
    [100, 30_000],
  ])('after %d attempts before is tried again after %d ms and up to two fifths more', async (attempts, base_ms) => {
    for (const luck of [0, 0.5]) {
      stand.luck = luck;
      const link = await stand.link({ attempts, unit: `PAX_${luck * 2}` });
      stand.answers = [];
      const sent = await send(link, { deadline: stand.now + 300, for_client: false });
      expect(sent).toMatchObject({ kind: 'in_doubt', busy: false });
      expect(sent.link).toMatchObject({
        state: 'IN_DOUBT',
        attempts: attempts + 1,
        client_answer: 'none',
        next_check_at: stand.now + base_ms * (1 + 0.4 * luck),
      });
      expect(stand.ports.memory.sales.unsettled.keys()).not.toContain(link.legacy_id);
    }
  });

  it('is told to the till as an error', async () => {
    const link = await stand.link();
    expect((await send(link)).link).toMatchObject({ state: 'IN_DOUBT', client_answer: 'error', attempts: 3 });
  });

  it('of a repeat that finds the terminal busy says so', async () => {
    const link = await stand.link({ attempts: 1 });
    stand.answers = [refusal(409, 'already_queued_order_on_terminal')];
    expect(await send(link)).toMatchObject({ kind: 'in_doubt', busy: true });
  });

  it('never takes a known order back: an event was faster', async () => {
    const link = await stand.link();
    stand.answers = [
      async () => {
        await stand.store.links.saveLink(link, { state: 'LIVE', order_id: orderId(1) });
        return BROKEN;
      },
    ];
    const sent = await send(link, { deadline: NOON + 100 });
    expect(sent).toMatchObject({ kind: 'in_doubt', link: { state: 'LIVE', client_answer: 'error' } });
  });
});

describe('a refusal', () => {
  it('for sure is the end of the row', async () => {
    const link = await stand.link();
    stand.answers = [refusal(400, 'property_value')];
    const sent = await send(link);
    expect(sent).toMatchObject({ kind: 'refused', status: 400, retry_after_ms: null });
    expect(sent).toMatchObject({ body: { errors: [{ code: 'property_value' }] } });
    expect(await stand.stored(link)).toMatchObject({
      state: 'REJECTED',
      client_answer: 'error',
      sealed_body: null,
      next_check_at: null,
      attempts: 1,
    });
    expect(stand.ports.memory.sales.unsettled.keys()).not.toContain(link.legacy_id);
  });

  it('that nobody waits for is told to nobody', async () => {
    const link = await stand.link();
    stand.answers = [refusal(400, 'property_value')];
    await send(link, { for_client: false });
    expect(await stand.stored(link)).toMatchObject({ state: 'REJECTED', client_answer: 'none' });
  });

  it('by a rate limit was not executed', async () => {
    const link = await stand.link();
    stand.answers = [answered(429, null, 100), answered(429, null, 100), answered(429, null, 200)];
    expect(await send(link)).toMatchObject({ kind: 'refused', status: 429, retry_after_ms: 200 });
    expect(await stand.stored(link)).toMatchObject({ state: 'NOT_SENT', attempts: 3 });
  });

  it('without a byte sent says so', async () => {
    const link = await stand.link();
    stand.answers = [NOT_SENT, NOT_SENT, NOT_SENT];
    const sent = await send(link);
    expect(sent).toEqual({ kind: 'not_sent', link: await stand.stored(link) });
    expect(sent.link.state).toBe('NOT_SENT');
  });
});

describe('attempts', () => {
  function attempt(plan: Partial<AttemptPlan> = {}, ports: Ports = stand.ports) {
    const link = newLink({ reference_sent: REFERENCE });
    const all = {
      link,
      body: BODY,
      token: TOKEN,
      deadline: DEADLINE,
      sent_before: false,
      attempts: 3,
      waits_until_ready: true,
      exponent: 2,
      ...plan,
    };
    return attemptCreate(ports, all);
  }
  const names = () => stand.log.map((line) => line.replace(/ \{.*/, ''));

  it('carry the same key and bytes, and no longer than the deadline', async () => {
    stand.answers = [];
    const { attempts } = await attempt({ link: newLink({ idempotency_key: 'k-1' }) });
    expect(attempts).toBe(3);
    for (const call of stand.asked) {
      expect(call).toMatchObject({ name: 'create', method: 'POST', path: '/v1/orders', idempotency_key: 'k-1' });
      expect(call.body).toBe(BODY);
    }
    expect(stand.slept).toEqual([150, 750]);
    expect(names()).toEqual(Array(3).fill('warn create: ambiguous'));
  });

  it.each([
    [9_000, 4_000],
    [3_000, 3_000],
    [100, 250],
    [-50, 250],
  ])('with %d ms left wait for %d ms', async (left_ms, timeout_ms) => {
    await attempt({ deadline: NOON + left_ms, attempts: 1 });
    expect(stand.asked[0]?.timeout_ms).toBe(timeout_ms);
  });

  it('begin only while the pause and the shortest attempt fit', async () => {
    expect((await attempt({ deadline: NOON + 400 })).attempts).toBe(2);
    stand.now = NOON;
    expect((await attempt({ deadline: NOON + 399 })).attempts).toBe(1);
  });

  it.each([
    [true, 2],
    [false, 1],
  ])('are repeated while upstream says "not yet" for a till that waits (%s)', async (waits_until_ready, sent) => {
    stand.answers = [refusal(409, 'processor_communication_error'), creates()];
    await attempt({ attempts: 1, waits_until_ready });
    expect(stand.asked).toHaveLength(sent);
  });

  it('are as many as asked for', async () => {
    expect((await attempt({ attempts: 1 })).attempts).toBe(1);
    expect((await attempt({ attempts: 2 })).attempts).toBe(2);
    expect(stand.slept).toEqual([150]);
  });

  it('pause for as long as luck says, rounded up', async () => {
    stand.luck = 0.001;
    await attempt({ attempts: 4 });
    expect(stand.slept).toEqual([1, 2, 2]);
  });

  it('wait for as long as a rate limit says, or the usual pause', async () => {
    stand.answers = [answered(429, null, 70), answered(429), creates()];
    expect(await attempt()).toMatchObject({ verdict: { kind: 'success' }, attempts: 3, is_repeat: false });
    expect(stand.slept).toEqual([70, 750]);
    expect(names()).toEqual([]);
  });

  it('end with the first sure refusal', async () => {
    stand.answers = [NOT_SENT, refusal(400, 'bad_request')];
    expect(await attempt()).toMatchObject({ verdict: { kind: 'definite' }, attempts: 2, is_repeat: false });
    expect(stand.log).toEqual([expect.stringContaining('"cause":"ECONNREFUSED"')]);
  });

  it('end with what may not be repeated', async () => {
    stand.answers = [answered(302)];
    expect(await attempt()).toEqual({
      verdict: { kind: 'ambiguous', cause: 'redirect 302', retry: false, busy: false },
      attempts: 1,
      is_repeat: false,
    });
  });

  it('end with what is kept back', async () => {
    stand.answers = [{ kind: 'not_sent', cause: 'shut', kept_back: true }];
    expect(await attempt()).toMatchObject({ verdict: { kind: 'not_sent' }, attempts: 1 });
    stand.answers = [{ kind: 'not_sent', cause: 'shut', kept_back: false }, creates()];
    expect(await attempt()).toMatchObject({ verdict: { kind: 'success' }, attempts: 2, is_repeat: false });
  });

  it('are a repeat once one was ambiguous', async () => {
    stand.answers = [BROKEN, creates()];
    expect(await attempt()).toMatchObject({ verdict: { kind: 'success' }, is_repeat: true });
    stand.answers = [BROKEN, refusal(409, 'already_queued_order_for_terminal')];
    expect(await attempt()).toMatchObject({ verdict: { kind: 'ambiguous', busy: true }, attempts: 2 });
    stand.answers = [creates()];
    expect(await attempt({ sent_before: true })).toMatchObject({ is_repeat: true });
  });

  it('stay ambiguous when the last one was not sent', async () => {
    stand.answers = [answered(500), NOT_SENT, NOT_SENT];
    expect(await attempt()).toMatchObject({ verdict: { kind: 'ambiguous', cause: 'status 500' }, attempts: 3 });
  });

  it.each<[string, Answer, string]>([
    ['not sent now', NOT_SENT, 'ECONNREFUSED'],
    ['refused by a rate limit now', answered(429), 'status 429'],
  ])('of a row that may have been sent before, %s, prove nothing', async (_what, answer, cause) => {
    stand.answers = [answer];
    expect(await attempt({ sent_before: true, attempts: 1 })).toEqual({
      verdict: { kind: 'ambiguous', cause, retry: true, busy: false },
      attempts: 1,
      is_repeat: false,
    });
  });

  it('are paid for by the first ones of all sales', async () => {
    while (stand.ports.memory.retries.spend());
    expect((await attempt({ sent_before: true })).attempts).toBe(1);
    for (let sale = 0; sale < 11; sale++) expect((await attempt({ attempts: 1 })).attempts).toBe(1);
    expect((await attempt({ sent_before: true })).attempts).toBe(2);
    expect((await attempt({ sent_before: true })).attempts).toBe(1);
  });

  it('know of the settings how long one may take', async () => {
    await attempt({ attempts: 1 }, withCreate(stand.ports, { attempt_timeout_ms: 1_234 }));
    expect(stand.asked[0]?.timeout_ms).toBe(1_234);
  });
});
