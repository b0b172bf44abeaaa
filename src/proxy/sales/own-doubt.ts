/** Tells the exchange that its till was refused because an earlier create of ours is not known yet. */

import type { Runtime } from '../runtime.ts';
import type { Link } from './link.ts';

/**
 * Notes a refusal that no shop is to blame for: the unit is held by a create in doubt, or by one that nobody has ended
 * in time. One that is still being sent belongs to another till of the shop, which is busy as any is.
 */
export async function noteOwnDoubt(runtime: Runtime, { legacy_id }: Link): Promise<void> {
  const draft = runtime.exchange();
  // What the service says of a create counts as that.
  if (draft === null || draft.upstream.some(({ name }) => name === 'create')) return;
  const holder = await runtime.store.link(legacy_id);
  if (holder === null) return;
  const late_at = holder.created_at + runtime.settings.create.deadline_ms;
  const is_late = holder.state === 'SENDING' && runtime.clock.now() >= late_at;
  if (holder.state === 'IN_DOUBT' || is_late) draft.by_doubt = true;
}
