/** What the internal number of a point of sale stands for: asked of the service once, and remembered (`legacy-qr.md` §4). */
import { z } from 'zod';
import { EXTERNAL_ID, USER_ID } from '../../contract/identifiers.ts';
import type { LegacyErrorName } from '../../contract/legacy-errors.ts';
import { distrust } from '../identity.ts';
import type { Runtime } from '../runtime.ts';
import type { Secret } from '../secret.ts';

/** What of `GET /pos/{id}` matters here. */
const pointOfSale = z.looseObject({ external_id: z.string().nullish() });

export type PosLookup = { kind: 'known'; external_pos_id: string } | { kind: 'failed'; error: LegacyErrorName };

/**
 * The external id behind an internal number, remembered for `reads.pos_fresh_ms`; a failure is not.
 * @param token accepted as the merchant's.
 */
export async function lookUpPos(
  runtime: Runtime,
  merchant_id: string,
  token: Secret,
  pos_id: string,
): Promise<PosLookup> {
  if (!USER_ID.test(pos_id)) return { kind: 'failed', error: 'pos_not_found' };
  return runtime.cache.get(
    `pos ${merchant_id} ${pos_id}`,
    runtime.clock.now(),
    runtime.settings.reads.pos_fresh_ms,
    () => ask(runtime, token, pos_id),
    (lookup) => lookup.kind === 'known',
  );
}

async function ask(runtime: Runtime, token: Secret, pos_id: string): Promise<PosLookup> {
  const outcome = await runtime.upstream.send({
    name: 'pos',
    method: 'GET',
    path: `/pos/${pos_id}`,
    token,
    timeout_ms: runtime.settings.reads.timeout_ms,
  });
  if (outcome.kind !== 'answered') return { kind: 'failed', error: 'unavailable' };
  if (outcome.status === 401) {
    await distrust(runtime, token);
    return { kind: 'failed', error: 'unauthorized' };
  }
  if (outcome.status === 404 || outcome.status === 403) return { kind: 'failed', error: 'pos_not_found' };
  if (outcome.status === 429) return { kind: 'failed', error: 'too_many_requests' };
  const found = outcome.status === 200 ? pointOfSale.safeParse(outcome.body) : null;
  if (!found?.success) return { kind: 'failed', error: 'unavailable' };
  const { external_id } = found.data;
  // Orders know a point of sale by its external id alone (LIM-24).
  if (!external_id || !EXTERNAL_ID.test(external_id)) return { kind: 'failed', error: 'pos_without_external_id' };
  return { kind: 'known', external_pos_id: external_id };
}
