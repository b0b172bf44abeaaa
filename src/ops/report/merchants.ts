/** The fleet in one table: where each merchant stands, and what is in its way. */

import type { Verdict } from '../../proxy/records/evidence.ts';
import type { Merchant } from '../../proxy/routing/merchant.ts';
import { stageInForce } from '../../proxy/routing/stage.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import { merchantReadiness, mismatchesOnce } from '../readiness/readiness.ts';
import type { Readiness } from '../readiness/verdict.ts';
import type { FleetFinding, MerchantLine } from './report.ts';
import type { MerchantSums, Tally } from './tally.ts';

/** Blockers of one merchant that a fleet's report tells, so that no few fill it; the line of each has their number. */
const MOST_OF_ONE = 5;
/** Blockers that one report tells: those of a thousand merchants. */
const MOST_FINDINGS = 5_000;

export interface Fleet {
  merchants: MerchantLine[];
  verdicts: Record<Verdict, number>;
  findings: FleetFinding[];
  left_out: number;
}

/**
 * Merchants in order of their ids: those that Puente has a row of, and those whose calls it carried; between two of them
 * others have their turn.
 */
export async function fleetOf(
  runtime: Runtime,
  merchant_id: string | null,
  tally: Tally,
  signal: AbortSignal | null,
): Promise<Fleet> {
  const known = new Map((await knownTo(runtime, merchant_id)).map((merchant) => [merchant.id, merchant]));
  const called = [...tally.merchants].filter(([, { calls, refused }]) => calls > refused).map(([id]) => id);
  const ids = merchant_id === null ? [...new Set([...known.keys(), ...called])].toSorted() : [merchant_id];
  const open = await openDifferences(runtime, merchant_id);
  const fleet: Fleet = {
    merchants: [],
    verdicts: { ready: 0, blocked: 0, inconclusive: 0 },
    findings: [],
    left_out: 0,
  };
  const mismatches = mismatchesOnce(runtime);
  for (const id of ids) {
    signal?.throwIfAborted();
    const readiness = await merchantReadiness(runtime, id, mismatches);
    const sums = tally.merchants.get(id) ?? { calls: 0, refused: 0, faults: 0, losses: 0 };
    fleet.merchants.push(lineOf(runtime, id, known.get(id) ?? null, readiness, sums, open.get(id) ?? 0));
    fleet.verdicts[readiness.verdict]++;
    const room = Math.min(merchant_id === null ? MOST_OF_ONE : MOST_FINDINGS, MOST_FINDINGS - fleet.findings.length);
    fleet.findings.push(...readiness.blockers.slice(0, room).map((one) => ({ merchant_id: id, ...one })));
    fleet.left_out += Math.max(0, readiness.blockers.length - room);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return fleet;
}

async function knownTo({ store }: Runtime, merchant_id: string | null): Promise<Merchant[]> {
  if (merchant_id === null) return store.merchants();
  const merchant = await store.merchant(merchant_id);
  return merchant === null ? [] : [merchant];
}

function lineOf(
  { settings }: Runtime,
  merchant_id: string,
  merchant: Merchant | null,
  { verdict, blockers }: Readiness,
  { calls, faults, losses }: MerchantSums,
  open_differences: number,
): MerchantLine {
  const { intended, share } = stageInForce(settings, merchant, null);
  return {
    merchant_id,
    site: merchant?.site ?? null,
    stage: intended,
    share,
    stopped: Object.keys(merchant?.trips ?? {}).length > 0,
    verdict,
    blockers: blockers.length,
    calls,
    faults,
    losses,
    open_differences,
  };
}

/** Groups that nobody has decided on, by merchant. */
async function openDifferences({ store, clock }: Runtime, merchant_id: string | null): Promise<Map<string, number>> {
  const filter = { states: ['new'] as const, ...(merchant_id === null ? {} : { merchant_id }) };
  const counts = new Map<string, number>();
  for (const group of await store.differences(filter, clock.now())) {
    counts.set(group.merchant_id, (counts.get(group.merchant_id) ?? 0) + 1);
  }
  return counts;
}
