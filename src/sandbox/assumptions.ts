/** The sandbox's settings: as specified by default (`docs/field-notes.md` Spec), or a choice of this project where it is silent. */
import { z } from 'zod';

/** Failed details of a Point transaction (`docs/field-notes.md` Orders §3.2); only the simulator has the last one. */
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
  error_codes: choice('documented', 'live').describe(
    'Spelling of error codes where the pages and the live service differ (docs/field-notes.md Orders §1.6).',
  ),
  order_ids: choice('ORD', 'ORDTST').describe(
    'Prefix of order ids; test credentials give ORDTST (docs/field-notes.md Orders §1.4).',
  ),
  order_id_letters: choice('alphanumeric', 'crockford').describe(
    'Which 26 characters make a valid order id: letters and digits of any kind (docs/field-notes.md Spec Order), or those of a ULID (docs/field-notes.md Orders §1.4).',
  ),
  missing_token: choice('unauthorized', 'gateway').describe(
    'A call on orders without Authorization: 401 unauthorized (docs/field-notes.md Spec Authentication), or the 403 of a gateway (docs/field-notes.md Orders §1.5).',
  ),
  amounts: choice('two_or_none', 'as_seen').describe(
    'Decimals of amounts: two or none everywhere (docs/field-notes.md Spec Order), those of a currency without decimals being zeros; or as seen: one too on Point, and none where the currency has none (docs/field-notes.md Orders §10, §11).',
  ),
  minimum_amounts: choice('none', 'as_seen').describe(
    'Smallest amount of an order: none (the specification has no such limit), or those seen live (docs/field-notes.md Orders §10).',
  ),
  item_limits: choice('none', 'as_seen').describe(
    'Limits of items that the specification does not have: none, or 10 items, 10 categories and 30 characters of a code (docs/field-notes.md Orders §1.2).',
  ),
  installments_cost: choice('point_pro', 'as_seen').describe(
    'Where default_installments_cost is taken: on Point Pro 2 and 3 alone (docs/field-notes.md Spec Order), or on every terminal, and spelt installments_cost too (docs/field-notes.md Orders §1.2).',
  ),
  old_orders: choice('readable', 'not_found').describe(
    'GET of an order that is older than 3 months: read as any other (the specification has no such limit), or 404 (docs/field-notes.md Orders §3.2).',
  ),
  country_code: choice('alpha3', 'alpha2').describe(
    'Form of country_code in orders (docs/field-notes.md Orders §1.3).',
  ),
  date_fraction_digits: whole(3, 0, 9).describe(
    'Fraction digits of dates in orders; examples have 3 and 9 (docs/field-notes.md Orders §1.3).',
  ),
  paid_status_detail: choice('accredited', 'processed').describe(
    'Order status_detail of a paid order (docs/field-notes.md Orders §3.2).',
  ),
  failed_status_detail: z
    .enum(failedDetails)
    .default('bad_filled_card_data')
    .describe('Transaction status_detail of a failed order when none was requested (docs/field-notes.md Orders §6).'),
  failed_payment: choice('rejected', 'none').describe(
    'Whether a failed order has the reference_id of a rejected payment (docs/field-notes.md Point finding 1).',
  ),
  point_expiry: choice('canceled', 'expired').describe(
    'Status of a Point order whose lifetime has ended: canceled automatically (docs/field-notes.md Spec Order status), or expired (docs/field-notes.md Orders §3.2).',
  ),
  action_required: choice('final', 'moves_on').describe(
    'Whether action_required never changes again, or may still be settled (docs/field-notes.md Orders §3.2).',
  ),
  replay: choice('saved', 'current', 'conflict', 'saved_500', 'forgets').describe(
    'Same key, same body: V1 saved answer, V2 current order, V3 409, V4 a saved 500 for ever, V5 key forgotten early (docs/protocol.md §3.1).',
  ),
  replay_status: either(201, 200).describe('HTTP status of a repeated create (docs/field-notes.md Orders §13).'),
  replay_cancels: choice('conflict', 'saved').describe(
    'Same key again on a cancel: 409 (docs/field-notes.md Spec Errors), or the saved answer (docs/field-notes.md Orders §1.1).',
  ),
  replay_refunds: choice('saved', 'conflict').describe(
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
  reference_unique: choice('among_all', 'among_live', 'not_checked').describe(
    'Which orders of the merchant an external_reference must differ from (docs/field-notes.md Spec Order).',
  ),
  key_check: choice('before_queue', 'after_queue').describe(
    'Whether the key memory is checked before the terminal queue (docs/protocol.md §3.1).',
  ),
  total_refund_status: choice('processing', 'processed').describe(
    'Status of the refund node of a total refund (docs/field-notes.md Orders §2).',
  ),
  processing_refund_ends: choice('processed', 'failed').describe(
    'How a refund in status processing ends after simulated_step_ms; failed gives the money back to the seller, and the order is paid as before. The way to failed is not shown (docs/field-notes.md Spec Refund status).',
  ),
  partial_refund_action: choice('order.refunded', 'order.processed', 'none').describe(
    'Webhook action of a partial refund, whose name was never seen (docs/field-notes.md Orders §4.1).',
  ),
  max_refunds: whole(20, 1).describe('Refunds per payment before max_refunds_exceeded; the number is not published.'),
  simulated_step_ms: whole(200, 0).describe(
    'Virtual time between at_terminal and the final state of a simulated event; the pages say within 10 s (docs/field-notes.md Orders §6).',
  ),
  cancel_confirmation: choice('at_once', 'automatic', 'by_hand').describe(
    'A cancel at the terminal: 200 and canceled at once (docs/field-notes.md Spec Order status); or 202, and the terminal confirms after cancel_step_ms, or when the person confirms (docs/field-notes.md Orders §3.1).',
  ),
  cancel_step_ms: whole(200, 0).describe('Virtual time between a 202 cancel and the terminal confirming it.'),
  webhook_url: z
    .union([z.literal(''), z.url({ protocol: /^https?$/ })])
    .default('')
    .describe('Where order webhooks go; empty sends none.'),
  webhook_secret: z.string().default('sandbox-webhook-secret').describe('Secret that signs order webhooks.'),
  webhook_mode: choice('normal', 'drop', 'duplicate', 'late', 'forge').describe(
    'What happens to each webhook: sent, lost, sent twice, sent late, or a false one with a false signature in its place.',
  ),
  webhook_late_ms: whole(60_000, 0).describe('With mode "late": virtual time each webhook waits.'),
  signature_casing: choice('lower', 'verbatim', 'none', 'bad').describe(
    'Casing of the id in the signed manifest; "none" sends no signature, "bad" a false one (docs/field-notes.md Orders §4.2).',
  ),
  signature_ts_unit: choice('ms', 's').describe('Unit of ts in X-Signature (docs/field-notes.md Orders §4.2).'),
  webhook_amounts: choice('plain', 'two_decimals').describe(
    'Amounts in webhooks: without decimals where there are no cents, or as in GET (docs/field-notes.md Orders §4.1).',
  ),
  webhook_user_id: choice('string', 'number').describe(
    'JSON type of user_id in webhooks (docs/field-notes.md Orders §4.1).',
  ),
  webhook_timeout_ms: whole(22_000, 1).describe(
    'Real time a webhook receiver has to answer 200 or 201 (docs/field-notes.md Orders §4.3).',
  ),
  second_static_order: choice('independent', 'refused').describe(
    'A second static or hybrid order on a till: both stay open and its code shows the newest, or 409 (docs/field-notes.md Orders §1.6).',
  ),
  qr_in_mexico: choice('refused', 'accepted').describe(
    'QR orders in Mexico: the QR pages list ARS, BRL, CLP and UYU, yet some are published for Mexico (docs/field-notes.md Orders §10).',
  ),
  qr_installments: choice('refused', 'accepted').describe(
    'Instalments in QR orders (config.payment_method): for Point alone (docs/field-notes.md Spec Order), or taken, because a QR page has installments_cost (docs/field-notes.md Orders §1.2).',
  ),
  qr_refund_days: either(360, 180).describe(
    'Days in which a QR payment can be refunded: the error page says 360, the guide 180 (docs/field-notes.md Orders §2).',
  ),
  qr_signature: choice('bad', 'as_point').describe(
    'Signature of webhooks about QR orders: one that never validates, as seen live, or as for Point (docs/field-notes.md Orders §4.2).',
  ),
  legacy_expiry_ms: whole(900_000, 1000).describe(
    'Virtual time after which a legacy intent that was not taken up is ABANDONED; the pages say "a certain time" (docs/field-notes.md Point §2).',
  ),
  legacy_qr_expiry_ms: whole(600_000, 1000).describe(
    'Virtual time after which a legacy QR order without a lifetime of its own expires; documented for v1 alone (docs/field-notes.md QR §1.1).',
  ),
  legacy_qr_preference_status: either(200, 201).describe('HTTP status of a v1 create (docs/field-notes.md QR §11).'),
  legacy_qr_code_status: either(201, 200).describe(
    'HTTP status of a dynamic or hybrid create (docs/field-notes.md QR §1.3).',
  ),
  legacy_qr_delete_empty: either(204, 400, 404).describe(
    'HTTP status of DELETE on a till without an order (docs/field-notes.md QR §1.2).',
  ),
  legacy_qr_locked: choice('refused', 'replaced').describe(
    'PUT, POST or DELETE on a till whose order is being paid: refused, or done as if no payment were under way (docs/field-notes.md QR §10).',
  ),
  legacy_qr_nameless_till: choice('refused', 'accepted').describe(
    'A v1 call by the internal number of a till without external id: 404, or as any till (docs/field-notes.md QR §4).',
  ),
  merchant_order_birth: choice('creation', 'payment').describe(
    'Whether a merchant order is made with its QR order or at the first payment (docs/field-notes.md QR finding 11).',
  ),
  merchant_order_sort: choice('newest_first', 'oldest_first').describe(
    'Order of the elements of a merchant order search, which no page gives (docs/field-notes.md QR §2).',
  ),
  ipn_resource_base: z
    .url({ protocol: /^https?$/ })
    .default('https://api.mercadolibre.com')
    .describe('Host of the resource URL in merchant_order notices (docs/field-notes.md QR finding 3).'),
  local_notification_urls: choice('not_called', 'called').describe(
    'Whether notifications go to localhost and 127.0.0.1, which the specification says must not be used (docs/field-notes.md Spec IPN); webhooks about orders go where webhook_url says.',
  ),
  source_news_ipn: choice('webhooks', 'ipn').describe(
    'What source_news=ipn in a notification_url means: by webhook only (docs/field-notes.md Spec IPN), or by IPN only as the guide says (docs/field-notes.md QR finding 10).',
  ),
  order_payments: choice('readable', 'hidden').describe(
    'Whether the payments API has payments made by orders, or says 404 (docs/field-notes.md QR §3, §11).',
  ),
  order_payment_refunds: choice('refused', 'allowed').describe(
    'Whether the payments API refunds payments made by orders, or says 2063 (docs/field-notes.md QR §3).',
  ),
  refund_key_required: z
    .boolean()
    .default(false)
    .describe('Whether POST …/refunds without X-Idempotency-Key is refused with 4292 (docs/field-notes.md QR §3).'),
  payment_refund_days: whole(180, 1).describe(
    'Days in which the payments API refunds; its pages name errors for older ones and no number.',
  ),
  refund_too_old_code: either(2024, 15016).describe(
    'Which of the two documented numbers says that a payment is too old to be refunded (docs/field-notes.md QR §3).',
  ),
  payment_refund_status: choice('approved', 'in_process').describe(
    'Status of a new refund; in_process becomes approved after simulated_step_ms (docs/field-notes.md QR §3).',
  ),
  chargeback_payment: choice('payment_id', 'payments').describe(
    'How a chargeback names its payment; the specification shows no shape, the other fields are the SDK type.',
  ),
  store_create_status: either(200, 201).describe(
    'HTTP status of a new store or till; the pages say 200, and no capture shows it (docs/field-notes.md QR §4).',
  ),
  invoice_external_reference: choice('text', 'number').describe(
    'JSON type of an invoice external_reference made of digits (docs/field-notes.md Spec Invoice).',
  ),
  invoice_amount: choice('number', 'text').describe(
    'JSON type of an invoice transaction_amount (docs/field-notes.md Spec Invoice).',
  ),
  invoice_canceled: choice('canceled', 'cancelled').describe(
    'Spelling of the canceled status of invoices and their payments (docs/field-notes.md Orders §9).',
  ),
  extra_terminals: whole(0, 0, 100_000).describe(
    'More terminals in PDV per merchant, for load tests; takes effect at reset.',
  ),
};

