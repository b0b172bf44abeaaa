/** Rules that hang on who asks: the header, the site, the seller's agreements, and whose the token is. */
import { isObject, type Rule } from './rule.ts';
import { siteFacts } from './sites.ts';

/** Before the site, because where an order may be made hangs on its type. */
export const wholeRules: readonly Rule[] = [
  {
    path: '',
    of: 'both',
    status: 400,
    code: 'empty_required_header',
    holds: (_order, { has_key }) => has_key,
    why: 'A create needs the header X-Idempotency-Key.',
    source: 'interface.md Endpoints',
  },
  {
    path: '',
    of: 'both',
    status: 400,
    code: 'bad_request',
    holds: isObject,
    why: 'An order is a JSON object.',
    source: 'interface.md Errors',
  },
  {
    path: 'type',
    of: 'both',
    status: 400,
    code: 'property_value',
    // A type that is no text is told as one of the wrong type, with all other properties.
    holds: (value) => value === 'point' || value === 'qr' || typeof value !== 'string',
    why: 'An order is of type point or qr.',
    source: 'interface.md Order',
  },
];

export const siteRules: readonly Rule[] = [
  {
    path: '',
    of: 'point',
    status: 400,
    code: 'unsupported_site',
    holds: (_order, { site }) => siteFacts(site)?.has_terminals !== false,
    why: 'Orders on terminals exist in Argentina, Brazil, Chile and Mexico.',
    source: 'interface.md Errors; orders-api.md §10',
  },
  {
    path: '',
    of: 'qr',
    status: 400,
    code: 'unsupported_site',
    holds: (_order, { site }) => siteFacts(site)?.has_qr !== false,
    why: 'Orders by QR exist where the currency is ARS, BRL, CLP or UYU.',
    source: 'interface.md Order, currency; orders-api.md §10',
  },
];

/** After the order itself was found right. */
export const serviceRules: readonly Rule[] = [
  {
    path: 'integration_data.sponsor.id',
    of: 'both',
    status: 400,
    code: 'sponsor_id_not_valid',
    holds: (value) => /^\d{1,20}$/.test(String(value)),
    why: 'A sponsor is the user id of an account, which is digits.',
    source: 'interface.md Errors',
  },
  {
    path: 'transactions.cash_outs',
    of: 'qr',
    status: 400,
    code: 'seller_configuration',
    holds: (_value, { may_hand_out_cash }) => may_hand_out_cash !== false,
    why: 'Only a seller with the agreement for it hands out cash.',
    source: 'interface.md Errors',
  },
  {
    path: 'marketplace_fee',
    of: 'both',
    status: 400,
    code: 'marketplace_not_valid',
    holds: (_value, { is_oauth }) => is_oauth !== false,
    why: 'A fee is for tokens that came from OAuth.',
    source: 'interface.md Authentication 4',
  },
  {
    path: 'marketplace_fee',
    of: 'both',
    status: 404,
    code: 'marketplace_fee_not_allowed',
    holds: (_value, { is_marketplace }) => is_marketplace !== false,
    why: 'A fee is for the application of a marketplace.',
    source: 'interface.md Errors',
  },
];
