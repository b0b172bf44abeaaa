/** The shadow of a create: its would-be order, the predicted verdict with its code, and the differences from legacy. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseJson } from '../../../src/contract/json.ts';
import { upstreamErrorCodes } from '../../../src/contract/upstream.ts';
import { PuenteError } from '../../../src/error.ts';
import { loadTables } from '../../../src/mapping/load.ts';
import type { ShadowFinding } from '../../../src/proxy/evidence/exchange.ts';
import { type Prediction, predict, predictedBody } from '../../../src/proxy/shadow/predict.ts';
import { rulesOf } from '../../../src/proxy/shadow/rules.ts';
import { compareCreate, hasShadow, isOlderForm, isSameFinding, shadowOf } from '../../../src/proxy/shadow/shadow.ts';
import { tablesDirectory } from '../../mapping/kit.ts';
import { type Create, tables, taskOf, tools } from './kit.ts';
import { discountedQrOrder, type Json, pointOrder, qrOrder } from './orders.ts';

const DEVICE = 'PAX_A910__SMARTPOS0000000001';
const intent = (site: string | null, body: unknown, rest: Partial<Create> = {}): Create => ({
  operation: 'point.create_intent',
  site,
  path: { device_id: DEVICE },
  body,
  ...rest,
});
const item = { title: 'Café', unit_price: 150, quantity: 1, unit_measure: 'unit', total_amount: 150 };
const sale = (body: object = {}, rest: Partial<Create> = {}): Create => ({
  operation: 'qr.put_order',
  site: 'MLA',
  path: { user_id: '700100200', external_pos_id: 'SUC001POS001' },
  body: { external_reference: 'sale-1', title: 'Compra', total_amount: 150, items: [item], ...body },
  ...rest,
});
const found = (create: Create): ShadowFinding => shadowOf(tools, taskOf(create));

describe('a create that orders refuse', () => {
  it.each<[string, Create, Partial<ShadowFinding>]>([
    [
      'on a terminal whose id has another form',
      intent('MLA', { amount: 1500 }, { path: { device_id: 'GERTEC-1' } }),
      { verdict: 'refused_there', status: 400, code: 'property_value', error: '400' },
    ],
    [
      'below the least amount of the site',
      intent('MLA', { amount: 1499 }),
      { verdict: 'refused_there', code: 'property_value', error: '400' },
    ],
    [
      'by QR below the least amount of the site',
      sale({ total_amount: 14, items: [{ ...item, unit_price: 14, total_amount: 14 }] }),
      { verdict: 'refused_there', code: 'property_value', error: 'invalid_total_amount' },
    ],
    [
      'on a terminal where there are none',
      intent('MLU', { amount: 1500 }),
      { verdict: 'refused_there', code: 'unsupported_site', error: '400' },
    ],
    [
      'by QR in Mexico',
      sale({}, { site: 'MLM', path: { user_id: '700100400', external_pos_id: 'SUC001POS001' } }),
      { verdict: 'refused_there', code: 'unsupported_site', error: 'bad_request' },
    ],
    [
      'with a sponsor that is no user',
      sale({ sponsor: { id: 'shop' } }),
      { verdict: 'refused_there', status: 400, code: 'sponsor_id_not_valid', error: 'invalid_sponsor.id' },
    ],
    [
      'by a row of a table',
      intent('MLM', { amount: 1500, description: 'Mesa 4' }),
      {
        verdict: 'refused_here',
        status: null,
        code: null,
        error: '400',
        order: null,
        detail:
          'Additional property description is not allowed: Mexico answers 400 to a description. (point.create.request#5)',
      },
    ],
    [
      'by the legacy contract itself',
      intent('MLA', { amount: 12.5 }),
      { verdict: 'refused_here', error: '400', detail: 'amount is not valid: the legacy contract' },
    ],
    [
      'for a voucher, where the merchant has not said to drop it',
      intent('MLB', { amount: 1500, payment: { type: 'voucher_card' } }),
      { verdict: 'refused_here', error: '400' },
    ],
    [
      "for a path that is not the caller's",
      sale({}, { path: { user_id: '700100999', external_pos_id: 'SUC001POS001' } }),
      { verdict: 'refused_here', error: 'bad_request', detail: expect.stringMatching(/^Collector ID/) as string },
    ],
    [
      'for a path without a seller',
      sale({}, { path: { user_id: 'me', external_pos_id: 'SUC001POS001' } }),
      { verdict: 'refused_here', error: 'invalid_collectorId' },
    ],
    [
      'for a till that no order can name',
      sale({}, { path: { user_id: '700100200', external_pos_id: 'caja 1' } }),
      { verdict: 'refused_here', error: 'invalid_externalPosId' },
    ],
    [
      'for a date that is over',
      sale({ expiration_date: '2026-11-21T11:59:59Z' }),
      { verdict: 'refused_here', error: 'invalid_expiration_date' },
    ],
  ])('%s', (_, create, expected) => {
    expect(found(create)).toMatchObject(expected);
  });

  it.each(['1500.0', '1.5E+3', '150000e-2'])(
    'but a whole number that is spelled %s is not such a create [F69]',
    (written) => {
      const body = parseJson(`{"amount":${written},"payment":{"type":"credit_card","installments":${written}}}`);
      expect(found(intent('MLB', body))).toMatchObject({ verdict: 'accepted', error: null });
    },
  );

  it('is told with the rule and its field, and without a value', () => {
    const { detail } = found(intent('MLA', { amount: 1500 }, { path: { device_id: 'GERTEC-1' } }));
    expect(detail).toBe(
      'config.point.terminal_id: The id of a terminal is its type and its serial with two underscores between them.',
    );
  });
});

describe('a create that orders take', () => {
  it('is shown with its order, its rows and its losses', () => {
    const body = { amount: 1500, description: 'Mesa 4', additional_info: { external_reference: 'sale-7' }, tip: 100 };
    const finding = found(intent('MLA', body, { headers: { 'x-platform-id': 'p' } }));
    expect(finding).toMatchObject({ verdict: 'accepted', status: null, code: null, error: null, detail: null });
    expect(finding.order).toEqual({
      type: 'point',
      external_reference: 'sale-7',
      transactions: { payments: [{ amount: '15.00' }] },
      config: { point: { terminal_id: DEVICE } },
      integration_data: { platform_id: 'p' },
    });
    expect(finding.losses.map(({ path }) => path).sort()).toEqual(['body.description', 'body.tip']);
    expect(finding.fired).toContain('point.create.request#8');
    expect(finding.took_ms).toBeGreaterThanOrEqual(0);
  });

  it.each([
    ['qr.put_order', 'static'],
    ['qr.create_code', 'dynamic'],
    ['qr.create_code_singular', 'dynamic'],
    ['qr.put_code', 'hybrid'],
  ])('%s shows %s', (operation, mode) => {
    const { order } = found({ ...sale(), operation });
    expect(order).toMatchObject({ total_amount: '150.00', config: { qr: { external_pos_id: 'SUC001POS001', mode } } });
  });

  it('of v1 by the number of its till has stand-ins of the right form, and its ten minutes', () => {
    const body = { external_reference: 'mesa 4', items: [{ ...item, currency_id: 'ARS' }] };
    const { verdict, order } = found(sale(body, { operation: 'qr_v1.create_by_number', path: { pos_id: '1000001' } }));
    expect(verdict).toBe('accepted');
    const { external_reference, expiration_time, config } = order as Json;
    expect(external_reference).toMatch(/^pnt[0-9a-f]{32}$/);
    expect([expiration_time, config]).toEqual(['PT600S', { qr: { external_pos_id: 'POS0', mode: 'static' } }]);
  });

  it('is shown redacted', () => {
    const seen: unknown[] = [];
    const redact = (value: unknown) => {
      seen.push(value);
      return 'clean';
    };
    expect(shadowOf({ ...tools, redact }, taskOf(sale())).order).toBe('clean');
    expect(seen).toHaveLength(1);
  });

  it('whose site is not known is not judged by a site', () => {
    expect(found(intent(null, { amount: 1 })).verdict).toBe('accepted');
    expect(found(intent('MPE', { amount: 1500 })).code).toBe('unsupported_site');
  });
});

describe('an operation that makes no order', () => {
  it.each(['point.list_devices', 'point.change_mode', 'qr.confirm_withdrawal', 'qr.cancel_order'])(
    '%s',
    (operation) => {
      const task = taskOf({ operation, site: 'MLA', path: {} });
      expect(hasShadow(tables, task)).toBe(false);
      expect(() => shadowOf(tools, task)).toThrowError(PuenteError);
    },
  );

  it.each([null, 'point.long_gone'])('is any that these tables do not have: %s', (operation) => {
    const task = taskOf(sale(), { operation });
    expect(hasShadow(tables, task)).toBe(false);
    expect(() => shadowOf(tools, task)).toThrowError(PuenteError);
  });
});

describe('the rules', () => {
  const facts = {
    site: 'MLA',
    exponent: 2,
    has_key: true,
    is_oauth: true,
    is_marketplace: true,
    may_hand_out_cash: true,
  };
  const point = (change: object): Json => ({ ...pointOrder('r', '150.00'), ...change });
  const qr = (change: object): Json => ({ ...qrOrder('r', '150.00'), ...change });
  const cash = discountedQrOrder('r', '150.00', '200.00', '50.00');

  it.each<[string, unknown, object, Partial<Prediction>]>([
    ['bad_request', 'order', {}, { code: 'bad_request', path: '' }],
    ['empty_required_header', point({}), { has_key: false }, { code: 'empty_required_header' }],
    ['unsupported_site', qr({}), { site: 'MLM' }, { code: 'unsupported_site' }],
    ['minimum_properties', point({ config: {} }), {}, { code: 'minimum_properties', path: 'config' }],
    ['unsupported_properties', point({ total_amount: '150.00' }), {}, { code: 'unsupported_properties' }],
    ['required_properties', point({ external_reference: undefined }), {}, { path: 'external_reference' }],
    ['property_type', qr({ total_amount: 150 }), {}, { code: 'property_type', path: 'total_amount' }],
    ['minimum_items', point({ transactions: { payments: [] } }), {}, { code: 'minimum_items' }],
    [
      'maximum_items',
      point({ transactions: { payments: [{ amount: '75.00' }, { amount: '75.00' }] } }),
      {},
      { code: 'maximum_items' },
    ],
    ['property_value', point({ expiration_time: 'PT3H1S' }), {}, { code: 'property_value', path: 'expiration_time' }],
    ['a life that QR takes', qr({ expiration_time: 'PT3H1S', total_amount: '1.00' }), {}, { path: 'total_amount' }],
    [
      'sponsor_id_not_valid',
      point({ integration_data: { sponsor: { id: 'x' } } }),
      {},
      { code: 'sponsor_id_not_valid' },
    ],
    ['seller_configuration', cash, { may_hand_out_cash: false }, { code: 'seller_configuration' }],
    ['marketplace_not_valid', qr({ marketplace_fee: '1.00' }), { is_oauth: false }, { code: 'marketplace_not_valid' }],
    [
      'marketplace_fee_not_allowed',
      qr({ marketplace_fee: '1.00' }),
      { is_marketplace: false },
      { code: 'marketplace_fee_not_allowed', status: 404 },
    ],
    [
      'discounts with categories',
      qr({ discounts: { payment_methods: [{ type: 'debit_card', new_total_amount: '10.00' }] } }),
      {},
      { code: 'bad_request', path: 'discounts' },
    ],
    ['a fraction of a peso of Chile', point({}), { site: 'MLC', exponent: 0 }, { code: 'property_value' }],
  ])('%s', (_, order, known, expected) => {
    const sent: unknown = JSON.parse(JSON.stringify(order));
    expect(predict(sent, { ...facts, ...known })).toMatchObject(expected);
  });

  it('take what is right, and what hangs on things that nobody knows', () => {
    const unknown = { ...facts, is_oauth: null, is_marketplace: null, may_hand_out_cash: null };
    for (const order of [point({}), qr({}), qr({ marketplace_fee: '1.00' }), cash])
      expect(predict(order, unknown)).toBeNull();
  });

  it('say their least amount as the service does', () => {
    const cheap = point({ transactions: { payments: [{ amount: '14.99' }] } });
    expect(predict(cheap, facts)?.message).toBe('Must be greater than or equal to 15.00');
  });

  it('are each a sentence with a source and a documented code, whose legacy error has a row in every family', () => {
    const documented = upstreamErrorCodes.create.map(([status, code]) => `${status} ${code}`);
    const rules = [...new Set([...rulesOf.point, ...rulesOf.qr])];
    expect(rules.length).toBeGreaterThan(100);
    for (const { path, status, code, why, source } of rules) {
      expect(documented).toContain(`${status} ${code}`);
      expect(why, `${path} ${code}`).toMatch(/^\S.{10,}\.$/);
      expect(source).toMatch(/^docs\/field-notes\.md /);
      const body = predictedBody({ status, code, path, message: why, detail: why, rule: path });
      for (const family of ['point', 'qr', 'qr_v1'] as const)
        expect(tables.error(family, 'create', status, body, { exponent: 2 }).default).toBe(false);
    }
  });
});

describe('beside what legacy did', () => {
  const create = intent('MLA', { amount: 1500 }, { path: { device_id: 'GERTEC-1' } });
  const fine = intent('MLA', { amount: 1500 });
  const compared = (one: Create, status: number, error: string | null) =>
    compareCreate(tables, taskOf(one, { status, error }), found(one));

  it('legacy took what orders would refuse', () => {
    expect(compared(create, 200, null)).toMatchObject({
      operation: 'point.create_intent',
      what: 'verdict',
      path: '',
      legacy: '200',
      orders: expect.stringContaining('refused_there 400 property_value 400 config.point.terminal_id'),
      signature: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
  });

  it('legacy refused what orders would take, and both refuse in other words', () => {
    expect(compared(fine, 400, '400')).toMatchObject({ what: 'verdict', legacy: '400', orders: 'accepted' });
    expect(compared(create, 400, 'bad_request')).toMatchObject({ what: 'error', legacy: '400 bad_request' });
    expect(compared(create, 400, '400')).toBeNull();
    expect(compared(fine, 200, null)).toBeNull();
  });

  it.each([401, 403, 404, 409, 429, 500, 503, 302])('legacy answered %i, which no rule can know', (status) => {
    expect(compared(fine, status, 'x')).toBeNull();
    expect(compared(create, status, 'x')).toBeNull();
  });

  it('a till that left before it was told anything, and an answer that broke off, say nothing of legacy', () => {
    for (const status of [499, 200]) {
      const task = taskOf(create, { status, error: null, outcome: 'fault' });
      expect(compareCreate(tables, task, found(create))).toBeNull();
      expect(
        compareCreate(tables, { ...task, exchange: { ...task.exchange, outcome: 'ok', status: 200 } }, found(create)),
      ).not.toBeNull();
    }
  });

  it('has one signature whatever the values, and another for another rule or another answer', () => {
    const signature = (one: Create, status = 200) => compared(one, status, status === 200 ? null : 'x')?.signature;
    const other = intent('MLB', { amount: 99_900 }, { path: { device_id: 'ANOTHER' } });
    expect(signature(other)).toBe(signature(create));
    const cheap = intent('MLA', { amount: 3 });
    expect(new Set([signature(create), signature(create, 400), signature(cheap), signature(fine, 400)]).size).toBe(4);
  });

  const described = intent('MLM', { amount: 1500, description: 'Mesa 4' });

  it('has one signature whatever the wording of a reason', () => {
    const folder = mkdtempSync(join(tmpdir(), 'puente-reworded-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    cpSync(tablesDirectory, folder, { recursive: true });
    const file = join(folder, 'point/create.request.yaml');
    const written = readFileSync(file, 'utf8');
    const reworded = written.replace('Mexico answers 400 to a description.', 'A description is refused in Mexico.');
    expect(reworded).not.toBe(written);
    writeFileSync(file, reworded);
    const other = loadTables(folder);
    const [now, then] = [tables, other].map((of) => {
      const task = taskOf(described);
      return compareCreate(of, task, shadowOf({ ...tools, tables: of }, task));
    });
    expect(then?.orders).toContain('A description is refused in Mexico.');
    expect(now?.orders).not.toBe(then?.orders);
    expect(now?.signature).toBe(then?.signature);
    const rule = found(create);
    const said = { ...rule, detail: 'config.point.terminal_id: Another sentence.' };
    expect(compareCreate(tables, taskOf(create), said)?.signature).toBe(compared(create, 200, null)?.signature);
  });

  it.each<[string, Create, string, boolean]>([
    ['a rule', create, 'refused_there 400 property_value 400 config.point.terminal_id: Older words.', true],
    ['a rule on another field', create, 'refused_there 400 property_value 400 config.point: Older words.', false],
    ['a rule with another code', create, 'refused_there 400 property_type 400 config.point.terminal_id: Words.', false],
    [
      'a row',
      described,
      'refused_here 400 Additional property description is not allowed: Older words. (point.create.request#5)',
      true,
    ],
    [
      'another row',
      described,
      'refused_here 400 Additional property description is not allowed: Older words. (point.create.request#6)',
      false,
    ],
    ['no row', described, 'refused_here 400 Additional property description is not allowed: the contract', false],
    ['the contract', intent('MLA', { amount: 12.5 }), 'refused_here 400 amount is not valid: older words', true],
    ['the body', intent('MLA', []), 'refused_here 400 Invalid JSON body: older words', true],
    [
      'one of two rules on one field',
      intent('MLA', { amount: 3 }),
      'refused_there 400 property_value 400 transactions.payments[].amount: An amount is not below the minimum of its site, and never zero.',
      true,
    ],
    [
      'one of two rules on one field, in other words',
      intent('MLA', { amount: 3 }),
      'refused_there 400 property_value 400 transactions.payments[].amount: An amount is not below the least one.',
      false,
    ],
    [
      'the other of two rules on one field',
      intent('MLA', { amount: 3 }),
      'refused_there 400 property_value 400 transactions.payments[].amount: An amount is a decimal text with two decimals or none, as the currency has them.',
      false,
    ],
    ['a site', intent('MLU', { amount: 1500 }), 'refused_there 400 unsupported_site 400 order: Older words.', true],
  ])('knows an earlier difference by %s: %s', (_, one, orders, is_same) => {
    const { older } = compared(one, 200, null) ?? {};
    expect(older && isOlderForm(older, orders)).toBe(is_same);
    const { cause: __, ...then } = found(one);
    expect(isSameFinding(tables, taskOf(one), then, found(one))).toBe(true);
  });

  it('without a sentence or an operation of these tables is known by its signature alone', () => {
    expect(compared(fine, 400, '400')?.older).toBeUndefined();
    const task = taskOf(create);
    const gone = { ...task, exchange: { ...task.exchange, operation: 'point.long_gone' } };
    expect(compareCreate(tables, gone, found(create))?.older).toBeUndefined();
    expect(isSameFinding(tables, taskOf(fine), found(fine), found(create))).toBe(false);
  });
});
