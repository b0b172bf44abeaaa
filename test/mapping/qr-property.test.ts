/** Any sale of the legacy QR families becomes a valid order over exactly the same money, and no loss is silent. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson, stringifyJson } from '../../src/contract/json.ts';
import { jsonNumber } from '../../src/contract/legacy-amount.ts';
import { errorBody, legacyError } from '../../src/contract/legacy-errors.ts';
import { createQrOrder, type QrMode } from '../../src/contract/orders.ts';
import { PuenteError } from '../../src/error.ts';
import { loadTables } from '../../src/mapping/load.ts';
import type { Operation, Translated } from '../../src/mapping/tables.ts';
import { referenceOf } from '../../src/proxy/qr/held-body.ts';
import { operationOf, tablesDirectory } from './kit.ts';
import { exact, RUNS } from './property-kit.ts';
import { spoiled } from './property-mutate.ts';
import { decimalsOf, preferences, type QrSale, RECEIVED_AT, storeOrders } from './property-qr-bodies.ts';
import { unaccounted } from './property-walk.ts';

const tables = loadTables(tablesDirectory);
const v1 = operationOf(tables, 'qr_v1.create');
const v2 = operationOf(tables, 'qr.put_order');
const POS = 'SUC001POS001';
const SELLER = '700100200';
const REFERENCE = 'pnt0123';

interface Sent {
  sale: QrSale;
  text: string;
  body: Record<string, unknown>;
}

function send(sale: QrSale): Sent {
  const text = stringifyJson(sale.body);
  return { sale, text, body: parseJson(text) as Record<string, unknown> }; // generated bodies are objects
}

/** @throws PuenteError when the tables refuse. */
function translate(operation: Operation, { sale, body }: Sent, mode: QrMode): Translated {
  const { currency, exponent } = tables.site(sale.site ?? null);
  const path = { user_id: SELLER, external_pos_id: POS };
  return tables.request(
    operation,
    { path, query: {}, headers: sale.headers, body },
    {
      site: sale.site,
      exponent,
      currency,
      reference: REFERENCE,
      external_pos_id: POS,
      mode,
      received_at: RECEIVED_AT,
    },
  );
}

type Order = ReturnType<typeof createQrOrder.parse>;

function received({ value }: Translated): Order {
  return createQrOrder.parse(JSON.parse(stringifyJson(value.body)));
}

function unaccountedOf(operation: Operation, { sale, body }: Sent, translated: Translated): string[] {
  const exponent = decimalsOf(sale.site);
  const source = { headers: sale.headers, body };
  return unaccounted({ tables, table: String(operation.request), site: sale.site, exponent, source, translated });
}

const sum = (amounts: bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n);
const amountsOf = (list: { amount: string }[] | undefined): bigint =>
  sum((list ?? []).map(({ amount }) => exact(amount)));
const priceOf = (list: unknown): bigint =>
  sum(
    ((list ?? []) as { unit_price: unknown; quantity: unknown }[]).map(
      ({ unit_price, quantity }) => (exact(unit_price) * exact(quantity)) / exact(1),
    ),
  );

/** Payment and cash-out add up to the total, and the items to the payment. */
function expectAgreement(order: Order): void {
  const { payments, cash_outs } = order.transactions;
  expect(amountsOf(payments) + amountsOf(cash_outs)).toBe(exact(order.total_amount));
  if (order.items !== undefined) expect(priceOf(order.items)).toBe(amountsOf(payments));
}

function run(arbitrary: fc.Arbitrary<QrSale>, check: (sale: QrSale) => void): void {
  fc.assert(fc.property(arbitrary, check), { numRuns: RUNS });
}

/** A refusal has a code and a filled-in message of the family, and is the client's mistake. */
function expectRefusal(operation: Operation, error: unknown): void {
  if (!(error instanceof PuenteError)) throw error;
  const entry = legacyError(operation.family, String(error.facts.error));
  if (entry === null) throw new Error(`${operation.family} has no error ${String(error.facts.error)}`);
  expect(entry.status, `${error.message}`).toBe(400);
  expect(JSON.stringify(errorBody(operation.family, entry, String(error.facts.detail)))).not.toContain('{}');
}

const modes = fc.constantFrom<QrMode>('static', 'dynamic', 'hybrid');

describe('a valid v1 sale', () => {
  test('is never refused, and its total is the sum of its items', () => {
    run(preferences, (sale) => {
      const sent = send(sale);
      const order = received(translate(v1, sent, 'static'));
      expect(exact(order.total_amount)).toBe(priceOf(sent.body.items));
      expectAgreement(order);
      expect(order).toMatchObject({
        type: 'qr',
        external_reference: REFERENCE,
        config: { qr: { external_pos_id: POS } },
      });
    });
  });

  test('loses nothing in silence', () => {
    run(preferences, (sale) => {
      const sent = send(sale);
      expect(unaccountedOf(v1, sent, translate(v1, sent, 'static'))).toEqual([]);
    });
  });

  test('is answered as it was sent', () => {
    run(preferences, (sale) => {
      const { body } = send(sale);
      const total = priceOf(body.items);
      const { currency, exponent } = tables.site(sale.site ?? null);
      const minor = (total * 10n ** BigInt(exponent)) / exact(1);
      const context = {
        site: sale.site,
        exponent,
        currency,
        preference_id: `${SELLER}-0f2c9c1e-8a57-4f0f-9d64-1d0b6f1c2a33`,
        merchant_id: Number(SELLER),
        client_reference: referenceOf(body),
        amount_minor: Number(minor),
        request: body,
      };
      const order = {
        id: 'ORD01K0000000000000000000000A',
        status: 'created',
        config: {},
        total_amount: '1',
        transactions: {},
      };
      const answer = asRead(stringifyJson(tables.answer(v1, order, context).value.body));
      expect(exact(answer.total_amount)).toBe(total);
      expect(exact(answer.amount)).toBe(total);
      expect(answer.external_reference).toBe(
        typeof body.external_reference === 'string' ? body.external_reference : String(body.external_reference),
      );
      expect(answer.notification_url).toBe(body.notification_url ?? '');
      expect(exact(answer.marketplace_fee)).toBe(exact(body.marketplace_fee ?? 0));
      expect(String(answer.sponsor_id ?? 0)).toBe(String(Number(body.sponsor_id ?? 0)));
      expectItemsBack(answer.items, body.items);
    });
  });
});

