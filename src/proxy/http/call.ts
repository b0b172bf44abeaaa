/** One legacy call on the orders lane, and the errors of upstream calls told in legacy words. */
import type { UpstreamCallName } from '../../contract/upstream.ts';
import type { MappingContext, Operation } from '../../mapping/tables.ts';
import { markLimitation } from '../evidence/exchange.ts';
import type { Ports } from '../ports.ts';
import type { Merchant } from '../routing/merchant.ts';
import { distrust } from '../routing/merchant-identity.ts';
import type { Link } from '../sales/link.ts';
import { errorCode, isNotYet, type UpstreamOutcome } from '../upstream/upstream.ts';
import type { Secret } from '../vault.ts';
import { type Answered, type LegacyAnswer, refused } from './answer.ts';

export interface LegacyCall {
  operation: Operation;
  /** Epoch ms when the call came in; its deadline counts from here. */
  received_at: number;
  /** Path and query as they came, for recognising a retry. */
  target: string;
  path: Record<string, string>;
  query: Record<string, string>;
  /** Lower-case names. */
  headers: Record<string, string>;
  /** Parsed JSON, where the operation takes a body. */
  body: unknown;
  token: Secret;
  /** Accepted by the upstream. */
  merchant: Merchant;
  /** The link the path names, already known to be this merchant's; null where it names none, or is a new sale's. */
  link: Link | null;
}

/** A story runs one operation from the parsed call to the legacy answer. */
export type Story = (ports: Ports, call: LegacyCall) => Promise<LegacyAnswer>;

/** What every table may want to know of the merchant. */
export function merchantContext(ports: Ports, merchant: Merchant): MappingContext {
  return {
    site: merchant.site ?? undefined,
    exponent: ports.tables.site(merchant.site).exponent,
    voucher: merchant.settings.voucher ?? ports.settings.merchants.voucher,
  };
}

/**
 * The legacy answer for an upstream call that did not succeed. A row reached by default is counted and logged;
 * a 401 makes the token be asked about again.
 */
export async function upstreamRefusal(
  ports: Ports,
  call: LegacyCall,
  name: UpstreamCallName,
  outcome: UpstreamOutcome,
): Promise<Answered> {
  if (outcome.kind === 'not_sent') return refused(call.operation.family, 'bad_gateway');
  if (outcome.kind === 'broken') return refused(call.operation.family, 'outcome_unknown');
  if (outcome.status === 401) await distrust(ports, call.token);
  return errorAnswer(ports, call, name, outcome.status, outcome.body, outcome.retry_after_ms);
}

/**
 * The row of the error table for a status and body, as a legacy answer. What passes by itself is told as worth another try,
 * whether its code is documented or not: official clients repeat a 503 by themselves.
 */
export function errorAnswer(
  ports: Ports,
  call: LegacyCall,
  name: UpstreamCallName,
  status: number,
  body: unknown,
  retry_after_ms: number | null = null,
): Answered {
  const row = ports.tables.error(call.operation.family, name, status, body, merchantContext(ports, call.merchant));
  // Legacy's limits were others, and nobody knows which of these amounts it would have refused as well.
  if (row.error === 'amount_minimum' || row.error === 'amount_maximum') markLimitation(ports.exchange, 'LIM-12');
  const passes = isNotYet(status, errorCode(body));
  if (row.default && !passes) {
    ports.count('default_rows', name);
    ports.log.warn('error table: default row used', {
      operation: call.operation.name,
      status,
      merchant: call.merchant.id,
    });
  }
  const told_s = retry_after_ms === null ? null : Math.ceil(retry_after_ms / 1000);
  // Official clients wait as long as they are told, and a second when nobody tells them (`docs/field-notes.md` Point §1.9).
  const wait_s = told_s ?? (passes || row.error === 'too_many_requests' ? 1 : null);
  return refused(
    call.operation.family,
    passes ? 'not_yet' : row.error,
    passes ? null : row.detail,
    wait_s === null ? undefined : { 'retry-after': String(wait_s) },
  );
}
