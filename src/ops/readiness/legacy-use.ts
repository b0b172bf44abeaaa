/** What still uses legacy: of each unit and of a merchant, its last call there, days without one, and open sales. */
import { z } from 'zod';
import { say } from '../../locales/message.ts';
import type { SeenUnit, Traffic, UnknownRow } from '../../proxy/records/evidence.ts';
import { ANY_POINT_OF_SALE } from '../../proxy/records/routing.ts';
import { type Merchant, routedKinds } from '../../proxy/routing/merchant.ts';
import { isOnOrders, kindOfSlot, type RoutingRules, stageInForce } from '../../proxy/routing/stage.ts';
import { slotOf } from '../../proxy/sales/link.ts';
import { DAY_MS, dayOf, iso, lane, said, time } from '../fields.ts';
import type { OpenSale } from '../open-sales.ts';
import type { Ports } from '../ports.ts';

/** Days without a call after which legacy is not needed: each weekday's tills have had their turn. */
export const QUIET_DAYS = 7;

const quiet_days = z.int().min(0).nullable().describe('whole UTC days since the day of that call');

export const legacyUseView = z.object({
  last_legacy_day: z.iso
    .date()
    .nullable()
    .describe('UTC day of the last call that went to legacy; null: none is known'),
  quiet_days,
  watched_days: z.int().min(0).describe('whole days since its first recorded call'),
  open_on_legacy: z.int().min(0).describe('sales, those with an unknown outcome included'),
  open_until: time.nullable().describe('their latest possible end'),
  calls: z
    .array(z.object({ name: z.string(), calls: z.int(), last_day: z.iso.date() }))
    .describe(
      `what called legacy in the last ${QUIET_DAYS} days: operations, and endpoints in no table with all their calls`,
    ),
  units: z.array(
    z.object({
      unit: z.string().describe('a terminal (`point:…`) or a point of sale (`qr:…`)'),
      new_work: lane.describe('where its new sales go'),
      last_legacy_at: time.nullable().describe('null: it never called legacy'),
      last_operation: z.string().nullable().describe('of that call; null beside a time: it was then, or earlier'),
      quiet_days,
      open_on_legacy: z.int().min(0),
      may_go: z.boolean().describe('legacy may be switched off for it now'),
      why: z.string(),
      why_said: said,
    }),
  ),
});
export type LegacyUse = z.infer<typeof legacyUseView>;

/** As operators set it: a safety stop leaves the stage as it was set. */
export function isAllOnOrders(rules: RoutingRules, merchant: Merchant): boolean {
  return routedKinds.every((kind) => stageInForce(rules, merchant, kind).intended === 'orders');
}

/** A disagreement that stands and the unit of its sale, as far as it is known. */
interface Disagreement {
  subject: string;
  unit: string | null;
}

/** Reads the store alone. @param open all open sales of the merchant. @param mismatches its open ones. */
export async function legacyUseOf(
  { store, settings, clock }: Ports,
  merchant: Merchant,
  open: readonly OpenSale[],
  mismatches: readonly Disagreement[],
): Promise<LegacyUse> {
  const { id: merchant_id } = merchant;
  const [units, traffic, unknowns] = await Promise.all([
    store.evidence.units(merchant_id),
    store.evidence.traffic({ merchant_id }),
    store.evidence.unknowns(merchant_id),
  ]);
  return useOf({ rules: settings, merchant, units, traffic, unknowns, open, mismatches, now: clock.now() });
}

interface Seen {
  rules: RoutingRules;
  merchant: Merchant;
  units: readonly SeenUnit[];
  traffic: readonly Traffic[];
  unknowns: readonly UnknownRow[];
  open: readonly OpenSale[];
  mismatches: readonly Disagreement[];
  now: number;
}

