/** What still needs legacy: of units and merchants, as facts and as the verdict on completion. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { type LegacyUse, QUIET_DAYS, useOf } from '../../../src/ops/readiness/legacy-use.ts';
import { merchantSettings } from '../../../src/proxy/routing/merchant.ts';
import { ARGENTINA } from '../../kit.ts';
import { codePath, openQrShop, storeOrder } from '../../proxy/http/qr-till.ts';
import { LEFT_IN_DOUBT } from '../../proxy/http/till.ts';

const DAY_MS = 86_400_000;
const NOW = 20_500 * DAY_MS + DAY_MS / 2;
const merchant_id = '700100200';

type Seen = Parameters<typeof useOf>[0];

function used(change: Partial<Seen>, stage: 'orders' | 'canary' = 'orders'): LegacyUse {
  const settings = merchantSettings.parse({ stage, units_in: stage === 'canary' ? ['point:A'] : [] });
  const sealed = { sealed_notice_url: null, sealed_notice_secret: null, sealed_credential: null };
  const merchant = { id: merchant_id, site: 'MLA', settings, ...sealed, trips: {}, revision: 1, updated_at: NOW };
  const rules = { merchants: { stage: 'legacy' as const }, routing: { canary_salt: 'salt' } };
  return useOf({
    rules,
    merchant,
    units: [],
    traffic: [],
    unknowns: [],
    open: [],
    mismatches: [],
    now: NOW,
    ...change,
  });
}

function unit(slot: string, legacy_at: number | null): Seen['units'][number] {
  const span = { first_at: 0, last_at: NOW, calls: 9, last_lane: 'orders' as const };
  return { merchant_id, slot, ...span, legacy_at, legacy_operation: legacy_at === null ? null : 'point.get_intent' };
}

function calls(lane: 'legacy' | 'orders', days_ago: number, count = 1): Seen['traffic'][number] {
  const day = Math.floor(NOW / DAY_MS) - days_ago;
  return { merchant_id, day, operation: 'point.get_intent', kind: 'intents', lane, outcome: 'ok', calls: count };
}

const sale = { family: 'point' as const, unit: 'A', created_at: 0, legacy_id: null, state: 'OPEN', ends_at: NOW + 1 };

describe('a unit may not go', () => {
  it.each([
    [
      'whose new work goes to legacy',
      used({ units: [unit('point:B', null)] }, 'canary'),
      'Its new work goes to legacy.',
    ],
    [
      'with a sale open on legacy',
      used({ units: [unit('point:A', null)], open: [{ ...sale, side: 'legacy', slot: 'point:A' }] }),
      '1 sale of it is open on legacy.',
    ],
    [
      'with a sale open on legacy of a point of sale that is not known',
      used({ units: [unit('qr:A', null)], open: [{ ...sale, family: 'qr', side: 'legacy', slot: 'qr:*' }] }),
      '1 sale of it is open on legacy.',
    ],
    [
      'with a sale of unknown outcome, and one that does not agree with upstream',
      used({
        units: [unit('point:A', null)],
        open: [{ ...sale, legacy_id: 'one', state: 'IN_DOUBT', side: 'orders', slot: 'point:A' }],
        mismatches: ['one', 'two', 'two'].map((subject) => ({ subject, unit: 'A' })),
      }),
      '2 sales of it have an open finding.',
    ],
    [
      'with a sale of unknown outcome that holds no unit, as of a dynamic QR',
      used({
        units: [unit('qr:A', null)],
        open: [{ ...sale, family: 'qr', legacy_id: 'one', state: 'IN_DOUBT', side: 'orders', slot: null }],
      }),
      '1 sale of it has an open finding.',
    ],
    [
      'that called legacy less than a week ago',
      used({ units: [unit('point:A', NOW - QUIET_DAYS * DAY_MS)] }),
      'Since its last call to legacy 6 whole UTC days have passed; 7 are needed.',
    ],
    [
      'that called legacy yesterday, almost two days ago at the end of today',
      used({ units: [unit('point:A', NOW - DAY_MS)] }),
      'Since its last call to legacy no whole UTC day has passed; 7 are needed.',
    ],
    [
      'that never called legacy, and whose calls are recorded for less than a week',
      used({ units: [{ ...unit('point:A', null), first_at: NOW - QUIET_DAYS * DAY_MS + 1 }] }),
      'It never called legacy, in 6 whole days of recorded calls; 7 days are needed.',
    ],
  ])('%s', (_name, { units }, why) => {
    expect(units).toMatchObject([{ may_go: false, why }]);
  });
});

it('a finding of another unit, or of none, does not keep a unit', () => {
  const mismatches = ['AA', null].map((name) => ({ subject: 'one', unit: name }));
  expect(used({ units: [unit('point:A', null)], mismatches }).units).toMatchObject([{ may_go: true }]);
});

it('a dynamic QR whose create is in doubt is an open finding of its point of sale at once', async () => {
  const shop = await openQrShop();
  onTestFinished(() => shop.close());
  const { external_id } = shop.freshTill();
  await shop.fault({ ...LEFT_IN_DOUBT, times: 'always' });
  expect((await shop.till(codePath(external_id), { body: storeOrder() })).status).toBe(504);
  const of = async (path: string) => (await shop.ops(path)).body;
  const found = { unit: `qr:${external_id}`, may_go: false, why: '1 sale of it has an open finding.' };
  expect(await of(`/api/merchants/${ARGENTINA}/decommission`)).toMatchObject({ may_go: false, units: [found] });
  expect(await of(`/api/report?merchant=${ARGENTINA}`)).toMatchObject({
    readiness: { unproven: expect.arrayContaining([expect.objectContaining({ code: 'in_doubt' })]) },
    completion: { may_go: false, units: [found] },
    certificate: null,
  });
});

describe('a unit may go', () => {
  it.each([
    ['that never called it', null, null, 'It never called legacy.'],
    [
      'that did not call it for a week of whole days',
      NOW - (QUIET_DAYS + 1) * DAY_MS,
      7,
      'It did not call legacy for 7 whole UTC days.',
    ],
  ])('%s', (_name, legacy_at, quiet_days, why) => {
    const open = [{ ...sale, side: 'orders' as const, slot: 'point:A' }];
    expect(used({ units: [unit('point:A', legacy_at)], open }, 'canary').units).toMatchObject([
      { new_work: 'orders', quiet_days, open_on_legacy: 0, may_go: true, why },
    ]);
  });
});

describe('of a merchant', () => {
  it('has as many quiet days as its unit that called last', () => {
    const { quiet_days, units } = used({
      units: [unit('point:A', NOW - 9 * DAY_MS), unit('point:B', NOW - 12 * DAY_MS)],
    });
    expect([quiet_days, ...units.map((one) => one.quiet_days)]).toEqual([8, 8, 11]);
  });

  it('calls of no unit, and of endpoints in no table, count by their day, to its end', () => {
    expect(used({})).toMatchObject({ last_legacy_day: null, quiet_days: null, open_on_legacy: 0, open_until: null });
    const traffic = [calls('legacy', 9, 5), calls('legacy', 3, 2), calls('legacy', 2), calls('orders', 0)];
    expect(used({ traffic })).toMatchObject({
      quiet_days: 1,
      calls: [{ name: 'point.get_intent', calls: 8, last_day: used({ traffic }).last_legacy_day }],
    });
    const unknown = { merchant_id, what: 'endpoint' as const, name: 'PUT /stores/:id', count: 3, first_at: 0 };
    const unknowns = [
      { ...unknown, last_at: NOW },
      { ...unknown, what: 'field' as const, last_at: NOW },
    ];
    expect(used({ traffic, unknowns })).toMatchObject({
      quiet_days: 0,
      calls: [{}, { name: 'PUT /stores/:id', calls: 3 }],
    });
    expect(used({ traffic: [calls('legacy', 9)] })).toMatchObject({ quiet_days: 8, watched_days: 8, calls: [] });
    expect(used({})).toMatchObject({ watched_days: 0 });
  });

  it('every open sale on legacy counts, with or without a unit', () => {
    const open = [sale, { ...sale, ends_at: NOW + 5 }].map((one) => ({ ...one, side: 'legacy' as const, slot: null }));
    expect(used({ open })).toMatchObject({ open_on_legacy: 2, open_until: new Date(NOW + 5).toISOString() });
  });
});
