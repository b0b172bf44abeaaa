/** A legacy create with every outcome upstream: at most one order, and no 2xx in doubt (`docs/protocol.md` §3.5). */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ARGENTINA } from '../../kit.ts';
import { idOf, legacyErrorOf, openShop, type Shop } from './till.ts';

let shop: Shop;

/** A Puente for each group, because the faults of this file would exhaust a single retry budget. */
function openForGroup(): void {
  beforeAll(async () => {
    shop = await openShop();
  });
  afterEach(async () => {
    await shop.clearFaults();
  });
  afterAll(() => shop.close());
}

const CREATE = { method: 'POST', path: '/v1/orders' };
const REPEAT = { ...CREATE, kind: 'reset', when: 'after', nth: 1 };

interface Expectation {
  status: number;
  error?: string;
  state: string;
  orders: number;
  attempts: number;
  told: 'error' | 'maybe';
}

/** @returns the id of the order that its row has. */
async function expectCreate(faults: object[], expected: Expectation): Promise<string | null | undefined> {
  const device = shop.freshDevice();
  for (const fault of faults) await shop.fault(fault);
  const answer = await shop.create(device);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: expected.status });
  if (expected.error !== undefined) expect(legacyErrorOf(answer).error).toBe(expected.error);
  const [row, ...others] = shop.rows(device);
  expect(others).toEqual([]);
  expect(row).toMatchObject({ state: expected.state, client_answer: expected.told, attempts: expected.attempts });
  expect(await shop.orders(device)).toHaveLength(expected.orders);
  return row?.order_id;
}

describe('a definite refusal ends the row, and nothing exists upstream [F16]', () => {
  openForGroup();

  it.each([
    ['already_queued_order_for_terminal', 409, 409, '2205'],
    ['already_queued_order_on_terminal', 409, 409, '2205'],
    ['bad_request', 400, 400, '400'],
    ['forbidden_checking_terminal_owner', 403, 403, '403'],
    ['pos_not_found', 404, 404, '404'],
  ])('%s on the first try', async (code, status, told, error) => {
    const fault = { ...CREATE, kind: 'error', status, code };
    await expectCreate([fault], { status: told, error, state: 'REJECTED', orders: 0, attempts: 1, told: 'error' });
  });

  it('401 on the first try, and the token is asked about again', async () => {
    const before = (await shop.requests('/users/me')).length;
    const fault = { ...CREATE, kind: 'error', status: 401, code: 'unauthorized' };
    await expectCreate([fault], {
      status: 401,
      error: '401',
      state: 'REJECTED',
      orders: 0,
      attempts: 1,
      told: 'error',
    });
    expect((await shop.create(shop.freshDevice())).status).toBe(201);
    expect((await shop.requests('/users/me')).length).toBe(before + 1);
  });

  it('429 every time is refused unexecuted', async () => {
    const fault = { ...CREATE, kind: 'error', status: 429, code: 'too_many_requests', times: 'always' };
    const device = shop.freshDevice();
    await shop.fault(fault);
    const answer = await shop.create(device);
    expect(answer.status).toBe(429);
    expect(legacyErrorOf(answer).error).toBe('105');
    expect(shop.rows(device)).toMatchObject([{ state: 'NOT_SENT', client_answer: 'error' }]);
    expect(await shop.orders(device)).toEqual([]);
  });
});

describe('doubt that a repeat clears: one order, one key, 201', () => {
  openForGroup();

  it.each([
    ['a reset after the effect', { kind: 'reset', when: 'after' }],
    ['a reset before the effect', { kind: 'reset', when: 'before' }],
    ['a socket destroyed while the request is read', { kind: 'refuse' }],
    ['a truncated 201', { kind: 'truncate', when: 'after' }],
    ['an HTML 201', { kind: 'html', status: 201, when: 'after' }],
    ['500 internal_error before the effect', { kind: 'error', status: 500, when: 'before' }],
    ['500 internal_error after the effect', { kind: 'error', status: 500, when: 'after' }],
    ['500 idempotency_validation_failed [F13]', { kind: 'error', status: 500, code: 'idempotency_validation_failed' }],
    ['502', { kind: 'html', status: 502, when: 'after' }],
    ['503', { kind: 'error', status: 503, when: 'before' }],
    ['silence after the effect', { kind: 'no_answer', when: 'after' }],
    ['silence before the effect', { kind: 'no_answer', when: 'before' }],
  ])('%s', async (_name, fault) => {
    const order_id = await expectCreate([{ ...CREATE, ...fault }], {
      status: 201,
      state: 'LIVE',
      orders: 1,
      attempts: 2,
      told: 'maybe',
    });
    // Of this order alone: sales of the other tests are read in the background, once a test takes long enough.
    const reads = await shop.requests(`/v1/orders/${order_id}`);
    expect(
      reads.map(({ method }) => method),
      'the answer to a repeat may be a stored one',
    ).toEqual(['GET']);
  });
});

