/** Chapters common to every QR family; each leaves the till without an order. */
import { buyer, create, type QrFamily, type QrSite, read, remove } from './qr-sales.ts';
import type { QrStep } from './qr-till-script.ts';

interface Subject {
  family: QrFamily;
  site: QrSite;
  /** A reference that no other chapter uses. */
  reference: string;
}

type Chapter = (subject: Subject) => QrStep[];

const OPENED: QrStep = { notices: 1 };
/** `payment` and the closed `merchant_order`. */
const PAID: QrStep = { notices: 2 };
const ENDED: QrStep = { notices: 1 };
const REFUNDED: QrStep = { notices: 1 };
const TEN_MINUTES_MS = 600_000;

function sale({ family, site, reference }: Subject, changes: object = {}, headers?: Record<string, string>): QrStep[] {
  return [create(family, family.body(site, { external_reference: reference, ...changes }), headers), OPENED];
}

/** Ends the current sale: by the till where its family can remove it, otherwise by a payment. */
function end(subject: Subject): QrStep[] {
  const { family } = subject;
  return family.remove === null ? [buyer(family, 'pay'), PAID] : [...remove(family), ENDED];
}

const searches = (reference: string): QrStep[] => [
  { call: `GET /merchant_orders/search?external_reference=${reference}` },
  { call: `GET /merchant_orders?external_reference=${reference}` },
  { call: `GET /merchant_orders/?external_reference=${reference}` },
];
const payments = (reference: string): QrStep => ({
  call: `GET /v1/payments/search?external_reference=${reference}&sort=date_created&criteria=desc`,
});
const refunds = (body?: unknown): QrStep => ({
  call: 'POST /v1/payments/{payment}/refunds',
  ...(body === undefined ? {} : { body }),
});
const pay = (subject: Subject): QrStep[] => [...sale(subject), buyer(subject.family, 'pay'), PAID];