/** Numbers keep their text where a double would round them; invalid JSON fails here. */
function asRead(text: string): Record<string, unknown> {
  JSON.parse(text);
  return parseJson(text) as Record<string, unknown>; // the answer is an object
}

function expectItemsBack(answered: unknown, sent: unknown): void {
  const [back, items] = [answered, sent] as Record<string, unknown>[][]; // the answer's schema was checked
  expect(back?.length).toBe(items?.length);
  items?.forEach((item, index) => {
    const { unit_price, quantity, ...texts } = back?.[index] ?? {};
    expect(exact(unit_price)).toBe(exact(item.unit_price));
    expect(exact(quantity)).toBe(exact(item.quantity));
    expect(texts).toEqual({
      id: String(item.id ?? ''),
      title: item.title,
      currency_id: item.currency_id,
      description: item.description ?? '',
      picture_url: item.picture_url ?? '',
    });
  });
}

describe('a valid v2, dynamic or hybrid sale', () => {
  test('is never refused, its total is the one that was said, and it loses nothing in silence', () => {
    fc.assert(
      fc.property(storeOrders, modes, (sale, mode) => {
        const sent = send(sale);
        const translated = translate(v2, sent, mode);
        const order = received(translated);
        expect(exact(order.total_amount)).toBe(exact(sent.body.total_amount));
        expectAgreement(order);
        expect(amountsOf(order.transactions.payments)).toBe(priceOf(sent.body.items));
        expect(order.config.qr).toEqual({ external_pos_id: POS, mode });
        expect(unaccountedOf(v2, sent, translated)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  test('lives until its date, or the limit is in the loss list', () => {
    run(storeOrders, (sale) => {
      const sent = send(sale);
      const { expiration_date } = sent.body;
      fc.pre(typeof expiration_date === 'string');
      const translated = translate(v2, sent, 'static');
      const offset = String(expiration_date).replace(/([+-]\d\d)(\d\d)$/, '$1:$2');
      const seconds = Math.floor((Date.parse(offset) - RECEIVED_AT) / 1000);
      const clamped = translated.losses.some(({ path }) => path.includes('expiration'));
      if (!clamped) expect(received(translated).expiration_time).toBe(`PT${seconds}S`);
      expect(clamped).toBe(seconds < 30 || seconds > 3600 * 3600);
    });
  });

  test('is read back byte for byte', () => {
    const read = operationOf(tables, 'qr.get_order');
    run(storeOrders, (sale) => {
      const { text, body } = send(sale);
      expect(stringifyJson(tables.answer(read, {}, { request: body }).value.body)).toBe(text);
    });
  });
});

describe.each([
  ['v1', v1, preferences],
  ['v2', v2, storeOrders],
] as const)('a spoiled %s sale', (_, operation, sales) => {
  test('is refused in words of its family, or is an order over the same money with nothing lost', () => {
    const spoiledSales = sales.chain((sale) => spoiled(fc.constant(sale.body)).map((body) => ({ ...sale, body })));
    fc.assert(
      fc.property(spoiledSales, modes, (sale, mode) => {
        let sent: Sent;
        try {
          sent = send(sale);
        } catch (error) {
          expect(error).toBeInstanceOf(SyntaxError); // a key that the door refuses
          return;
        }
        let translated: Translated;
        try {
          translated = translate(operation, sent, mode);
        } catch (error) {
          expectRefusal(operation, error);
          return;
        }
        const order = received(translated);
        const said = operation === v1 ? priceOf(sent.body.items) : exact(sent.body.total_amount);
        expect(exact(order.total_amount)).toBe(said);
        expectAgreement(order);
        expect(unaccountedOf(operation, sent, translated)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });
});

describe('found by these properties', () => {
  const item = '"title":"c","unit_price":20,"quantity":1,"unit_measure":"unit","total_amount":20';
  const translateText = (fields: string): Translated => {
    const body = parseJson(`{"title":"t","total_amount":20,"items":[{${item}}],${fields}}`) as Record<string, unknown>;
    return translate(v2, { sale: { site: 'MLA', body, headers: {} }, text: '', body }, 'static');
  };

  test('a quoted amount may begin with zeros, and is answered as a JSON number', () => {
    expect(stringifyJson(['0020.50', '000.000', '007', '0'].map(jsonNumber))).toBe('[20.5,0,7,0]');
  });

  test.each(['"sponsor":0.1', '"cash_out":0.1', '"taxes":[0.1]'])('a fraction is no object: %s', (field) => {
    // Numbers with a fraction are parsed as objects, which an object schema would accept.
    expect(() => translateText(`"external_reference":"a",${field}`)).toThrow(/invalid_property/);
  });

  test('a reference of more digits than a double holds is a reference', () => {
    const reference = '20261121123456789';
    expect(received(translateText(`"external_reference":${reference}`)).total_amount).toBe('20.00');
    expect(referenceOf(parseJson(`{"external_reference":${reference}}`) as Record<string, unknown>)).toBe(reference);
  });
});
