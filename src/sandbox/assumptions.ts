/** Every choice of the sandbox as a typed setting: by default what the specification says (`docs/field-notes.md` Spec), or our own choice where it is silent; the profile `field` below has what was seen to differ. `GET /_sandbox/settings` shows each with its sentence. */
import { z } from 'zod';
import { legacyQrAssumptions, qrOrderAssumptions } from './qr-assumptions.ts';

// Choices that the specification leaves open for payments, refunds, chargebacks, stores and invoices; part of the
// sandbox's settings.

export const paymentAssumptions = {
  order_payments: z
    .enum(['readable', 'hidden'])
    .default('readable')
    .describe('Whether the payments API knows payments made by orders, or says 404 (docs/field-notes.md QR §3, §11).'),
  order_payment_refunds: z
    .enum(['refused', 'allowed'])
    .default('refused')
    .describe('Whether the payments API refunds payments made by orders, or says 2063 (docs/field-notes.md QR §3).'),
  refund_key_required: z
    .boolean()
    .default(false)
    .describe('Whether POST …/refunds without X-Idempotency-Key is refused with 4292 (docs/field-notes.md QR §3).'),
  payment_refund_days: z
    .int()
    .min(1)
    .default(180)
    .describe('Days in which the payments API refunds; its pages name errors for older ones and no number.'),
  refund_too_old_code: z
    .union([z.literal(2024), z.literal(15016)])
    .default(2024)
    .describe(
      'Which of the two documented numbers says that a payment is too old to be refunded (docs/field-notes.md QR §3).',
    ),
  payment_refund_status: z
    .enum(['approved', 'in_process'])
    .default('approved')
    .describe(
      'Status of a new refund; in_process becomes approved after simulated_step_ms (docs/field-notes.md QR §3).',
    ),
  chargeback_payment: z
    .enum(['payment_id', 'payments'])
    .default('payment_id')
    .describe(
      'How a chargeback names its payment; the specification shows no shape, the other fields are the SDK type.',
    ),
  store_create_status: z
    .union([z.literal(200), z.literal(201)])
    .default(200)
    .describe(
      'HTTP status of a new store or till; the pages say 200, and no capture shows it (docs/field-notes.md QR §4).',
    ),
  invoice_external_reference: z
    .enum(['text', 'number'])
    .default('text')
    .describe('JSON type of an invoice external_reference made of digits (docs/field-notes.md Spec Invoice).'),
  invoice_amount: z
    .enum(['number', 'text'])
    .default('number')
    .describe('JSON type of an invoice transaction_amount (docs/field-notes.md Spec Invoice).'),
  invoice_canceled: z
    .enum(['canceled', 'cancelled'])
    .default('canceled')
    .describe('Spelling of the canceled status of invoices and their payments (docs/field-notes.md Orders §9).'),
};

/** Failed details a Point transaction can show (`docs/field-notes.md` Orders §3.2); the last one is the simulator's own. */
export const failedDetails = [
  'failed',
  'bad_filled_card_data',
  'high_risk',
  'rejected_by_issuer',
  'required_call_for_authorize',
  'max_attempts_exceeded',
  'card_disabled',
  'insufficient_amount',
  'amount_limit_exceeded',
  'processing_error',
  'invalid_installments',
  'in_review',
  'rejected_other_reason',
] as const;

