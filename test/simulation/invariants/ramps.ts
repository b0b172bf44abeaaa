/**
 * Ramps, by their audit lines: no step is left out, none is made against a stop or a pause, and the rows agree. By the
 * calls that were recorded, the sales in doubt or lost, and those that did not agree with upstream: none is made against
 * what its time has shown.
 */
import { z } from 'zod';
import type { RecordedCall } from '../history.ts';
import type { Evidence, Rule } from './evidence.ts';

/** Of the ramps that the simulation starts (`acts.ts`). */
export const RAMP = { steps: [60, 80, 100], soak_ms: 20_000, min_sales: 1 };

const step = z.object({
  ramp: z.object({ id: z.string(), step: z.int(), is_back: z.boolean(), sales: z.int().nullable().optional() }),
  after: z.object({ stage: z.string(), share: z.number() }),
});
const begun = z.object({ ramp: z.string(), merchants: z.array(z.string()) });
const moved = z.object({ after: z.object({ stage: z.string() }) });
const reported = z.object({ merchant: z.string(), repaired: z.boolean().optional() });
/** Those that are reported, and repaired, by a line. */
const MISMATCH = /^mismatch (amount|contradiction|state|approvals)$/;

interface Watched {
  runs: boolean;
  merchants: Map<string, Place>;
  /** Merchants that have stepped back while their stop is in force: the ramp goes up no more until it is resumed. */
  stopped: Set<string>;
}

interface Place {
  step: number;
  /** Of the audit line that its evidence counts from. */
  since: number;
  /** A stop since its step began, which a step back must follow. */
  is_tripped: boolean;
}

/** P16: every step of a ramp is one line, allowed by what the lines before it say. */
export const rampsHold: Rule = (evidence) => {
  const { audits, merchants, clocks } = evidence;
  const wrong: string[] = [];
  const ramps = new Map<string, Watched>();
  const trips = new Map<string, Set<unknown>>();
  const stages = new Map<string, string>();
  /** By kind and sale: whose it is, and since when it does not agree. */
  const standing = new Map<string, { merchant: string; since: number }>();
  for (const line of audits) {
    const { action, subject, at } = line;
    const kinds = trips.get(subject) ?? new Set();
    const { kind } = line.detail as { kind?: unknown }; // of stops and resets
    if (action === 'safety stop') {
      trips.set(subject, kinds.add(kind));
      for (const { merchants: its } of ramps.values()) {
        const place = its.get(subject);
        if (place !== undefined && place.step > 0) place.is_tripped = true;
      }
    }
    if (action === 'safety reset') {
      kinds.delete(kind);
      if (kinds.size === 0) for (const { stopped } of ramps.values()) stopped.delete(subject);
    }
    const mismatch = MISMATCH.test(action) ? reported.safeParse(line.detail).data : undefined;
    if (mismatch !== undefined) {
      const key = `${action} ${subject}`;
      if (mismatch.repaired === true) standing.delete(key);
      else standing.set(key, { merchant: mismatch.merchant, since: standing.get(key)?.since ?? at });
    }
    const of_ramp = begun.safeParse(line.detail).data;
    const watched = ramps.get(of_ramp?.ramp ?? '');
    if (action === 'ramp started' && of_ramp !== undefined) {
      const places = of_ramp.merchants.map((id) => [id, { step: 0, since: at, is_tripped: false }] as const);
      ramps.set(of_ramp.ramp, { runs: true, merchants: new Map(places), stopped: new Set() });
    }
    if (watched !== undefined && /^ramp (paused|canceled|done)$/.test(action)) watched.runs = false;
    if (watched !== undefined && action === 'ramp resumed') {
      Object.assign(watched, { runs: true, stopped: new Set() });
      for (const place of watched.merchants.values()) if (!place.is_tripped) place.since = at;
    }
    if (action !== 'stage') continue;
    const after = moved.safeParse(line.detail).data?.after.stage;
    if (after !== undefined) stages.set(subject, after);
    const made = step.safeParse(line.detail).data;
    if (made === undefined) continue;
    const name = `step ${made.ramp.step} of ${subject} (line ${line.sequence})`;
    const ramp = ramps.get(made.ramp.id);
    const place = ramp?.merchants.get(subject);
    if (ramp === undefined || place === undefined || !ramp.runs) {
      wrong.push(`${name} was made while its ramp did not run`);
      continue;
    }
    const { is_back, sales = 0 } = made.ramp;
    const to = place.step + (is_back ? -1 : 1);
    if (made.ramp.step !== to) wrong.push(`${name} follows step ${place.step}`);
    if (to > 0 && !isAt(made.after, RAMP.steps[to - 1])) wrong.push(`${name} leads to ${JSON.stringify(made.after)}`);
    if (is_back !== (kinds.size > 0 || place.is_tripped)) wrong.push(`${name} ignores a safety stop, or there is none`);
    if (is_back && kinds.size > 0) ramp.stopped.add(subject);
    if (!is_back && ramp.stopped.size > 0)
      wrong.push(`${name} goes on beside ${[...ramp.stopped].join()}, which is stopped`);
    const open = [...standing.values()].filter(({ merchant, since }) => merchant === subject && since < at - MOMENT_MS);
    if (!is_back && clocks.length === 0 && open.length > 0)
      wrong.push(`${name} was made beside ${open.length} sales that do not agree with upstream`);
    if (!is_back && place.step > 0) {
      if ((sales ?? 0) < RAMP.min_sales) wrong.push(`${name} was made after ${sales} sales`);
      if (clocks.length === 0 && at < place.since + RAMP.soak_ms) wrong.push(`${name} was made too early`);
      if (clocks.length === 0 && sales !== null)
        wrong.push(...shownAgainst(evidence, subject, place.since, at).map((why) => `${name} was made beside ${why}`));
    }
    Object.assign(place, { step: to, since: at, is_tripped: false });
  }
  for (const { id, stage } of merchants)
    if (stages.has(id) && stages.get(id) !== stage)
      wrong.push(`${id} is on ${stage}, and its last line says otherwise`);
  return wrong;
};

