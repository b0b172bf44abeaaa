/** Applies a file of merchants: exactly the steps of its plan, each as by hand, with an audit line that names the file. */
import { z } from 'zod';
import { PuenteError, type Spoken } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { Person } from '../api/person.ts';
import { reason } from '../fields.ts';
import { changeMerchant } from '../merchants.ts';
import { moveStage } from '../moves/move.ts';
import { ALL_FIELDS, APPLIED, fieldsOfMove } from './drift.ts';
import {
  type MerchantPlan,
  makePlan,
  type Plan,
  planAnswer,
  planAsk,
  planView,
  stepAnswer,
  stepView,
  takenBy,
} from './plan.ts';
import { refusalOf, type Step, type StepsAsk } from './steps.ts';

export const applyAsk = planAsk.extend({
  plan: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .describe('the digest of the plan that is applied: refused when anything has changed since'),
  reason,
});
type ApplyAsk = z.infer<typeof applyAsk>;

/**
 * `made`: by this apply. `proposed`: waits for a second person now. `waits`: it was proposed before. `refused`: as the
 * plan said, or since. `held`: a step of the merchant before it was not made. `stopped`: not reached, because a fault ended
 * the apply.
 */
const results = ['made', 'proposed', 'waits', 'refused', 'held', 'stopped'] as const;
type Result = (typeof results)[number];

export const applyView = planView.omit({ changes: true, refused: true, not_in_file: true }).extend({
  made: z.int().describe('steps that are made or proposed'),
  not_made: z.int().describe('steps that are refused, held or not reached: another apply takes them up'),
  merchants: z.array(
    z.object({
      merchant_id: z.string(),
      name: z.string().nullable(),
      steps: z.array(stepView.omit({ outcome: true }).extend({ result: z.enum(results) })),
    }),
  ),
});
export type ApplyView = z.infer<typeof applyView>;

/**
 * Makes the steps of the plan, merchant by merchant. A step that fails ends its merchant's part; a fault of Puente ends
 * the apply, and the answer says what was made. A second apply goes on from there.
 * @throws PuenteError conflict when the plan is not that of the digest any more: then nothing was changed.
 */
export function applyFile(
  parts: Pick<StepsAsk, 'ports' | 'checkUrl'>,
  ask: ApplyAsk,
  person: Person,
): Promise<ApplyView> {
  const { ports } = parts;
  return ports.memory.mutex.run('apply file', async () => {
    const plan = await makePlan(parts, ask, person);
    if (plan.digest !== ask.plan)
      throw new PuenteError('conflict', say('refusal.plan_old', { plan: ask.plan, now: plan.digest }), {
        facts: { plan: plan.digest },
      });
    await noteApply(parts, plan, ask.reason, person);
    const applied: Applied[] = [];
    let is_stopped = false;
    for (const merchant of plan.merchants) {
      const steps: Done[] = is_stopped
        ? merchant.steps.map((step) => ended(step, 'stopped'))
        : await applyMerchant(parts, plan, merchant, ask.reason, person);
      is_stopped ||= steps.some(({ result }) => result === 'stopped');
      applied.push({ merchant, steps });
    }
    return viewOf(parts, plan, applied);
  });
}

interface Applied {
  merchant: MerchantPlan;
  steps: Done[];
}

interface Done {
  step: Step;
  result: Result;
  why: Spoken[];
}

/**
 * The line stands before those of the changes, so that whatever is changed by hand after it shows as drift. An apply that
 * changes nothing, of a file that was applied already, leaves none.
 */
async function noteApply({ ports }: Pick<StepsAsk, 'ports'>, plan: Plan, why: string, { name }: Person): Promise<void> {
  const { file, sha256, digest, last, merchants } = plan;
  const changes = merchants.flatMap(({ steps }) => steps).filter(isToMake).length;
  const known = merchants.every(({ merchant_id }) => last?.merchants.has(merchant_id));
  if (changes === 0 && known && last?.sha256 === sha256) return;
  await ports.store.audit.appendAudit({
    at: ports.clock.now(),
    who: name,
    action: APPLIED,
    subject: file,
    reason: why,
    detail: {
      ...{ file, sha256, plan: digest, changes },
      merchants: merchants.map(({ merchant_id }) => merchant_id),
      // Whether these steps are made is only known later: the lines of the merchant say it.
      open: Object.fromEntries(
        merchants
          .filter(({ steps }) => steps.length > 0)
          .map(({ merchant_id, steps }) => [merchant_id, [...new Set(steps.flatMap(fieldsOf))]]),
      ),
    },
  });
}

