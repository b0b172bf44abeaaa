/** New QR sales: attended v1 and v2, dynamic and hybrid. The till's earlier order is canceled first. */

import { callableUrl } from '../../contract/identifiers.ts';
import { confirmationBody } from '../../contract/legacy-qr.ts';
import type { QrMode } from '../../contract/orders.ts';
import type { MappingContext } from '../../mapping/tables.ts';
import { minorUnits } from '../../mapping/values.ts';
import { markLimitation } from '../evidence/exchange.ts';
import {
  type Answered,
  answered,
  type LegacyAnswer,
  type LegacyCall,
  merchantContext,
  refused,
} from '../http/answer.ts';
import type { Ports } from '../ports.ts';
import { openSale } from '../sales/create.ts';
import { isPaid, type Link, slotOf } from '../sales/link.ts';
import { refreshLink } from '../sales/refresh.ts';
import { clearPointOfSale, inTurn } from './cancel.ts';
import { keepCall, keptBody } from './held-body.ts';
import { pointOfSaleOf } from './point-of-sale.ts';

/** v1: 200 with the object of a preference (`docs/field-notes.md` QR §1.1). */
export function createPreference(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  return createQr(ports, call, 'static', (link) => answered(200, answerBody(ports, call, link)));
}

/** v2: exactly 204 without a body (`docs/field-notes.md` QR finding 2). */
export function createStoreOrder(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  return createQr(ports, call, 'static', () => answered(204, undefined));
}

/** 201 with the text to render (`docs/field-notes.md` QR §1.3). */
export function createDynamicCode(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  return createQr(ports, call, 'dynamic', (link) => {
    // Without its code the sale can't be paid.
    if (!link.order?.type_response?.qr_data) return refused(call.operation.family, 'outcome_unknown');
    return answered(201, answerBody(ports, call, link));
  });
}

/** As a dynamic code, but the till's fixed code shows the sale too. */
export function createHybridCode(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  return createQr(ports, call, 'hybrid', (link) => answered(201, answerBody(ports, call, link)));
}

async function createQr(
  ports: Ports,
  call: LegacyCall,
  mode: QrMode,
  created: (link: Link) => Answered,
): Promise<LegacyAnswer> {
  const place = await pointOfSaleOf(ports, call);
  if (place.kind === 'refused') return place.answer;
  const { body, reference, notice_url } = keepCall(ports, call.body);
  markReference(ports, call.body, reference);
  markNoticeUrl(ports, notice_url);
  const holds_unit = mode !== 'dynamic';
  const slot = slotOf('qr', place.external_pos_id);
  const open = (): Promise<LegacyAnswer> =>
    openSale(ports, call, {
      family: 'qr',
      unit: place.external_pos_id,
      holds_unit,
      client_reference: reference,
      held: { body },
      notice_url,
      context: requestContext(ports, call, place.external_pos_id, mode),
      busy_error: 'order_in_doubt',
      freeUnit: (holder, deadline) => clearPointOfSale(ports, call, holder, deadline),
      created,
    });
  // One after the other: the last of several concurrent creates must remain.
  return holds_unit ? inTurn(ports, call.merchant.id, slot, open) : open();
}

/** Legacy read a number as a double, and half a surrogate pair is not UTF-8: neither was a reference (LIM-57). */
function markReference(ports: Ports, body: unknown, reference: string | null): void {
  const { external_reference } = body as { external_reference?: unknown }; // only JSON objects are accepted
  const is_long_number = typeof external_reference !== 'string' && /^\d{16,}$/.test(reference ?? '');
  if (is_long_number || reference?.isWellFormed() === false) markLimitation(ports.exchange, 'LIM-57');
}

/** The request table refuses a text that is no URL; a URL that the outbound rules block is accepted (LIM-83). */
function markNoticeUrl(ports: Ports, notice_url: string | null): void {
  const url = callableUrl(notice_url ?? '', ports.notices.scheme);
  if (url === null || (url !== undefined && !ports.notices.mayCall(url))) markLimitation(ports.exchange, 'LIM-83');
}

function requestContext(ports: Ports, call: LegacyCall, external_pos_id: string, mode: QrMode): MappingContext {
  const { currency } = ports.tables.site(call.merchant.site);
  return { external_pos_id, mode, received_at: call.received_at, currency };
}

function answerBody(ports: Ports, call: LegacyCall, link: Link): unknown {
  const { value } = ports.tables.answer(call.operation, link.order ?? {}, saleContext(ports, call, link));
  return value.body;
}

/** What the table of a QR sale's answer may use: the link, and the request that the till sent. */
export function saleContext(ports: Ports, call: LegacyCall, link: Link): Record<string, unknown> {
  return {
    ...merchantContext(ports, call.merchant),
    intent_id: link.legacy_id,
    merchant_id: Number(link.merchant_id),
    preference_id: `${link.merchant_id}-${link.legacy_id}`,
    currency: ports.tables.site(call.merchant.site).currency,
    client_reference: link.client_reference,
    amount_minor: link.amount_minor,
    request: keptBody(ports, link),
  };
}

const detailsOf: Readonly<Record<string, readonly string[]>> = {
  confirm: ['confirmed'],
  canceled: ['manually_cancelled', 'confirmation_not_received', 'other'],
  fail: ['internal_communication_error', 'other'],
};

/**
 * Confirms a cash withdrawal (`docs/field-notes.md` QR §1.4): 204 when the cash was handed out, because a paid order is
 * terminal. Returning the money is a refund, and the answer says so (LIM-28).
 */
export async function confirmWithdrawal(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const { family } = call.operation;
  if (call.link === null) return { kind: 'proxy' };
  const { status } = (call.body ?? {}) as { status?: unknown }; // any JSON
  if (status === undefined) return refused(family, 'missing_property', 'status');
  const parsed = confirmationBody.safeParse(call.body);
  const details = detailsOf[String(status)];
  if (!parsed.success || details === undefined) return refused(family, 'invalid_property', 'status');
  const { status_detail } = parsed.data;
  if (status_detail !== undefined && !details.includes(status_detail)) {
    return refused(family, 'invalid_property', 'status_detail');
  }
  const link = await refreshLink(ports, call.link, call.token);
  if (!isPaid(link)) return refused(family, 'bad_request');
  if (status !== 'confirm') return refused(family, 'confirmation_refused');
  if (isWithoutCash(ports, call, link)) markLimitation(ports.exchange, 'LIM-28');
  return answered(204, undefined);
}

/** True when the payment is the whole total, so that no cash was part of it. */
function isWithoutCash(ports: Ports, call: LegacyCall, { order, amount_minor }: Link): boolean {
  const { exponent } = ports.tables.site(call.merchant.site);
  return minorUnits(order?.transactions?.payments?.[0]?.amount, exponent) === amount_minor;
}
