/** A create under way, and the retries that wait for it: what refuses it refuses all of them (`reliability.md` §3.9). */

import type { Runtime } from '../runtime.ts';
import type { Secret } from '../secret.ts';
import type { Link } from './link.ts';
import { type SendPlan, type Sent, sendLink } from './send.ts';

export interface Flight {
  token: Secret;
  sent: Promise<Sent>;
}

/**
 * Runs a link's create, or waits for its turn. A retry that was waiting while upstream refused the sale is told the same:
 * one of its own would only be refused again, and of many at once the last would find no room to try.
 */
export async function sendInTurn(runtime: Runtime, link: Link, plan: SendPlan): Promise<Sent> {
  const { flights, serial } = runtime;
  const { legacy_id } = link;
  // Whoever has just written the row has it in hand, and nobody else was at it.
  const fresh = plan.body !== null && !serial.busy(legacy_id) ? link : null;
  const before = flights.get(legacy_id);
  const sent = serial.run(legacy_id, () => sendLink(runtime, legacy_id, plan, fresh));
  if (before === undefined) flights.set(legacy_id, { token: plan.token, sent });
  try {
    const mine = await sent;
    return mine.kind === 'over' && before !== undefined ? await refusalOf(runtime, before, plan.token, mine) : mine;
  } finally {
    if (before === undefined) flights.delete(legacy_id);
  }
}

/** Another token may be good for what this one was refused. */
async function refusalOf(runtime: Runtime, before: Flight, token: Secret, mine: Sent): Promise<Sent> {
  const fingerprint = (one: Secret): string => runtime.vault.fingerprint(one);
  if (fingerprint(before.token) !== fingerprint(token)) return mine;
  const theirs = await before.sent.catch(() => mine);
  return theirs.kind === 'refused' || theirs.kind === 'not_sent' ? theirs : mine;
}
