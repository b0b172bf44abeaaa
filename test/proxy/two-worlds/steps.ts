/** Random sequences of events for a merchant that is being moved. */
import fc from 'fast-check';
import { type MerchantSettings, routedKinds, stages } from '../../../src/proxy/routing/merchant.ts';
import { type Fate, fates } from './worlds.ts';

export const terminals = ['PAX_A910__T1', 'PAX_A910__T2'];
/** External ids by internal number. */
export const tills: ReadonlyMap<string, string> = new Map([
  ['1001', 'TILL1'],
  ['1002', 'TILL2'],
]);
export const slots = [...terminals.map((one) => `point:${one}`), ...[...tills.values()].map((one) => `qr:${one}`)];

export const qrWays = [
  'qr_v1.create',
  'qr_v1.create_by_number',
  'qr.put_order',
  'qr.put_code',
  'qr.create_code',
] as const;
export type QrWay = (typeof qrWays)[number];

export type Step =
  | { do: 'move'; settings: Partial<MerchantSettings> }
  | { do: 'trip'; kind: (typeof routedKinds)[number]; stands: boolean }
  /** `again`: the same sale as the unit's last one. `twice`: two tills' calls at once. */
  | { do: 'sell'; unit: number; way: QrWay; again: boolean; twice: boolean; fates: Fate[] }
  | { do: 'sell_during_move'; unit: number; way: QrWay; settings: Partial<MerchantSettings>; fates: Fate[] }
  /** An unanswered sale, a move, and the same sale again: the case that must never become two payments. */
  | { do: 'retry_after_move'; unit: number; way: QrWay; settings: Partial<MerchantSettings>; fates: Fate[] }
  /** A person at the terminal or with a phone; `event`: Puente gets a webhook. */
  | { do: 'act'; unit: number; act: 'fetch' | 'pay'; event: boolean }
  | { do: 'read'; unit: number }
  | { do: 'cancel'; unit: number; fates: Fate[] }
  | { do: 'wait'; duration_ms: number }
  | { do: 'reads'; work: boolean }
  | { do: 'restart' };

const share = fc.constantFrom(0, 10, 50, 100);
const stage = fc.constantFrom(...stages);
const units = fc.subarray(slots);
const route = fc.record({ stage, share });
const settings: fc.Arbitrary<Partial<MerchantSettings>> = fc.oneof(
  { weight: 4, arbitrary: stage.map((one) => ({ stage: one })) },
  {
    weight: 2,
    arbitrary: fc.record({ stage: fc.constant('canary' as const), share, units_in: units, units_out: units }),
  },
  { weight: 1, arbitrary: fc.record({ kinds: fc.record({ intents: route, qr: route }, { requiredKeys: [] }) }) },
);
const unit = fc.nat({ max: slots.length - 1 });
const way = fc.constantFrom(...qrWays);
/** Mostly no failure; otherwise several tries of one call may fail. */
const fateList = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Fate[]>([]) },
  { weight: 2, arbitrary: fc.array(fc.constantFrom(...fates), { minLength: 1, maxLength: 4 }) },
);

/** Tries of one call on orders. */
const TRIES = 3;
const unanswered: Fate[] = ['lost', 'dropped', 'late', 'error', 'failed'];

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('move' as const), settings }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('trip' as const),
        kind: fc.constantFrom(...routedKinds),
        stands: fc.boolean(),
      }),
    },
    {
      weight: 9,
      arbitrary: fc.record({
        ...{ do: fc.constant('sell' as const), unit, way, again: fc.boolean() },
        twice: fc.nat({ max: 4 }).map((one) => one === 0),
        fates: fateList,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('sell_during_move' as const), unit, way, settings, fates: fateList }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        ...{ do: fc.constant('retry_after_move' as const), unit, way, settings },
        fates: fc.oneof(
          ...[1, TRIES].map((least) => fc.array(fc.constantFrom(...unanswered), { minLength: least, maxLength: 4 })),
        ),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        ...{ do: fc.constant('act' as const), unit, event: fc.boolean() },
        act: fc.constantFrom('fetch' as const, 'pay' as const, 'pay' as const),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('read' as const), unit }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), unit, fates: fateList }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('wait' as const),
        duration_ms: fc.constantFrom(500, 5_000, 35_000, 61_000, 12 * 60_000, 25 * 60_000, 61 * 60_000),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('reads' as const), work: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  ),
  { minLength: 3, maxLength: 24 },
);
