/** Deprecation headers are written as their standards say. */
import { expect, it } from 'vitest';
import { deprecationHeaders } from '../../../src/proxy/http/proxy-legacy.ts';
import { type Merchant, merchantSettings } from '../../../src/proxy/routing/merchant.ts';
import { newMerchant } from '../../store/contract/harness.ts';

const merchant = (deprecation: unknown): Merchant => ({
  ...newMerchant({ settings: merchantSettings.parse({ deprecation }) }),
  trips: {},
  revision: 1,
  updated_at: 0,
});

it('Deprecation in seconds behind an @ (RFC 9745), Sunset as an HTTP-date (RFC 8594), Link with its relation', () => {
  const setting = {
    deprecated_at: 1_688_169_599_999,
    sunset_at: 1_783_036_799_000,
    link: 'https://till.example/old?a=1',
  };
  expect(deprecationHeaders(merchant(setting))).toEqual({
    deprecation: '@1688169599',
    sunset: 'Thu, 02 Jul 2026 23:59:59 GMT',
    link: '<https://till.example/old?a=1>; rel="deprecation"',
  });
});

it('only what is set, and nothing by default', () => {
  expect(deprecationHeaders(null)).toEqual({});
  expect(deprecationHeaders(merchant(null))).toEqual({});
  expect(deprecationHeaders(merchant({ sunset_at: 0 }))).toEqual({ sunset: 'Thu, 01 Jan 1970 00:00:00 GMT' });
});

it('a link can neither end its brackets nor its line', () => {
  const { link } = deprecationHeaders(merchant({ link: 'https://till.example/a>b"c/ñ' }));
  expect(link).toBe('<https://till.example/a%3Eb%22c/%C3%B1>; rel="deprecation"');
});
