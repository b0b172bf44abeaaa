/** The units of a canary: only added when the share rises, evenly spread, and a named unit takes precedence. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Merchant,
  merchantSettings,
  routedKinds,
  type Stage,
  stages,
} from '../../../src/proxy/routing/merchant.ts';
import { bucketOf, isOnOrders, isShadowed, kindOfSlot, stageInForce } from '../../../src/proxy/routing/stage.ts';
import { newMerchant } from '../../store/contract/harness.ts';

const rules = { merchants: { stage: 'legacy' as const }, routing: { canary_salt: 'puente' } };
const ID = '700100200';
const TRIP = {
  at: 1,
  why: 'half of the calls failed',
  evidence: { calls: 40, faults: 20, slow: 0, window_ms: 300_000, sample: null },
};

const merchant = (settings: object, trips: Merchant['trips'] = {}): Merchant => ({
  ...newMerchant(),
  settings: merchantSettings.parse(settings),
  trips,
  revision: 1,
  updated_at: 1,
});

const unit = fc.stringMatching(/^[A-Za-z0-9_-]{1,24}$/);
const slot = fc.tuple(fc.constantFrom('point', 'qr'), unit).map(([family, name]) => `${family}:${name}`);
/** Percent with two decimals, as in the settings. */
const share = fc.integer({ min: 0, max: 10_000 }).map((hundredths) => hundredths / 100);
const stage = fc.constantFrom(...stages);
const kind = fc.constantFrom(...routedKinds);
const salt = fc.string({ minLength: 1, maxLength: 12 });

const isIn = (settings: object, of: (typeof routedKinds)[number], one: string, canary_salt = 'puente'): boolean =>
  isOnOrders({ ...rules, routing: { canary_salt } }, merchant(settings), ID, of, one);

describe('a canary', () => {
  it('never gives a unit back when its share rises, whatever the salt', () => {
    fc.assert(
      fc.property(salt, slot, kind, share, share, (canary_salt, one, of, a, b) => {
        const [less, more] = [Math.min(a, b), Math.max(a, b)];
        const before = isIn({ stage: 'canary', share: less }, of, one, canary_salt);
        const after = isIn({ stage: 'canary', share: more }, of, one, canary_salt);
        expect(before && !after).toBe(false);
      }),
    );
  });

  it('never gives a unit back when more are named, or when the stage becomes orders', () => {
    fc.assert(
      fc.property(slot, slot, kind, share, (one, other, of, percent) => {
        if (!isIn({ stage: 'canary', share: percent }, of, one)) return;
        expect(isIn({ stage: 'canary', share: percent, units_in: [other] }, of, one)).toBe(true);
        expect(isIn({ stage: 'orders' }, of, one)).toBe(true);
      }),
    );
  });

  it('takes no unit at 0 and every unit at 100', () => {
    fc.assert(
      fc.property(slot, kind, (one, of) => {
        expect(isIn({ stage: 'canary', share: 0 }, of, one)).toBe(false);
        expect(isIn({ stage: 'canary', share: 100 }, of, one)).toBe(true);
      }),
    );
  });

  it('takes the units that are named in and leaves those that are named out, whatever the share; out is stronger', () => {
    fc.assert(
      fc.property(slot, kind, share, (one, of, percent) => {
        expect(isIn({ stage: 'canary', share: percent, units_in: [one] }, of, one)).toBe(true);
        expect(isIn({ stage: 'canary', share: percent, units_out: [one] }, of, one)).toBe(false);
        expect(isIn({ stage: 'canary', share: percent, units_in: [one], units_out: [one] }, of, one)).toBe(false);
      }),
    );
  });

  it('leaves what has no unit on legacy', () => {
    const all = merchant({ stage: 'canary', share: 100 });
    expect(isOnOrders(rules, all, ID, 'devices', null)).toBe(false);
    expect(isOnOrders(rules, merchant({ stage: 'orders' }), ID, 'devices', null)).toBe(true);
  });

  it.each([0.01, 1, 5, 10, 25, 50, 75, 99])('takes about %s %% of 10,000 units', (percent) => {
    const units = Array.from(
      { length: 10_000 },
      (_, index) => `point:PAX_A910__SMARTPOS${String(index).padStart(10, '0')}`,
    );
    const taken = units.filter((one) => isIn({ stage: 'canary', share: percent }, 'intents', one)).length;
    const expected = 100 * percent;
    // Five standard deviations of a fair choice, and room for whole units.
    const room = 5 * Math.sqrt(expected * (1 - percent / 100)) + 2;
    expect(Math.abs(taken - expected)).toBeLessThan(room);
  });

  it('chooses other units of another merchant, and with another salt', () => {
    const units = Array.from({ length: 1_000 }, (_, index) => `qr:POS${index}`);
    const chosen = (canary_salt: string, id: string) =>
      units.filter((one) => bucketOf(canary_salt, id, one) < 5_000).join();
    expect(chosen('puente', ID)).toBe(chosen('puente', ID));
    expect(chosen('puente', ID)).not.toBe(chosen('puente', '700100300'));
    expect(chosen('puente', ID)).not.toBe(chosen('bridge', ID));
  });
});

describe('the stage in force', () => {
  it('is at most shadow while a safety stop stands, and what the operator wants stays known', () => {
    fc.assert(
      fc.property(stage, fc.option(stage, { nil: undefined }), kind, slot, share, (own, of_kind, of, one, percent) => {
        const kinds = of_kind === undefined ? {} : { [of]: { stage: of_kind, share: percent } };
        const stopped = merchant({ stage: own, share: percent, kinds, units_in: [one] }, { [of]: TRIP });
        const { stage: in_force, intended, trip } = stageInForce(rules, stopped, of);
        expect(in_force).toBe(intended === 'legacy' ? 'legacy' : 'shadow');
        expect(intended).toBe(of_kind ?? own);
        expect(trip).toEqual(TRIP);
        expect(isOnOrders(rules, stopped, ID, of, one)).toBe(false);
      }),
    );
  });

  it('of one kind leaves the others as they are', () => {
    const stopped = merchant({ stage: 'orders', kinds: { devices: { stage: 'shadow' } } }, { qr: TRIP });
    const inForce = routedKinds.map((of): Stage => stageInForce(rules, stopped, of).stage);
    expect(inForce).toEqual(['shadow', 'orders', 'shadow']);
    expect(stageInForce(rules, stopped, 'payments').stage).toBe('orders');
    expect(stageInForce(rules, stopped, null)).toMatchObject({ stage: 'orders', trip: null });
  });

  it("is the default where neither the merchant nor its kind has one, and a kind's share is its own", () => {
    expect(stageInForce(rules, null, 'qr').stage).toBe('legacy');
    expect(stageInForce(rules, merchant({}), 'qr').stage).toBe('legacy');
    const own = merchant({ stage: 'canary', share: 100, kinds: { qr: { stage: 'canary', share: 0 } } });
    expect(stageInForce(rules, own, 'qr')).toMatchObject({ stage: 'canary', share: 0 });
    expect(isOnOrders(rules, own, ID, 'qr', 'qr:A')).toBe(false);
    expect(isOnOrders(rules, own, ID, 'intents', 'point:A')).toBe(true);
  });
});

it('shadows what is on the way to orders', () => {
  expect(stages.filter(isShadowed)).toEqual(['shadow', 'canary']);
});

it('knows the kind of a slot', () => {
  expect([kindOfSlot('point:A'), kindOfSlot('qr:A')]).toEqual(['intents', 'qr']);
});
