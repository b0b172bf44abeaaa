/** A rule of the orders API, and the facts beside the order that it may depend on. */

import type { JsonObject } from '../../contract/json.ts';
import type { OrderRule, SellerFacts } from '../../contract/order-rules.ts';

/** Codes of `docs/field-notes.md` Spec Errors, POST /v1/orders, that depend on the order alone. */
export type PredictedCode =
  | 'empty_required_header'
  | 'unsupported_site'
  | 'minimum_properties'
  | 'unsupported_properties'
  | 'required_properties'
  | 'property_type'
  | 'minimum_items'
  | 'maximum_items'
  | OrderRule['code'];

/** Null: unknown, and a rule that depends on it holds. */
export interface OrderFacts extends Omit<SellerFacts, 'minorOf'> {
  type: 'point' | 'qr';
  site: string | null;
  /** Decimals of the site's currency. */
  exponent: number;
  /** The request has an `X-Idempotency-Key`; Puente always sends one. */
  has_key: boolean;
}

export interface Rule {
  /** Where in the order, `[]` for each element; '' for the whole order. */
  path: string;
  of: 'point' | 'qr' | 'both';
  status: 400 | 404;
  code: PredictedCode;
  /** Also judged for a missing value, while its parent exists. */
  demands?: true;
  /** @param value at the path; undefined only for a rule that demands. */
  holds(value: unknown, facts: OrderFacts, order: JsonObject): boolean;
  /** The key inside the value to blame; without it the path itself. */
  culprit?(value: unknown): string;
  /** Upstream's own message, where a table translates it; a general text otherwise. */
  says?(facts: OrderFacts): string;
  why: string;
  source: string;
}