/** The first value is the default, here and in `either`. */
function choice<const Values extends readonly [string, ...string[]]>(...values: Values) {
  return z.enum(values).default(() => values[0]);
}

function either<const Values extends readonly [number, ...number[]]>(...values: Values) {
  return z.literal(values).default(() => values[0]);
}

function whole(otherwise: number, least: number, most: number = Number.MAX_SAFE_INTEGER) {
  return z.int().min(least).max(most).default(otherwise);
}

export const settingsSchema = z.strictObject(assumptionFields);
export type Settings = z.infer<typeof settingsSchema>;

interface Assumption {
  name: string;
  value: unknown;
  sentence: string;
}

/** The list of the control door, without the webhook secret. */
export function listAssumptions(settings: Settings): Assumption[] {
  return Object.entries(assumptionFields)
    .filter(([name]) => name !== 'webhook_secret')
    .map(([name, field]) => ({
      name,
      value: settings[name as keyof Settings], // the names are the keys of the same object
      sentence: field.description ?? '',
    }));
}

// The two profiles: the specification, and what was seen in the field.

export const profiles = ['specification', 'field'] as const;
export type Profile = (typeof profiles)[number];

/** Where the field differs from the specification, each with its source. */
const field = {
  error_codes: 'live', // docs/field-notes.md Orders §1.6
  order_ids: 'ORDTST', // docs/field-notes.md Orders §1.4: test credentials get it
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
  replay_cancels: 'saved', // docs/field-notes.md Orders §1.1: the same key and body return the same result
  source_news_ipn: 'ipn', // docs/field-notes.md QR finding 10
} as const satisfies Partial<Settings>;

/** The settings of each profile; settings that are set one by one override them. */
export const profileSettings: Readonly<Record<Profile, Partial<Settings>>> = { specification: {}, field };
