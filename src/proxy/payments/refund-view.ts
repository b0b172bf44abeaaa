/** Refunds made from an order, in the shape of the payments API. */
import { createHash } from 'node:crypto';
import type { MappingContext, Operation } from '../../mapping/tables.ts';
import { decimalText, minorUnits, offsetTime } from '../../mapping/values.ts';
import { markLimitation } from '../evidence/exchange.ts';
import { type LegacyCall, merchantContext } from '../http/answer.ts';
import type { Ports } from '../ports.ts';
import type { Refund } from '../records/refunds.ts';
import { nicknameOf } from '../routing/merchant-identity.ts';
import type { Link } from '../sales/link.ts';
import { nodesOf } from '../sales/order-transition.ts';
import { asLastRead, namesOf } from './made-refunds.ts';
import { factsOf, findRefund, isOpen, type RefundFacts } from './refund-decisions.ts';

/** All refunds of the stored order, oldest first. */
export async function refundsOfOrder(ports: Ports, call: LegacyCall, link: Link): Promise<unknown[]> {
  const { exponent } = ports.tables.site(call.merchant.site);
  const nodes = nodesOf(link.order);
  const operation = ports.tables.operations.find((one) => one.story === 'create_refund');
  if (nodes.length === 0 || operation === undefined) return [];
  const own = await ownRefunds(ports, link, exponent);
  const shared = refundContext(ports, call, link, await nicknameOf(ports, call));
  const ownOf = ({ id }: { id?: string | undefined }) =>
    own.find((one) => one.upstream_id !== null && one.upstream_id === id);
  const others_at = nodes.every(ownOf) ? link.legacy_state_at : await firstRefundedAt(ports, link);
  return nodes.map((node) => {
    const row = ownOf(node);
    const number = row?.number ?? foreignNumber(node.id ?? '');
    const at = row?.created_at ?? others_at;
    return refundBody(ports, operation, link, { ...factsOf(node, exponent), number, at }, shared);
  });
}

const REFUNDED: readonly string[] = ['partially_reverted', 'reverted'];

/** Epoch ms of the first refund: an order has no time for refunds, and its state's time moves with the next one. */
async function firstRefundedAt(ports: Ports, link: Link): Promise<number> {
  const history = await ports.store.history.linkHistory(link.legacy_id);
  return history.find(({ legacy_state }) => REFUNDED.includes(legacy_state))?.at ?? link.legacy_state_at;
}

/** A refund requested through Puente keeps its answer's date; upstream's is later, or from another clock. */
export async function withOwnDates(ports: Ports, call: LegacyCall, link: Link, refunds: unknown): Promise<unknown> {
  if (!Array.isArray(refunds) || refunds.length === 0) return refunds;
  const { exponent } = ports.tables.site(call.merchant.site);
  const own = await ownRefunds(ports, link, exponent);
  const rows = refunds.map((refund) => {
    const number = String((refund as { id?: unknown } | null)?.id); // any JSON
    return own.find((one) => one.reference_id === number || String(one.number) === number);
  });
  // A refund without an outcome that the order does not show yet, although the sum has risen by it.
  const open = own.find((one) => isOpen(one) && one.reference_id === null);
  if (open !== undefined && sumOfRefunds(refunds, exponent) >= open.refunded_before_minor + (open.amount_minor ?? 1)) {
    const isIts = (refund: unknown): boolean =>
      open.amount_minor === null || amountOf(refund, exponent) === open.amount_minor;
    const at = refunds.findLastIndex((refund, index) => rows[index] === undefined && isIts(refund));
    if (at >= 0) rows[at] = open;
  }
  return refunds.map((refund, index) => {
    const row = rows[index];
    return row === undefined ? refund : { ...(refund as object), date_created: offsetTime(row.created_at) };
  });
}

/** What a payment in legacy form shows of its refunds, minor units, failed ones included. */
export function refundedIn(ports: Ports, call: LegacyCall, payment: Record<string, unknown>): number {
  const { exponent } = ports.tables.site(call.merchant.site);
  const sum = minorUnits(String(payment.transaction_amount_refunded), exponent) ?? 0;
  return Math.max(sum, sumOfRefunds(payment.refunds, exponent));
}

/** @param refunds any JSON. @returns minor units. */
export function sumOfRefunds(refunds: unknown, exponent: number): number {
  return Array.isArray(refunds) ? refunds.reduce((sum: number, one) => sum + amountOf(one, exponent), 0) : 0;
}

function amountOf(refund: unknown, exponent: number): number {
  return minorUnits(String((refund as { amount?: unknown } | null)?.amount), exponent) ?? 0; // any JSON
}

/** Refunds of tills with upstream's ids, which the order may show before the answer arrives. */
async function ownRefunds(ports: Ports, link: Link, exponent: number): Promise<Refund[]> {
  const rows = await ports.store.refunds.refunds(link.legacy_id);
  const claimed = namesOf(rows);
  return rows.map((row) => {
    const { order, amount_minor } = link;
    const found = isOpen(row) && order !== null ? findRefund(order, row, claimed, amount_minor, exponent) : null;
    const upstream_id = row.upstream_id ?? found?.upstream_id ?? null;
    const node = nodesOf(link.order).find((one) => one.id !== undefined && one.id === upstream_id);
    return { ...row, upstream_id, reference_id: row.reference_id ?? node?.reference_id ?? null };
  });
}

/** @param refund `number`: shown where upstream has none; `at`: epoch ms. */
export function refundBody(
  ports: Ports,
  operation: Operation,
  link: Link,
  refund: RefundFacts & { number: number; at: number },
  shared: MappingContext,
): unknown {
  const { upstream_id, reference_id, refunded_minor, upstream_status, number, at } = asLastRead(refund, link.order);
  if (upstream_status === 'processing') markLimitation(ports.exchange, 'LIM-42');
  const { exponent } = shared;
  const amount = typeof exponent === 'number' ? decimalText(refunded_minor, exponent) : undefined;
  const node = {
    ...(upstream_id === null ? {} : { id: upstream_id }),
    transaction_id: link.order?.transactions?.payments?.[0]?.id,
    ...(reference_id === null ? {} : { reference_id }),
    ...(amount === undefined ? {} : { amount }),
    ...(upstream_status === null ? {} : { status: upstream_status }),
  };
  const { status, status_detail } = link.order ?? {};
  const source = { id: link.order_id, status, status_detail, transactions: { refunds: [node] } };
  const context = {
    ...shared,
    refund_number: number,
    created_at: at,
    // An answer without an amount is about the whole payment.
    amount_minor: refunded_minor ?? link.amount_minor,
  };
  return ports.tables.answer(operation, source, context).value.body;
}

/** What the table of refunds may use. @param nickname of the seller. */
export function refundContext(ports: Ports, call: LegacyCall, link: Link, nickname: string): MappingContext {
  return {
    ...merchantContext(ports, call.merchant),
    merchant_id: Number(link.merchant_id),
    nickname,
    payment_id: Number(link.payment_id),
  };
}

/** Above every number that `proxy/ids.ts` makes before 2041, and below the largest exact integer. */
const FIRST_FOREIGN_NUMBER = 8_500_000_000_000_000;

/** For a refund that was not requested through Puente and has no number upstream: the same at every read. */
function foreignNumber(upstream_id: string): number {
  return (
    FIRST_FOREIGN_NUMBER + Number.parseInt(createHash('sha256').update(upstream_id).digest('hex').slice(0, 12), 16)
  );
}
