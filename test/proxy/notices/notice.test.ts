/** The request of a notice in each dialect and form, the forms that a merchant wants, and the rotation of merchants. */
import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { shownUrl } from '../../../src/proxy/evidence/redact-text.ts';
import { inTurns } from '../../../src/proxy/notices/notifier.ts';
import {
  type FeedForm,
  inForms,
  isOfEnd,
  type News,
  noticeRequest,
  pointPaymentForms,
  qrForms,
} from '../../../src/proxy/notices/request.ts';
import type { Notice } from '../../../src/proxy/records/notices.ts';
import type { Dialect, PointPaymentNotices, QrNotices } from '../../../src/proxy/routing/merchant.ts';
import { Secret } from '../../../src/proxy/vault.ts';

/** The signature of an IPN has the form of live ones; the same request and second have the same one. */
const UNVERIFIABLE = expect.stringMatching(/^ts=\d{10},v1=[0-9a-f]{64}$/);

const ID = '3F0E6a52-1111-4222-8333-944445555666';
const AT = 1_793_624_762_110;
const receiver = {
  url: 'https://t.example/ipn?tenant=7',
  dialect: 'point_integration_ipn',
  secret: null,
  public_url: 'https://puente.example',
} as const;

function notice(change: Partial<Notice> = {}): Notice {
  return {
    id: '019b8f6e-7c00-7aaa-8bbb-00000000002a',
    legacy_id: ID,
    merchant_id: '700100200',
    topic: 'merchant_order',
    form: 'ipn',
    subject: '8000000000000017',
    body: '{"first":true,"order_status":"payment_required","application_id":"4004001"}',
    created_at: Date.UTC(2026, 10, 2, 12),
    next_attempt_at: 0,
    sequence: 1,
    state: 'pending',
    attempts: 0,
    ...change,
  };
}

describe('a notice tells how the sale ended', () => {
  it.each<[boolean, Partial<Notice>]>([
    [false, { body: '{"first":true,"order_status":"payment_required"}' }],
    [true, { body: '{"first":true,"order_status":"paid"}' }],
    [true, { body: '{"first":true,"order_status":"expired"}' }],
    [true, { body: '{"written":"by another build"}' }],
    [true, { topic: 'payment', body: '{}' }],
  ])('%s: %j', (tells, change) => {
    expect(isOfEnd(notice(change))).toBe(tells);
  });
});

describe('the notice of an intent', () => {
  const ofIntent = notice({ topic: 'point', form: 'point', id: 'notice-1', body: '{"id":"x"}' });

  it('as IPN has topic and id in the query, the flat intent as body, and a signature that no secret made', () => {
    const sent = noticeRequest(ofIntent, { ...receiver, url: 'https://till.example.com/hook' }, AT);
    expect(sent).toEqual({
      url: `https://till.example.com/hook?topic=point_integration_ipn&id=${ID}`,
      headers: {
        accept: '*/*',
        'content-type': 'application/json',
        'x-request-id': 'notice-1',
        'x-signature': UNVERIFIABLE,
      },
      body: '{"id":"x"}',
    });
    const later = noticeRequest(ofIntent, receiver, AT + 1_000);
    expect(later.headers['x-signature']).not.toBe(sent.headers['x-signature']);
  });

  it.each([
    ['https://t.example/h?client=7', 'https://t.example/h?client=7&topic='],
    ['https://t.example/h?', 'https://t.example/h?topic='],
    ['https://t.example/h?a=1&', 'https://t.example/h?a=1&topic='],
    ['https://t.example', 'https://t.example?topic='],
  ])("keeps the URL's own query in front: %s", (url, start) => {
    expect(noticeRequest(ofIntent, { ...receiver, url }, AT).url).toBe(`${start}point_integration_ipn&id=${ID}`);
  });

  it('as webhook is signed over the id in its own case, as Odoo checks it', () => {
    const target = { ...receiver, dialect: 'point_integration_wh', secret: new Secret('till secret') } as const;
    const v1 = createHmac('sha256', 'till secret').update(`id:${ID};request-id:notice-1;ts:${AT};`).digest('hex');
    expect(noticeRequest(ofIntent, target, AT)).toMatchObject({
      url: `https://t.example/ipn?tenant=7&type=point_integration_wh&data.id=${ID}`,
      headers: {
        'content-type': 'application/json',
        'x-request-id': 'notice-1',
        'x-signature': `ts=${AT},v1=${v1}`,
      },
      body: '{"id":"x"}',
    });
  });
});

