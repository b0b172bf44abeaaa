/** Ramps, by their audit lines alone: no step is left out, none is made against a stop or a pause, and the rows agree. */
import { z } from 'zod';
import type { AuditRow } from '../history.ts';
import type { Rule } from './evidence.ts';

/** Of the ramps that the simulation starts (`acts.ts`). */
export const RAMP = { steps: [60, 80, 100], soak_ms: 20_000, min_sales: 1 };

const step = z.object({
  ramp: z.object({ id: z.string(), step: z.int(), is_back: z.boolean(), sales: z.int().optional() }),
  after: z.object({ stage: z.string(), share: z.number() }),
});
const moved = z.object({ after: z.object({ stage: z.string() }) });

interface Watched {
  id: string;
  step: number;
  /** Of the audit line that its evidence counts from. */
  since: number;
  runs: boolean;
  /** A stop since its step began, which a step back must follow. */
  is_tripped: boolean;
}

/** P16: every step of a ramp is one line, allowed by what the lines before it say. */
export const rampsHold: Rule = ({ audits, merchants, clocks }) => {
  const wrong: string[] = [];
  const ramps = new Map<string, Watched>();
  const stopped = new Map<string, Set<unknown>>();
  const stages = new Map<string, string>();
  for (const line of audits) {
    const { action, subject, at } = line;
    const kinds = stopped.get(subject) ?? new Set();
    const { kind } = line.detail as { kind?: unknown }; // of stops and resets
    if (action === 'safety stop') stopped.set(subject, kinds.add(kind));
    if (action === 'safety reset') kinds.delete(kind);
    const watched = ramps.get(subject);
    if (action === 'ramp started')
      ramps.set(subject, { id: idOf(line), step: 0, since: at, runs: true, is_tripped: false });
    if (watched !== undefined && action === 'safety stop' && watched.step > 0 && at > watched.since)
      watched.is_tripped = true;
    if (watched !== undefined && /^ramp (paused|canceled|done)$/.test(action)) watched.runs = false;
    if (watched !== undefined && action === 'ramp resumed') Object.assign(watched, { runs: true, since: at });
    if (action !== 'stage') continue;
    const after = moved.safeParse(line.detail).data?.after.stage;
    if (after !== undefined) stages.set(subject, after);
    const made = step.safeParse(line.detail).data;
    if (made === undefined) continue;
    const name = `step ${made.ramp.step} of ${subject} (line ${line.sequence})`;
    if (watched === undefined || watched.id !== made.ramp.id || !watched.runs) {
      wrong.push(`${name} was made while its ramp did not run`);
      continue;
    }
    const { is_back, sales = 0 } = made.ramp;
    const to = watched.step + (is_back ? -1 : 1);
    if (made.ramp.step !== to) wrong.push(`${name} follows step ${watched.step}`);
    if (to > 0 && !isAt(made.after, RAMP.steps[to - 1])) wrong.push(`${name} leads to ${JSON.stringify(made.after)}`);
    if (is_back !== (kinds.size > 0 || watched.is_tripped))
      wrong.push(`${name} ignores a safety stop, or there is none`);
    if (!is_back && watched.step > 0) {
      if (sales < RAMP.min_sales) wrong.push(`${name} was made after ${sales} sales`);
      if (clocks.length === 0 && at < watched.since + RAMP.soak_ms) wrong.push(`${name} was made too early`);
    }
    Object.assign(watched, { step: to, since: at, is_tripped: false });
  }
  for (const { id, stage } of merchants)
    if (stages.has(id) && stages.get(id) !== stage)
      wrong.push(`${id} is on ${stage}, and its last line says otherwise`);
  return wrong;
};

function idOf({ detail }: AuditRow): string {
  return String((detail as { ramp?: unknown }).ramp); // of a ramp's own lines
}

function isAt({ stage, share }: { stage: string; share: number }, wanted: number | undefined): boolean {
  return wanted === 100 ? stage === 'orders' : stage === 'canary' && share === wanted;
}
