/** The standing cast: three invented merchants, each with the same two stores, three points of sale and three terminals. */

export type SiteId = 'MLA' | 'MLB' | 'MLM';

export interface Site {
  site_id: SiteId;
  country_alpha3: string;
  country_alpha2: string;
  currency: string;
  /** Smallest order amount seen live, in minor units; null where nobody has seen one (`orders-api.md` §10). */
  minimum_minor: number | null;
}

export interface Merchant {
  user_id: string;
  nickname: string;
  site: Site;
  /** Invented; the control door shows it, so that a first call can be copied. */
  access_token: string;
  application_id: string;
}

export interface Store {
  id: string;
  merchant_id: string;
  external_id: string;
}

export interface PointOfSale {
  id: number;
  merchant_id: string;
  external_id: string;
  store_id: string;
}

export type OperatingMode = 'PDV' | 'STANDALONE' | 'UNDEFINED';

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
  /** `old` software ignores `x-allow-cancelable-status` (`orders-api.md` §3.1). */
  software: 'current' | 'old';
  occupation: Occupation | null;
}

export const sites: Readonly<Record<SiteId, Site>> = {
  MLA: { site_id: 'MLA', country_alpha3: 'ARG', country_alpha2: 'AR', currency: 'ARS', minimum_minor: 1500 },
  MLB: { site_id: 'MLB', country_alpha3: 'BRA', country_alpha2: 'BR', currency: 'BRL', minimum_minor: null },
  MLM: { site_id: 'MLM', country_alpha3: 'MEX', country_alpha2: 'MX', currency: 'MXN', minimum_minor: 500 },
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
  return cast;
}

function addMerchant(cast: Cast, user_id: string, site: Site, ordinal: number, extra_terminals: number): void {
  cast.merchants.push({
    user_id,
    nickname: `TESTSELLER${ordinal}`,
    site,
    access_token: `${TOKEN_STEM}-${user_id}`,
    application_id: APPLICATION_ID,
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
  addTerminal('PAX_A910__SMARTPOS0000000001', addPoint(base + 1, 'SUC001POS001', first.id), 'PDV');
  addTerminal('NEWLAND_N950__SBX0000001', addPoint(base + 2, 'SUC001POS002', first.id), 'PDV');
  addTerminal('PAX_A910__SMARTPOS0000000002', addPoint(base + 3, 'SUC002POS001', second.id), 'STANDALONE');
  for (let index = 1; index <= extra_terminals; index++) {
    const serial = String(index).padStart(7, '0');
    addTerminal(`NEWLAND_N950__LOAD${serial}`, addPoint(base + 1000 + index, `LOAD${serial}`, second.id), 'PDV');
  }
}
