/** Shared by the tests of moves: people with roles, the revision of a merchant, and calls of the ops door. */
import type { AppParts } from '../../../src/app/app.ts';
import { type Answer, ARGENTINA, BEN, type Bench, call, despiteLearning, EVA, PEOPLE, startBench } from '../../kit.ts';

export interface MovesBench extends Bench {
  as(person: { token: string }, method: string, path: string, body?: unknown): Promise<Answer>;
  move(target: object, person?: { token: string }, merchant?: string): Promise<Answer>;
  stageOf(
    merchant?: string,
  ): Promise<{ stage: unknown; revision: number; in_force: Record<string, { stage: string }> }>;
}

/** A bench whose merchants start on legacy, with the evidence gate enforced, as in production. */
export async function startMoves(settings: Record<string, string> = {}, parts: AppParts = {}): Promise<MovesBench> {
  const legacy = { PUENTE_ROUTING_DEFAULT_STAGE: 'legacy', PUENTE_MOVES_GATE: 'enforce' };
  const bench = await startBench({ ...legacy, ...PEOPLE, ...settings }, parts);
  const as: MovesBench['as'] = (person, method, path, body) =>
    call(bench.app.ops_url + path, { method, token: person.token, ...(body === undefined ? {} : { body }) });
  const stageOf: MovesBench['stageOf'] = async (merchant = ARGENTINA) => {
    const { body } = await as(BEN, 'GET', `/api/merchants/${merchant}`);
    const view = body as {
      revision: number;
      settings: { stage: { value: unknown } };
      in_force: Record<string, { stage: string }>;
    }; // the API's shape
    return { stage: view.settings.stage.value, revision: view.revision, in_force: view.in_force };
  };
  return {
    ...bench,
    as,
    stageOf,
    move: (target, person = EVA, merchant = ARGENTINA) =>
      despiteLearning(async () => {
        const { revision } = await stageOf(merchant);
        const asked = { reason: 'a test moves it', revision, new: true, ...target };
        return as(person, 'PUT', `/api/merchants/${merchant}/stage`, asked);
      }),
  };
}

export function messageOf(answer: Answer): string {
  const { message } = answer.body as { message?: unknown };
  if (typeof message !== 'string') throw new Error(`no message in ${answer.status} ${answer.text}`);
  return message;
}
