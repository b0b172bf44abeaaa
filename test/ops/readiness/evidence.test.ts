/** Evidence end to end (API, command): a shadowed merchant's calls become verdicts, losses, coverage, differences. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { CoverageView, LossView, UnknownView, VerdictView } from '../../../src/ops/readiness/coverage.ts';
import type { DifferenceView } from '../../../src/ops/readiness/differences.ts';
import type { Readiness } from '../../../src/ops/readiness/facts.ts';
import { ARGENTINA, BRAZIL, DEVICE, eventually, OPS_TOKEN, POINT, startBench } from '../../kit.ts';
import { closing, openForAll } from '../../open.ts';
import { openQrShop, orderPath } from '../../proxy/http/qr-till.ts';
import { command } from '../moves/command.ts';

const INTENTS = `${POINT}/devices/${DEVICE}/payment-intents`;

const bench = openForAll(() => startBench({ PUENTE_MOVES_MIN_SAMPLE: '1', PUENTE_ROUTING_DEFAULT_STAGE: 'shadow' }));
beforeAll(async () => {
  const created = await bench.till(INTENTS, { body: { amount: 1500, tip: 100 }, headers: { 'x-corporation-id': '9' } });
  expect(created.status).toBe(201);
  const { id } = created.body as { id: string }; // the create succeeded
  await bench.till(`${POINT}/payment-intents/${id}`);
  await bench.till(`${POINT}/devices?limit=50&offset=0`);
  await bench.till(`${INTENTS}/${id}`, { method: 'DELETE' });
  await recorded(ARGENTINA, 4);
});

/** Waits until the evidence holds this many calls of a merchant, double reads included. */
async function recorded(merchant: string, calls: number): Promise<void> {
  await eventually(
    () => asked<Readiness>(`/api/merchants/${merchant}/readiness`),
    ({ operations }) => operations.reduce((sum, one) => sum + one.calls, 0) >= calls,
  );
}

async function asked<View>(path: string): Promise<View> {
  const answer = await bench.ops(path);
  expect(answer.status, answer.text).toBe(200);
  return answer.body as View; // the API's shape
}

const cli = (...argv: string[]) => command(argv, { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN: OPS_TOKEN });

describe('refused', () => {
  it.each([
    ['GET', '/api/merchants/nobody/readiness', undefined, 400, "the vendor's user id is needed"],
    ['GET', '/api/differences?state=old', undefined, 400, 'state'],
    ['GET', '/api/losses?weight=heavy', undefined, 400, 'weight'],
    ['GET', `/api/differences/${ARGENTINA}/0011223344556677`, undefined, 404, 'puente differences list'],
    [
      'PUT',
      `/api/differences/${ARGENTINA}/0011223344556677`,
      { state: 'fixed', note: 'mended', revision: 1 },
      404,
      'puente differences list',
    ],
    ['PUT', `/api/differences/${ARGENTINA}/0011223344556677`, { state: 'fixed', revision: 1 }, 400, 'say why'],
    [
      'PUT',
      `/api/differences/${ARGENTINA}/0011223344556677`,
      { state: 'new', note: 'again', revision: 1 },
      400,
      'state',
    ],
  ])('%s %s', async (method, path, body, status, message) => {
    const answer = await bench.ops(path, { method, ...(body === undefined ? {} : { body }) });
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(message);
  });
});

