/** A merchant and its settings; what is not set follows `config/default.yaml`. */
import { z } from 'zod';
import { encoded, say } from '../../locales/message.ts';

/** Where a merchant's new work goes (`docs/glossary.md` Stage), in the order of a migration. */
export const stages = ['legacy', 'shadow', 'canary', 'orders'] as const;
export type Stage = (typeof stages)[number];

/** The operation kinds that have a stage of their own; payments follow the sale that they belong to. */
export const routedKinds = ['devices', 'intents', 'qr'] as const;
export type RoutedKind = (typeof routedKinds)[number];

/** Policies for an endpoint, field or header that no table has; each one is counted in any case. */
export const unknownPolicies = ['allow', 'note', 'refuse'] as const;
export type UnknownPolicy = (typeof unknownPolicies)[number];

/** One of the policies. Rows and files of earlier versions say `carry` for `allow`. */
export function policyAmong<const Policies extends readonly [string, ...string[]]>(policies: Policies) {
  return z.preprocess((policy) => (policy === 'carry' ? 'allow' : policy), z.enum(policies));
}
const unknownPolicy = policyAmong(unknownPolicies);

/** `observe`: the safety stop judges and reports, and moves nothing. */
export const safetyModes = ['off', 'observe', 'armed'] as const;
export type SafetyMode = (typeof safetyModes)[number];

/** Percent of the units, two decimals at most. */
const PERCENTAGE = encoded(say('input.share', {}));
const share = z
  .number(PERCENTAGE)
  .min(0, PERCENTAGE)
  .max(100, PERCENTAGE)
  .multipleOf(0.01, encoded(say('input.share_decimals', {})));
/** A unit by its slot: `point:<terminal>` or `qr:<external id of the point of sale>`. */
const slot = z.string().regex(/^(point|qr):[A-Za-z0-9_-]{1,64}$/, encoded(say('input.unit', {})));
/** A word to select merchants by, such as a chain, a town or a wave of the migration. */
const tag = z.string().regex(/^[\p{L}\p{N}][\p{L}\p{N}._-]{0,39}$/u, encoded(say('input.tag', {})));
/** More named units than any merchant moves by hand. */
const NAMED_UNITS = 5_000;

const route = z.strictObject({ stage: z.enum(stages), share: share.default(0) });

/** A window in which the legacy lane refuses this merchant's new work, as a drill; epoch ms. */
const brownout = z.strictObject({
  id: z.string(),
  from: z.int(),
  until: z.int(),
  reason: z.string(),
  aborted_at: z.int().nullable().default(null),
});
export type Brownout = z.infer<typeof brownout>;

/** The forms of a merchant's Point notices (`docs/glossary.md` Dialect). */
export const dialects = ['point_integration_ipn', 'point_integration_wh'] as const;
export type Dialect = (typeof dialects)[number];

/** Notices of a QR sale whose URL names no form; `both` is two deliveries (`docs/field-notes.md` QR §5). */
export const qrNotices = ['ipn', 'webhook', 'both'] as const;
export type QrNotices = (typeof qrNotices)[number];

/**
 * Notices of topic `payment` for a Point sale. `ipn`: beside `point_integration_ipn`, as legacy did. `all`: also beside
 * `point_integration_wh`, as a webhook. `off`: never.
 */
export const pointPaymentNotices = ['ipn', 'all', 'off'] as const;
export type PointPaymentNotices = (typeof pointPaymentNotices)[number];