export const commonChapters: Readonly<Record<string, Chapter>> = {
  'shown and taken away': (subject) => [
    ...sale(subject),
    ...read(subject.family),
    ...end(subject),
    ...read(subject.family),
  ],
  'taken away, though nothing is there': ({ family }) => [...read(family), ...remove(family)],
  'paid, with every read': (subject) => [
    ...sale(subject),
    ...read(subject.family),
    { call: 'GET /merchant_orders/{merchant_order}' },
    ...searches(subject.reference),
    payments(subject.reference),
    buyer(subject.family, 'pay'),
    PAID,
    { call: 'GET /merchant_orders/{merchant_order}' },
    { call: 'GET /merchant_orders/{merchant_order}/' },
    ...searches(subject.reference),
    { call: 'GET /v1/payments/{payment}' },
    { call: 'GET /v1/payments/{payment}/' },
    payments(subject.reference),
    payments(subject.reference),
    ...read(subject.family),
    ...remove(subject.family),
  ],
  'paid by credit card in instalments': (subject) => [
    ...sale(subject),
    buyer(subject.family, 'pay', { payment_method_type: 'credit_card', installments: 3 }),
    PAID,
    { call: 'GET /merchant_orders/{merchant_order}' },
    { call: 'GET /v1/payments/{payment}' },
  ],
  'polled until paid': (subject) => [
    ...sale(subject),
    payments(subject.reference),
    buyer(subject.family, 'pay'),
    {
      poll: `GET /v1/payments/search?external_reference=${subject.reference}&sort=date_created&criteria=desc`,
      until: 'approved',
    },
    PAID,
    { call: 'GET /v1/payments/{payment}' },
  ],
  'the buyer goes away, and pays later': (subject) => [
    ...sale(subject),
    buyer(subject.family, 'lock'),
    buyer(subject.family, 'unlock'),
    buyer(subject.family, 'abandon'),
    ...read(subject.family),
    buyer(subject.family, 'pay'),
    PAID,
    { call: 'GET /merchant_orders/{merchant_order}' },
  ],
  'refunded whole, and once more': (subject) => [
    ...pay(subject),
    refunds(),
    REFUNDED,
    { call: 'GET /merchant_orders/{merchant_order}' },
    { call: 'GET /v1/payments/{payment}' },
    { call: 'GET /v1/payments/{payment}/refunds' },
    { call: 'GET /v1/payments/{payment}/refunds/' },
    { call: 'GET /v1/payments/{payment}/refunds/{refund}' },
    refunds({}),
    refunds({ amount: subject.site.part }),
    ...searches(subject.reference),
    payments(subject.reference),
  ],
  'refunded with an empty object': (subject) => [
    ...pay(subject),
    refunds({}),
    REFUNDED,
    { call: 'GET /v1/payments/{payment}/refunds/' },
  ],
  'refunded in parts, the last one without an amount': (subject) => [
    ...pay(subject),
    { call: 'GET /v1/payments/{payment}/refunds' },
    refunds({ amount: subject.site.part }),
    REFUNDED,
    { call: 'GET /merchant_orders/{merchant_order}' },
    { call: 'GET /v1/payments/{payment}' },
    refunds({ amount: subject.site.part }),
    REFUNDED,
    { call: 'GET /v1/payments/{payment}/refunds/' },
    refunds(),
    REFUNDED,
    { call: 'GET /v1/payments/{payment}/refunds' },
    { call: 'GET /merchant_orders/{merchant_order}' },
  ],
  'a refund repeated with its key': (subject) => {
    const headers = { 'x-idempotency-key': `refund of ${subject.reference}` };
    const part = { amount: subject.site.part };
    return [
      ...pay(subject),
      { call: 'POST /v1/payments/{payment}/refunds', body: part, headers },
      REFUNDED,
      { call: 'POST /v1/payments/{payment}/refunds', body: part, headers },
      { call: 'GET /v1/payments/{payment}/refunds/' },
    ];
  },
  'refunds that are refused': (subject) => [
    ...pay(subject),
    refunds({ amount: 0 }),
    refunds({ amount: -1 }),
    refunds({ amount: 'ten' }),
    refunds({ amount: subject.site.total + 1 }),
    refunds('[]'),
    refunds('{'),
    { call: 'GET /v1/payments/{payment}/refunds/1' },
    { call: 'GET /v1/payments/{payment}/refunds' },
  ],
  'refunded in the manner of the oldest clients': (subject) => [
    ...pay(subject),
    { call: 'PUT /collections/{payment}', body: { status: 'refunded' } },
    REFUNDED,
    { call: 'PUT /collections/{payment}', body: { status: 'refunded' } },
    { call: 'GET /v1/payments/{payment}' },
  ],
  'the same reference for every sale, with a space': (subject) => {
    const external_reference = 'Venta de caja';
    const asked = 'external_reference=Venta%20de%20caja';
    const body = { external_reference, ...subjectMark(subject) };
    return [
      ...sale(subject, body),
      ...read(subject.family),
      buyer(subject.family, 'pay'),
      PAID,
      { call: 'GET /v1/payments/{payment}' },
      ...sale(subject, { ...body, ...otherMark(subject) }),
      ...read(subject.family),
      buyer(subject.family, 'pay'),
      PAID,
      { call: 'GET /merchant_orders/{merchant_order}' },
      { call: `GET /v1/payments/search?${asked}&sort=date_created&criteria=desc&limit=2` },
      { call: `GET /merchant_orders/search?${asked}&limit=2` },
    ];
  },
  'a reference of more than 64 letters': (subject) => {
    const external_reference = `${subject.reference} ñ `.padEnd(200, 'x');
    return [
      ...sale(subject, { external_reference }),
      ...read(subject.family),
      { call: 'GET /merchant_orders/{merchant_order}' },
      ...end(subject),
    ];
  },
  'a reference that is a number': (subject) => [
    ...sale(subject, { external_reference: 12345 }),
    ...read(subject.family),
    { call: 'GET /merchant_orders/{merchant_order}' },
    ...end(subject),
  ],
  'notices to the account': (subject) => [
    ...sale(subject, { notification_url: undefined }),
    { call: 'GET /merchant_orders/{merchant_order}' },
    ...end(subject),
  ],
  'a lifetime of its own': (subject) => [
    ...sale(subject, {}, { 'x-ttl-store-preference': '60' }),
    { advance_ms: 61_000 },
    ENDED,
    ...read(subject.family),
    { call: 'GET /merchant_orders/{merchant_order}' },
    ...searches(subject.reference),
  ],
  'an end of its own, as a date': (subject) =>
    isV1(subject)
      ? []
      : [
          ...sale(subject, { expiration_date: '{soon}' }),
          ...read(subject.family),
          { advance_ms: TEN_MINUTES_MS - 10_000 },
          ...read(subject.family),
          { call: 'GET /merchant_orders/{merchant_order}' },
          { advance_ms: 11_000 },
          ENDED,
          ...read(subject.family),
        ],
  'numbers as some tills write them': (subject) => {
    const text = JSON.stringify(subject.family.body(subject.site, { external_reference: subject.reference }));
    const written = (price: number): string => (subject.site.currency === 'CLP' ? `${price}.0` : price.toFixed(2));
    const { unit_price, total } = subject.site;
    const bodies = [
      text.replace(`"unit_price":${unit_price}`, `"unit_price":"${unit_price}"`),
      text.replace(`"unit_price":${unit_price}`, `"unit_price":${written(unit_price)}`),
      text.replace('"quantity":2', '"quantity":2.0'),
      text.replace('"quantity":2', '"quantity":"2"'),
      ...(isV1(subject) ? [] : [text.replace(`"total_amount":${total},"items"`, `"total_amount":"${total}","items"`)]),
    ];
    return bodies.flatMap((body) => [
      create(subject.family, body),
      OPENED,
      ...read(subject.family),
      { call: 'GET /merchant_orders/{merchant_order}' },
      ...end(subject),
    ]);
  },
  'what some tills send besides': (subject) => {
    const extras = isV1(subject)
      ? [
          { sponsor_id: 700900900 },
          { sponsor_id: '700900900' },
          { marketplace_fee: 0 },
          { payment_methods: { installments: 1 } },
        ]
      : [
          { sponsor: { id: 700900900 } },
          { cash_out: { amount: 0 } },
          { cash_out: {} },
          { taxes: [{ value: 19, type: 'IVA' }] },
          { description: undefined },
        ];
    return extras.flatMap((extra) => [
      ...sale(subject, extra),
      ...read(subject.family),
      { call: 'GET /merchant_orders/{merchant_order}' },
      ...end(subject),
    ]);
  },
  'odd HTTP': (subject) => {
    const { family, site, reference } = subject;
    const body = family.body(site, { external_reference: reference });
    const token = `access_token=APP_USR-4004001-112026-00000000000000000000000000000a01-${site.merchant}`;
    const odd = (step: QrStep, changes: object): QrStep => ({ ...step, ...changes }) as QrStep; // still a call
    return [
      { call: `${family.create}?${token}`, body, token: null },
      OPENED,
      ...read(family).map((step) => odd(step, { body: { stale: true } })),
      { call: `GET /merchant_orders/{merchant_order}?${token}`, token: null },
      { call: 'GET /merchant_orders/{merchant_order}?' },
      { call: `GET /v1/payments/search?external_reference=${reference}`, body: {} },
      ...(family.remove === null ? end(subject) : [...remove(family).map((step) => odd(step, { body: {} })), ENDED]),
      create(family, body, { 'content-type': '' }),
      OPENED,
      ...end(subject),
      create(family, body, { 'content-type': 'application/json;charset=utf-8' }),
      OPENED,
      ...end(subject),
    ];
  },
  'searches with filters': (subject) => {
    const search = (filter: string): QrStep => ({
      call: `GET /merchant_orders/search?external_reference=${subject.reference}&${filter}`,
    });
    const paymentSearch = (filter: string): QrStep => ({
      call: `GET /v1/payments/search?external_reference=${subject.reference}&${filter}`,
    });
    return [
      ...sale(subject),
      ...['status=opened', 'status=closed', 'order_status=payment_required', 'limit=1&offset=1'].map(search),
      buyer(subject.family, 'pay'),
      PAID,
      ...['status=opened', 'status=closed', 'order_status=paid', 'site_id=MLX', 'date_created_to=2020-01-01'].map(
        search,
      ),
      ...['date_created_from=x', 'limit=x', 'offset=-1', `site_id=${siteId(subject)}`, 'items=A1'].map(search),
      ...['status=approved', 'status=rejected', 'range=date_created&begin_date=NOW-30DAYS&end_date=NOW'].map(
        paymentSearch,
      ),
      ...['limit=1', 'offset=1', 'limit=x', 'sort=x', 'criteria=x', 'pos_id={till_number}', 'pos_id=1'].map(
        paymentSearch,
      ),
    ];
  },
  'expired, nobody came': (subject) => [
    ...sale(subject, {}, { 'x-ttl-store-preference': '600' }),
    { advance_ms: TEN_MINUTES_MS + 1000 },
    ENDED,
    ...read(subject.family),
    ...remove(subject.family),
    { call: 'GET /merchant_orders/{merchant_order}' },
  ],
};

