/** The links that the engine runner changes: as the store holds them, with the same ids in every run. */
import { order as orderSchema } from '../../src/contract/orders.ts';
import type { Tables } from '../../src/mapping/tables.ts';
import { minorUnits } from '../../src/mapping/values.ts';
import type { Ports } from '../../src/ops/ports.ts';
import type { News } from '../../src/proxy/notices/request.ts';
import { keepCall, referenceOf } from '../../src/proxy/qr/held-body.ts';
import { type Link, slotOf } from '../../src/proxy/sales/link.ts';
import { derivedReference } from '../../src/proxy/sales/new-link.ts';
import { type AdvanceRules, advance } from '../../src/proxy/sales/order-transition.ts';
import { createVault, Secret } from '../../src/proxy/vault.ts';
import { type AskedOrder, orderId } from './given.ts';

export const MERCHANT = '700100200';
/** Synthetic merchant order numbers are above this one (`proxy/ids.ts`). */
const FIRST_MERCHANT_ORDER = 8_000_000_000_000_000;

/** The tables and rules by which an order changes a link. */
export interface Judge {
  tables: Tables;
  rules: AdvanceRules;
}

export function newLink(number: number): Link {
  const legacy_id = `0199c0de-0000-7000-8000-${String(number).padStart(12, '0')}`;
  const created_at = Date.parse('2026-01-31T17:10:37.000Z');
  return {
    legacy_id,
    merchant_id: MERCHANT,
    lane: 'orders',
    family: 'point',
    unit: '',
    slot: 'point:',
    client_key: null,
    fingerprint: '',
    reference_sent: derivedReference(legacy_id),
    client_reference: null,
    held: {},
    amount_minor: 0,
    merchant_order_id: null,
    sealed_notice_url: null,
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
    legacy_state: 'OPEN',
    legacy_state_at: created_at,
    cancel: null,
    acknowledged_at: null,
    known_by: null,
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

export function hold(link: Link, device: string, given: object): void {
  const body = given as CreateBody; // accepted by the tables, before or after
  const { additional_info, payment, description } = body;
  link.unit = device;
  link.slot = slotOf('point', device);
  link.client_reference = additional_info?.external_reference ?? null;
  link.amount_minor = body.amount;
  link.held = {
    ...(additional_info === undefined ? {} : { additional_info }),
    ...(payment === undefined ? {} : { payment }),
    ...(description === undefined ? {} : { description }),
  };
}

export const VAULT = createVault(new Secret('c7'.repeat(32)));

/** Turns the link into one of a QR sale. @param asked Puente's create; @param exponent decimals of the currency. */
export function holdSale(link: Link, body: Record<string, unknown>, asked: AskedOrder, exponent: number): void {
  link.family = 'qr';
  link.unit = asked.config?.qr?.external_pos_id ?? '';
  link.slot = asked.config?.qr?.mode === 'dynamic' ? null : slotOf('qr', link.unit);
  link.client_reference = referenceOf(body);
  link.held = { body: keepCall({ vault: VAULT } as Ports, body).body }; // `keepCall` uses the vault only
  link.amount_minor = minorUnits(asked.total_amount, exponent) ?? 0;
  link.merchant_order_id = FIRST_MERCHANT_ORDER + Number(link.order_id?.slice(-6));
  link.legacy_state = 'payment_required';
}

/** Applies an order to the link; any other body changes nothing. @returns notices that are due. */
export function apply({ tables, rules }: Judge, link: Link, body: unknown): News[] {
  const parsed = orderSchema.safeParse(body);
  if (!parsed.success) return [];
  const { change, notices } = advance(link, parsed.data, tables, rules);
  Object.assign(link, change);
  return notices;
}