/** The settings of one merchant. `null` means: follow the default. */
export const merchantSettings = z.strictObject({
  stage: z.enum(stages).nullable().default(null),
  /** What people call it; its id stays what everything is stored under. */
  name: z
    .string()
    .trim()
    .regex(/^[^\p{Cc}]{1,80}$/u, encoded(say('input.name', {})))
    .nullable()
    .default(null),
  tags: z.array(tag).max(20).nullable().default(null),
  /** On stage canary: the share of units whose new work goes to orders. */
  share: share.default(0),
  /** On stage canary: units that are on orders, or are not, whatever the share. */
  units_in: z.array(slot).max(NAMED_UNITS).default([]),
  units_out: z.array(slot).max(NAMED_UNITS).default([]),
  /** Kinds with a stage of their own; the named units count for them too. */
  kinds: z.strictObject({ devices: route.optional(), intents: route.optional(), qr: route.optional() }).default({}),
  safety_stop: z.enum(safetyModes).nullable().default(null),
  unknown_endpoint: unknownPolicy.nullable().default(null),
  unknown_field: unknownPolicy.nullable().default(null),
  unknown_header: unknownPolicy.nullable().default(null),
  /** Keep this merchant's exchanges with their redacted messages, for replay. */
  capture: z.boolean().nullable().default(null),
  /** Response headers for its tills' makers (RFC 9745, RFC 8594); epoch ms. Null: none. */
  deprecation: z
    .strictObject({
      deprecated_at: z.int().nullable().default(null),
      sunset_at: z.int().nullable().default(null),
      link: z
        .url({ protocol: /^https?$/ })
        .max(500)
        .nullable()
        .default(null),
    })
    .nullable()
    .default(null),
  brownouts: z.array(brownout).max(100).default([]),
  /** In clear, as the first versions stored it; null once a start has moved it to `sealed_notice_url`. */
  notice_url: z.string().max(2048).nullable().default(null),
  dialect: z.enum(dialects).nullable().default(null),
  qr_notices: z.enum(qrNotices).nullable().default(null),
  point_payment_notices: z.enum(pointPaymentNotices).nullable().default(null),
  /** Constant keys beside the fields of its `point_integration_wh` notices; checked when they are set. */
  point_notice_extra: z
    .record(z.string(), z.union([z.string(), z.number()]))
    .nullable()
    .default(null),
  /** A declined payment (`docs/field-notes.md` Point finding 1): `error` suits naive tills, `finished` is faithful. */
  declined: z.enum(['error', 'finished']).nullable().default(null),
  /** Send `x-allow-cancelable-status: at_terminal` with a cancel (`docs/architecture.md` Decision 11). */
  cancel_on_terminal: z.boolean().nullable().default(null),
  /** Policy for a voucher preference, which orders do not have (`docs/field-notes.md` Point §5). */
  voucher: z.enum(['refuse', 'drop']).nullable().default(null),
});
export type MerchantSettings = z.infer<typeof merchantSettings>;

/** An active safety stop: the kind is at most on shadow, whatever the operator's stage. */
export interface Trip {
  /** Epoch ms. */
  at: number;
  /** The finding of the classifier, as a sentence. */
  why: string;
  evidence: {
    calls: number;
    faults: number;
    slow: number;
    /** Faults since the last good call; stops of earlier versions have none. */
    in_a_row?: number;
    window_ms: number;
    /** Exchanges of its faults or slow calls, newest first; stops of earlier versions have one as `sample`. */
    exchanges?: string[];
    sample?: string | null;
  };
}

/** A stored merchant. A change needs its revision. */
export interface Merchant {
  /** The upstream `user_id`, digits. */
  id: string;
  /** `MLA`, `MLB`, `MLM` … from `GET /users/me`; null until a token was accepted. */
  site: string | null;
  settings: MerchantSettings;
  /** The stored text of its settings, where a newer process added some that this one does not know: a save keeps them. */
  newer_settings?: string;
  /** Where its notices go, sealed, because URLs of receivers contain keys. Null follows the default. */
  sealed_notice_url: Uint8Array | null;
  /** The merchant's own webhook secret, sealed; signs `point_integration_wh` notices and the webhooks of QR sales. */
  sealed_notice_secret: Uint8Array | null;
  /** A configured credential, sealed; first choice for work after a call (`docs/architecture.md` Decision 9). */
  sealed_credential: Uint8Array | null;
  /** Active safety stops; reset by an operator, apart from the intended stage in `settings`. */
  trips: Partial<Record<RoutedKind, Trip>>;
  /** Rises with every saved change; the precondition of the next one. Starts at 1. */
  revision: number;
  updated_at: number;
}

/** A merchant, read with one of its tokens and a unit. */
export interface MerchantWithToken {
  merchant: Merchant;
  /** Epoch ms, as of `AcceptedToken`; null for a token that was not accepted as this merchant's. */
  accepted_until: number | null;
  /** True when no legacy sale held the unit; false when one did, or without a lookup. */
  is_free: boolean;
}

/** A token the upstream has accepted; the token itself is sealed. */
export interface AcceptedToken {
  /** HMAC-SHA256 of the token under the installation's key, hex. */
  fingerprint: string;
  merchant_id: string;
  sealed_token: Uint8Array;
  /** Epoch ms; the token is verified again after it. */
  accepted_until: number;
  seen_at: number;
}
