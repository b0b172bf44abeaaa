/** Which point of sale a QR call is about, and whether the caller may speak for it. */
import { z } from 'zod';
import { EXTERNAL_ID, USER_ID } from '../../contract/identifiers.ts';
import type { Family } from '../../contract/legacy-errors.ts';
import { type Answered, refused } from '../answer.ts';
import type { LegacyCall } from '../call.ts';
import { distrust } from '../identity.ts';
import type { Runtime } from '../runtime.ts';

/** What of `GET /pos/{id}` matters here (`legacy-qr.md` §4). */
const pointOfSale = z.looseObject({ external_id: z.string().nullish() });

export type Till = { kind: 'known'; external_pos_id: string } | { kind: 'refused'; answer: Answered };

/**
 * The external id of the till in the path. A path user that is not the token's owner is refused as legacy did; an
 * internal number is looked up once and remembered for `reads.pos_fresh_ms`.
 */
export async function tillOf(runtime: Runtime, call: LegacyCall): Promise<Till> {
  const { family } = call.operation;
  const { user_id, external_pos_id, pos_id } = call.path;
  if (user_id !== undefined && !USER_ID.test(user_id)) return refuse(refused(family, 'invalid_collector'));
  if (user_id !== undefined && user_id !== call.merchant.id) return refuse(refused(family, 'forbidden'));
  if (external_pos_id !== undefined) return named(family, external_pos_id);
  if (pos_id === undefined || !USER_ID.test(pos_id)) return refuse(refused(family, 'pos_not_found'));
  return runtime.memory.recall(
    `pos ${call.merchant.id} ${pos_id}`,
    runtime.clock.now(),
    runtime.settings.reads.pos_fresh_ms,
    () => askPos(runtime, call, pos_id),
    (till) => till.kind === 'known',
  );
}

/** v1 has one answer for every till that is not there; v2 has a code for an id that can't be one. */
function named(family: Family, external_pos_id: string): Till {
  if (EXTERNAL_ID.test(external_pos_id)) return { kind: 'known', external_pos_id };
  if (family === 'qr_v1') return refuse(refused(family, 'pos_not_found'));
  return refuse(refused(family, 'invalid_property', 'external_pos_id'));
}

async function askPos(runtime: Runtime, call: LegacyCall, pos_id: string): Promise<Till> {
  const { family } = call.operation;
  const { token } = call;
  const timeout_ms = runtime.settings.reads.timeout_ms;
  const outcome = await runtime.upstream.send({
    name: 'pos',
    method: 'GET',
    path: `/pos/${pos_id}`,
    token,
    timeout_ms,
  });
  if (outcome.kind !== 'answered') return refuse(refused(family, 'unavailable'));
  if (outcome.status === 401) {
    await distrust(runtime, token);
    return refuse(refused(family, 'unauthorized'));
  }
  if (outcome.status === 404 || outcome.status === 403) return refuse(refused(family, 'pos_not_found'));
  if (outcome.status === 429) return refuse(refused(family, 'too_many_requests'));
  const found = outcome.status === 200 ? pointOfSale.safeParse(outcome.body) : null;
  if (!found?.success) return refuse(refused(family, 'unavailable'));
  const { external_id } = found.data;
  // Orders know tills by their external id alone (LIM-24).
  if (!external_id || !EXTERNAL_ID.test(external_id)) return refuse(refused(family, 'pos_without_external_id'));
  return { kind: 'known', external_pos_id: external_id };
}

function refuse(answer: Answered): Till {
  return { kind: 'refused', answer };
}
