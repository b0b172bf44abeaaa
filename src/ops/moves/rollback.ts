/** Rollback: one action that takes a merchant back to legacy now, whatever else is going on; open sales stay where they were born. */
import { z } from 'zod';
import { PuenteError } from '../../error.ts';
import type { Merchant, MerchantSettings, RoutedKind } from '../../proxy/routing/merchant.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import type { Person } from '../api/person.ts';
import { reason } from '../api/reason.ts';
import { inForce, type StageView } from '../merchants/merchant-view.ts';
import { merchantToChange } from '../merchants/operate.ts';
import { type DrainView, viewDrain } from './drain.ts';
import { withdrawAll } from './proposals.ts';
import { routingChange, routingOf } from './target.ts';

/** Somebody else may change the merchant at the same moment; a rollback tries again rather than asking the operator to. */
const TRIES = 10;

/** The body of `POST /api/merchants/:id/rollback`: no revision, because going back is right whatever was changed meanwhile. */
export const rollbackAsk = z.strictObject({ reason });

/** What the next create sees, and what is still to come. */
export interface RolledBack extends DrainView {
  before: Record<RoutedKind, StageView>;
  revision: number;
}

/** Needs no evidence, approver, window or revision. @throws PuenteError bad_request for an id that is none. */
export async function rollBack(runtime: Runtime, id: string, why: string, person: Person): Promise<RolledBack> {
  const { before, revision } = await saveLegacy(runtime, id, why, person);
  runtime.log.info('rolled back', {
    merchant: id,
    action: `${routingOf(runtime.settings, before.settings).merchant.stage} to legacy`,
  });
  await withdrawAll(runtime, id, why, person.name);
  return { ...(await viewDrain(runtime, id)), before: inForce(runtime, before), revision };
}

async function saveLegacy(
  runtime: Runtime,
  id: string,
  why: string,
  person: Person,
): Promise<{ before: Merchant; revision: number }> {
  for (let attempt = 1; ; attempt++) {
    const before = await merchantToChange(runtime, id);
    const settings: MerchantSettings = { ...before.settings, stage: 'legacy', share: 0, units_in: [], kinds: {} };
    const [from, to] = [routingOf(runtime.settings, before.settings), routingOf(runtime.settings, settings)];
    try {
      runtime.failpoint('stage.before_save');
      const saved = await runtime.store.saveMerchant({ ...before, settings }, before.revision, {
        at: runtime.clock.now(),
        who: person.name,
        action: 'stage',
        subject: id,
        reason: why,
        detail: { ...routingChange(from, to), rollback: true },
      });
      runtime.failpoint('stage.saved');
      return { before, revision: saved.revision };
    } catch (error) {
      if (!(error instanceof PuenteError && error.code === 'conflict') || attempt === TRIES) throw error;
    }
  }
}
