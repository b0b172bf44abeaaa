/** Refunds of payments that legacy was called for: rows for reports and traces, which hold no unit. */
import { digits, EXTERNAL_ID } from '../../contract/identifiers.ts';
import { plainNumber } from '../../contract/json.ts';
import { decimalOf } from '../../contract/legacy-amount.ts';
import { refundStatuses } from '../../contract/payments.ts';
import type { Operation } from '../../mapping/tables.ts';
import type { Ports } from '../ports.ts';
import type { LegacySale, LegacySaleChange } from '../records/routing.ts';
import { Secret } from '../vault.ts';
import { isRefusal, objectOf, type ProxiedAnswer } from './legacy-ledger.ts';
import type { ProxiedCreate } from './legacy-sale-end.ts';
import { judgeUnproven, provenMerchant, saveWhile } from './token-ownership.ts';

/** True for a refund of a payment. The one of the oldest clients (`refund_collection`) is answered without its amount. */
export function isPaymentRefund({ story }: Operation): boolean {
  return story === 'create_refund';
}

/** True for such a refund, and for a read of refunds. */
export function isOfRefunds(operation: Operation | null): boolean {
  return operation !== null && (isPaymentRefund(operation) || isRefundRead(operation));
}

function isRefundRead({ story }: Operation): boolean {
  return story === 'get_refund' || story === 'list_refunds';
}

/** A proxied call about refunds. `at`: epoch ms of its arrival. `body`: of the request, parsed. */
interface RefundCall extends ProxiedCreate {
  at: number;
}

/** Stores what a proxied call about refunds shows. Never throws for the store. @param answer null: no complete answer. */
export function keepProxiedRefunds(ports: Ports, call: RefundCall, answer: ProxiedAnswer): Promise<void> {
  return isRefundRead(call.operation) ? noteEnds(ports, call, answer) : recordRefund(ports, call, answer);
}

/** Of one payment, as many are read. */
const REFUNDS_AT_MOST = 20;

/**
 * Records a refund that legacy was called for, with the amount of its answer, else of the request. A repeat is not
 * recorded again: it has the id of the first, or the till's idempotency key. Of a token that is not proven to be the
 * merchant's only what legacy may have made is kept.
 */
async function recordRefund(ports: Ports, call: RefundCall, answer: ProxiedAnswer): Promise<void> {
  const { merchant_id, token, path, body, headers, at } = call;
  const { payment_id } = path;
  if (merchant_id === null || payment_id === undefined || !EXTERNAL_ID.test(payment_id)) return;
  const outcome = refundOutcome(answer);
  // Legacy accepted the token, so it belongs to the merchant that it names.
  const is_proven = outcome.state === 'ENDED' || (await provenMerchant(ports, token)) === merchant_id;
  if (!is_proven && (outcome.state === 'REFUSED' || call.is_token_refused)) return;
  const key = headers['x-idempotency-key'];
  // Without an id of legacy's, its own names it in reports and traces.
  const own_id = ports.memory.ids.legacyId(at);
  const fingerprint = (text: string): string => ports.vault.fingerprint(new Secret(text));
  const named = outcome.legacy_id === undefined ? null : `as ${outcome.legacy_id}`;
  const mark = key === undefined ? named : `by ${key}`;
  const row: LegacySale = {
    // Equal for two calls about one refund: where two processes record both in one moment, the store refuses one.
    id: mark === null ? own_id : fingerprint(`refund ${merchant_id} ${payment_id} ${mark}`),
    ...{ merchant_id, family: 'payments', work: 'refund', unit: payment_id, slot: null },
    client_reference: key === undefined ? null : fingerprint(`refund ${payment_id} ${key}`),
    amount: decimalOf(objectOf(body).amount),
    unproven_token: is_proven ? null : ports.vault.fingerprint(token),
    ...{ ends_at: at, created_at: at, updated_at: ports.clock.now() },
    ...{ legacy_id: own_id, end_state: null },
    ...outcome,
  };
  try {
    const legacy_id = await saveRefund(ports, row, outcome);
    const is_own = is_proven || (legacy_id === own_id && (await judgeUnproven(ports, row, token)) === 'proven');
    // A call without it counts by itself: the row of a token that is not proven is in no report.
    if (is_own && ports.exchange !== null) ports.exchange.legacy_id = legacy_id;
  } catch (error) {
    ports.log.warn('a proxied refund was not recorded', { merchant: merchant_id, cause: String(error) });
  }
}