const isV1 = ({ family }: Subject): boolean => family.name.startsWith('v1');
const siteId = ({ site }: Subject): string => siteIds[site.currency] ?? '';
const siteIds: Readonly<Record<string, string>> = { ARS: 'MLA', BRL: 'MLB', CLP: 'MLC', UYU: 'MLU' };

/** A body that differs from the first under the same reference, so it is not a retry. */
const subjectMark = ({ site, family }: Subject): object => (family.name.startsWith('v1') ? {} : { title: site.name });
const otherMark = ({ site, family }: Subject): object =>
  family.name.startsWith('v1') ? { sponsor_id: 700900900 } : { title: `${site.name} again` };

/** Chapters for families that show on a till's printed code. */
export const tillChapters: Readonly<Record<string, Chapter>> = {
  'created again: replaced': (subject) => [
    ...sale(subject),
    create(subject.family, subject.family.body(subject.site, { external_reference: `${subject.reference}-second` })),
    { notices: 2 },
    ...read(subject.family),
    ...end(subject),
    { call: `GET /merchant_orders/search?external_reference=${subject.reference}-second` },
  ],
  'somebody is paying': (subject) => [
    ...sale(subject),
    buyer(subject.family, 'lock'),
    create(subject.family, subject.family.body(subject.site, { external_reference: `${subject.reference}-second` })),
    ...read(subject.family),
    ...remove(subject.family),
    buyer(subject.family, 'unlock'),
    ...end(subject),
  ],
};
