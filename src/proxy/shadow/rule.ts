/** A rule of the orders API, and the facts beside the order that it may depend on. */

/** Codes of `docs/field-notes.md` Spec Errors, POST /v1/orders, that depend on the order alone. */
export type PredictedCode =
  | 'bad_request'
  | 'empty_required_header'
  | 'unsupported_site'
  | 'minimum_properties'
  | 'unsupported_properties'
  | 'required_properties'
  | 'property_type'
  | 'minimum_items'
  | 'maximum_items'
  | 'property_value'
  | 'sponsor_id_not_valid'
  | 'seller_configuration'
  | 'marketplace_not_valid'
  | 'marketplace_fee_not_allowed';

/** Null: unknown, and a rule that depends on it holds. */
export interface OrderFacts {
  type: 'point' | 'qr';
  site: string | null;
  /** Decimals of the site's currency. */
  exponent: number;
  /** The request has an `X-Idempotency-Key`; Puente always sends one. */
  has_key: boolean;
  is_oauth: boolean | null;
  /** The token's application is a marketplace. */
  is_marketplace: boolean | null;
  /** The seller has the agreement for cash withdrawals. */
  may_hand_out_cash: boolean | null;
}

export type Fields = Readonly<Record<string, unknown>>;

export interface Rule {
  /** Where in the order, `[]` for each element; '' for the whole order. */
  path: string;
  of: 'point' | 'qr' | 'both';
  status: 400 | 404;
  code: PredictedCode;
  /** Also judged for a missing value, while its parent exists. */
  demands?: true;
  /** @param value at the path; undefined only for a rule that demands. */
  holds(value: unknown, facts: OrderFacts, order: Fields): boolean;
  /** The key inside the value to blame; without it the path itself. */
  culprit?(value: unknown): string;
  /** Upstream's own message, where a table translates it; a general text otherwise. */
  says?(facts: OrderFacts): string;
  why: string;
  source: string;
}

export function isObject(value: unknown): value is Fields {
  return value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype;
}

interface SiteFacts {
  has_terminals: boolean;
  has_qr: boolean;
  /** Least amount of an order, minor units; null where none was observed. */
  minimum_minor: number | null;
}

/** `docs/field-notes.md` Orders §10 (least amounts: live refusals); QR: currencies of Spec Order, not Mexico's. */
const sites: Readonly<Record<string, SiteFacts>> = {
  MLA: { has_terminals: true, has_qr: true, minimum_minor: 1500 },
  MLB: { has_terminals: true, has_qr: true, minimum_minor: null },
  MLC: { has_terminals: true, has_qr: true, minimum_minor: null },
  MLM: { has_terminals: true, has_qr: false, minimum_minor: 500 },
  MLU: { has_terminals: false, has_qr: true, minimum_minor: null },
};

/** A site that is not listed has neither. Null for an unknown site: no rule of sites applies. */
export function siteFacts(site: string | null): SiteFacts | null {
  if (site === null) return null;
  return (Object.hasOwn(sites, site) ? sites[site] : undefined) ?? NOWHERE;
}

const NOWHERE: SiteFacts = { has_terminals: false, has_qr: false, minimum_minor: null };
