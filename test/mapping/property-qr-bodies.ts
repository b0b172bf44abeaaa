/** Generates sales of the legacy QR families: valid ones, with every optional field in every notation. */
import fc from 'fast-check';
import { LosslessNumber } from 'lossless-json';
import { callableUrl } from '../../src/contract/identifiers.ts';
import { maybe, spelled, spelledQuantity, texts, unknownKeys, type Written } from './property-kit.ts';

/** The sandbox's sites, one that is in no table, and a merchant of unknown site. */
export const sites = ['MLA', 'MLB', 'MLM', 'MLC', 'MLU', 'MPE', undefined] as const;
export type Site = (typeof sites)[number];

/** Of the sites in the tables, two differ here; test/mapping/check.test.ts has the whole list. */
export const decimalsOf = (site: Site): number => (site === 'MLC' ? 0 : 2);
const currencies: Readonly<Record<string, string>> = { MLA: 'ARS', MLB: 'BRL', MLM: 'MXN', MLC: 'CLP', MLU: 'UYU' };
/** The currency is not checked at an unknown site. */
const currencyOf = (site: Site): string => currencies[site ?? ''] ?? 'PEN';

export type QrBody = Record<string, unknown>;

export interface QrSale {
  site: Site;
  body: QrBody;
  headers: Record<string, string>;
}

export const RECEIVED_AT = Date.parse('2026-11-21T12:00:00.000Z');
/** Mostly short receipts; sometimes many more than the ten items that orders take. */
const itemsOf = (exponent: number, minLength: number): fc.Arbitrary<Priced[]> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.array(priced(exponent), { minLength, maxLength: 4 }) },
    { weight: 1, arbitrary: fc.array(priced(exponent), { minLength, maxLength: 40, size: 'max' }) },
  );

/** Of more digits than a double holds. */
const longNumbers = fc.bigInt({ min: 10n ** 15n, max: 10n ** 21n }).map((number) => new LosslessNumber(String(number)));
const references = fc.oneof(
  texts(1, 256),
  longNumbers,
  fc.constantFrom('Factura 0001-0002', 'INV-7', 'pnt1', ' ', '\u0000', '{}', '🧾'),
  fc.nat().map((number) => new LosslessNumber(String(number))),
);
const codes = fc.oneof(texts(0, 40), longNumbers, fc.nat().map(String), fc.nat());
const sponsors = fc.oneof(fc.nat(), fc.nat().map(String), fc.constantFrom('', 0, '0'));
const urls = fc
  .tuple(fc.constantFrom('https://till.example', 'http://till.example:8443'), texts(0, 60))
  .map(([origin, path]) => `${origin}/?${path}`);
/** Texts that are no URL are refused: `test/proxy/http/notice-urls.test.ts`. */
const relatedUrls = fc
  .oneof(urls, texts(0, 80), fc.constant('www.till.example/ipn'))
  .filter((text) => callableUrl(text, 'https') !== null);

interface Priced {
  price_minor: bigint;
  quantity: number;
}

/** Small enough that forty of them stay below the largest amount of an order. */
function priced(exponent: number): fc.Arbitrary<Priced> {
  const price_minor = fc.oneof(
    fc.bigInt({ min: 0n, max: 100_000n }),
    fc.bigInt({ min: 0n, max: exponent === 0 ? 10_000_000n : 1_000_000_000n }),
    fc.constantFrom(0n, 1n, 10n, 12_050n),
  );
  return fc.record({ price_minor, quantity: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 999 })) });
}

const sumOf = (items: readonly Priced[]): bigint =>
  items.reduce((sum, { price_minor, quantity }) => sum + price_minor * BigInt(quantity), 0n);

function charged(items: Priced[]): Priced[] {
  return sumOf(items) > 0n ? items : items.map((item, index) => (index === 0 ? { ...item, price_minor: 1n } : item));
}

/** v1 bodies that are never refused. */
export const preferences: fc.Arbitrary<QrSale> = fc.constantFrom(...sites).chain((site) => {
  const exponent = decimalsOf(site);
  return itemsOf(exponent, 1)
    .map(charged)
    .chain((items) =>
      fc.record({ body: preferenceBodies(items, site, exponent), headers }).map((sale) => ({ site, ...sale })),
    );
});

function preferenceBodies(items: Priced[], site: Site, exponent: number): fc.Arbitrary<QrBody> {
  const written = items.map((item) =>
    withUnknown({
      id: maybe(codes),
      title: texts(1, 256),
      currency_id: fc.constant(currencyOf(site)),
      unit_price: spelled(item.price_minor, exponent),
      quantity: spelledQuantity(item.quantity),
      description: maybe(texts(0, 300)),
      picture_url: maybe(texts(0, 60)),
    }),
  );
  return withUnknown({
    external_reference: references,
    notification_url: maybe(relatedUrls),
    sponsor_id: maybe(sponsors),
    items: fc.tuple(...written),
    marketplace_fee: maybe(feeUpTo(sumOf(items), exponent)),
    payment_methods: maybe(withUnknown({ installments: maybe(fc.integer({ min: 1, max: 12 })) })),
  });
}

