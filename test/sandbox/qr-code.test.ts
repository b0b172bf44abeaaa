/** The text of a QR code: EMVCo fields that parse back, with a valid checksum. */
import { describe, expect, test } from 'vitest';
import { type SiteId, sites } from '../../src/contract/sites.ts';
import { checksum, qrData } from '../../src/sandbox/order-at-unit.ts';

const REFERENCE = '0a1b2c3d-0000-4000-8000-0123456789ab';

function fieldsOf(text: string): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let at = 0; at < text.length; ) {
    const length = Number(text.slice(at + 2, at + 4));
    fields[text.slice(at, at + 2)] = text.slice(at + 4, at + 4 + length);
    at += 4 + length;
  }
  return fields;
}

test('the checksum is CRC-16/CCITT-FALSE, with its published check value', () => {
  expect(checksum('123456789')).toBe('29B1');
  expect(checksum('')).toBe('FFFF');
});

describe.each(Object.keys(sites) as SiteId[])('%s', (site_id) => {
  const site = sites[site_id];
  const text = qrData(site, REFERENCE, 15050, 'TESTSELLER1');
  const fields = fieldsOf(text);

  test('the last four letters are the checksum of all before them', () => {
    expect(text.slice(-4)).toBe(checksum(text.slice(0, -4)));
    expect(text.slice(-8, -4)).toBe('6304');
  });

  test('format, single use, currency, amount, country and seller', () => {
    const amount = site.exponent === 0 ? '15050' : '150.50';
    expect(fields).toMatchObject({
      '00': '01',
      '01': '12',
      '54': amount,
      '58': site.country_alpha2,
      '59': 'TESTSELLER1',
    });
    expect(fields['53']).toMatch(/^\d{3}$/);
  });

  test('the account leads to the order: a wallet reference, and in Brazil a Pix location', () => {
    if (site_id === 'MLB') {
      expect(fieldsOf(fields['26'] ?? '')).toEqual({
        '00': 'br.gov.bcb.pix',
        '25': `pix-qr.mercadopago.com/instore/o/v2/${REFERENCE.replaceAll('-', '')}`,
      });
    } else {
      expect(fieldsOf(fields['43'] ?? '')).toEqual({ '00': 'COM.MERCADOLIBRE', '02': '3', '06': REFERENCE });
    }
  });
});
