/** What a create of a payment intent may say, by site. Source: `legacy-point.md` §1.3. */
import { isExactNumber, type Json } from '../../contract/json.ts';
import { createIntentBody, pointErrors } from '../../contract/legacy-point.ts';
import type { SiteId } from '../cast.ts';
import { isObject, jsonObject, refusal } from './call.ts';
import type { PaymentPreference } from './state.ts';

interface CreateRequest {
  amount_minor: number;
  description: string | undefined;
  preference: PaymentPreference | undefined;
  additional_info: unknown;
}

interface SiteRules {
  /** Minor units. The minimum has moved over time; 1500 is the live text seen last for MLA. */
  minimum_minor: number;
  maximum_minor: number;
  /** Whether `description` and `payment` are known. */
  preferences: boolean;
  /** Whether what is not known is refused, as a closed schema does; elsewhere it is ignored. */
  strict: boolean;
}

const rules: Readonly<Partial<Record<SiteId, SiteRules>>> = {
  MLA: { minimum_minor: 1500, maximum_minor: 400_000_000, preferences: false, strict: false },
  MLB: { minimum_minor: 100, maximum_minor: 7_000_000, preferences: true, strict: false },
  MLM: {
    minimum_minor: 500,
    maximum_minor: 35_000_000,
    preferences: false,
    strict: true,
  },
};

/** Legacy Point was sold in the three countries above; elsewhere nobody has a device that could take an intent. */
const otherRules: SiteRules = { minimum_minor: 1, maximum_minor: 400_000_000, preferences: false, strict: false };

/** @throws PuenteError refused, with the legacy error of the first rule that does not hold. */
export function readCreate(bytes: Uint8Array, site: SiteId): CreateRequest {
  const body = jsonObject(bytes);
  const { strict, preferences, minimum_minor, maximum_minor } = rules[site] ?? otherRules;
  if (strict) refuseAdditional(body);
  const amount_minor = readAmount(body.amount, minimum_minor, maximum_minor);
  const parsed = createIntentBody.safeParse({ ...body, amount: amount_minor });
  if (!parsed.success) throw refusal(pointErrors.invalid_property, parsed.error.issues[0]?.path.join('.') ?? 'body');
  if (preferences) checkPreference(parsed.data.payment, amount_minor);
  return {
    amount_minor,
    description: preferences ? parsed.data.description : undefined,
    preference: preferences && isObject(body.payment) ? body.payment : undefined, // as sent, unknown keys included
    additional_info: body.additional_info,
  };
}

/** What Mexico takes; `notification_url` has no effect, yet a client sends it (`legacy-point.md` §1.3). */
const KNOWN = ['amount', 'additional_info', 'notification_url'];
const KNOWN_ADDITIONAL_INFO = ['external_reference', 'print_on_terminal', 'ticket_number'];

function refuseAdditional(body: { [key: string]: Json }): void {
  const info = isObject(body.additional_info) ? Object.keys(body.additional_info) : [];
  const additional =
    Object.keys(body).find((name) => !KNOWN.includes(name)) ??
    info.find((name) => !KNOWN_ADDITIONAL_INFO.includes(name));
  if (additional !== undefined) throw refusal(pointErrors.additional_property, additional);
}

function readAmount(value: Json | undefined, minimum_minor: number, maximum_minor: number): number {
  if (value === undefined) throw refusal(pointErrors.missing_property, 'amount');
  const text = typeof value === 'number' || isExactNumber(value) ? String(value) : '';
  // 1500.0 and 15e2 are whole numbers by now; what still has a source text is none, or too long to be one.
  if (!/^-?\d+$/.test(text)) throw refusal(pointErrors.invalid_property, 'amount');
  const amount = BigInt(text);
  if (amount < BigInt(minimum_minor)) throw refusal(pointErrors.amount_minimum, String(minimum_minor));
  if (amount > BigInt(maximum_minor)) throw refusal(pointErrors.amount_maximum, String(maximum_minor));
  return Number(amount);
}

const PAYMENT_TYPES = ['credit_card', 'debit_card', 'voucher_card'];
const INSTALLMENTS_COSTS = ['seller', 'buyer'];
const VOUCHER_TYPES = ['sodexo', 'alelo'];
const MAX_INSTALLMENTS = 72;
/** Each instalment is at least 5.00. */
const MIN_INSTALLMENT_MINOR = 500;

/** The rules of the four `payment` fields at MLB. */
function checkPreference(payment: PaymentPreference | undefined, amount_minor: number): void {
  if (payment === undefined) return;
  const { type, installments, installments_cost, voucher_type } = payment;
  const credit = type === 'credit_card';
  demand(type === undefined || PAYMENT_TYPES.includes(type), 'payment.type');
  if (installments !== undefined) {
    const split = installments === 1 || amount_minor >= installments * MIN_INSTALLMENT_MINOR;
    demand(credit && installments >= 1 && installments <= MAX_INSTALLMENTS && split, 'payment.installments');
  }
  if (installments_cost !== undefined) {
    demand(credit && INSTALLMENTS_COSTS.includes(installments_cost), 'payment.installments_cost');
  }
  if (voucher_type !== undefined) {
    demand(type === 'voucher_card' && VOUCHER_TYPES.includes(voucher_type), 'payment.voucher_type');
  }
}

function demand(holds: boolean, property: string): void {
  if (!holds) throw refusal(pointErrors.invalid_property, property);
}
