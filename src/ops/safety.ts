/** What operators do with safety stops: see what stands and what would have tripped, and reset by hand. */

import { z } from 'zod';
import { PuenteError } from '../error.ts';
import { say } from '../locales/message.ts';
import { type Merchant, routedKinds } from '../proxy/routing/merchant.ts';
import { stageInForce } from '../proxy/routing/stage.ts';
import { modeOf, STOPPED, WOULD_STOP } from '../proxy/safety.ts';
import { reason } from './api/person.ts';
import { whyOf } from './audit.ts';
import { iso } from './fields.ts';
import { type MerchantView, merchantToChange, merchantView, revision } from './merchants.ts';
import type { Ports } from './ports.ts';

/** The audit action of a reset, for those who look for it. */
export const RESET = 'safety reset';

/** Stops and would-be stops that are listed, newest first. */
const MOST_LISTED = 50;

/** The body of `POST /api/merchants/:id/safety/reset`. */
export const resetAsk = z.strictObject({
  kind: z.enum(routedKinds).describe('of this kind of work'),
  reason,
  revision,
});
export type ResetAsk = z.infer<typeof resetAsk>;

export type SafetyView = Awaited<ReturnType<typeof viewSafety>>;
/** A safety stop that stands. */
export type TripView = ReturnType<typeof tripsOf>[number];

export async function viewSafety(ports: Ports, id: string) {
  const merchant = await merchantToChange(ports, id);
  const lines = await Promise.all(
    [STOPPED, WOULD_STOP].map((action) => ports.store.audit.auditsOf({ subject: id, action }, MOST_LISTED)),
  );
  return {
    merchant_id: id,
    revision: merchant.revision,
    mode: modeOf(ports, merchant),
    trips: tripsOf(ports, merchant),
    now: ports.evidence.safety.view(id).map(({ merchant_id: _id, ...one }) => one),
    history: lines
      .flat()
      .toSorted((one, other) => other.sequence - one.sequence)
      .map(({ at, action, reason, detail }) => ({
        at: iso(at),
        kind: String(detail.kind),
        stopped: action === STOPPED,
        ...whyOf(reason),
      })),
  };
}

/** All stops that stand. */
export async function viewStops(ports: Ports) {
  const merchants = await ports.store.merchants.merchants();
  return merchants.flatMap((merchant) =>
    tripsOf(ports, merchant).map((trip) => ({ merchant_id: merchant.id, ...trip })),
  );
}

/**
 * Takes a stop away: new work of the kind follows the operator's stage again.
 * @throws PuenteError refused when none stands, conflict when the revision is another.
 */
export async function resetStop(ports: Ports, id: string, ask: ResetAsk, who: string): Promise<MerchantView> {
  const merchant = await merchantToChange(ports, id);
  const trip = merchant.trips[ask.kind];
  if (trip === undefined) throw new PuenteError('refused', say('refusal.no_stop', { kind: ask.kind, merchant: id }));
  const saved = await ports.store.merchants.saveTrips(id, { [ask.kind]: null }, ask.revision, {
    at: ports.clock.now(),
    who,
    action: RESET,
    subject: id,
    reason: ask.reason,
    detail: {
      kind: ask.kind,
      before: { stage: stageInForce(ports.settings, merchant, ask.kind).stage, trip },
      after: { stage: stageInForce(ports.settings, merchant, ask.kind).intended },
    },
  });
  ports.log.info('safety stop reset', { merchant: id, action: ask.kind });
  return merchantView(ports, saved);
}

/** `intended`: where the operator wants the kind to be. */
function tripsOf(ports: Ports, merchant: Merchant) {
  return routedKinds.flatMap((kind) => {
    const trip = merchant.trips[kind];
    if (trip === undefined) return [];
    const { intended } = stageInForce(ports.settings, merchant, kind);
    return [
      {
        kind,
        at: iso(trip.at),
        ...whyOf(trip.why),
        evidence: trip.evidence,
        intended,
      },
    ];
  });
}