function isAt({ stage, share }: { stage: string; share: number }, wanted: number | undefined): boolean {
  return wanted === 100 ? stage === 'orders' : stage === 'canary' && share === wanted;
}

/** Calls are recorded a moment after their end, and counted once they are five seconds old. */
const COUNTED_AFTER_MS = 6_000;
/** Between a decision and its line. */
const MOMENT_MS = 1_000;
/** Percent: half of `safety.fault_share` as it is by default. */
const MOST_FAULTS = 5;
/** A till on orders waits no longer than twice as long as on legacy, and half a second. */
const mostOf = (legacy_ms: number): number => 2 * legacy_ms + 500;
/** So many are measured by the slowest: fewer than one in twenty may be slower than the 95th percentile. */
const FEWER_THAN = 20;
const CREATE = /^(point\.create_intent|qr_v1\.(create|replace)\w*|qr\.(put_order|create_code|put_code)\w*)$/;

/** What held the step, whenever within a moment of its line it was decided, in words. @param since, at epoch ms. */
function shownAgainst({ recorded, links }: Evidence, merchant_id: string, since: number, at: number): string[] {
  const own = recorded.filter((call) => call.merchant_id === merchant_id);
  const may_count = own.filter((call) => call.at >= since - MOMENT_MS && call.at <= at);
  const must_count = own.filter(
    (call) => call.at >= since + MOMENT_MS && call.at + call.duration_ms <= at - COUNTED_AFTER_MS,
  );
  const onOrders = (calls: readonly RecordedCall[]): RecordedCall[] => calls.filter(({ lane }) => lane === 'orders');
  const faults = onOrders(must_count).filter(({ outcome }) => outcome === 'fault').length;
  const calls = onOrders(may_count).length;
  const waits = (of: readonly RecordedCall[]): number[] =>
    of.flatMap((call) => (call.outcome === 'ok' && CREATE.test(call.operation) ? [Math.ceil(call.duration_ms)] : []));
  const legacy_ms = Math.max(0, ...waits(may_count.filter(({ lane }) => lane === 'legacy')));
  const orders = waits(onOrders(may_count));
  const orders_ms = Math.max(0, ...waits(onOrders(must_count)));
  const doubts = links.filter(
    ({ merchant_id: owner, doubted_at, known_at }) =>
      owner === merchant_id &&
      doubted_at !== null &&
      doubted_at < at - MOMENT_MS &&
      (known_at === null || known_at > at + MOMENT_MS),
  );
  const lost = links.filter(
    ({ merchant_id: owner, state, order_id, known_at }) =>
      owner === merchant_id && state === 'LOST' && order_id === null && known_at !== null && known_at < at - MOMENT_MS,
  );
  return [
    ...(faults > 0 && faults * 100 >= calls * MOST_FAULTS ? [`${faults} faults of ${calls} calls`] : []),
    ...(orders.length === 0 ? ['no create on orders that was measured'] : []),
    ...(orders.length < FEWER_THAN && orders_ms > mostOf(legacy_ms)
      ? [`a create of ${orders_ms} ms, where legacy takes ${legacy_ms} ms`]
      : []),
    ...(doubts.length > 0 ? [`${doubts.length} sales in doubt`] : []),
    ...(lost.length > 0 ? [`${lost.length} lost sales`] : []),
  ];
}
