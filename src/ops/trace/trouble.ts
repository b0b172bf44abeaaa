/** What is wrong with a sale that is lost or in doubt, and why, in one sentence with its repair. */
import type { Spoken } from '../../error.ts';
import { readStored, say } from '../../locales/message.ts';
import type { AuditLine } from '../../proxy/audit.ts';
import type { UpstreamNote } from '../../proxy/evidence/exchange.ts';
import type { StoredExchange } from '../../proxy/records/evidence.ts';
import type { LegacySale } from '../../proxy/records/routing.ts';
import type { Link } from '../../proxy/sales/link.ts';
import { iso, rounded } from '../fields.ts';

export interface Trouble {
  state: 'lost' | 'in_doubt';
  sentence: Spoken;
}

/** @param decisions of the sale, newest first. */
export function troubleOfLink(
  { legacy_id: id, merchant_id: merchant, state, attempts, created_at, first_sent_at, expires_at }: Link,
  exchanges: readonly StoredExchange[],
  decisions: readonly AuditLine[],
): Trouble | null {
  if (state !== 'LOST' && state !== 'IN_DOUBT') return null;
  const last = exchanges.flatMap(({ upstream }) => upstream).findLast(({ name }) => name === 'create');
  const settled = decisions.find(({ action }) => action === 'settle');
  const facts = {
    attempts,
    sent_at: iso(first_sent_at ?? created_at),
    ends_at: iso(expires_at),
    has_answer: last !== undefined,
    answer: last === undefined ? '' : upstreamSaid(last),
  };
  if (state === 'IN_DOUBT') return { state: 'in_doubt', sentence: say('trouble.in_doubt', facts) };
  const lost = { id, merchant, has_reason: settled !== undefined, why: settled ? readStored(settled.reason) : '' };
  return { state: 'lost', sentence: say('trouble.lost', { ...facts, ...lost }) };
}

/** Null when nothing is wrong with it. */
export function troubleOfLegacySale({ family, unit, state, created_at, ends_at }: LegacySale): Trouble | null {
  if (state !== 'IN_DOUBT') return null;
  if (family === 'payments')
    return { state: 'in_doubt', sentence: say('trouble.refund_in_doubt', { sent_at: iso(created_at), payment: unit }) };
  const facts = { sent_at: iso(created_at), ends_at: iso(ends_at) };
  return { state: 'in_doubt', sentence: say('trouble.legacy_in_doubt', facts) };
}

/** A call to upstream and its answer. */
export function upstreamSaid({ name, status, code, duration_ms }: UpstreamNote): Spoken {
  const took_ms = rounded(duration_ms, 1);
  const is_proxied = name === 'legacy';
  if (status === null)
    return is_proxied ? say('step.proxied_unanswered', { took_ms }) : say('step.called_unanswered', { name, took_ms });
  const answer = { status, code, took_ms };
  return is_proxied ? say('step.proxied', answer) : say('step.called', { name, ...answer });
}
