/** Orders where buyers meet them: on a terminal, at a QR point of sale, and the buyer who pays or walks away. */

import type { Request, Response, Router } from 'express';
import { z } from 'zod';
import { PuenteError } from '../error.ts';
import { json, readBody, send } from './answer.ts';
import {
  type BuyerAction,
  type BuyerOptions,
  buyerActions,
  type Merchant,
  type Occupation,
  type Payable,
  type PointOfSale,
  type Site,
  type TerminalAction,
  type TerminalOptions,
} from './cast.ts';
import { merchantOf, parse } from './control-call.ts';
import { amountText } from './money.ts';
import {
  approve,
  confirmCancel,
  type Desk,
  expire,
  fail,
  methodOf,
  openOrder,
  pickUp,
  requireAction,
  totalMinor,
  touch,
} from './order.ts';
import type { AtTerminal, AtTill, Order } from './records.ts';
import type { World } from './world.ts';

/** A new order takes its terminal and starts its expiry. The caller has checked that the terminal is free. */
export function queueOrder(desk: Desk, order: Order, place: AtTerminal, lifetime_ms: number): void {
  const { world } = desk;
  const terminal = world.terminal(order.merchant.user_id, place.terminal_id);
  if (terminal === undefined) throw new PuenteError('not_found', `Terminal ${place.terminal_id} is unknown.`);
  world.occupy(terminal, occupationOf(desk, order, place));
  openOrder(desk, order, lifetime_ms);
}

/** The terminal approves: the tip comes on top. */
export function approveAtTerminal(desk: Desk, order: Order, options: TerminalOptions): void {
  const tip_minor = options.tip_minor ?? 0;
  const paid_minor = order.transaction.amount_minor + tip_minor;
  approve(desk, order, methodOf(options, preferredType(order)), paid_minor, tip_minor);
}

export function failAtTerminal(desk: Desk, order: Order, options: TerminalOptions): void {
  fail(desk, order, methodOf(options, preferredType(order)), options.status_detail);
}

/** The person at the terminal, acting on an order. */
function occupationOf(desk: Desk, order: Order, place: AtTerminal): Occupation {
  return {
    kind: 'order',
    id: order.id,
    operate(action, options) {
      const mode = desk.world.terminal(order.merchant.user_id, place.terminal_id)?.operating_mode;
      if (mode !== 'PDV')
        throw new PuenteError('refused', `Terminal ${place.terminal_id} is not in PDV mode; it sees no orders.`);
      if (order.status === 'created') pickUp(desk, order);
      else if (action === 'pick_up')
        throw new PuenteError('refused', `Order ${order.id} is ${order.status}, so it can't be picked up.`);
      outcomes[action](desk, order, options);
    },
  };
}

const outcomes: Readonly<Record<TerminalAction, (desk: Desk, order: Order, options: TerminalOptions) => void>> = {
  pick_up: () => {}, // done by then
  process: () => {}, // the orders API shows nothing between at_terminal and the outcome
  pay: approveAtTerminal,
  decline: failAtTerminal,
  cancel: confirmCancel,
  confirm_needed: requireAction,
  error: (desk, order, options) => failAtTerminal(desk, order, { status_detail: 'processing_error', ...options }),
};

function preferredType(order: Order): string {
  const wanted = order.payment_method?.default_type;
  return typeof wanted === 'string' ? wanted : 'credit_card';
}

// A QR order at its till: what a buyer who scans the code can do with it. Source: `docs/field-notes.md` Spec States,
// `docs/field-notes.md` Orders §3.

/** A new order shows on its till or in its own code, and starts its expiry. */
export function showOrder(desk: Desk, order: Order, place: AtTill, lifetime_ms: number): void {
  const { world } = desk;
  world.payables.set(order.id, {
    kind: 'order',
    id: order.id,
    merchant_id: order.merchant.user_id,
    pos: place.pos,
    on_pos: place.mode !== 'dynamic',
    act: (action, options) => tillOutcomes[action](desk, order, place, options),
  });
  openOrder(desk, order, lifetime_ms);
}

type Outcome = (desk: Desk, order: Order, place: AtTill, options: BuyerOptions) => void;

/** Rejected attempts leave no trace in the order, which waits for an approved one (`docs/field-notes.md` Spec States). */
const tillOutcomes: Readonly<Record<BuyerAction, Outcome>> = {
  pay,
  decline: unlock,
  abandon: unlock,
  lock,
  unlock,
};

function pay(desk: Desk, order: Order, place: AtTill, options: BuyerOptions): void {
  const { installments = defaultInstallments(order), ...rest } = options;
  const method = methodOf({ ...rest, installments }, WALLET);
  const discount_minor = methodDiscount(order, place, method.type) + categoryDiscount(order, place, options);
  if (discount_minor > 0) place.discount_type = method.type;
  approve(desk, order, method, order.transaction.amount_minor - discount_minor, 0);
}