const assumptionFields = {
  error_codes: z
    .enum(['documented', 'live'])
    .default('documented')
    .describe('Spelling of error codes where the pages and the live service differ (docs/field-notes.md Orders §1.6).'),
  order_ids: z
    .enum(['ORD', 'ORDTST'])
    .default('ORD')
    .describe('Prefix of order ids; test credentials give ORDTST (docs/field-notes.md Orders §1.4).'),
  order_id_letters: z
    .enum(['alphanumeric', 'crockford'])
    .default('alphanumeric')
    .describe(
      'Which 26 characters make a valid order id: letters and digits of any kind (docs/field-notes.md Spec Order), or those of a ULID (docs/field-notes.md Orders §1.4).',
    ),
  missing_token: z
    .enum(['unauthorized', 'gateway'])
    .default('unauthorized')
    .describe(
      'A call on orders without Authorization: 401 unauthorized (docs/field-notes.md Spec Authentication), or the 403 of a gateway (docs/field-notes.md Orders §1.5).',
    ),
  amounts: z
    .enum(['two_or_none', 'as_seen'])
    .default('two_or_none')
    .describe(
      'Decimals of amounts: two or none everywhere (docs/field-notes.md Spec Order), those of a currency without decimals being zeros; or as seen: one too on Point, and none where the currency has none (docs/field-notes.md Orders §10, §11).',
    ),
  minimum_amounts: z
    .enum(['none', 'as_seen'])
    .default('none')
    .describe(
      'Smallest amount of an order: none (the specification has no such limit), or those seen live (docs/field-notes.md Orders §10).',
    ),
  item_limits: z
    .enum(['none', 'as_seen'])
    .default('none')
    .describe(
      'Limits of items that the specification does not have: none, or 10 items, 10 categories and 30 characters of a code (docs/field-notes.md Orders §1.2).',
    ),
  installments_cost: z
    .enum(['point_pro', 'as_seen'])
    .default('point_pro')
    .describe(
      'Where default_installments_cost is taken: on Point Pro 2 and 3 alone (docs/field-notes.md Spec Order), or on every terminal, and spelt installments_cost too (docs/field-notes.md Orders §1.2).',
    ),
  old_orders: z
    .enum(['readable', 'not_found'])
    .default('readable')
    .describe(
      'GET of an order that is older than 3 months: read as any other (the specification has no such limit), or 404 (docs/field-notes.md Orders §3.2).',
    ),
  country_code: z
    .enum(['alpha3', 'alpha2'])
    .default('alpha3')
    .describe('Form of country_code in orders (docs/field-notes.md Orders §1.3).'),
  date_fraction_digits: z
    .int()
    .min(0)
    .max(9)
    .default(3)
    .describe('Fraction digits of dates in orders; examples have 3 and 9 (docs/field-notes.md Orders §1.3).'),
  paid_status_detail: z
    .enum(['accredited', 'processed'])
    .default('accredited')
    .describe('Order status_detail of a paid order (docs/field-notes.md Orders §3.2).'),
  failed_status_detail: z
    .enum(failedDetails)
    .default('bad_filled_card_data')
    .describe('Transaction status_detail of a failed order when none was asked for (docs/field-notes.md Orders §6).'),
  failed_payment: z
    .enum(['rejected', 'none'])
    .default('rejected')
    .describe(
      'Whether a failed order carries the reference_id of a rejected payment (docs/field-notes.md Point finding 1).',
    ),
  point_expiry: z
    .enum(['canceled', 'expired'])
    .default('canceled')
    .describe(
      'Status of a Point order whose time is over: canceled automatically (docs/field-notes.md Spec Order status), or expired (docs/field-notes.md Orders §3.2).',
    ),
  action_required: z
    .enum(['final', 'moves_on'])
    .default('final')
    .describe(
      'Whether action_required never changes again, or may still be settled (docs/field-notes.md Orders §3.2).',
    ),
  replay: z
    .enum(['saved', 'current', 'conflict', 'saved_500', 'forgets'])
    .default('saved')
    .describe(
      'Same key, same body: V1 saved answer, V2 current order, V3 409, V4 a saved 500 for ever, V5 key forgotten early (docs/protocol.md §3.1).',
    ),
  replay_status: z
    .union([z.literal(200), z.literal(201)])
    .default(201)
    .describe('HTTP status of a replayed create (docs/field-notes.md Orders §13).'),
  replay_cancels: z
    .enum(['conflict', 'saved'])
    .default('conflict')
    .describe(
      'Same key again on a cancel: 409 (docs/field-notes.md Spec Errors), or the saved answer (docs/field-notes.md Orders §1.1).',
    ),
  replay_refunds: z
    .enum(['saved', 'conflict'])
    .default('saved')
    .describe(
      'Same key again on a refund, whose errors are not shown: the saved answer, or 409 (docs/protocol.md §3.1).',
    ),
  replay_forget_after_minutes: z
    .number()
    .positive()
    .default(5)
    .describe('With replay "forgets": after how many minutes of virtual time a key is unknown again.'),
  remember_refusals: z
    .boolean()
    .default(false)
    .describe('Whether a refused create (4xx) is remembered under its key too (docs/protocol.md §3.1).'),
  reference_unique: z
    .enum(['among_all', 'among_live', 'not_checked'])
    .default('among_all')
    .describe('Which orders of the merchant an external_reference must differ from (docs/field-notes.md Spec Order).'),
  key_check: z
    .enum(['before_queue', 'after_queue'])
    .default('before_queue')
    .describe('Whether the key memory is asked before the terminal queue (docs/protocol.md §3.1).'),
  total_refund_status: z
    .enum(['processing', 'processed'])
    .default('processing')
    .describe('Status of the refund node of a total refund (docs/field-notes.md Orders §2).'),
  processing_refund_ends: z
    .enum(['processed', 'failed'])
    .default('processed')
    .describe(
      'How a refund in status processing ends after simulated_step_ms; failed gives the money back to the seller, and the order is paid as before. The way to failed is not shown (docs/field-notes.md Spec Refund status).',
    ),
  partial_refund_action: z
    .enum(['order.refunded', 'order.processed', 'none'])
    .default('order.refunded')
    .describe('Webhook action of a partial refund, whose name nobody has seen (docs/field-notes.md Orders §4.1).'),
  max_refunds: z
    .int()
    .min(1)
    .default(20)
    .describe('Refunds per payment before max_refunds_exceeded; the number is not published.'),
  simulated_step_ms: z
    .int()
    .min(0)
    .default(200)
    .describe(
      'Virtual time between at_terminal and the final state of a simulated event; the pages say within 10 s (docs/field-notes.md Orders §6).',
    ),
  cancel_confirmation: z
    .enum(['at_once', 'automatic', 'by_hand'])
    .default('at_once')
    .describe(
      'A cancel at the terminal: 200 and canceled at once (docs/field-notes.md Spec Order status); or 202, and the terminal confirms by itself after cancel_step_ms or waits for the person (docs/field-notes.md Orders §3.1).',
    ),
  cancel_step_ms: z
    .int()
    .min(0)
    .default(200)
    .describe('Virtual time between a 202 cancel and the terminal confirming it.'),
  webhook_url: z
    .union([z.literal(''), z.url({ protocol: /^https?$/ })])
    .default('')
    .describe('Where order webhooks go; empty sends none.'),
  webhook_secret: z.string().default('sandbox-webhook-secret').describe('Secret that signs order webhooks.'),
  webhook_mode: z
    .enum(['normal', 'drop', 'duplicate', 'late', 'forge'])
    .default('normal')
    .describe(
      'What happens to each webhook: sent, lost, sent twice, sent late, or a false one with a false signature in its place.',
    ),
  webhook_late_ms: z.int().min(0).default(60_000).describe('With mode "late": virtual time each webhook waits.'),
  signature_casing: z
    .enum(['lower', 'verbatim', 'none', 'bad'])
    .default('lower')
    .describe(
      'Casing of the id in the signed manifest; "none" sends no signature, "bad" a false one (docs/field-notes.md Orders §4.2).',
    ),
  signature_ts_unit: z
    .enum(['ms', 's'])
    .default('ms')
    .describe('Unit of ts in X-Signature (docs/field-notes.md Orders §4.2).'),
  webhook_amounts: z
    .enum(['plain', 'two_decimals'])
    .default('plain')
    .describe(
      'Amounts in webhooks: without decimals where there are no cents, or as in GET (docs/field-notes.md Orders §4.1).',
    ),
  webhook_user_id: z
    .enum(['string', 'number'])
    .default('string')
    .describe('JSON type of user_id in webhooks (docs/field-notes.md Orders §4.1).'),
  webhook_timeout_ms: z
    .int()
    .min(1)
    .default(22_000)
    .describe('Real time a webhook receiver has to answer 200 or 201 (docs/field-notes.md Orders §4.3).'),
  ...qrOrderAssumptions,
  legacy_expiry_ms: z
    .int()
    .min(1000)
    .default(900_000)
    .describe(
      'Virtual time after which a legacy intent that nobody takes up is ABANDONED; the pages say "a certain time" (docs/field-notes.md Point §2).',
    ),
  ...legacyQrAssumptions,
  ...paymentAssumptions,
  extra_terminals: z
    .int()
    .min(0)
    .max(100_000)
    .default(0)
    .describe('More terminals in PDV per merchant, for load tests; takes effect at reset.'),
};

