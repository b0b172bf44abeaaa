/** Orders at a terminal or a QR point of sale, and the actions of their buyers. */

import type { Site } from '../contract/sites.ts';
import { PuenteError } from '../error.ts';
import type { BuyerAction, BuyerOptions, TerminalAction, TerminalOptions } from './actions.ts';
import { amountText, totalMinor } from './money.ts';
import { approve, confirmCancel, expire, fail, openOrder, pickUp, requireAction, touch } from './order.ts';
import { methodOf } from './payments.ts';
import type { AtTerminal, AtTill, Order } from './records.ts';
import type { World } from './world.ts';

/** Occupies the terminal, which the caller has found free, and starts the expiry. */
export function queueOrder(world: World, order: Order, place: AtTerminal, lifetime_ms: number): void {
  const terminal = world.terminal(order.merchant_id, place.terminal_id);
  if (terminal === undefined) throw new PuenteError('not_found', `Terminal ${place.terminal_id} is unknown.`);
  world.occupy(terminal, { kind: 'order', id: order.id });
  openOrder(world, order, lifetime_ms);
}

/** The tip comes on top of the amount. */
export function approveAtTerminal(world: World, order: Order, options: TerminalOptions): void {
  const tip_minor = options.tip_minor ?? 0;
  const paid_minor = order.transaction.amount_minor + tip_minor;
  approve(world, order, methodOf(options, { type: preferredType(order) }), paid_minor, tip_minor);
}

/** A declined card or an error of the terminal. @throws PuenteError refused, when the state excludes it. */
export function failAtTerminal(world: World, order: Order, options: TerminalOptions): void {
  fail(world, order, methodOf(options, { type: preferredType(order) }), options.status_detail);
}

/** A person at the terminal acts. @throws PuenteError refused, when the state excludes the action. */
export function operateOrder(world: World, order: Order, action: TerminalAction, options: TerminalOptions): void {
  const { id, status, place, merchant_id } = order;
  const terminal_id = place.type === 'point' ? place.terminal_id : '';
  if (world.terminal(merchant_id, terminal_id)?.operating_mode !== 'PDV') {
    throw new PuenteError('refused', `Terminal ${terminal_id} is not in PDV mode; it gets no orders.`);
  }
  if (status === 'created') pickUp(world, order);
  else if (action === 'pick_up')
    throw new PuenteError('refused', `Order ${id} is ${status}, so it can't be picked up.`);
  outcomes[action](world, order, options);
}

const outcomes: Readonly<Record<TerminalAction, (world: World, order: Order, options: TerminalOptions) => void>> = {
  pick_up: () => {}, // done above
  process: () => {}, // the orders API has no state between at_terminal and the outcome
  pay: approveAtTerminal,
  decline: failAtTerminal,
  cancel: confirmCancel,
  confirm_needed: requireAction,
  error: (world, order, options) => failAtTerminal(world, order, { status_detail: 'processing_error', ...options }),
};

function preferredType(order: Order): string {
  const wanted = order.payment_method?.default_type;
  return typeof wanted === 'string' ? wanted : 'credit_card';
}

// A QR order at its till, and what a buyer can do. Source: `docs/field-notes.md` Spec States, Orders §3.

/** Shows the order on its till or in its own code, and starts the expiry. */
export function showOrder(world: World, order: Order, place: AtTill, lifetime_ms: number): void {
  const { id, merchant_id } = order;
  const { pos_id, mode } = place;
  world.payables.set(id, { kind: 'order', id, merchant_id, pos_id, on_pos: mode !== 'dynamic' });
  openOrder(world, order, lifetime_ms);
}

/** Rejected attempts leave no trace: the order waits for an approved one (`docs/field-notes.md` Spec States). */
export function actOnOrder(world: World, order: Order, action: BuyerAction, options: BuyerOptions): void {
  const { place } = order;
  if (place.type !== 'qr') return;
  if (action === 'pay') pay(world, order, place, options);
  else if (action === 'lock') lock(world, order, place, options);
  else unlock(world, order, place);
}