/** What buyers pay with who say nothing else: the money in their account. */
const WALLET = 'account_money';

function defaultInstallments(order: Order): number {
  const wanted = order.payment_method?.default_installments;
  return typeof wanted === 'number' ? wanted : 1;
}

/** Minor units that paying by this method takes off. */
function methodDiscount(order: Order, place: AtTill, method_type: string): number {
  const found = place.discounts?.payment_methods.find(({ type }) => type === method_type);
  return found === undefined ? 0 : totalMinor(order) - found.new_total_minor;
}

/** Categories are told to the service outside this API, so the buyer's options say what they take off. */
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

function lock(desk: Desk, order: Order, place: AtTill, options: BuyerOptions): void {
  place.is_locked = true;
  if (options.in_review === true) showDetail(desk, order, 'in_review');
}

function unlock(desk: Desk, order: Order, place: AtTill): void {
  place.is_locked = false;
  if (order.transaction.status_detail === 'in_review') showDetail(desk, order, 'ready_to_process');
  if (place.is_expiry_due) expire(desk, order);
}

function showDetail(desk: Desk, order: Order, status_detail: string): void {
  order.transaction.status_detail = status_detail;
  touch(desk.world, order);
}

// The text that a QR code shows: EMVCo fields with a checksum, as the service's own codes have them. Source:
// `docs/field-notes.md` QR §1.3, EMVCo merchant-presented QR specification.

/** One code for one payment. `reference` is the part that the wallet looks the payment up by: 36 letters live. */
export function qrData(site: Site, reference: string, total_minor: number, seller: string): string {
  const text = [
    field('00', '01'), // version of the format
    field('01', '12'), // for one payment only
    site.site_id === 'MLB' ? pixAccount(reference) : walletAccount(reference),
    field('52', '0000'), // no category of merchant
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

/** CRC-16/CCITT-FALSE over the text, as four upper-case hexadecimal digits (EMVCo). */
export function checksum(text: string): string {
  let crc = 0xffff;
  for (const byte of Buffer.from(text, 'utf8')) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc.toString(16).toUpperCase().padStart(4, '0');
}

/** Tag, length in two digits, value. */
function field(tag: string, value: string): string {
  return tag + String(value.length).padStart(2, '0') + value;
}

function walletAccount(reference: string): string {
  return field('43', field('00', 'COM.MERCADOLIBRE') + field('02', '3') + field('06', reference));
}

/** In Brazil any bank's app pays, by a Pix location. */
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

// The part of the control door where a script acts as the buyer who scans a QR code, of either API.

/** By till, the newest that its code shows; by id, any, and a dynamic one only so. */
export function addBuyer(router: Router, world: World): void {
  router.post('/_sandbox/pos/:merchant/:pos/:action', readBody, (request, response) => {
    const pos = tillOf(world, merchantOf(world, request), String(request.params.pos));
    const shown = [...world.payables.values()].findLast((payable) => payable.on_pos && payable.pos.id === pos.id);
    if (shown === undefined) {
      throw new PuenteError(
        'refused',
        `The code of till ${request.params.pos} shows nothing to pay; create an order first.`,
      );
    }
    act(world, shown, request, response);
  });
  router.post('/_sandbox/payables/:id/:action', readBody, (request, response) => {
    const payable = world.payables.get(String(request.params.id));
    if (payable === undefined) {
      throw new PuenteError('not_found', `Nothing with id ${request.params.id} can be paid; it may be over already.`);
    }
    act(world, payable, request, response);
  });
}

const actionSchema = z.enum(buyerActions);

const optionsSchema = z.strictObject({
  payment_method_type: z.string().exactOptional(),
  payment_method_id: z.string().exactOptional(),
  installments: z.int().min(1).exactOptional(),
  category_discount_minor: z.int().min(1).exactOptional(),
  in_review: z.boolean().exactOptional(),
});

function act(world: World, payable: Payable, request: Request, response: Response): void {
  const action = actionSchema.safeParse(request.params.action);
  if (!action.success) throw new PuenteError('not_found', `A buyer can ${buyerActions.join(', ')}.`);
  const { kind, id } = payable;
  payable.act(action.data, parse(optionsSchema, request));
  send(response, json(200, { kind, id, open: world.payables.has(id) }));
}

/** @param name external id or internal number; an external id may look like a number, and then wins. */
function tillOf(world: World, merchant: Merchant, name: string): PointOfSale {
  const own = [...world.points_of_sale.values()].filter((point) => point.merchant_id === merchant.user_id);
  const found = own.find((point) => point.external_id === name) ?? own.find((point) => String(point.id) === name);
  if (found === undefined) throw new PuenteError('not_found', `Merchant ${merchant.user_id} has no till ${name}.`);
  return found;
}
