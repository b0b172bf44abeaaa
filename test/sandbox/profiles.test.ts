/** The two profiles side by side: the specification to the letter, and what the field does differently. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Profile, profileSettings } from '../../src/sandbox/assumptions.ts';
import { BRAZIL, CHILE, codeOf, orderBody, UNKNOWN_ORDER, VIRTUAL_TERMINAL } from './kit.ts';
import { amount, openQrKit, type QrKit, qrBody, qrItem } from './qr-kit.ts';

const kits: Partial<Record<Profile, QrKit>> = {};
beforeAll(async () => {
  for (const profile of ['specification', 'field'] as const) kits[profile] = await openQrKit({}, profile);
});
beforeEach(async () => {
  for (const kit of Object.values(kits)) await kit.control('POST', 'reset');
});
afterAll(async () => {
  for (const kit of Object.values(kits)) await kit.close();
});

/** Runs the same in both, and puts what came of it side by side. */
async function both<T>(run: (kit: QrKit) => Promise<T>): Promise<Record<Profile, T>> {
  const [specification, field] = [kits.specification, kits.field];
  if (specification === undefined || field === undefined) throw new Error('the kits are open while tests run');
  return { specification: await run(specification), field: await run(field) };
}

/** What a create came to: `201`, or status and code. */
async function verdict(kit: QrKit, body: object, merchant?: string): Promise<string> {
  const reply = await kit.call('POST', '/v1/orders', { key: 'k1', body, ...(merchant && { merchant }) });
  return reply.status === 201 ? '201' : `${reply.status} ${codeOf(reply)}`;
}

const point = (changes: object) => (kit: QrKit) => verdict(kit, orderBody(changes));
const payments = (text: string) => ({ transactions: { payments: [{ amount: text }] } });
const cost = (terminal_id: string, payment_method: object) => ({ config: { point: { terminal_id }, payment_method } });

describe('creates', () => {
  test.each([
    ['one decimal on Point', point(payments('20.0')), '400 property_value', '201'],
    ['two decimals, and none', point(payments('20')), '201', '201'],
    [
      'one decimal by QR',
      (kit: QrKit) => verdict(kit, qrBody(amount('20.0'))),
      '400 property_value',
      '400 property_value',
    ],
    [
      'decimals in Chile',
      (kit: QrKit) => verdict(kit, qrBody({ ...amount('100.00'), items: [qrItem({ unit_price: '100.00' })] }), CHILE),
      '201',
      '400 property_value',
    ],
    [
      'no decimals in Chile',
      (kit: QrKit) => verdict(kit, qrBody({ ...amount('100'), items: [qrItem({ unit_price: '100' })] }), CHILE),
      '201',
      '201',
    ],
    ['an amount below the least that was seen', point(payments('0.01')), '201', '400 property_value'],
    ['an amount of nothing', point(payments('0.00')), '400 property_value', '400 property_value'],
    ['150 characters of two UTF-16 units', point({ description: '🧾'.repeat(150) }), '201', '201'],
    ['151 characters', point({ description: '🧾'.repeat(151) }), '400 property_value', '400 property_value'],
    [
      'item texts of characters of two UTF-16 units',
      (kit: QrKit) =>
        verdict(kit, qrBody({ items: [qrItem({ title: '🧾'.repeat(150), unit_measure: '🧾'.repeat(10) })] })),
      '201',
      '201',
    ],
    [
      'the cost of installments on a Point Smart',
      point(cost(VIRTUAL_TERMINAL, { default_type: 'credit_card', default_installments_cost: 'seller' })),
      '400 property_value',
      '201',
    ],
    [
      'the cost of installments in another spelling',
      point(cost(VIRTUAL_TERMINAL, { default_type: 'credit_card', installments_cost: 'seller' })),
      '400 unsupported_properties',
      '201',
    ],
    [
      'eleven items',
      (kit: QrKit) => verdict(kit, qrBody({ items: Array.from({ length: 11 }, () => qrItem()) })),
      '201',
      '400 maximum_items',
    ],
  ])('%s', async (_name, run, specification, field) => {
    expect(await both(run)).toEqual({ specification, field });
  });

  test.each([['GERTEC_MP35P__8701000000000001'], ['PAX_Q92__Q92-1734000001']])(
    'the cost of installments on %s, a Point Pro',
    async (terminal) => {
      const wanted = cost(terminal, { default_type: 'credit_card', default_installments_cost: 'buyer' });
      const taken = await both(async (kit) => {
        await kit.control('PUT', `terminals/${BRAZIL}/${terminal}`, { operating_mode: 'PDV' });
        return verdict(kit, orderBody(wanted), BRAZIL);
      });
      expect(taken).toEqual({ specification: '201', field: '201' });
    },
  );

  test.each([
    ['PT30S', true],
    ['PT0.5M', true],
    ['PT0,05H', true],
    ['P0DT15M', true],
    ['P0Y0M0W0DT0H15M0S', true],
    ['P0000-00-00T00:15:00', true],
    ['P00000000T001500', true],
    ['PT3H', true],
    ['PT29.9S', false],
    ['PT180.5M', false],
    ['P1D', false],
    ['P1W', false],
    ['PT0.5H30S', false],
    ['PT', false],
    ['P', false],
    ['PT15', false],
    ['15M', false],
    ['pt15m', false],
    ['-PT15M', false],
  ])('a lifetime of %s on Point', async (expiration_time, isTaken) => {
    const expected = isTaken ? '201' : '400 property_value';
    expect(await both(point({ expiration_time }))).toEqual({ specification: expected, field: expected });
  });

  test.each([
    ['P1W', true],
    ['P21W', true],
    ['P22W', false],
    ['P4M', true],
    ['P5M5D', false],
    ['P0.25Y', true],
    ['P1Y', false],
    ['P0000-04-00T00:00:00', true],
    ['PT3600H', true],
    ['PT3600.1H', false],
  ])('a lifetime of %s by QR', async (expiration_time, isTaken) => {
    const expected = isTaken ? '201' : '400 property_value';
    const told = await both((kit) => verdict(kit, qrBody({ expiration_time })));
    expect(told).toEqual({ specification: expected, field: expected });
  });
});

