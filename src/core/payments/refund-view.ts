/** Refunds told from an order, in the shape of the payments API. */
import { createHash } from 'node:crypto';
import { decimalText } from '../../mapping/amount.ts';
import type { MappingContext, Operation } from '../../mapping/tables.ts';
import { type LegacyCall, merchantContext } from '../call.ts';
import { markLimitation } from '../limitation-mark.ts';
import type { Link } from '../link.ts';
import { nicknameOf } from '../qr/merchant-order.ts';
import type { Runtime } from '../runtime.ts';
import { factsOf, nodesOf, type RefundFacts } from './judge.ts';

/** The refunds of the stored order, oldest first, whoever asked for them. */
export async function refundsOfOrder(runtime: Runtime, call: LegacyCall, link: Link): Promise<unknown[]> {
  const { exponent } = runtime.tables.site(call.merchant.site);
  const nodes = nodesOf(link.order);
  const operation = runtime.tables.operations.find((one) => one.story === 'create_refund');
  if (nodes.length === 0 || operation === undefined) return [];
  const own = await runtime.store.refunds(link.legacy_id);
  const shared = refundContext(runtime, call, link, await nicknameOf(runtime, call));
  return nodes.map((node) => {
    const row = own.find((one) => one.upstream_id !== null && one.upstream_id === node.id);
    const number = row?.number ?? mintedNumber(node.id ?? '');
    const at = row?.created_at ?? link.legacy_state_at;
    return refundBody(runtime, operation, link, { ...factsOf(node, exponent), number, at }, shared);
  });
}

/** @param refund `number`: shown where the service gives none; `at`: epoch ms. */
export function refundBody(
  runtime: Runtime,
  operation: Operation,
  link: Link,
  refund: RefundFacts & { number: number; at: number },
  shared: MappingContext,
): unknown {
  const { upstream_id, reference_id, refunded_minor, upstream_status, number, at } = refund;
  if (upstream_status === 'processing') markLimitation(runtime.exchange(), 'LIM-42');
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
    // An answer that names no amount was one about everything.
    amount_minor: refunded_minor ?? link.amount_minor,
  };
  return runtime.tables.answer(operation, source, context).value.body;
}

/** What every refund of a payment is told with. */
export function refundContext(runtime: Runtime, call: LegacyCall, link: Link, nickname: string): MappingContext {
  return {
    ...merchantContext(runtime, call.merchant),
    merchant_id: Number(link.merchant_id),
    nickname,
    payment_id: Number(link.payment_id),
  };
}

/** Above every number that `core/minted.ts` gives out before 2041, and below the largest exact one. */
const FIRST_NUMBER = 8_500_000_000_000_000;

/** A number for a refund that somebody else asked for and the service gave none: the same at every read. */
function mintedNumber(upstream_id: string): number {
  return FIRST_NUMBER + Number.parseInt(createHash('sha256').update(upstream_id).digest('hex').slice(0, 12), 16);
}
