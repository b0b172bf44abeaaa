/** A rule of the orders API as a row, and the facts beside the order that it may depend on. */

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

/** Facts beside the order. Null: unknown, and a rule that depends on it holds. */
export interface OrderFacts {
  type: 'point' | 'qr';
  site: string | null;
  /** Decimals of the site's currency. */
  exponent: number;
  /** The request has an `X-Idempotency-Key`; Puente always sends one. */
  has_key: boolean;
  /** The token came from OAuth. */
  is_oauth: boolean | null;
  /** The token's application is a marketplace. */
  is_marketplace: boolean | null;
  /** The seller has the agreement for cash withdrawals. */
  may_hand_out_cash: boolean | null;
}

/** An object of JSON. */
export type Fields = Readonly<Record<string, unknown>>;

export interface Rule {
  /** Where in the order, `[]` for each element; '' is the whole of it. */
  path: string;
  /** Of which type of order. */
  of: 'point' | 'qr' | 'both';
  status: 400 | 404;
  code: PredictedCode;
  /** Judged for a missing value too, while its parent is there. */
  demands?: true;
  /** @param value at the path; undefined only for a rule that demands. */
  holds(value: unknown, facts: OrderFacts, order: Fields): boolean;
  /** The key inside the value that is to blame; without it the path itself is. */
  culprit?(value: unknown): string;
  /** Upstream's own message, where a table translates it; a general text otherwise. */
  says?(facts: OrderFacts): string;
  /** The rule, in one sentence. */
  why: string;
  /** Where it is written. */
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

/**
 * Terminals: `docs/field-notes.md` Orders §10. QR: the currencies of `docs/field-notes.md` Spec Order; Mexico's is not among them.
 * Least amounts: refusals that were observed live (`docs/field-notes.md` Orders §10).
 */
const sites: Readonly<Record<string, SiteFacts>> = {
  MLA: { has_terminals: true, has_qr: true, minimum_minor: 1500 },
  MLB: { has_terminals: true, has_qr: true, minimum_minor: null },
  MLC: { has_terminals: true, has_qr: true, minimum_minor: null },
  MLM: { has_terminals: true, has_qr: false, minimum_minor: 500 },
  MLU: { has_terminals: false, has_qr: true, minimum_minor: null },
};

/** A site that is not listed has neither. Null where the site is unknown: then no rule of sites applies. */
export function siteFacts(site: string | null): SiteFacts | null {
  if (site === null) return null;
  return (Object.hasOwn(sites, site) ? sites[site] : undefined) ?? NOWHERE;
}

const NOWHERE: SiteFacts = { has_terminals: false, has_qr: false, minimum_minor: null };