function fieldsOf({ what, kind, change }: Step): string[] {
  if (what === 'merchant') return [ALL_FIELDS];
  return what === 'move' ? fieldsOfMove(kind) : Object.keys(change);
}

function isToMake({ outcome }: Step): boolean {
  return outcome === 'make' || outcome === 'propose';
}

/** The revision that each step leaves is the precondition of the next one. */
async function applyMerchant(
  { ports, checkUrl }: Pick<StepsAsk, 'ports' | 'checkUrl'>,
  { file, sha256, digest }: Plan,
  { merchant_id, is_new, revision: planned, steps }: MerchantPlan,
  why: string,
  person: Person,
): Promise<Done[]> {
  const from = { file, sha256, plan: digest };
  const done: Done[] = [];
  let revision = planned;
  for (const step of steps) {
    const is_stopped = done.some(({ result }) => result === 'stopped');
    const is_whole = done.every(({ result }) => result === 'made');
    if (is_stopped || !isToMake(step) || !(is_whole || isFree(step, done))) {
      done.push(is_stopped ? ended(step, 'stopped') : asPlanned(step, is_whole));
      continue;
    }
    const change = { reason: why, revision, new: is_new };
    try {
      if (step.target === null) {
        const view = await changeMerchant(
          ports,
          merchant_id,
          { ...step.change, ...change },
          person.name,
          checkUrl,
          from,
        );
        revision = view.revision;
        done.push(ended(step, 'made'));
      } else {
        // A ramp or a bulk move may have begun since the plan was made.
        const other = (await takenBy(ports)).get(merchant_id);
        if (other !== undefined) {
          done.push({ step, result: 'refused', why: [other] });
          continue;
        }
        const answer = await moveStage(ports, merchant_id, { ...step.target, ...change }, person, from);
        if (answer.result !== 'proposed') revision = answer.revision;
        done.push(ended(step, answer.result === 'proposed' ? 'proposed' : 'made'));
      }
    } catch (error) {
      done.push(failed(ports, step, error));
    }
  }
  return done;
}

/** Whether it is made though a step before it is not: as in the plan, a kind follows no merchant whose own move is not made. */
function isFree({ is_back, target }: Step, done: readonly Done[]): boolean {
  const is_unmoved = done.some(
    ({ step, result }) => step.target !== null && step.target.kind === undefined && result !== 'made',
  );
  return is_back && !(target?.stage === null && is_unmoved);
}

function asPlanned(step: Step, is_whole: boolean): Done {
  const { outcome, why } = step;
  if (outcome === 'refused' || outcome === 'waits') return { step, result: outcome, why };
  return is_whole && outcome === 'held' ? { step, result: 'held', why } : ended(step, 'held');
}

function ended(step: Step, result: Result): Done {
  const why =
    result === 'held' ? [say('plan.held', {})] : result === 'stopped' ? [say('plan.not_reached', {})] : step.why;
  return { step, result, why };
}

/** A refusal, or a race with a person, is the merchant's own; a store that fails would fail for all. */
function failed({ log }: StepsAsk['ports'], step: Step, error: unknown): Done {
  const is_refusal = error instanceof PuenteError && error.said.length > 0 && !/^store_/.test(error.code);
  if (is_refusal) return { step, result: 'refused', why: refusalOf(error) };
  log.error('apply of a file ended', { cause: String(error) });
  return { step, result: 'stopped', why: [say('plan.fault', {})] };
}

function viewOf({ ports }: Pick<StepsAsk, 'ports'>, plan: Plan, applied: readonly Applied[]): ApplyView {
  const all = applied.flatMap(({ steps }) => steps);
  const made = all.filter(({ result }) => result === 'made' || result === 'proposed').length;
  const waits = all.filter(({ result }) => result === 'waits').length;
  const { changes: _changes, refused: _refused, not_in_file: _absent, ...view } = planAnswer(ports, plan);
  return {
    ...view,
    ...{ made, not_made: all.length - made - waits },
    merchants: applied.map(({ merchant: { merchant_id, name }, steps }) => ({
      ...{ merchant_id, name },
      steps: steps.map(({ step, result, why }) => {
        const { outcome: _outcome, ...shown } = stepAnswer({ ...step, why });
        return { ...shown, result };
      }),
    })),
  };
}
