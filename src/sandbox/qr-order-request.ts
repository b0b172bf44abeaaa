/** A create of a QR order: its shape, and the rules between its fields. Source: `interface.md` Order, `orders-api.md` §1.2, reference qr-code-ca/orders/create-order. */
import type { Json } from '../contract/json.ts';
import type { Problem } from './answer.ts';
import type { Merchant, Site } from './cast.ts';
import { minorUnits } from './money.ts';
import { checkSponsor } from './order-request.ts';
import { type Circumstances, checkProperties, type Fields, problemOf } from './property-tree.ts';
import { qrOrder } from './qr-order-tree.ts';

export type QrMode = 'static' | 'dynamic' | 'hybrid';

export interface QrOrderRequest {
  type: 'qr';
  external_reference: string;
  description?: string;
  expiration_time?: string;
  total_amount?: string;
  marketplace_fee?: string;
  /** At least one of the two: `payments` may be missing when money is withdrawn without a sale. */
  transactions: { payments?: [{ amount: string }]; cash_outs?: [{ amount: string }] };
  config: {
    qr: { external_pos_id: string; mode?: QrMode };
    payment_method?: Record<string, Json>;
  };
  items?: Item[];
  discounts?: { payment_methods?: MethodDiscount[] };
  integration_data?: Record<string, Json>;
}

interface Item {
  title: string;
  unit_price: string;
  quantity: number;
  unit_measure: string;
  external_code?: string;
  external_categories?: { id: string }[];
}

export interface MethodDiscount {
  type: string;
  new_total_amount: string;
}

/** @returns the request, or the refusal of its first fault. The caller has looked at the type. */
export function checkQrOrder(
  body: Fields,
  merchant: Merchant,
  circumstances: Circumstances,
): { request: QrOrderRequest } | Problem {
  const problem = checkProperties(body, qrOrder, circumstances) ?? checkSponsor(body);
  if (problem !== undefined) return problem;
  const request = body as unknown as QrOrderRequest; // the tree has just proved this shape
  return (
    checkTotals(request, merchant.site) ?? checkDiscounts(request) ?? checkWithdrawal(request, merchant) ?? { request }
  );
}

/** Minor units of what is paid, what is withdrawn, and both; of a request that has been checked. */
export function amountsOf(request: QrOrderRequest, site: Site): { paid: number; withdrawn: number; total: number } {
  const minor = (list: [{ amount: string }] | undefined) => minorUnits(list?.[0].amount ?? '0', site.exponent) ?? 0;
  const paid = minor(request.transactions.payments);
  const withdrawn = minor(request.transactions.cash_outs);
  return { paid, withdrawn, total: paid + withdrawn };
}

/** The total is the sum of the transactions, and a discount lowers it without touching the cash. */
function checkTotals(request: QrOrderRequest, site: Site): Problem | undefined {
  const { withdrawn, total } = amountsOf(request, site);
  const { total_amount } = request;
  if (total_amount !== undefined && minorUnits(total_amount, site.exponent) !== total) {
    return problemOf('property_value', ['total_amount'], 'The total_amount must be the sum of the transactions');
  }
  const methods = request.discounts?.payment_methods ?? [];
  const wrong = methods.findIndex(({ new_total_amount }) => {
    const new_minor = minorUnits(new_total_amount, site.exponent) ?? 0;
    return new_minor > total || new_minor < withdrawn;
  });
  return wrong === -1
    ? undefined
    : problemOf('property_value', [`discounts.payment_methods[${wrong}].new_total_amount`]);
}

/** Which code tells of the two exclusions is shown for installments alone; `bad_request` covers invalid fields in general. */
function checkDiscounts(request: QrOrderRequest): Problem | undefined {
  if (request.discounts === undefined) return undefined;
  const index = (request.items ?? []).findIndex((entry) => entry.external_categories !== undefined);
  if (index !== -1) {
    return {
      status: 400,
      code: 'bad_request',
      message: 'discounts and external_categories do not go together',
      details: ['discounts', `items[${index}].external_categories`],
    };
  }
  const method = request.config.payment_method ?? {};
  const cost = ['installments_cost', 'default_installments_cost'].find((name) => method[name] !== undefined);
  if (cost === undefined) return undefined;
  return {
    status: 400,
    code: 'discounts_not_allowed_with_installments',
    message: 'discounts and installments_cost do not go together',
    details: ['discounts', `config.payment_method.${cost}`],
  };
}

/** Only sellers with an agreement may hand out cash (`interface.md` Errors). */
function checkWithdrawal(request: QrOrderRequest, merchant: Merchant): Problem | undefined {
  if (request.transactions.cash_outs === undefined || merchant.may_hand_out_cash) return undefined;
  return {
    status: 400,
    code: 'seller_configuration',
    message: 'The seller is not authorized for cash withdrawal',
    details: ['transactions.cash_outs'],
  };
}
