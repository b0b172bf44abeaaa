/** The request of a notice in both dialects, and the turns that merchants take. */
import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { inTurns, noticeRequest } from '../../src/core/notice.ts';
import { Secret } from '../../src/core/secret.ts';

const ID = '3F0E6a52-1111-4222-8333-944445555666';
const facts = {
  url: 'https://till.example.com/hook',
  intent_id: ID,
  body: '{"id":"x"}',
  request_id: 'notice-1',
  timestamp_ms: 1_793_624_762_110,
};

describe('point_integration_ipn', () => {
  it('has topic and id in the query, the flat intent as body, and no signature even with a secret', () => {
    expect(noticeRequest({ ...facts, dialect: 'point_integration_ipn', secret: new Secret('s') })).toEqual({
      url: `https://till.example.com/hook?topic=point_integration_ipn&id=${ID}`,
      headers: { accept: '*/*', 'content-type': 'application/json' },
      body: '{"id":"x"}',
    });
  });

  const urls: [string, string][] = [
    ['https://t.example/h?client=7', 'https://t.example/h?client=7&topic='],
    ['https://t.example/h?', 'https://t.example/h?topic='],
    ['https://t.example/h?a=1&', 'https://t.example/h?a=1&topic='],
    ['https://t.example', 'https://t.example?topic='],
  ];
  it.each(urls)("keeps the URL's own query in front: %s", (url, start) => {
    expect(noticeRequest({ ...facts, url, dialect: 'point_integration_ipn' }).url).toBe(
      `${start}point_integration_ipn&id=${ID}`,
    );
  });
});

describe('point_integration_wh', () => {
  it('is signed over the id in its own case, as Odoo checks it', () => {
    const { url, headers, body } = noticeRequest({
      ...facts,
      dialect: 'point_integration_wh',
      secret: new Secret('till secret'),
    });
    const v1 = createHmac('sha256', 'till secret')
      .update(`id:${ID};request-id:notice-1;ts:1793624762110;`)
      .digest('hex');
    expect(url).toBe(`https://till.example.com/hook?type=point_integration_wh&data.id=${ID}`);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-request-id': 'notice-1',
      'x-signature': `ts=1793624762110,v1=${v1}`,
    });
    expect(body).toBe('{"id":"x"}');
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
