/** A captured call of legacy traffic as the exchange that it would have been on Puente's legacy lane. */

import { type Exchange, endpointName, noteUnknown, outcomeOf } from '../../proxy/evidence/exchange.ts';
import { redactMessages } from '../../proxy/evidence/redact.ts';
import { unknownHeaderNames } from '../../proxy/http/unknown-headers.ts';
import { claimedMerchant } from '../../proxy/routing/merchant-identity.ts';
import { slotOf } from '../../proxy/sales/link.ts';
import { Secret } from '../../proxy/secret.ts';
import type { Match } from './match.ts';
import type { ReadCall } from './plain.ts';

/** What the file doesn't say of a call. */
export interface CallFacts {
  /** Of the file, from 1: it names the exchange. */
  line: number;
  match: Match | null;
  /** Whose calls these are, where nothing in them says it. */
  merchant_id: string;
  /** Epoch ms, for a call without a time. */
  now: number;
  tables_revision: string;
}

/** A call without an answer counts as one that legacy took, so that nothing predicted for it is overlooked. */
const TAKEN = 200;

/** The exchange, redacted; its id is the line, so that people find it in their file. */
export function exchangeOfCall(call: ReadCall, facts: CallFacts): Exchange {
  const { match, line, now, tables_revision } = facts;
  const { answer, target, method, headers, body } = call;
  const status = answer?.status ?? TAKEN;
  const clean = redactMessages({
    request: { method, target, headers, body },
    answer: answer ?? { status, headers: {}, body: null },
    upstream: [],
  });
  const unknown = { unknown: [] as Exchange['unknown'] };
  if (match === null) noteUnknown(unknown, 'endpoint', endpointName(method, clean.request.target));
  else if (match.operation.request !== null)
    for (const name of unknownHeaderNames(Object.keys(clean.request.headers))) noteUnknown(unknown, 'header', name);
  return {
    id: `line-${line}`,
    at: call.at ?? now,
    merchant_id: merchantOf(call, match) ?? facts.merchant_id,
    operation: match?.operation.name ?? null,
    kind: match?.operation.kind ?? null,
    lane: 'legacy',
    stage: 'legacy',
    unit: unitOf(match?.path ?? {}),
    legacy_id: match?.path.intent_id?.toLowerCase() ?? null,
    status,
    error: status < 400 ? null : errorOf(clean.answer.body),
    outcome: outcomeOf(status, []),
    duration_ms: call.duration_ms ?? 0,
    tables_revision,
    upstream: [],
    fired: [],
    losses: [],
    unknown: unknown.unknown,
    limitations: [],
    shadow: null,
    messages: clean,
  };
}

/** By the end of its token, or the user id in its path: what a call says of itself. */
function merchantOf({ headers, target }: ReadCall, match: Match | null): string | null {
  const header = /^Bearer\s+(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  const token =
    header ?? new URLSearchParams(target.split('?')[1] ?? '').get('access_token') ?? headers['x-access-token'];
  const claimed = token === null || token === undefined ? null : claimedMerchant(new Secret(token));
  const user = match?.path.user_id;
  return claimed ?? (user !== undefined && /^\d{1,20}$/.test(user) ? user : null);
}

function unitOf({ device_id, external_pos_id }: Record<string, string>): string | null {
  if (device_id !== undefined) return slotOf('point', device_id);
  return external_pos_id === undefined ? null : slotOf('qr', external_pos_id);
}

/** As the door reads it of an answer. */
function errorOf(body: unknown): string | null {
  const named = body !== null && typeof body === 'object' && 'error' in body ? body.error : null;
  return typeof named === 'string' ? named.slice(0, MAX_ERROR) : null;
}
/** The longest error of the catalogues is below 60 characters. */
const MAX_ERROR = 80;