/** @returns the id of the row that has the refund: the new one, or that of the call which this one repeats. */
async function saveRefund(ports: Ports, row: LegacySale, outcome: RefundOutcome): Promise<string | null> {
  const { legacy_sales } = ports.store;
  const open = async (): Promise<LegacySale | null> => {
    try {
      await legacy_sales.openLegacySale(row);
      return null;
    } catch (error) {
      const written = await firstOf(legacy_sales, row, outcome);
      if (written === undefined) throw error;
      return written;
    }
  };
  const first = (await firstOf(legacy_sales, row, outcome)) ?? (await open());
  if (first === null) return row.legacy_id;
  const proven = row.unproven_token === null && first.unproven_token !== null ? { unproven_token: null } : {};
  for (const change of [proven, changeOf(first, outcome)])
    if (Object.keys(change).length > 0) await saveWhile(ports, first.id, change);
  return outcome.legacy_id ?? first.legacy_id;
}

/** The row of a refund that this call repeats: with legacy's id of it, else with the key of the till. */
async function firstOf(
  legacy_sales: Ports['store']['legacy_sales'],
  { merchant_id, client_reference }: LegacySale,
  { legacy_id }: RefundOutcome,
): Promise<LegacySale | undefined> {
  const same = legacy_id === undefined ? null : await legacy_sales.legacySale(legacy_id);
  if (same?.merchant_id === merchant_id && same.family === 'payments') return same;
  if (client_reference === null) return undefined;
  const tries = await legacy_sales.legacySalesByReference(merchant_id, client_reference, REFUNDS_AT_MOST);
  return tries.find(({ family }) => family === 'payments');
}

/**
 * What a repeat shows: an answer ends a doubt, and a later status counts; a refusal before a doubt may be out of date, but
 * not an answer that came meanwhile.
 */
function changeOf({ state, end_state }: LegacySale, outcome: RefundOutcome): LegacySaleChange {
  if (outcome.state === 'REFUSED') return {};
  if (outcome.state === 'IN_DOUBT') return { ...outcome, only_while: 'REFUSED' };
  return state !== 'ENDED' || end_state === null || end_state === 'in_process' ? outcome : {};
}

interface RefundOutcome {
  state: 'ENDED' | 'REFUSED' | 'IN_DOUBT';
  legacy_id?: string;
  amount?: string;
  end_state?: string;
}

/** With 408 legacy may have received the request in part. `end_state` is legacy's word for the refund. */
function refundOutcome(answer: ProxiedAnswer): RefundOutcome {
  if (answer === null || answer.status < 200 || answer.status > 299)
    return { state: answer !== null && isRefusal(answer.status) ? 'REFUSED' : 'IN_DOUBT' };
  const { id, amount, status } = objectOf(answer.body);
  const legacy_id = digits.safeParse(plainNumber(id)).data;
  const known = decimalOf(amount);
  return {
    state: 'ENDED',
    ...(legacy_id === undefined ? {} : { legacy_id }),
    ...(known === null ? {} : { amount: known }),
    ...refundEnd(status),
  };
}

function refundEnd(status: unknown): { end_state?: string } {
  const end_state = refundStatuses.find((one) => one === status);
  return end_state === undefined ? {} : { end_state };
}

/** Keeps what a read shows of refunds that legacy had not ended yet. */
async function noteEnds(ports: Ports, { merchant_id }: RefundCall, answer: ProxiedAnswer): Promise<void> {
  if (answer === null || answer.status < 200 || answer.status > 299) return;
  const shown = Array.isArray(answer.body) ? answer.body.slice(0, REFUNDS_AT_MOST) : [answer.body];
  try {
    for (const { id, status } of shown.map(objectOf)) {
      const legacy_id = digits.safeParse(plainNumber(id)).data;
      const row = legacy_id === undefined ? null : await ports.store.legacy_sales.legacySale(legacy_id);
      const is_open = row?.family === 'payments' && row.merchant_id === merchant_id && row.end_state === 'in_process';
      if (is_open && status !== 'in_process') await ports.store.legacy_sales.saveLegacySale(row.id, refundEnd(status));
    }
  } catch (error) {
    ports.log.warn('the end of a proxied refund was not stored', { cause: String(error) });
  }
}
