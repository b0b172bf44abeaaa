/** Money through the tables: exact in both directions, for every amount of the legacy API. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createOrderCall } from '../../src/contract/orders.ts';
import { PuenteError } from '../../src/error.ts';
import { loadTables } from '../../src/mapping/load.ts';
import { decimalText, minorUnits } from '../../src/mapping/values.ts';
import { anyText } from '../any-text.ts';
import { operationOf, tablesDirectory } from './kit.ts';

const minor = fc.integer({ min: 1, max: 1_000_000_000_000 });
const exponent = fc.constantFrom(0, 2);

describe('amounts', () => {
  it('come back exactly', () => {
    fc.assert(
      fc.property(minor, exponent, (amount, decimals) => {
        const text = decimalText(amount, decimals);
        expect(minorUnits(text, decimals)).toBe(amount);
        expect(text).toMatch(decimals === 0 ? /^[1-9]\d*$/ : /^(?:0|[1-9]\d*)\.\d\d$/);
        expect(BigInt((text ?? '').replace('.', ''))).toBe(BigInt(amount));
      }),
    );
  });
});

describe('any create', () => {
  const tables = loadTables(tablesDirectory);
  const operation = operationOf(tables, 'point.create_intent');
  const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
  const text = anyText({ maxLength: 200 });
  const bodies = fc.record({
    amount: minor,
    description: optional(text),
    external_reference: optional(text),
    notification_url: optional(text),
    additional_info: optional(
      fc.record({
        external_reference: optional(text),
        print_on_terminal: optional(fc.boolean()),
        ticket_number: optional(text),
      }),
    ),
    payment: optional(
      fc.record({
        type: optional(fc.constantFrom('credit_card', 'debit_card', 'voucher_card', 'cash')),
        installments: optional(fc.integer({ min: -1, max: 72 })),
        installments_cost: optional(fc.constantFrom('seller', 'buyer', 'bank')),
        voucher_type: optional(fc.constantFrom('sodexo', 'alelo')),
      }),
    ),
  });
  const headers = fc.record(
    {
      'x-platform-id': text,
      'x-integrator-id': text,
      'x-ttl-store-preference': fc.oneof(text, fc.nat().map(String)),
      'x-test-scope': text,
    },
    { requiredKeys: [] },
  );
  const merchants = fc.constantFrom(
    ...['MLA', 'MLB', 'MLM', 'MLC', 'MLU', 'MCO', undefined].flatMap((site) => [
      { site, voucher: 'refuse' },
      { site, voucher: 'drop' },
    ]),
  );

  it('is an order the service takes, with the same amount, or a refusal in legacy words', () => {
    let translations = 0;
    fc.assert(
      fc.property(bodies, headers, merchants, (body, sent, merchant) => {
        const decimals = tables.site(merchant.site ?? null).exponent;
        const source = {
          path: { device_id: 'NEWLAND_N950__SBX0000001' },
          query: {},
          headers: sent,
          body: JSON.parse(JSON.stringify(body)),
        };
        try {
          const { value } = tables.request(operation, source, { ...merchant, exponent: decimals, reference: 'pnt1' });
          const parsed = createOrderCall.parse(value);
          expect(parsed.body).toEqual(value.body);
          expect(minorUnits(parsed.body.transactions.payments[0]?.amount, decimals)).toBe(body.amount);
          translations++;
        } catch (error) {
          expect(error).toBeInstanceOf(PuenteError);
          expect((error as PuenteError).facts.error).toMatch(/^(?:invalid_property|additional_property)$/); // asserted above
        }
      }),
      { numRuns: 500 },
    );
    expect(translations).toBeGreaterThan(50);
  });
});