describe('keys that a merchant adds to its webhooks', () => {
  const extra = { store_id: '77', id: 'another' };
  const ofIntent = notice({ topic: 'point', form: 'point', body: '{"id":"x","amount":1500.00}' });

  it('are laid under the intent, which keeps its fields and the digits of its numbers', () => {
    const target = { ...receiver, extra, dialect: 'point_integration_wh', secret: new Secret('till secret') } as const;
    const { body } = noticeRequest(ofIntent, target, AT);
    expect(JSON.parse(body)).toEqual({ store_id: '77', id: 'x', amount: 1500 });
    expect(body).toContain('1500.00');
  });

  it('are in no IPN', () => {
    expect(noticeRequest(ofIntent, { ...receiver, extra }, AT).body).toBe('{"id":"x","amount":1500.00}');
  });
});

describe('IPN of a QR sale', () => {
  it('has id before topic behind the own query, where the merchant order is, and a signature that no secret made', () => {
    const told = noticeRequest(notice(), { ...receiver, secret: new Secret('s') }, AT);
    expect(noticeRequest(notice(), receiver, AT)).toEqual(told);
    expect(told).toEqual({
      url: 'https://t.example/ipn?tenant=7&id=8000000000000017&topic=merchant_order',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'MercadoPago Feed v2.0 merchant_order',
        'x-request-id': '019b8f6e-7c00-7aaa-8bbb-00000000002a',
        'x-signature': UNVERIFIABLE,
      },
      body: '{"resource":"https://puente.example/merchant_orders/8000000000000017","topic":"merchant_order"}',
    });
  });

  it('names a payment by its bare number', () => {
    const told = noticeRequest(notice({ topic: 'payment', subject: '1313' }), receiver, 5);
    expect([told.url, told.headers['user-agent'], told.body]).toEqual([
      'https://t.example/ipn?tenant=7&id=1313&topic=payment',
      'MercadoPago Feed v2.0 payment',
      '{"resource":"1313","topic":"payment"}',
    ]);
  });
});

describe('the webhook of a QR sale', () => {
  const statuses = [
    ['payment_required', 'opened'],
    ['payment_in_process', 'opened'],
    ['undefined', 'opened'],
    ['paid', 'closed'],
    ['partially_reverted', 'closed'],
    ['reverted', 'closed'],
    ['expired', 'expired'],
  ];
  it.each(statuses)('of a merchant order in %s has its id at the root and says %s twice', (order_status, status) => {
    const body = JSON.stringify({ first: false, order_status });
    const told = noticeRequest(notice({ form: 'webhook', body }), receiver, 5);
    expect(told.url).toBe('https://t.example/ipn?tenant=7&data.id=8000000000000017&type=topic_merchant_order_wh');
    expect(JSON.parse(told.body)).toEqual({
      id: '8000000000000017',
      live_mode: true,
      type: 'topic_merchant_order_wh',
      date_created: '2026-11-02T12:00:00.000Z',
      user_id: 700100200,
      version: 1,
      api_version: 'v1',
      action: 'update',
      status,
      data: { status },
    });
  });

  it('of a payment has a number of its own, the same on every attempt', () => {
    const payment = notice({ form: 'webhook', topic: 'payment', subject: '1313' });
    const [told, again] = [5_000, 9_999].map((at) => noticeRequest(payment, receiver, at));
    expect(told?.body).toBe(again?.body);
    expect(told?.body).toBe(
      '{"id":42,"live_mode":true,"type":"payment","date_created":"2026-11-02T12:00:00.000Z","application_id":"4004001",' +
        '"user_id":700100200,"version":1,"api_version":"v1","action":"payment.created","data":{"id":"1313"}}',
    );
    const refunded = noticeRequest({ ...payment, body: '{"first":false,"application_id":"4004001"}' }, receiver, AT);
    expect(JSON.parse(refunded.body)).toMatchObject({ action: 'payment.updated', data: { id: '1313' } });
    expect(told?.headers).toEqual({
      'content-type': 'application/json',
      'user-agent': 'MercadoPago WebHook v1.0 payment',
      'x-request-id': payment.id,
    });
  });

  it("is signed with the merchant's own secret, with the second of the attempt", () => {
    const secret = new Secret('till secret');
    const told = noticeRequest(notice({ form: 'webhook' }), { ...receiver, secret }, AT);
    const v1 = createHmac('sha256', 'till secret')
      .update('id:8000000000000017;request-id:019b8f6e-7c00-7aaa-8bbb-00000000002a;ts:1793624762;')
      .digest('hex');
    expect(told.headers['x-signature']).toBe(`ts=1793624762,v1=${v1}`);
  });

  it('of facts that are none is refused', () => {
    expect(() => noticeRequest(notice({ form: 'webhook', body: '{}' }), receiver, 5)).toThrow();
  });
});

