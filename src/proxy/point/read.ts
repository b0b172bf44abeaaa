/** The stories that read one intent: get, and its last status. */
import { INTENT_ID } from '../../contract/identifiers.ts';
import type { MappingContext } from '../../mapping/tables.ts';
import { type LegacyCall, merchantContext } from '../http/call.ts';
import { answered, type LegacyAnswer, refused } from '../http/legacy-answer.ts';
import type { Merchant } from '../routing/merchant.ts';
import type { Runtime } from '../runtime.ts';
import { markRead } from '../sales/heard.ts';
import type { Link } from '../sales/link.ts';
import { readLink } from '../sales/refresh.ts';
import { markShown } from './shown-limits.ts';

/** `GET …/payment-intents/{id}`: the higher of what is stored and what upstream says now, in legacy words. */
export async function getIntent(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const link = await currentLink(runtime, call);
  if (link === null) return refused('point', 'intent_not_found');
  markShown(runtime, link, true);
  const { value } = runtime.tables.answer(call.operation, link.order ?? {}, intentContext(runtime, call, link));
  return answered(200, value.body);
}

/** `GET …/payment-intents/{id}/events`: the last state under the name `status` (`legacy-point.md` §1.7). */
export async function lastStatus(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const link = await currentLink(runtime, call);
  if (link === null) return refused('point', 'intent_not_found');
  markShown(runtime, link, false);
  const { value } = runtime.tables.answer(call.operation, NOTHING, intentContext(runtime, call, link));
  return answered(200, value.body);
}

/** The link of the call, refreshed while it can still change; null when the id has no intent a till may see. */
async function currentLink(runtime: Runtime, call: LegacyCall): Promise<Link | null> {
  const { link } = call;
  const { device_id = link?.unit } = call.path;
  if (link === null || link.unit !== device_id || !INTENT_ID.test(call.path.intent_id ?? '')) return null;
  if (link.state === 'REJECTED' || link.state === 'NOT_SENT') return null;
  return markRead(runtime, link.state === 'LIVE' ? await readLink(runtime, link, call.token) : link);
}

const NOTHING = {};
const contexts = new WeakMap<Link, { merchant: Merchant; context: MappingContext }>();

/**
 * The same object for rows that the store keeps as it read them, so that their answer need not be made for each poll: one
 * answer for a link, that of the question asked last.
 */
function intentContext(runtime: Runtime, call: LegacyCall, link: Link): MappingContext {
  const { merchant } = call;
  const before = contexts.get(link);
  if (before !== undefined && before.merchant === merchant) return before.context;
  const context = contextOf(runtime, call, link);
  if (Object.isFrozen(link) && Object.isFrozen(merchant))
    contexts.set(link, { merchant, context: Object.freeze(context) });
  return context;
}

function contextOf(runtime: Runtime, call: LegacyCall, link: Link): MappingContext {
  return {
    ...merchantContext(runtime, call.merchant),
    intent_id: link.legacy_id,
    device_id: link.unit,
    state: link.legacy_state,
    state_at: link.legacy_state_at,
    held: link.held,
    amount_minor: link.amount_minor,
  };
}
