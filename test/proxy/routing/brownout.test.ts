/** Brown-outs refuse new work and listings while they last, and never calls about an existing sale. */
import { describe, expect, it } from 'vitest';
import { loadTables } from '../../../src/mapping/load.ts';
import { type Merchant, merchantSettings } from '../../../src/proxy/routing/merchant.ts';
import { brownoutOf, brownoutWait_s } from '../../../src/proxy/routing/stage.ts';

const tables = loadTables('mappings');
const NOW = 1_750_000_000_000;
const window = { id: 'b1', from: NOW, until: NOW + 90_000, reason: 'drill', aborted_at: null };

function merchant(...brownouts: object[]): Merchant {
  return {
    id: '700100200',
    site: 'MLA',
    settings: merchantSettings.parse({ brownouts }),
    sealed_notice_url: null,
    sealed_notice_secret: null,
    sealed_credential: null,
    trips: {},
    revision: 1,
    updated_at: NOW,
  };
}

function operation(name: string) {
  const found = tables.operations.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no operation ${name}`);
  return found;
}

describe('a brown-out', () => {
  it('refuses new work and listings; every other operation passes', () => {
    const refused = tables.operations.filter((one) => brownoutOf(merchant(window), one, NOW) !== null);
    expect(refused.map(({ name }) => name)).toEqual([
      'point.list_devices',
      'point.change_mode',
      'point.create_intent',
      'point.list_events',
      'qr_v1.create',
      'qr_v1.replace',
      'qr_v1.create_by_number',
      'qr_v1.replace_by_number',
      'qr.put_order_of_store',
      'qr.put_order',
      'qr.create_code',
      'qr.put_code',
      'qr.create_code_singular',
      'qr.put_code_singular',
    ]);
  });

  it.each([
    ['before it begins', NOW - 1, false],
    ['at its first millisecond', NOW, true],
    ['at its last', NOW + 89_999, true],
    ['at its end', NOW + 90_000, false],
  ])('%s', (_name, now, holds) => {
    expect(brownoutOf(merchant(window), operation('point.create_intent'), now) !== null).toBe(holds);
  });

  it('that was aborted refuses nothing, and another one still does', () => {
    const aborted = { ...window, aborted_at: NOW - 1 };
    expect(brownoutOf(merchant(aborted), operation('qr.put_order'), NOW)).toBeNull();
    expect(brownoutOf(merchant(aborted, { ...window, id: 'b2' }), operation('qr.put_order'), NOW)?.id).toBe('b2');
    expect(brownoutOf(null, operation('qr.put_order'), NOW)).toBeNull();
  });

  it('tells how long to wait: to the end, at least a second, and never so long that an abort goes unnoticed', () => {
    expect(brownoutWait_s(window, NOW + 60_001)).toBe(30);
    expect(brownoutWait_s(window, NOW + 89_999)).toBe(1);
    expect(brownoutWait_s(window, NOW)).toBe(60);
  });
});
