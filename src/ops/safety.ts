/** Safety stops for operators: those in force, those that would have tripped, and the reset. */
import { z } from 'zod';
import { PuenteError } from '../error.ts';
import { say } from '../locales/message.ts';
import { type Merchant, routedKinds, type Trip } from '../proxy/routing/merchant.ts';
import { stageInForce } from '../proxy/routing/stage.ts';
import { FAULTS_IN_A_ROW, modeOf, STOPPED, WOULD_STOP } from '../proxy/safety.ts';
import { whyOf } from './audit.ts';
import { iso, reason, type Whose } from './fields.ts';
import { type MerchantView, merchantView, revision } from './merchants.ts';
import type { Ports } from './ports.ts';
import { merchantOf, merchantToChange, unseenIn } from './seen.ts';
import { isOf } from './whose.ts';

export const RESET = 'safety reset';

/** Stops and would-be stops that are listed, newest first. */
const MOST_LISTED = 50;

export const resetAsk = z.strictObject({
  kind: z.enum(routedKinds).describe('of this kind of work'),
  reason,
  revision,
});

/**
 * With the counts of this process now, and past stops, newest first. @throws PuenteError bad_request for an invalid id.
 */
export async function viewSafety(ports: Ports, id: string) {
  const merchant = await merchantOf(ports, id);
  const lines = await Promise.all(
    [STOPPED, WOULD_STOP].map((action) => ports.store.audit.auditsOf({ subject: id, action }, MOST_LISTED)),
  );
  return {
    merchant_id: id,
    merchant_name: merchant.settings.name,
    ...(await unseenIn(ports, id)),
    revision: merchant.revision,
    mode: modeOf(ports, merchant),
    trips: tripsOf(ports, merchant),
    rules: { ...ports.settings.safety, faults_in_a_row: FAULTS_IN_A_ROW },
    now: ports.evidence.safety.view(id).map(({ merchant_id: _id, ...one }) => one),
    history: lines
      .flat()
      .toSorted((one, other) => other.sequence - one.sequence)
      .map(({ at, action, reason, detail }) => ({
        at: iso(at),
        kind: String(detail.kind),
        stopped: action === STOPPED,
        ...whyOf(reason),
        exchanges: callsOf(detail.evidence as Trip['evidence']), // of a line that the stop wrote
      })),
  };
}

/** Stops in force. */
export async function viewStops(ports: Ports, whose: Whose | undefined) {
  const isMeant = isOf(whose);
  const merchants = (await ports.store.merchants.merchants()).filter(({ id }) => isMeant(id));
  return merchants.flatMap((merchant) =>
    tripsOf(ports, merchant).map((trip) => ({ merchant_id: merchant.id, ...trip })),
  );
}

/**
 * Ends a safety stop: new work of the kind follows the operator's stage again.
 * @throws PuenteError refused when none is in force, conflict for another revision, not_found for an unseen merchant.
 */
export async function resetStop(
  ports: Ports,
  id: string,
  ask: z.infer<typeof resetAsk>,
  who: string,
): Promise<MerchantView> {
  const merchant = await merchantToChange(ports, id, null);
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

function tripsOf(ports: Ports, merchant: Merchant) {
  return routedKinds.flatMap((kind) => {
    const trip = merchant.trips[kind];
    if (trip === undefined) return [];
    const { intended } = stageInForce(ports.settings, merchant, kind);
    const { sample: _sample, ...evidence } = trip.evidence;
    const exchanges = callsOf(trip.evidence);
    return [{ kind, at: iso(trip.at), ...whyOf(trip.why), evidence: { ...evidence, exchanges }, intended }];
  });
}

/** Ids of the exchanges that tripped a stop, newest first. */
function callsOf({ exchanges, sample }: Trip['evidence']): string[] {
  return exchanges ?? (sample ? [sample] : []);
}