describe('doubt that stays: an error for the till, the row in doubt', () => {
  openForGroup();

  it.each([
    [
      '409 idempotency_key_already_used on the first try',
      [{ kind: 'error', status: 409, code: 'idempotency_key_already_used', times: 'always' }],
      504,
      1,
      0,
    ],
    ['400 on a repeat', [REPEAT, { kind: 'error', status: 400, code: 'bad_request', nth: 2 }], 504, 2, 1],
    ['404 on a repeat', [REPEAT, { kind: 'error', status: 404, code: 'pos_not_found', nth: 2 }], 504, 2, 1],
    ['401 on a repeat', [REPEAT, { kind: 'error', status: 401, code: 'unauthorized', nth: 2 }], 504, 2, 1],
    [
      '403 on a repeat',
      [REPEAT, { kind: 'error', status: 403, code: 'forbidden_checking_terminal_owner', nth: 2 }],
      504,
      2,
      1,
    ],
    [
      'the queue is taken on a repeat, maybe by ours',
      [REPEAT, { kind: 'error', status: 409, code: 'already_queued_order_for_terminal', nth: 2 }],
      409,
      2,
      1,
    ],
    ['a redirect', [{ kind: 'error', status: 302, times: 'always' }], 504, 1, 0],
    ['a 201 that is HTML every time', [{ kind: 'html', status: 201, when: 'before', times: 'always' }], 504, null, 0],
  ])('%s', async (_name, faults, status, attempts, orders) => {
    const device = shop.freshDevice();
    // A later rule must see the requests that an earlier one acted on, so the rule for the repeat is added first.
    for (const fault of faults.toReversed()) await shop.fault({ ...CREATE, ...fault });
    const answer = await shop.create(device);
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status });
    legacyErrorOf(answer);
    const [row] = shop.rows(device);
    expect(row).toMatchObject({ state: 'IN_DOUBT', client_answer: 'error', body_kept: 1 });
    if (attempts !== null) expect(row?.attempts).toBe(attempts);
    expect(answer.headers['x-puente-intent'], 'support can find the row').toBe(row?.legacy_id);
    expect(await shop.orders(device)).toHaveLength(orders);
  });
});

describe('what the till gets for a create', () => {
  openForGroup();

  it('has the fields as they were sent, a UUID, and no state', async () => {
    const device = shop.freshDevice();
    const additional_info = { external_reference: 'Pedido 002', print_on_terminal: true, ticket_number: 'T1' };
    const answer = await shop.create(device, { additional_info });
    expect(answer.body).toEqual({
      id: idOf(answer),
      device_id: device,
      amount: 1500,
      additional_info,
      payment_mode: 'card',
    });
    expect(idOf(answer)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});

describe('a terminal that is held by what is no open sale of ours', () => {
  openForGroup();

  const HELD = { ...CREATE, kind: 'error', status: 409, code: 'already_queued_order_on_terminal' };

  async function incidents(device: string): Promise<string[]> {
    const { body } = await shop.ops('/api/incidents');
    const found = (body as { incidents: { kind: string; subject: string; reason: string }[] }).incidents; // the API's shape
    return found.filter(({ subject }) => subject === device).map(({ kind, reason }) => `${kind}: ${reason}`);
  }

  it('is told at once, and operators read what it may be, once until a sale goes well there', async () => {
    const device = shop.freshDevice();
    await shop.fault({ ...HELD, nth: 1, times: 2 });
    const before = (await shop.requests('/v1/orders')).length;
    for (let nth = 0; nth < 2; nth++)
      expect(legacyErrorOf(await shop.create(device))).toMatchObject({ error: '2205', status: 409 });
    expect((await shop.requests('/v1/orders')).length).toBe(before + 2);
    expect(await incidents(device)).toEqual([expect.stringMatching(/^terminal_held: .*made without Puente/)]);
    expect((await shop.ops('/metrics')).text).toMatch(/puente_held_terminals_total\{by="foreign"\} 2/);
    expect((await shop.create(device)).status).toBe(201);
  });

  it('may be held by an order whose end nobody has seen', async () => {
    const device = shop.freshDevice();
    expect((await shop.create(device)).status).toBe(201);
    await shop.control(`/terminals/${ARGENTINA}/${device}/confirm_needed`, { body: {} });
    await shop.fault({ ...HELD, nth: 1 });
    expect(legacyErrorOf(await shop.create(device, { amount: 1700 })).error).toBe('2205');
    const [row] = shop.rows(device);
    expect(await incidents(device)).toEqual([expect.stringContaining(`by the order of sale ${row?.legacy_id}`)]);
  });
});