describe('of a shadowed merchant', () => {
  it('the verdict names what blocks and what is unproven, each with a command; nothing is green by default', async () => {
    const found = await asked<Readiness>(`/api/merchants/${ARGENTINA}/readiness`);
    expect([found.verdict, found.blockers]).toEqual(['inconclusive', []]);
    expect(found.unproven.map(({ code, what }) => `${code}: ${what}`)).toEqual([
      'legacy_only: 1 call of read of an intent succeeded, on legacy alone: on orders only a canary proves it.',
      'legacy_only: 1 call of cancel of an intent succeeded, on legacy alone: on orders only a canary proves it.',
      'never_seen: No refund was ever seen: it is proven by one successful call from a till of this merchant.',
      expect.stringMatching(/^no_notice_url: Notices of intents could not be sent/),
      'unknown_noted: The field body.tip was seen once, and is in no table.',
    ]);
    expect(found.unproven.map(({ command }) => command)).toContain(
      `puente merchants set ${ARGENTINA} --notify https://… --reason …`,
    );
    expect(found.remarks.map(({ code }) => code)).toContain('loss_money');
    const nobody = await asked<Readiness>(`/api/merchants/${BRAZIL}/readiness`);
    expect([nobody.verdict, nobody.unproven[0]?.code, nobody.operations]).toEqual(['inconclusive', 'not_seen', []]);
  });

  it('the ledger has money first, and a sentence for the till’s maker', async () => {
    const { losses } = await asked<{ losses: LossView[] }>(`/api/losses?merchant=${ARGENTINA}`);
    expect(
      losses.map(({ field, weight, would_be_count, real_count }) => [field, weight, would_be_count, real_count]),
    ).toEqual([
      ['body.tip', 'money', 1, 0],
      ['headers.x-corporation-id', expect.any(String), 1, 0],
    ]);
    for (const { advice, field } of losses) {
      expect(advice).toContain(`${field} with POST /point/integration-api/devices/:device_id/payment-intents`);
      expect(advice).toMatch(/\. [A-Z].+\.$/);
    }
    expect((await asked<{ losses: LossView[] }>('/api/losses?weight=money')).losses).toHaveLength(1);
  });

  it('coverage tells equal, different and never seen apart, and which operations never came', async () => {
    const found = await asked<CoverageView>(`/api/merchants/${ARGENTINA}/coverage`);
    const stateOf = (operation: string, field: string) =>
      found.cells.find((cell) => cell.operation === operation && cell.field === field)?.state;
    expect(stateOf('point.create_intent', 'body.amount')).toBe('equal');
    expect(stateOf('point.create_intent', 'body.tip')).toBe('different');
    expect(stateOf('point.create_intent', 'headers.x-corporation-id')).toBe('different');
    expect(stateOf('point.create_intent', 'body.additional_info.ticket_number')).toBe('never_seen');
    // The read is proxied, so only its path is seen; the list is read from both sides with the same query.
    expect(stateOf('point.get_intent', 'path.intent_id')).toBe('seen');
    expect(stateOf('point.list_devices', 'query.limit')).toBe('equal');
    expect(stateOf('point.list_devices', 'query.store_id')).toBe('never_seen');
    // The field exists in Brazil only; this merchant is in Argentina.
    expect(stateOf('point.create_intent', 'body.payment.installments')).toBeUndefined();
    expect(stateOf('point.list_devices', 'answer.devices[].id')).toBe('equal');
    expect(found.operations.find(({ operation }) => operation === 'qr.put_order')).toEqual({
      operation: 'qr.put_order',
      calls: 0,
    });
    const seen = await asked<CoverageView>(
      `/api/merchants/${ARGENTINA}/coverage?state=never_seen&operation=qr.put_order`,
    );
    expect(seen.cells.length).toBeGreaterThan(10);
    expect(seen.cells.every(({ state, last_at }) => state === 'never_seen' && last_at === null)).toBe(true);
  });

  it('what no table knows is listed, and so is what would have become of the create', async () => {
    const { unknowns } = await asked<{ unknowns: UnknownView[] }>(`/api/unknowns?merchant=${ARGENTINA}`);
    expect(unknowns).toMatchObject([{ what: 'field', name: 'body.tip', count: 1 }]);
    const { verdicts } = await asked<{ verdicts: VerdictView[] }>('/api/verdicts');
    expect(verdicts).toMatchObject([{ merchant_id: ARGENTINA, verdict: 'accepted', code: null, count: 1 }]);
  });
});

