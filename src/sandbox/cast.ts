/** The standing cast: five invented merchants, each with the same two stores and three points of sale, and where a site has terminals, three of them. */

export type SiteId = 'MLA' | 'MLB' | 'MLM' | 'MLC' | 'MLU';

export interface Site {
  site_id: SiteId;
  country_alpha3: string;
  country_alpha2: string;
  currency: string;
  /** Decimals of the currency (`docs/field-notes.md` Orders §10). */
  exponent: 0 | 2;
  /** Whether the orders API has terminals there (`docs/field-notes.md` Orders §5). */
  has_terminals: boolean;
  /** Smallest order amount seen live, in minor units; null where nobody has seen one (`docs/field-notes.md` Orders §10). */
  minimum_minor: number | null;
}

export interface Merchant {
  user_id: string;
  nickname: string;
  site: Site;
  /** Invented; the control door shows it, so that a first call can be copied. */
  access_token: string;
  application_id: string;
  /** Whether the application behind its OAuth tokens is known as a marketplace (`docs/field-notes.md` Spec Errors). */
  has_marketplace: boolean;
  /** Whether it has the agreement for cash withdrawals (`docs/field-notes.md` Spec Errors, `seller_configuration`). */
  may_hand_out_cash: boolean;
}

export interface Store {
  id: string;
  merchant_id: string;
  external_id: string;
}

export interface PointOfSale {
  id: number;
  merchant_id: string;
  /** Null for a till that was made without one; such a till can't take QR orders of the orders API (`docs/field-notes.md` QR §4). */
  external_id: string | null;
  store_id: string;
}

/** What a buyer does with a QR code. `lock`: has begun to pay, so that nobody can cancel; `unlock`: has gone back. */
export const buyerActions = ['pay', 'decline', 'abandon', 'lock', 'unlock'] as const;
export type BuyerAction = (typeof buyerActions)[number];

export interface BuyerOptions {
  payment_method_type?: string;
  payment_method_id?: string;
  installments?: number;
  /** With `pay`: minor units that the seller's discount for a category of the items takes off. Orders with categories only. */
  category_discount_minor?: number;
  /** With `lock`: the payment is being looked at, and the order says so. Orders only. */
  in_review?: boolean;
}

/** Something a buyer can pay by scanning; orders and legacy QR orders both put theirs into `World.payables`. */
export interface Payable {
  kind: 'order' | 'legacy_qr';
  /** Order id, or the legacy `in_store_order_id`. */
  id: string;
  merchant_id: string;
  pos: PointOfSale;
  /** True when the till's own code shows it: static and hybrid; the newest one of a till is shown. */
  on_pos: boolean;
  /**
   * Acts as the buyer. Afterwards the owner has taken it out of `payables` if it is over.
   * @throws PuenteError refused, when it can't take this action in its state.
   */
  act(action: BuyerAction, options: BuyerOptions): void;
}

export type OperatingMode = 'PDV' | 'STANDALONE' | 'SELF_SERVICE' | 'UNDEFINED';

/** What is queued on a terminal. Both APIs put theirs here, so that each sees the other's: one queued thing per terminal. */
export interface Occupation {
  kind: 'order' | 'intent';
  id: string;
  /**
   * Acts as the person at the terminal. Afterwards the owner has released the terminal if the thing is over.
   * @throws PuenteError refused, when the thing can't take this action in its state.
   */
  operate(action: TerminalAction, options: TerminalOptions): void;
}

/** `process`: card read, outcome not known yet. `confirm_needed`: the outcome must be read on the terminal. `error`: the terminal failed. */
export const terminalActions = ['pick_up', 'process', 'pay', 'decline', 'cancel', 'confirm_needed', 'error'] as const;
export type TerminalAction = (typeof terminalActions)[number];

export interface TerminalOptions {
  payment_method_type?: string;
  payment_method_id?: string;
  installments?: number;
  status_detail?: string;
  /** Tip in minor units, added to the paid amount. */
  tip_minor?: number;
}

export interface Terminal {
  id: string;
  merchant_id: string;
  /** Null for a terminal without a store and point of sale. */
  pos: PointOfSale | null;
  operating_mode: OperatingMode;
  /** `old` software ignores `x-allow-cancelable-status` (`docs/field-notes.md` Orders §3.1). */
  software: 'current' | 'old';
  occupation: Occupation | null;
}

