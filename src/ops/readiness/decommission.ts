/** Decommission: whether legacy may be switched off, for a merchant and for the fleet, and what still needs it. */

import { z } from 'zod';
import { say } from '../../locales/message.ts';
import { yieldToEventLoop } from '../../proxy/concurrency.ts';
import { type Merchant, stages } from '../../proxy/routing/merchant.ts';
import { stageInForce } from '../../proxy/routing/stage.ts';
import { said, type Whose } from '../fields.ts';
import { openSales } from '../open-sales.ts';
import type { Ports } from '../ports.ts';
import { knownMerchants, merchantOf, refuseUnseenRead } from '../seen.ts';
import { isOf, listedOf } from '../whose.ts';
import { openFindings } from './blockers.ts';
import type { Readiness, ReadinessFacts } from './facts.ts';
import { isAllOnOrders, legacyUseOf, legacyUseView, QUIET_DAYS } from './legacy-use.ts';
import { type Mismatches, merchantReadiness, mismatchesOnce } from './readiness.ts';

export const decommissionView = z.object({
  merchant_id: z.string(),
  name: z.string().nullable().describe('the name of the merchant'),
  stage: z.enum(stages),
  may_go: z
    .boolean()
    .describe('legacy may be switched off for all of it now: readiness is sure of it, and no sale is open there'),
  why: z.string().describe('what stands in the way first'),
  why_said: said,
  quiet_days_needed: z.int(),
  ...legacyUseView.shape,
});
export type DecommissionView = z.infer<typeof decommissionView>;

export const fleetDecommissionView = z.object({
  merchants: z.array(
    decommissionView
      .omit({ quiet_days_needed: true, open_until: true, calls: true })
      .extend({ units: z.int(), units_free: z.int().describe('units for which legacy may be switched off now') }),
  ),
});
export type FleetDecommissionView = z.infer<typeof fleetDecommissionView>;

/** Of all calls answered so far. @throws PuenteError as `refuseUnseenRead`. */
export async function viewDecommission(ports: Ports, id: string): Promise<DecommissionView> {
  await ports.evidence.settled();
  await refuseUnseenRead(ports, id);
  return judged(ports, await merchantOf(ports, id), mismatchesOnce(ports));
}

/** @param readiness null for a merchant that is not wholly on orders, whose verdict is about its next move. */
export async function decommissionOf(
  ports: Ports,
  merchant: Merchant,
  readiness: Readiness | null,
  mismatches: ReadinessFacts['mismatches'],
): Promise<DecommissionView> {
  const { intended: stage } = stageInForce(ports.settings, merchant, null);
  const use = await legacyUseOf(ports, merchant, await openSales(ports, merchant.id), mismatches);
  const is_of_all = readiness?.about === 'completion';
  // A sale may have been opened there since the verdict was made, on a unit that was never seen, too.
  const opened = openFindings({ legacy_use: use, merchant_id: merchant.id });
  const [first] = is_of_all ? [...readiness.blockers, ...opened, ...readiness.unproven] : [];
  const is_complete = is_of_all && readiness.verdict === 'ready' && opened.length === 0;
  const spoken = is_complete ? say('decommission.may_go', {}) : say('decommission.not_on_orders', {});
  return {
    merchant_id: merchant.id,
    name: merchant.settings.name,
    stage,
    may_go: is_complete,
    ...(is_complete || first === undefined
      ? { why: spoken.text, why_said: spoken.said }
      : { why: first.what, why_said: first.said }),
    quiet_days_needed: QUIET_DAYS,
    ...use,
  };
}

/** Merchants by id. @param signal aborts it when the client disconnects. @throws PuenteError as `refuseUnseenRead`. */
export async function viewFleetDecommission(
  ports: Ports,
  whose: Whose | undefined,
  signal: AbortSignal,
): Promise<FleetDecommissionView> {
  const merchants: FleetDecommissionView['merchants'] = [];
  const isMeant = isOf(whose);
  const meant = (await knownMerchants(ports)).filter(({ id }) => isMeant(id));
  for await (const found of decommissions(ports, meant, mismatchesOnce(ports), signal)) {
    const { quiet_days_needed: _needed, open_until: _until, calls: _calls, units, ...line } = found;
    merchants.push({ ...line, units: units.length, units_free: units.filter(({ may_go }) => may_go).length });
  }
  return { merchants: await listedOf(ports, whose, merchants) };
}

/**
 * Of merchants whose work is all on orders, in pages for a file: a line each, or one for each of their units.
 * @param mismatches of all sales of a merchant, as its report has them, whatever its period.
 */
export async function* completionLines(
  ports: Ports,
  merchant_id: string | null,
  part: 'completion' | 'units',
  mismatches: Mismatches,
  signal: AbortSignal,
): AsyncGenerator<(object & { merchant_id: string })[]> {
  const known = merchant_id === null ? await knownMerchants(ports) : [await merchantOf(ports, merchant_id)];
  const on_orders = known.filter((merchant) => isAllOnOrders(ports.settings, merchant));
  for await (const one of decommissions(ports, on_orders, mismatches, signal)) {
    const { merchant_id: id, name, units } = one;
    yield part === 'completion' ? [one] : units.map((unit) => ({ merchant_id: id, name, ...unit }));
  }
}

/** Other work runs between two of them. */
async function* decommissions(
  ports: Ports,
  merchants: readonly Merchant[],
  mismatches: Mismatches,
  signal: AbortSignal,
): AsyncGenerator<DecommissionView> {
  await ports.evidence.settled();
  for (const merchant of merchants) {
    signal.throwIfAborted();
    yield await judged(ports, merchant, mismatches);
    await yieldToEventLoop();
  }
}

async function judged(ports: Ports, merchant: Merchant, mismatches: Mismatches): Promise<DecommissionView> {
  const found = await mismatches(merchant.id);
  const is_whole = isAllOnOrders(ports.settings, merchant);
  const readiness = is_whole ? await merchantReadiness(ports, merchant.id, async () => found) : null;
  return decommissionOf(ports, merchant, readiness, found.mismatches);
}
