/** Any payment intent becomes a valid order over exactly the same money, and no loss is silent. */
import fc from 'fast-check';
import { LosslessNumber } from 'lossless-json';
import { describe, expect, test } from 'vitest';
import { parseJson, stringifyJson } from '../../src/contract/json.ts';
import { errorBody, legacyError } from '../../src/contract/legacy-errors.ts';
import { createPointOrder } from '../../src/contract/orders.ts';
import { PuenteError } from '../../src/error.ts';
import { loadTables } from '../../src/mapping/load.ts';
import type { Translated } from '../../src/mapping/tables.ts';
import { operationOf, tablesDirectory } from './kit.ts';
import { exact, RUNS, texts, unknownKeys } from './property-kit.ts';
import { spoiled } from './property-mutate.ts';
import { unaccounted } from './property-walk.ts';

const tables = loadTables(tablesDirectory);
const create = operationOf(tables, 'point.create_intent');
const read = operationOf(tables, 'point.get_intent');
const DEVICE = 'NEWLAND_N950__SBX0000001';
const INTENT = '0f2c9c1e-8a57-4f0f-9d64-1d0b6f1c2a33';

interface Intent {
  site: string | undefined;
  body: Record<string, unknown>;
  headers: Record<string, string>;
  voucher: 'refuse' | 'drop';
}

const sites = ['MLA', 'MLB', 'MLM', 'MLC', 'MLU', 'MPE', undefined] as const;
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const headers: fc.Arbitrary<Record<string, string>> = fc.record(
  {
    'x-platform-id': texts(0, 40),
    'x-integrator-id': texts(0, 40),
    'x-corporation-id': texts(0, 40),
    'x-product-id': texts(0, 40),
    'x-tracking-id': texts(0, 40),
    'x-test-scope': texts(0, 40),
    'x-idempotency-key': texts(0, 40),
    'x-ttl-store-preference': fc.oneof(texts(0, 10), fc.nat({ max: 20_000 }).map(String)),
  },
  { requiredKeys: [] },
);

/** Orders take at most twelve digits before the decimal point. */
const amounts = (site: string | undefined) =>
  fc.oneof(
    fc.integer({ min: 1, max: 1_000_000 }),
    fc.integer({ min: 1, max: site === 'MLC' ? 999_999_999_999 : 99_999_999_999_999 }),
  );

const additionalInfo = fc
  .tuple(
    fc.record({
      external_reference: optional(texts(0, 256)),
      print_on_terminal: optional(fc.boolean()),
      ticket_number: optional(texts(0, 60)),
    }),
    unknownKeys,
  )
  .map(([known, unknown]) => ({ ...unknown, ...known }));

const payments = fc.record({
  type: optional(fc.constantFrom('credit_card', 'debit_card')),
  installments: optional(fc.integer({ min: 1, max: 24 })),
  installments_cost: optional(fc.constantFrom('seller', 'buyer')),
});

/** Intents that each site accepted. Mexico refused unknown fields. */
const intents: fc.Arbitrary<Intent> = fc.constantFrom(...sites).chain((site) => {
  const common = { amount: amounts(site), notification_url: optional(texts(0, 60)) };
  const elsewhere = {
    ...common,
    additional_info: optional(additionalInfo),
    external_reference: optional(texts(0, 256)),
    description: optional(texts(0, 300)),
    payment: optional(payments),
  };
  const known = {
    ...common,
    additional_info: optional(
      fc.record({ external_reference: optional(texts(0, 256)), print_on_terminal: optional(fc.boolean()) }),
    ),
  };
  const body =
    site === 'MLM'
      ? fc.record(known)
      : fc.tuple(fc.record(elsewhere), unknownKeys).map(([one, more]) => ({ ...more, ...one }));
  return fc
    .record({
      body: body as fc.Arbitrary<Record<string, unknown>>,
      headers,
      voucher: fc.constantFrom('refuse', 'drop'),
    })
    .map((intent) => ({ site, ...intent, body: withoutUndefined(intent.body) as Record<string, unknown> }) as Intent);
});