export const sites: Readonly<Record<SiteId, Site>> = {
  MLA: {
    site_id: 'MLA',
    country_alpha3: 'ARG',
    country_alpha2: 'AR',
    currency: 'ARS',
    exponent: 2,
    has_terminals: true,
    minimum_minor: 1500,
  },
  MLB: {
    site_id: 'MLB',
    country_alpha3: 'BRA',
    country_alpha2: 'BR',
    currency: 'BRL',
    exponent: 2,
    has_terminals: true,
    minimum_minor: null,
  },
  MLM: {
    site_id: 'MLM',
    country_alpha3: 'MEX',
    country_alpha2: 'MX',
    currency: 'MXN',
    exponent: 2,
    has_terminals: true,
    minimum_minor: 500,
  },
  MLC: {
    site_id: 'MLC',
    country_alpha3: 'CHL',
    country_alpha2: 'CL',
    currency: 'CLP',
    exponent: 0,
    has_terminals: true,
    minimum_minor: null,
  },
  MLU: {
    site_id: 'MLU',
    country_alpha3: 'URY',
    country_alpha2: 'UY',
    currency: 'UYU',
    exponent: 2,
    has_terminals: false,
    minimum_minor: null,
  },
};

const TOKEN_STEM = 'APP_USR-4004001-112026-00000000000000000000000000000a01';
const APPLICATION_ID = '4004001';

export interface Cast {
  merchants: Merchant[];
  stores: Store[];
  points_of_sale: PointOfSale[];
  terminals: Terminal[];
}

/** @param extra_terminals how many more terminals in PDV each merchant gets, each at a point of sale of its own; for load tests. */
export function createCast(extra_terminals: number): Cast {
  const cast: Cast = { merchants: [], stores: [], points_of_sale: [], terminals: [] };
  addMerchant(cast, '700100200', sites.MLA, 1, extra_terminals);
  addMerchant(cast, '700100300', sites.MLB, 2, extra_terminals);
  addMerchant(cast, '700100400', sites.MLM, 3, extra_terminals);
  addMerchant(cast, '700100500', sites.MLC, 4, null);
  addMerchant(cast, '700100600', sites.MLU, 5, null);
  return cast;
}

/** @param extra_terminals null for a merchant with QR codes alone. */
function addMerchant(cast: Cast, user_id: string, site: Site, ordinal: number, extra_terminals: number | null): void {
  cast.merchants.push({
    user_id,
    nickname: `TESTSELLER${ordinal}`,
    site,
    access_token: `${TOKEN_STEM}-${user_id}`,
    application_id: APPLICATION_ID,
    has_marketplace: true,
    may_hand_out_cash: false,
  });
  const first: Store = { id: `${ordinal}0001`, merchant_id: user_id, external_id: 'SUC001' };
  const second: Store = { id: `${ordinal}0002`, merchant_id: user_id, external_id: 'SUC002' };
  cast.stores.push(first, second);
  const addPoint = (id: number, external_id: string, store_id: string): PointOfSale => {
    const point: PointOfSale = { id, merchant_id: user_id, external_id, store_id };
    cast.points_of_sale.push(point);
    return point;
  };
  const addTerminal = (id: string, pos: PointOfSale, operating_mode: OperatingMode): void => {
    cast.terminals.push({ id, merchant_id: user_id, pos, operating_mode, software: 'current', occupation: null });
  };
  const base = ordinal * 1_000_000;
  const points = [
    addPoint(base + 1, 'SUC001POS001', first.id),
    addPoint(base + 2, 'SUC001POS002', first.id),
    addPoint(base + 3, 'SUC002POS001', second.id),
  ] as const;
  if (extra_terminals === null) return;
  addTerminal('PAX_A910__SMARTPOS0000000001', points[0], 'PDV');
  addTerminal('NEWLAND_N950__SBX0000001', points[1], 'PDV');
  addTerminal('PAX_A910__SMARTPOS0000000002', points[2], 'STANDALONE');
  for (let index = 1; index <= extra_terminals; index++) {
    const serial = String(index).padStart(7, '0');
    addTerminal(`NEWLAND_N950__LOAD${serial}`, addPoint(base + 1000 + index, `LOAD${serial}`, second.id), 'PDV');
  }
}
