/** Captured messages contain no token, card, secret or person, and everything that a replay needs. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson, stringifyJson } from '../../../src/contract/json.ts';
import { type CapturedMessages, redactMessages, redactValue } from '../../../src/proxy/evidence/redact.ts';
import {
  CARD,
  EMAIL,
  encodings,
  everywhere,
  inSecretPlaces,
  SECRET,
  TOKEN,
  tracesOf,
} from '../../ops/capture/canaries.ts';

function expectClean(messages: CapturedMessages, canary: string): void {
  const text = stringifyJson(redactMessages(messages)).toLowerCase();
  for (const trace of tracesOf(canary)) expect(text).not.toContain(trace);
}

describe('canaries', () => {
  for (const [encoding, encode] of Object.entries(encodings)) {
    for (const [what, canary] of Object.entries({ TOKEN, CARD, EMAIL })) {
      test(`${what} as ${encoding} is found wherever it stands`, () => expectClean(everywhere(encode(canary)), canary));
    }
    test(`a secret as ${encoding} goes with its name`, () => expectClean(inSecretPlaces(encode(SECRET)), SECRET));
  }

  test('an encoding inside of an encoding is undone too', () => {
    const twice = Buffer.from(encodings.percent?.(TOKEN) ?? '').toString('base64');
    expect(stringifyJson(redactValue({ note: `x ${twice}` }))).toBe('{"note":"[masked]"}');
  });
});

describe('cards', () => {
  test('a number of a field is one as much as a text', () => {
    expect(redactValue(parseJson('{"note":5031755734530604,"n":[5031755734530604]}'))).toEqual({
      note: '503175XXXXXX0604',
      n: ['503175XXXXXX0604'],
    });
  });

  test('under its own name it goes altogether, right or wrong', () => {
    expect(redactValue({ card_number: '5031755734530605', card: { pan: 1 } })).toEqual({
      card_number: '[masked]',
      card: { pan: '[masked]' },
    });
  });

  test('any run of 13 to 19 digits that passes the check is masked [F134]', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[2-9][0-9]{12,17}$/), (digits) => {
        const card = digits + checkDigit(digits);
        expect(JSON.stringify(redactValue({ description: `of ${card}.` }))).not.toContain(card);
      }),
      { numRuns: 500 },
    );
  });
});

describe('what stays', () => {
  test.each([
    ['a payment number', { id: 123456789012 }],
    ['a number of our own mint that passes the check', { payment: { id: 7_025_000_000_000_002 } }],
    ['an intent', { id: '0191d0a8-6a6e-7cc3-98c4-dc0c0c07398f' }],
    ['an order', { id: 'ORD01J49MMW3SSBK5PSV3DFR32959', status: 'created' }],
    ['a terminal', { device_id: 'PAX_A910__SMARTPOS1234345545' }],
    ['an amount', { amount: 1500, total_amount: '150.00', items: [{ unit_price: 99.5, quantity: 2 }] }],
    ['a reference of letters and digits', { external_reference: 'a3f5c7e9b1d2a3f5c7e9b1d2a3f5c7e9b1d2' }],
    ['a reference by the clock', { external_reference: '1764950400000' }],
    ['an integrator', { integrator_id: 'dev_24c65fb163bf11ea96500242ac130004' }],
    ['words', { title: 'Café con leche, 2 medialunas (50% off)', unit_measure: 'unit' }],
  ])('%s', (_what, value) => expect(redactValue(value)).toEqual(value));

  test('exact numbers keep their source text', () => {
    expect(stringifyJson(redactValue(parseJson('{"unit_price":0.10,"total_amount":1e2}')))).toBe(
      '{"unit_price":0.10,"total_amount":1e2}',
    );
  });

  test('a value without anything to mask is equal to itself', () => {
    const harmless = fc.letrec((tie) => ({
      leaf: fc.oneof(
        fc.stringMatching(/^[a-z ,.]{0,10}$/),
        fc.integer({ min: 0, max: 99_999 }),
        fc.boolean(),
        fc.constant(null),
      ),
      node: fc.oneof(
        { depthSize: 'small' },
        tie('leaf'),
        fc.array(tie('node'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('title', 'status', 'items', 'note', 'quantity'), tie('node'), { maxKeys: 3 }),
      ),
    })).node;
    fc.assert(
      fc.property(harmless, (value) => {
        expect(redactValue(value)).toEqual(value);
      }),
      { numRuns: 300 },
    );
  });
});

describe('people and addresses', () => {
  test('a payer keeps id and type', () => {
    const payer = {
      id: '88',
      type: 'customer',
      email: 'a@b.test',
      first_name: 'Ana',
      identification: { type: 'DNI', number: '30111222' },
      phone: { area_code: '11', number: '44445555' },
      address: { street_name: 'Larga', street_number: 12 },
    };
    expect(redactValue({ payer })).toEqual({
      payer: {
        id: '88',
        type: 'customer',
        email: '[masked]',
        first_name: '[masked]',
        identification: { type: '[masked]', number: '[masked]' },
        phone: { area_code: '[masked]', number: '[masked]' },
        address: { street_name: '[masked]', street_number: '[masked]' },
      },
    });
  });
});

describe('headers and targets', () => {
  const messages = (headers: Record<string, string>, target = '/v1/payments/1'): CapturedMessages => ({
    request: { method: 'GET', target, headers, body: undefined },
    answer: { status: 200, headers: {}, body: null },
    upstream: [],
  });

  test('a token leaves the target, and the rest of the query stays as it was written', () => {
    const target = '/merchant_orders/search?access_token=x&external_reference=Mesa+4&status=opened&b';
    expect(redactMessages(messages({}, target)).request.target).toBe(
      '/merchant_orders/search?external_reference=Mesa+4&status=opened&b',
    );
  });

  test('no body stays no body', () => {
    expect(redactMessages(messages({})).request.body).toBeUndefined();
  });
});

/** The check digit of ISO/IEC 7812-1, annex B. */
function checkDigit(digits: string): string {
  let sum = 0;
  for (const [index, digit] of [...digits].reverse().entries()) {
    const value = Number(digit) * (index % 2 === 0 ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return String((10 - (sum % 10)) % 10);
}