function withoutUndefined(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || value instanceof LosslessNumber || Array.isArray(value))
    return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutUndefined(inner)]));
}

interface Sent extends Intent {
  exponent: number;
}

function send(intent: Intent): Sent {
  const body = parseJson(stringifyJson(intent.body)) as Record<string, unknown>; // generated bodies are objects
  return { ...intent, body, exponent: tables.site(intent.site ?? null).exponent };
}

/** @throws PuenteError when the tables refuse. */
function translate({ site, body, headers: sent, voucher, exponent }: Sent): Translated {
  const source = { path: { device_id: DEVICE }, query: {}, headers: sent, body };
  return tables.request(create, source, { site, exponent, voucher, reference: 'pnt0123' });
}

function expectOrder(sent: Sent, translated: Translated): void {
  const order = createPointOrder.parse(JSON.parse(stringifyJson(translated.value.body)));
  const [payment, ...more] = order.transactions.payments;
  expect(more).toEqual([]);
  expect(exact(payment?.amount) * 10n ** BigInt(sent.exponent)).toBe(exact(sent.body.amount));
  expect(order.config.point.terminal_id).toBe(DEVICE);
  expect(order.external_reference).toBe('pnt0123');
  const { site, exponent, body } = sent;
  const source = { headers: sent.headers, body };
  expect(unaccounted({ tables, table: 'point.create.request', site, exponent, source, translated })).toEqual([]);
}

describe('a valid intent', () => {
  test('is never refused, is an order over the same money, and loses nothing in silence', () => {
    fc.assert(
      fc.property(intents, (intent) => {
        const sent = send(intent);
        expectOrder(sent, translate(sent));
      }),
      { numRuns: RUNS },
    );
  });

  test('is read back as it was sent', () => {
    fc.assert(
      fc.property(intents, (intent) => {
        const { site, body, exponent } = send(intent);
        const order = {
          id: 'ORD01K0000000000000000000000A',
          status: 'created',
          config: {},
          transactions: { payments: [] },
        };
        const { description, payment, additional_info } = body;
        const held = { description, payment, additional_info };
        const amount_minor = Number(body.amount);
        const context = { site, exponent, state: 'OPEN', intent_id: INTENT, device_id: DEVICE, held, amount_minor };
        const { value } = tables.answer(read, order, context);
        const text = stringifyJson(value.body);
        expect(JSON.parse(text)).toMatchObject({ id: INTENT, device_id: DEVICE, state: 'OPEN', amount: amount_minor });
        const back = parseJson(text) as Record<string, unknown>; // the answer is an object
        if (additional_info !== undefined)
          expect(stringifyJson(back.additional_info)).toBe(stringifyJson(additional_info));
        if (description !== undefined) expect(back.description).toBe(description);
      }),
      { numRuns: RUNS },
    );
  });
});

test('a spoiled intent is refused in words of its family, or is an order over the same money with nothing lost', () => {
  const spoiledIntents = intents.chain((intent) =>
    spoiled(fc.constant(intent.body)).map((body) => ({ ...intent, body })),
  );
  fc.assert(
    fc.property(spoiledIntents, (intent) => {
      let sent: Sent;
      try {
        sent = send(intent);
      } catch (error) {
        expect(error).toBeInstanceOf(SyntaxError); // a key that the door refuses
        return;
      }
      let translated: Translated;
      try {
        translated = translate(sent);
      } catch (error) {
        expectRefusal(error);
        return;
      }
      expectOrder(sent, translated);
    }),
    { numRuns: RUNS },
  );
});

function expectRefusal(error: unknown): void {
  if (!(error instanceof PuenteError)) throw error;
  const entry = legacyError('point', String(error.facts.error));
  if (entry === null) throw new Error(`Point has no error ${String(error.facts.error)}`);
  expect(entry.status, error.message).toBe(400);
  expect(JSON.stringify(errorBody('point', entry, String(error.facts.detail)))).not.toContain('{}');
}
