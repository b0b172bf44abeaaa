/** The stories of a new QR sale: attended v1 and v2, dynamic and hybrid; the earlier order of a point of sale makes room first. */

import { callableUrl } from '../../contract/identifiers.ts';
import { confirmationBody } from '../../contract/legacy-qr.ts';
import type { QrMode } from '../../contract/orders.ts';
import { minorUnits } from '../../mapping/amount.ts';
import type { MappingContext } from '../../mapping/tables.ts';
import { markLimitation } from '../evidence/exchange.ts';
import { type Answered, answered, type LegacyAnswer, refused } from '../http/answer.ts';
import { type LegacyCall, merchantContext } from '../http/call.ts';
import type { Ports } from '../ports.ts';
import { openSale } from '../sales/create.ts';
import { isPaid, type Link, slotOf } from '../sales/link.ts';
import { refreshLink } from '../sales/refresh.ts';
import { clearPointOfSale, inTurn } from './cancel.ts';
import { keepCall, keptBody } from './held-body.ts';
import { pointOfSaleOf } from './point-of-sale.ts';

/** v1 `POST` and `PUT /mpmobile/instore/qr/…`: 200 with the object of a preference (`docs/field-notes.md` QR §1.1). */
export function createPreference(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  return createQr(ports, call, 'static', (link) => answered(200, answerBody(ports, call, link)));
}

/** v2 `PUT …/orders`: exactly 204 without a body (`docs/field-notes.md` QR finding 2). */
export function createStoreOrder(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  return createQr(ports, call, 'static', () => answered(204, undefined));
}

/** `POST …/qrs`: 201 with the text to render (`docs/field-notes.md` QR §1.3). */
export function createDynamicCode(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  return createQr(ports, call, 'dynamic', (link) => {
    // Without its code nobody could ever pay it.
    if (!link.order?.type_response?.qr_data) return refused(call.operation.family, 'outcome_unknown');
    return answered(201, answerBody(ports, call, link));
  });
}

/** `PUT …/qrs`: the same, and the sale shows on the fixed code of the point of sale as well. */
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
      context: saleAsk(ports, call, place.external_pos_id, mode),
      busy_error: 'order_in_doubt',
      makeRoom: (holder, deadline) => clearPointOfSale(ports, call, holder, deadline),
      created,
    });
  // One after the other: of several that replace each other at once, the last one must stand.
  return holds_unit ? inTurn(ports, call.merchant.id, slot, open) : open();
}

/** What a double can't hold was no reference to legacy, and half of a surrogate pair is none in UTF-8 (LIM-57). */
function markReference(ports: Ports, body: unknown, reference: string | null): void {
  const { external_reference: said } = body as { external_reference?: unknown }; // the door takes JSON objects only
  const is_long_number = typeof said !== 'string' && /^\d{16,}$/.test(reference ?? '');
  if (is_long_number || reference?.isWellFormed() === false) markLimitation(ports.exchange, 'LIM-57');
}

/** The request table refuses what no URL can be made of; what the rules of outgoing calls hold back is taken (LIM-83). */
function markNoticeUrl(ports: Ports, notice_url: string | null): void {
  const url = callableUrl(notice_url ?? '', ports.notices.scheme);
  if (url === null || (url !== undefined && !ports.notices.mayCall(url))) markLimitation(ports.exchange, 'LIM-83');
}

/** What the request tables of QR sales may want to know. */
function saleAsk(ports: Ports, call: LegacyCall, external_pos_id: string, mode: QrMode): MappingContext {
  const { currency } = ports.tables.site(call.merchant.site);
  return { external_pos_id, mode, received_at: call.received_at, currency };
}

function answerBody(ports: Ports, call: LegacyCall, link: Link): unknown {
  const { value } = ports.tables.answer(call.operation, link.order ?? {}, saleContext(ports, call, link));
  return value.body;
}

/** What the answer tables of QR sales may want to know. */
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

// The story of confirming a cash withdrawal, which an order does not wait for. Source: `docs/field-notes.md` QR §1.4.

/** What the till may say, and the reasons it may give. */
const detailsOf: Readonly<Record<string, readonly string[]>> = {
  confirm: ['confirmed'],
  canceled: ['manually_cancelled', 'confirmation_not_received', 'other'],
  fail: ['internal_communication_error', 'other'],
};

/**
 * `POST /instore/orders/{merchant_order_id}/confirmation` of a merchant order of ours: 204 when the cash was handed
 * out, because the order is over when it is paid. To give the money back is a refund, which is told (LIM-28).
 */
export async function confirmWithdrawal(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const { family } = call.operation;
  if (call.link === null) return { kind: 'carry' };
  const { status } = said(call.body);
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

/** The payment of the order is the whole total: nothing of it was handed out. */
function isWithoutCash(ports: Ports, call: LegacyCall, { order, amount_minor }: Link): boolean {
  const { exponent } = ports.tables.site(call.merchant.site);
  return minorUnits(order?.transactions?.payments?.[0]?.amount, exponent) === amount_minor;
}

function said(body: unknown): { status?: unknown } {
  return body !== null && typeof body === 'object' ? body : {};
}
