/** A merchant and the settings an operator may give it; what is not set follows `config/default.yaml`. */
import { z } from 'zod';

/** Where a merchant's new work goes; shadow and canary join with the routing work. */
export const stages = ['legacy', 'orders'] as const;

export const dialects = ['point_integration_ipn', 'point_integration_wh'] as const;
export type Dialect = (typeof dialects)[number];

/** How a QR sale is told when its URL doesn't say: `ipn`, `webhook`, or `both` as two deliveries (`legacy-qr.md` §5). */
export const qrNotices = ['ipn', 'webhook', 'both'] as const;
export type QrNotices = (typeof qrNotices)[number];

/** The settings of one merchant. `null` means: follow the default. */
export const merchantSettings = z.strictObject({
  stage: z.enum(stages).nullable().default(null),
  /** In clear, from a file of before the URL was sealed; the next save of the merchant moves it to `sealed_notice_url`. */
  notice_url: z.string().max(2048).nullable().default(null),
  dialect: z.enum(dialects).nullable().default(null),
  qr_notices: z.enum(qrNotices).nullable().default(null),
  /** How a declined payment shows (`legacy-point.md` finding 1): `error` is safe with naive tills, `finished` is faithful. */
  declined: z.enum(['error', 'finished']).nullable().default(null),
  /** Send `x-allow-cancelable-status: at_terminal` with a cancel (DESIGN decision 11). */
  cancel_on_terminal: z.boolean().nullable().default(null),
  /** What happens with a voucher preference, which orders don't know (`legacy-point.md` §5). */
  voucher: z.enum(['refuse', 'drop']).nullable().default(null),
});
export type MerchantSettings = z.infer<typeof merchantSettings>;

export interface Merchant {
  /** The upstream `user_id`, digits. */
  id: string;
  /** `MLA`, `MLB`, `MLM` … as `GET /users/me` says; null until a token was accepted. */
  site: string | null;
  settings: MerchantSettings;
  /** Where its notices go, sealed: the URLs of receivers carry keys in their path and query. Null follows the default. */
  sealed_notice_url: Uint8Array | null;
  /** The merchant's own webhook secret, sealed; signs `point_integration_wh` notices and the webhooks of QR sales. */
  sealed_notice_secret: Uint8Array | null;
  /** A configured credential, sealed; first choice for work after the call has ended (DESIGN decision 9). */
  sealed_credential: Uint8Array | null;
  /** Rises with every saved change; the precondition of the next one. Starts at 1. */
  revision: number;
  updated_at: number;
}

/** A token the upstream has accepted; the token itself is sealed. */
export interface AcceptedToken {
  /** HMAC-SHA256 of the token under the installation's key, hex. */
  fingerprint: string;
  merchant_id: string;
  sealed_token: Uint8Array;
  /** Epoch ms; after it the upstream is asked again. */
  accepted_until: number;
  seen_at: number;
}