/** Pure. Calls of no unit and of endpoints in no table count for the merchant; each call counts to the end of its UTC day. */
export function useOf({ rules, merchant, units, traffic, unknowns, open, mismatches, now }: Seen): LegacyUse {
  const legacy = open.filter(({ side }) => side === 'legacy');
  const calls = [...operationsOn(traffic), ...endpointsOf(unknowns)];
  const days = [
    ...calls.map(({ day }) => day),
    ...units.flatMap(({ legacy_at: at }) => (at === null ? [] : [dayIn(at)])),
  ];
  const first_at = Math.min(
    now,
    ...traffic.map(({ day }) => (day + 1) * DAY_MS),
    ...units.map((unit) => unit.first_at),
  );
  const last_day = days.length === 0 ? null : Math.max(...days);
  return {
    last_legacy_day: last_day === null ? null : dayOf(last_day * DAY_MS),
    quiet_days: last_day === null ? null : quietSince(last_day, now),
    watched_days: daysSince(first_at, now),
    open_on_legacy: legacy.length,
    open_until: legacy.length === 0 ? null : iso(Math.max(...legacy.map(({ ends_at }) => ends_at))),
    calls: calls
      .filter(({ day }) => day >= dayIn(now) - QUIET_DAYS)
      .map(({ day, ...call }) => ({ ...call, last_day: dayOf(day * DAY_MS) })),
    units: units.map((unit) => {
      const isOfAny = (slot: string | null): boolean => slot === ANY_POINT_OF_SALE && kindOfSlot(unit.slot) === 'qr';
      const mine = legacy.filter(({ slot }) => slot === unit.slot || isOfAny(slot)).length;
      const on_orders = isOnOrders(rules, merchant, merchant.id, kindOfSlot(unit.slot), unit.slot);
      return unitUse(
        unit,
        on_orders ? 'orders' : 'legacy',
        { open: mine, found: foundOf(unit, open, mismatches) },
        now,
      );
    }),
  };
}

/** Its sales with an open finding: those with an unknown outcome, and those that do not agree with upstream. */
function foundOf({ slot }: SeenUnit, open: readonly OpenSale[], mismatches: readonly Disagreement[]): number {
  // Also one that holds no unit, as of a dynamic QR.
  const isOfIt = ({ family, unit }: OpenSale): boolean => family !== 'payments' && slotOf(family, unit) === slot;
  const in_doubt = open.filter((one) => one.state === 'IN_DOUBT' && one.side === 'orders' && isOfIt(one));
  const differ = mismatches.filter(({ unit }) => unit !== null && (slot === `point:${unit}` || slot === `qr:${unit}`));
  return new Set([...in_doubt.map(({ legacy_id }) => legacy_id), ...differ.map(({ subject }) => subject)]).size;
}

function unitUse(
  unit: SeenUnit,
  new_work: 'legacy' | 'orders',
  { open, found }: { open: number; found: number },
  now: number,
): LegacyUse['units'][number] {
  const { slot, legacy_at, legacy_operation: operation } = unit;
  const quiet = legacy_at === null ? null : quietSince(dayIn(legacy_at), now);
  const watched = daysSince(unit.first_at, now);
  const { text: why, said: why_said } =
    new_work === 'legacy'
      ? say('unit_use.on_legacy', {})
      : open > 0
        ? say('unit_use.open', { open })
        : found > 0
          ? say('unit_use.found', { found })
          : quiet === null && watched < QUIET_DAYS
            ? say('unit_use.watched', { watched, days: QUIET_DAYS })
            : quiet === null
              ? say('unit_use.never', {})
              : quiet < QUIET_DAYS
                ? say('unit_use.recent', { quiet, days: QUIET_DAYS })
                : say('unit_use.quiet', { quiet });
  return {
    unit: slot,
    new_work,
    last_legacy_at: iso(legacy_at),
    last_operation: operation,
    quiet_days: quiet,
    open_on_legacy: open,
    may_go: new_work === 'orders' && open === 0 && found === 0 && (quiet ?? watched) >= QUIET_DAYS,
    why,
    why_said,
  };
}

interface Calls {
  name: string;
  calls: number;
  day: number;
}

/** Each operation with its last day on legacy, and its calls of the last days before that. */
function operationsOn(traffic: readonly Traffic[]): Calls[] {
  const rows = Map.groupBy(
    traffic.filter((row) => row.lane === 'legacy'),
    ({ operation }) => operation,
  );
  return [...rows].map(([name, own]) => {
    const day = Math.max(...own.map((row) => row.day));
    const recent = own.filter((row) => row.day >= day - QUIET_DAYS);
    return { name, calls: recent.reduce((sum, row) => sum + row.calls, 0), day };
  });
}

/** Endpoints that no table has are proxied, whatever the stage is. */
function endpointsOf(unknowns: readonly UnknownRow[]): Calls[] {
  return unknowns
    .filter(({ what }) => what === 'endpoint')
    .map(({ name, count, last_at }) => ({ name, calls: count, day: dayIn(last_at) }));
}

function dayIn(at: number): number {
  return Math.floor(at / DAY_MS);
}

/** Most calls are stored by day only, so a call counts as made at the end of its day. */
function quietSince(day: number, now: number): number {
  return daysSince((day + 1) * DAY_MS, now);
}

function daysSince(at: number, now: number): number {
  return Math.max(0, Math.floor((now - at) / DAY_MS));
}