function pay(world: World, order: Order, place: AtTill, options: BuyerOptions): void {
  const wanted = order.payment_method?.default_installments;
  const installments = typeof wanted === 'number' ? wanted : undefined;
  const method = methodOf(options, { type: WALLET, installments });
  const discount_minor = methodDiscount(order, place, method.type) + categoryDiscount(order, place, options);
  if (discount_minor > 0) place.discount_type = method.type;
  approve(world, order, method, order.transaction.amount_minor - discount_minor, 0);
}

/** Default method: the money in the buyer's account. */
const WALLET = 'account_money';

/** Minor units that this method takes off. */
function methodDiscount(order: Order, place: AtTill, method_type: string): number {
  const found = place.discounts?.payment_methods.find(({ type }) => type === method_type);
  return found === undefined ? 0 : totalMinor(order) - found.new_total_minor;
}

/** Categories are registered outside this API, so the buyer's options give their discount. */
function categoryDiscount(order: Order, place: AtTill, options: BuyerOptions): number {
  const { category_discount_minor = 0 } = options;
  if (category_discount_minor === 0) return 0;
  if (!(place.items ?? []).some((item) => (item.external_categories ?? []).length > 0)) {
    throw new PuenteError('refused', `No item of order ${order.id} has a category, so no category discount applies.`);
  }
  if (category_discount_minor > order.transaction.amount_minor) {
    throw new PuenteError('refused', `The discount is more than order ${order.id} costs.`);
  }
  return category_discount_minor;
}

function lock(world: World, order: Order, place: AtTill, options: BuyerOptions): void {
  place.is_locked = true;
  if (options.in_review === true) showDetail(world, order, 'in_review');
}

function unlock(world: World, order: Order, place: AtTill): void {
  place.is_locked = false;
  if (order.transaction.status_detail === 'in_review') showDetail(world, order, 'ready_to_process');
  if (place.is_expiry_due) expire(world, order);
}

function showDetail(world: World, order: Order, status_detail: string): void {
  order.transaction.status_detail = status_detail;
  touch(world, order);
}

// The text of a QR code: EMVCo fields with a checksum, as in the vendor's codes. Source: `docs/field-notes.md` QR §1.3,
// EMVCo merchant-presented QR specification.

/** The code of one payment. The wallet finds the payment by `reference`, which has 36 letters live. */
export function qrData(site: Site, reference: string, total_minor: number, seller: string): string {
  const text = [
    field('00', '01'), // version of the format
    field('01', '12'), // for one payment only
    site.site_id === 'MLB' ? pixAccount(reference) : walletAccount(reference),
    field('52', '0000'), // no merchant category
    field('53', currencyNumbers[site.currency] ?? ''),
    field('54', amountText(total_minor, site.exponent)),
    field('58', site.country_alpha2),
    field('59', seller.slice(0, 25)),
    field('60', cities[site.country_alpha2] ?? ''),
    field('62', field('05', '***')), // no reference label
    '6304', // the checksum covers its own tag and length
  ].join('');
  return text + checksum(text);
}

/** CRC-16/CCITT-FALSE as four upper-case hexadecimal digits (EMVCo). */
export function checksum(text: string): string {
  let crc = 0xffff;
  for (const byte of Buffer.from(text, 'utf8')) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc.toString(16).toUpperCase().padStart(4, '0');
}

/** Tag, two-digit length, value. */
function field(tag: string, value: string): string {
  return tag + String(value.length).padStart(2, '0') + value;
}

function walletAccount(reference: string): string {
  return field('43', field('00', 'COM.MERCADOLIBRE') + field('02', '3') + field('06', reference));
}

/** In Brazil any bank's app can pay, by a Pix location. */
function pixAccount(reference: string): string {
  return field('26', field('00', 'br.gov.bcb.pix') + field('25', `${PIX_LOCATION}${reference.replaceAll('-', '')}`));
}

const PIX_LOCATION = 'pix-qr.mercadopago.com/instore/o/v2/';

/** ISO 4217. */
const currencyNumbers: Readonly<Record<string, string>> = {
  ARS: '032',
  BRL: '986',
  CLP: '152',
  MXN: '484',
  UYU: '858',
};

/** At most 15 letters. */
const cities: Readonly<Record<string, string>> = {
  AR: 'Buenos Aires',
  BR: 'Sao Paulo',
  CL: 'Santiago',
  MX: 'Mexico',
  UY: 'Montevideo',
};