describe('orders', () => {
  const allow = { 'x-allow-cancelable-status': 'at_terminal' };
  const cancel = async (kit: QrKit, id: string, headers: Record<string, string> = {}) => {
    const reply = await kit.call('POST', `/v1/orders/${id}/cancel`, { key: 'c1', headers });
    return `${reply.status} ${reply.body.status ?? codeOf(reply)}`;
  };

  test('a cancel at the terminal with the header', async () => {
    const told = await both(async (kit) => {
      const id = await kit.order();
      await kit.atTerminal('pick_up');
      return cancel(kit, id, allow);
    });
    expect(told).toEqual({ specification: '200 canceled', field: '202 at_terminal' });
  });

  test('a cancel with a key used before', async () => {
    const told = await both(async (kit) => {
      const id = await kit.order();
      return [await cancel(kit, id), await cancel(kit, id)];
    });
    expect(told).toEqual({
      specification: ['200 canceled', '409 idempotency_key_already_used'],
      field: ['200 canceled', '200 canceled'],
    });
  });

  test.each([[[]], [['pick_up']]])('an unprocessed Point order after %j, when its time is over', async (actions) => {
    const told = await both(async (kit) => {
      const id = await kit.order({ expiration_time: 'PT1M' });
      for (const action of actions) await kit.atTerminal(action);
      await kit.advance(60_000);
      return kit.statesOf(id);
    });
    expect(told).toEqual({
      specification: ['canceled', 'canceled', 'canceled', 'canceled'],
      field: ['expired', 'expired', 'expired', 'expired'],
    });
  });

  test.each([
    ['ORDabcdefghijklmnopqrstuvwxyz', '404 order_not_found', '400 invalid_path_param'],
    ['ORD01K7Q2V5B8N4T6W9XJ3MEH0RIL', '404 order_not_found', '400 invalid_path_param'],
    [UNKNOWN_ORDER, '404 order_not_found', '404 order_not_found'],
    ['ORDTST01K7Q2V5B8N4T6W9XJ3MEH0RCD', '400 bad_request', '404 order_not_found'],
    ['ORD01K7Q2V5B8N4T6W9XJ3MEH0RC', '400 bad_request', '400 invalid_path_param'],
    ['ORD01K7Q2V5B8N4T6W9XJ3MEH0-CD', '400 bad_request', '400 invalid_path_param'],
  ])('the id %s', async (id, specification, field) => {
    const told = await both(async (kit) => {
      const reply = await kit.call('GET', `/v1/orders/${id}`);
      return `${reply.status} ${codeOf(reply)}`;
    });
    expect(told).toEqual({ specification, field });
  });

  test('a call without a token', async () => {
    const told = await both(async (kit) => {
      const reply = await kit.call('GET', `/v1/orders/${UNKNOWN_ORDER}`, { merchant: null });
      return `${reply.status} ${codeOf(reply)}`;
    });
    expect(told).toEqual({ specification: '401 unauthorized', field: '403 PA_UNAUTHORIZED_RESULT_FROM_POLICIES' });
  });

  test('ids and dates', async () => {
    const { specification, field } = await both(async (kit) => (await kit.createOrder()).body);
    expect([specification.id, specification.created_date]).toEqual([
      expect.stringMatching(/^ORD[0-9A-Z]{26}$/),
      expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
    ]);
    expect([field.id, field.created_date]).toEqual([
      expect.stringMatching(/^ORDTST[0-9A-Z]{26}$/),
      expect.stringMatching(/\.\d{9}Z$/),
    ]);
  });
});

describe('settings', () => {
  test('the profile is named with what it decides; a single setting changes by itself, until a reset', async () => {
    const told = await both(async (kit) => {
      const { body } = await kit.control('GET', 'settings');
      expect(body.settings).toMatchObject(profileSettings[body.profile as Profile]);
      await kit.control('PUT', 'settings', { point_expiry: 'expired', amounts: 'as_seen' });
      const { settings } = (await kit.control('GET', 'settings')).body;
      await kit.control('POST', 'reset');
      const after = (await kit.control('GET', 'settings')).body;
      expect(after).toEqual(body);
      return [body.profile, settings.point_expiry, settings.amounts, settings.cancel_confirmation];
    });
    expect(told).toEqual({
      specification: ['specification', 'expired', 'as_seen', 'at_once'],
      field: ['field', 'expired', 'as_seen', 'automatic'],
    });
  });

  test('a setting given at the start is stronger than the profile', async () => {
    const kit = await openQrKit({ point_expiry: 'canceled' }, 'field');
    try {
      const { point_expiry, error_codes } = (await kit.control('GET', 'settings')).body.settings;
      expect([point_expiry, error_codes]).toEqual(['canceled', 'live']);
    } finally {
      await kit.close();
    }
  });

  test('what the field does differently differs', async () => {
    const { specification } = await both(async (kit) => kit.sandbox.world.settings);
    for (const [name, value] of Object.entries(profileSettings.field))
      expect([name, specification[name as keyof typeof specification]]).not.toEqual([name, value]);
  });
});
