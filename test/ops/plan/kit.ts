/** Shared by the tests of files of merchants: plans and applies by the ops door, and what their steps say. */

import type { ApplyView } from '../../../src/ops/plan/apply.ts';
import type { PlanView } from '../../../src/ops/plan/plan.ts';
import type { Answer } from '../../kit.ts';
import { BEN } from '../../kit.ts';
import type { MovesBench } from '../moves/kit.ts';

type Person = { token: string };

export interface Files {
  plan(text: string, more?: object, person?: Person): Promise<PlanView>;
  /** Plans it and applies that plan, or the plan of `more`. */
  apply(text: string, more?: object, person?: Person): Promise<ApplyView>;
  /** The answer of an apply that may be refused. */
  tried(text: string, more: object, person?: Person): Promise<Answer>;
}

export function filesOn(bench: MovesBench): Files {
  const ask = (path: string, body: object, person: Person): Promise<Answer> => bench.as(person, 'POST', path, body);
  const good = <View>({ status, text, body }: Answer): View => {
    if (status !== 200) throw new Error(`${status} ${text}`);
    return body as View; // the row's answer
  };
  const plan: Files['plan'] = async (text, more = {}, person = BEN) =>
    good(await ask('/api/plan', { file: 'shops.yaml', text, ...more }, person));
  const tried: Files['tried'] = (text, more, person = BEN) =>
    ask('/api/plan/apply', { file: 'shops.yaml', text, reason: 'a test applies it', ...more }, person);
  return {
    plan,
    tried,
    apply: async (text, more = {}, person = BEN) => {
      const digest = (await plan(text, more, person)).plan;
      return good(await tried(text, { plan: digest, ...more }, person));
    },
  };
}

/** `make: stage: legacy → shadow` of each step, in order. */
export function stepsIn({ merchants }: PlanView): string[] {
  return merchants.flatMap(({ steps }) => steps.map(({ outcome, changes }) => `${outcome}: ${changes.join('; ')}`));
}

export function resultsIn({ merchants }: ApplyView): string[] {
  return merchants.flatMap(({ steps }) => steps.map(({ result, changes }) => `${result}: ${changes.join('; ')}`));
}

/** Why a step is refused or held. @param at merchant and step, from 0. */
export function whyOf(view: PlanView | ApplyView, [merchant, step]: [number, number]): string {
  return view.merchants[merchant]?.steps[step]?.why.join(' ') ?? 'there is no such step';
}
