/** The links that the engine runner moves: as the store would hold them, with ids that are the same in every run. */
import { order as orderSchema } from '../../src/contract/orders.ts';
import { type AdvanceRules, advance } from '../../src/core/advance.ts';
import type { Link } from '../../src/core/link.ts';
import { derivedReference } from '../../src/core/reference.ts';
import type { Tables } from '../../src/mapping/tables.ts';
import { orderId } from './given.ts';

export const MERCHANT = '700100200';

/** Who says what an order makes of a link. */
export interface Judge {
  tables: Tables;
  rules: AdvanceRules;
}

/** The link of a create that is under way. */
export function newLink(number: number): Link {
  const legacy_id = `0199c0de-0000-7000-8000-${String(number).padStart(12, '0')}`;
  const created_at = Date.parse('2026-01-31T17:10:37.000Z');
  return {
    legacy_id,
    merchant_id: MERCHANT,
    lane: 'orders',
    unit: '',
    client_key: null,
    fingerprint: '',
    reference_sent: derivedReference(legacy_id),
    held: {},
    amount_minor: 0,
    idempotency_key: '',
    sealed_body: null,
    tables_revision: '',
    state: 'SENDING',
    attempts: 0,
    first_sent_at: null,
    boot_id: '',
    client_answer: 'none',
    order_id: orderId(number),
    order: null,
    order_version: null,
    payment_id: null,
    intent_state: 'OPEN',
    intent_state_at: created_at,
    cancel: null,
    expires_at: created_at + 900_000,
    next_check_at: null,
    created_at,
    updated_at: created_at,
    revision: 1,
  };
}

export interface CreateBody {
  amount: number;
  additional_info?: { external_reference?: string };
  payment?: unknown;
  description?: string;
}

/** Keeps what the client said, as the create does. */
export function hold(link: Link, device: string, given: object): void {
  const body = given as CreateBody; // what the tables have accepted, or are about to
  const { additional_info, payment, description } = body;
  link.unit = device;
  link.amount_minor = body.amount;
  link.held = {
    ...(additional_info === undefined ? {} : { additional_info }),
    ...(payment === undefined ? {} : { payment }),
    ...(description === undefined ? {} : { description }),
  };
}

/** Moves the link to what the order says; what is no order moves nothing. @returns bodies of notices that are due. */
export function apply({ tables, rules }: Judge, link: Link, body: unknown): string[] {
  const parsed = orderSchema.safeParse(body);
  if (!parsed.success) return [];
  const { change, notices } = advance(link, parsed.data, tables, rules);
  Object.assign(link, change);
  return notices.map((notice) => notice.body);
}