export const settingsSchema = z.strictObject(assumptionFields);
export type Settings = z.infer<typeof settingsSchema>;

export interface Assumption {
  name: string;
  value: unknown;
  sentence: string;
}

/** What the control door lists: each setting with its value and its sentence. The webhook secret stays out. */
export function listAssumptions(settings: Settings): Assumption[] {
  return Object.entries(assumptionFields)
    .filter(([name]) => name !== 'webhook_secret')
    .map(([name, field]) => ({
      name,
      value: settings[name as keyof Settings], // the names are the keys of the same object
      sentence: field.description ?? '',
    }));
}

// The two services that the sandbox can be: what the specification says, and what was seen in the field.

export const profiles = ['specification', 'field'] as const;
export type Profile = (typeof profiles)[number];

/** What the field does differently, each with its source; the defaults of `assumptions.ts` are the specification. */
const field = {
  error_codes: 'live', // docs/field-notes.md Orders §1.6
  order_ids: 'ORDTST', // docs/field-notes.md Orders §1.4: what test credentials get
  order_id_letters: 'crockford', // docs/field-notes.md Orders §1.4
  date_fraction_digits: 9, // docs/field-notes.md Orders §1.3
  missing_token: 'gateway', // docs/field-notes.md Orders §1.5
  amounts: 'as_seen', // docs/field-notes.md Orders §10, §11
  minimum_amounts: 'as_seen', // docs/field-notes.md Orders §10
  item_limits: 'as_seen', // docs/field-notes.md Orders §1.2
  installments_cost: 'as_seen', // docs/field-notes.md Orders §1.2
  qr_installments: 'accepted', // docs/field-notes.md Orders §1.2
  old_orders: 'not_found', // docs/field-notes.md Orders §3.2
  point_expiry: 'expired', // docs/field-notes.md Orders §3.2
  cancel_confirmation: 'automatic', // docs/field-notes.md Orders §3.1
  replay_cancels: 'saved', // docs/field-notes.md Orders §1.1: the same key and body give back what they made
  source_news_ipn: 'ipn', // docs/field-notes.md QR finding 10
} as const satisfies Partial<Settings>;

/** The settings that a profile decides, to be laid below those that were set one by one. */
export const profileSettings: Readonly<Record<Profile, Partial<Settings>>> = { specification: {}, field };