export const storeOrders: fc.Arbitrary<QrSale> = fc.constantFrom(...sites).chain((site) => storeOrdersOf(site, 0n));

/** @param least_minor the sale costs more than this. */
export function storeOrdersOf(site: Site, least_minor: bigint, with_cash = true): fc.Arbitrary<QrSale> {
  const exponent = decimalsOf(site);
  const cash = with_cash ? fc.option(fc.bigInt({ min: 0n, max: 1_000_000n }), { nil: null }) : fc.constant(null);
  return fc
    .tuple(itemsOf(exponent, 0), cash)
    .map(([items, cash_minor]): [Priced[], bigint | null] => {
      if (sumOf(items) + (cash_minor ?? 0n) > least_minor) return [items, cash_minor];
      return [[{ price_minor: least_minor + 1n, quantity: 1 }, ...items.slice(1)], cash_minor];
    })
    .chain(([items, cash_minor]) =>
      fc
        .record({ body: storeOrderBodies(items, cash_minor, site, exponent), headers })
        .map((sale) => ({ site, ...sale })),
    );
}

function storeOrderBodies(
  items: Priced[],
  cash_minor: bigint | null,
  site: Site,
  exponent: number,
): fc.Arbitrary<QrBody> {
  const total = sumOf(items) + (cash_minor ?? 0n);
  const written = items.map(({ price_minor, quantity }) =>
    withUnknown({
      sku_number: maybe(codes),
      category: maybe(texts(0, 30)),
      title: texts(1, 256),
      description: maybe(texts(0, 300)),
      unit_price: spelled(price_minor, exponent),
      quantity: spelledQuantity(quantity),
      unit_measure: fc.oneof(fc.constantFrom('unit', 'pack'), texts(1, 20)),
      currency_id: maybe(fc.constant(currencyOf(site))),
      total_amount: spelled(price_minor * BigInt(quantity), exponent),
      picture_url: maybe(texts(0, 60)),
    }),
  );
  const noCash = fc.constantFrom<unknown>(undefined, null, {}, { amount: null }, { amount: 0 });
  const cashOut =
    cash_minor === null ? noCash : withUnknown({ amount: spelled(cash_minor, exponent) as fc.Arbitrary<unknown> });
  const list = fc.tuple(...written) as fc.Arbitrary<unknown>;
  return withUnknown({
    external_reference: references,
    title: texts(1, 256),
    description: maybe(texts(0, 256)),
    notification_url: maybe(urls),
    expiration_date: maybe(moments),
    total_amount: spelled(total, exponent),
    items: items.length > 0 ? list : fc.constantFrom<unknown>(undefined, null, []),
    sponsor: maybe(withUnknown({ id: maybe(sponsors) })),
    cash_out: cashOut,
    taxes: maybe(
      fc.array(fc.record({ value: fc.constantFrom(19, '19', null), type: fc.constantFrom('IVA', null) }), {
        maxLength: 2,
      }),
    ),
    marketplace_fee: maybe(feeUpTo(total, exponent)),
  });
}

function feeUpTo(most: bigint, exponent: number): fc.Arbitrary<Written> {
  return fc.bigInt({ min: 0n, max: most }).chain((minor) => spelled(minor, exponent));
}

/** In the future, with the offsets that tills write. */
const moments = fc
  .tuple(fc.integer({ min: 1, max: 30_000_000 }), fc.constantFrom('Z', '-04:00', '-0300', '+00:00'), fc.boolean())
  .map(([seconds, offset, with_ms]) => {
    const hours = offset === 'Z' ? 0 : Number(offset.slice(0, 3));
    const local = new Date(RECEIVED_AT + seconds * 1000 + hours * 3_600_000).toISOString();
    return (with_ms ? local.slice(0, -1) : local.slice(0, -5)) + offset;
  });

const headers: fc.Arbitrary<Record<string, string>> = fc.record(
  {
    'x-platform-id': texts(0, 40),
    'x-integrator-id': fc.oneof(texts(0, 40), fc.constantFrom('dev_1', 'dev_')),
    'x-corporation-id': texts(0, 40),
    'x-product-id': texts(0, 40),
    'x-tracking-id': texts(0, 40),
    'x-test-scope': texts(0, 40),
    'x-idempotency-key': texts(0, 40),
    'x-ttl-store-preference': fc.oneof(texts(0, 10), fc.nat({ max: 20_000_000 }).map(String)),
  },
  { requiredKeys: [] },
);

/** An object that may begin with unknown keys; without undefined values, as in JSON. */
function withUnknown(fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<QrBody> {
  return fc
    .tuple(
      fc.record(fields, { noNullPrototype: true }),
      fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, unknownKeys),
    )
    .map(([known, unknown]) =>
      Object.fromEntries(Object.entries({ ...unknown, ...known }).filter(([, value]) => value !== undefined)),
    );
}
