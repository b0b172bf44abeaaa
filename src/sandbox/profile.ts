/** The two services that the sandbox can be: what `interface.md` specifies, and what was seen in the field. */
import type { Settings } from './assumptions.ts';

export const profiles = ['specification', 'field'] as const;
export type Profile = (typeof profiles)[number];

/** What the field does differently, each with where that is told; the defaults of `assumptions.ts` are the specification. */
const field = {
  error_codes: 'live', // orders-api.md §1.6
  order_ids: 'ORDTST', // orders-api.md §1.4: what test credentials get
  order_id_letters: 'crockford', // orders-api.md §1.4
  date_fraction_digits: 9, // orders-api.md §1.3
  missing_token: 'gateway', // orders-api.md §1.5
  amounts: 'as_seen', // orders-api.md §10, §11
  minimum_amounts: 'as_seen', // orders-api.md §10
  item_limits: 'as_seen', // orders-api.md §1.2
  installments_cost: 'as_seen', // orders-api.md §1.2
  qr_installments: 'accepted', // orders-api.md §1.2
  old_orders: 'not_found', // orders-api.md §3.2
  point_expiry: 'expired', // orders-api.md §3.2
  cancel_confirmation: 'automatic', // orders-api.md §3.1
  replay_cancels: 'saved', // orders-api.md §1.1: the same key and body give back what they made
  source_news_ipn: 'ipn', // legacy-qr.md finding 10
} as const satisfies Partial<Settings>;

/** The settings that a profile decides, to be laid below those that were set one by one. */
export const profileSettings: Readonly<Record<Profile, Partial<Settings>>> = { specification: {}, field };