describe('a difference', () => {
  const list = async (): Promise<DifferenceView[]> =>
    (await asked<{ differences: DifferenceView[] }>(`/api/differences?merchant=${BRAZIL}`)).differences;

  /** Legacy accepts the amount; as an order it is below the minimum. */
  async function small(calls: number): Promise<void> {
    const created = await bench.till(INTENTS, {
      merchant: BRAZIL,
      body: { amount: 100, payment: { type: 'voucher_card' } },
    });
    const { id } = created.body as { id?: string }; // absent where legacy refuses it
    if (id !== undefined) await bench.till(`${INTENTS}/${id}`, { merchant: BRAZIL, method: 'DELETE' });
    await recorded(BRAZIL, calls);
  }

  it('is judged with a note, an end where it is accepted, and a revision; it is new again when it comes again', async () => {
    await small(2);
    const [one] = await list();
    expect(one).toMatchObject({ state: 'new', count: 1, what: 'verdict' });
    const path = `/api/differences/${BRAZIL}/${one?.signature}`;
    const judge = (body: Record<string, unknown>) =>
      bench.ops(path, { method: 'PUT', body: { note: 'agreed with the shop', revision: one?.revision, ...body } });
    const day = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();
    for (const [body, says] of [
      [{ state: 'accepted' }, 'nothing is accepted for ever'],
      [{ state: 'accepted', accepted_until: day(-1) }, 'in the future'],
      [{ state: 'accepted', accepted_until: day(91) }, 'more than 90 days'],
      [{ state: 'fixed', accepted_until: day(1) }, 'belongs to accepted alone'],
    ] as const) {
      const refused = await judge(body);
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(says)]);
    }
    expect((await judge({ state: 'accepted', accepted_until: day(30), revision: 99 })).status).toBe(409);
    expect((await asked<Readiness>(`/api/merchants/${BRAZIL}/readiness`)).blockers.map(({ code }) => code)).toContain(
      'predicted_refusal',
    );
    const accepted = await judge({ state: 'accepted', accepted_until: day(30) });
    expect(accepted.body).toMatchObject({ state: 'accepted', note: 'agreed with the shop', who: 'operator' });
    expect(
      (await asked<Readiness>(`/api/merchants/${BRAZIL}/readiness`)).blockers.map(({ code }) => code),
    ).not.toContain('predicted_refusal');
    const audit = await asked<{ lines: { action: string; reason: string; detail: unknown }[] }>(
      `/api/audit?subject=${BRAZIL}`,
    );
    expect(audit.lines[0]).toMatchObject({
      action: 'judge difference',
      reason: 'agreed with the shop',
      detail: { signature: one?.signature, before: { state: 'new' }, after: { state: 'accepted' } },
    });
    const lines = audit.lines.length;
    const { state, accepted_until, revision } = accepted.body as DifferenceView;
    const again = { state, accepted_until, revision };
    expect((await judge({ ...again, revision: 99 })).status).toBe(409);
    expect((await judge(again)).body).toMatchObject({ result: 'unchanged', revision });
    expect((await asked<{ lines: unknown[] }>(`/api/audit?subject=${BRAZIL}`)).lines).toHaveLength(lines);
    expect((await judge({ ...again, note: 'agreed with the shop by mail' })).body).toMatchObject({ result: 'judged' });
    const fixed = await cli(
      'differences',
      'judge',
      BRAZIL,
      String(one?.signature),
      'fixed',
      '--note',
      'the till was mended',
    );
    expect([fixed.code, fixed.err]).toEqual([0, '']);
    await small(4);
    expect(await list()).toMatchObject([{ state: 'new', count: 2 }]);
  });
});

it('readiness names small sales by QR, which legacy takes and orders would refuse (LIM-12)', async () => {
  await using shop = closing(await openQrShop({ PUENTE_ROUTING_DEFAULT_STAGE: 'shadow' }));
  const item = { title: 'Sugar', unit_price: 10.1, quantity: 1, unit_measure: 'unit', total_amount: 10.1 };
  const small = {
    external_reference: 'small',
    title: 'Shop',
    description: 'Sugar',
    total_amount: 10.1,
    items: [item],
  };
  const path = orderPath(shop.freshTill().external_id);
  expect((await shop.till(path, { method: 'PUT', body: small })).status).toBe(204);
  const { blockers } = await eventually(
    async () => (await shop.ops(`/api/merchants/${ARGENTINA}/readiness`)).body as Readiness, // the API's shape
    (view) => view.blockers.length > 0,
  );
  expect(blockers).toEqual([
    expect.objectContaining({
      code: 'predicted_refusal',
      what: expect.stringMatching(/^qr\.put_order: legacy accepted it once, .*the minimum of its site/),
    }),
  ]);
});