describe('the form of news', () => {
  const table: [string | null, QrNotices, string[]][] = [
    [null, 'ipn', ['ipn']],
    [null, 'webhook', ['webhook']],
    [null, 'both', ['ipn', 'webhook']],
    ['https://t.example/', 'ipn', ['ipn']],
    ['https://t.example/?source_news=ipn', 'webhook', ['ipn']],
    ['https://t.example/?a=1&source_news=ipn', 'both', ['ipn']],
    ['https://t.example/?source_news=webhooks', 'ipn', ['webhook']],
    ['https://t.example/?source_news=webhooks&b=2', 'both', ['webhook']],
    ['https://t.example/?source_news=other', 'both', ['ipn', 'webhook']],
    ['https://t.example/source_news=webhooks', 'ipn', ['ipn']],
    ['https://t.example/?x=source_news=webhooks', 'ipn', ['ipn']],
  ];
  it.each(table)('of a QR sale for %s with %s is %j', (url, setting, forms) => {
    const { form: _form, ...news } = notice();
    expect(inForms([news], qrForms(url, setting, 'ipn'))).toEqual(forms.map((form) => ({ ...news, form })));
  });

  it.each<FeedForm>(['ipn', 'webhook'])('of source_news=ipn is %s alone where the setting says so', (means) => {
    expect(qrForms('https://t.example/?source_news=ipn', 'both', means)).toEqual([means]);
    expect(qrForms('https://t.example/?source_news=webhooks', 'both', means)).toEqual(['webhook']);
    expect(qrForms('https://t.example/', 'both', means)).toEqual(['ipn', 'webhook']);
  });

  const ofPoint: [PointPaymentNotices, Dialect, FeedForm[]][] = [
    ['ipn', 'point_integration_ipn', ['ipn']],
    ['ipn', 'point_integration_wh', []],
    ['all', 'point_integration_ipn', ['ipn']],
    ['all', 'point_integration_wh', ['webhook']],
    ['off', 'point_integration_ipn', []],
    ['off', 'point_integration_wh', []],
  ];
  it.each(ofPoint)("of a Point sale's payment with %s beside %s is %j", (setting, dialect, forms) => {
    const { form: _form, ...news } = notice({ topic: 'payment', subject: '1313' });
    const intent: News = { ...news, topic: 'point', subject: ID };
    expect(inForms([intent, news], pointPaymentForms(setting, dialect))).toEqual([
      { ...intent, form: 'point' },
      ...forms.map((form) => ({ ...news, form })),
    ]);
  });

  it('keeps the order of the news', () => {
    const { form: _form, ...order } = notice();
    const payment: News = { ...order, topic: 'payment', subject: '1313' };
    const told = inForms([payment, order], ['ipn', 'webhook']).map(({ topic, form }) => `${topic} ${form}`);
    expect(told).toEqual(['payment ipn', 'payment webhook', 'merchant_order ipn', 'merchant_order webhook']);
  });
});

describe('a URL in the log', () => {
  const urls: [string, string][] = [
    ['https://t.example', 'https://t.example/'],
    ['https://t.example/hooks/secret', 'https://t.example/…'],
    ['https://t.example:8443/ipn?key=secret&id=1', 'https://t.example:8443/…?…'],
    ['https://t.example/ipn#secret', 'https://t.example/…'],
    ['mailto:secret@t.example', 'mailto:///…'],
    ['https://user:pass@t.example/', 'https://t.example/'],
    ['https://t.example/?secret&id=1', 'https://t.example/?…'],
    ['not a url ?key=secret', 'not a URL'],
  ];
  it.each(urls)('%s is %s', (url, shown) => {
    expect(shownUrl(url)).toBe(shown);
  });
});

describe('turns', () => {
  const due = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) => ({ merchant_id: name.charAt(0), name }));
  const names = (turns: Record<string, number>) => inTurns(due, (id) => turns[id] ?? 0).map((notice) => notice.name);

  it("go round, and keep each merchant's order", () => {
    expect(names({})).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });

  it('begin with whoever was served longest ago', () => {
    expect(names({ a: 9, b: 3, c: 5 })).toEqual(['b1', 'c1', 'a1', 'b2', 'a2', 'a3']);
  });

  it('of nobody are nothing', () => {
    expect(inTurns([], () => 0)).toEqual([]);
  });
});
