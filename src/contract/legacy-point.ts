/** The legacy Point API of tills. Source: `docs/field-notes.md` Point §1–3. */
import { z } from 'zod';
import { INTENT_ID, TERMINAL_ID } from './identifiers.ts';
import { jsonObject, plainNumber, withoutNulls, writtenInteger } from './json.ts';
import { legacyHeaders } from './legacy-body.ts';
import { answered, doorErrors, type LegacyErrorEntry } from './legacy-error.ts';

/** Terminal and intermediate states, `docs/field-notes.md` Point §2. */
export const intentStates = [
  'OPEN',
  'ON_TERMINAL',
  'PROCESSING',
  'PROCESSED',
  'FINISHED',
  'CONFIRMATION_REQUIRED',
  'CANCELED',
  'ERROR',
  'ABANDONED',
] as const;
export type IntentState = (typeof intentStates)[number];

export const finalIntentStates: readonly IntentState[] = [
  'FINISHED',
  'CONFIRMATION_REQUIRED',
  'CANCELED',
  'ERROR',
  'ABANDONED',
];

const additionalInfo = jsonObject({
  external_reference: z.string().optional(),
  print_on_terminal: z.boolean().optional(),
  ticket_number: z.string().optional(),
});

/**
 * `amount` is an integer of minor units (two decimals); other fields as in `docs/field-notes.md` Point §1.3. One that is
 * null counts as absent (`docs/architecture.md` Decision 12).
 */
export const createIntentBody = z.preprocess(
  withoutNulls,
  z.looseObject({
    amount: z.preprocess(plainNumber, z.int().positive()),
    description: z.string().optional(),
    external_reference: z.string().optional(),
    notification_url: z.string().optional(),
    additional_info: additionalInfo.optional(),
    payment: jsonObject({
      type: z.string().optional(),
      installments: writtenInteger.optional(),
      installments_cost: z.string().optional(),
      voucher_type: z.string().optional(),
    }).optional(),
  }),
);

const devicePath = z.object({ device_id: z.string().regex(TERMINAL_ID) });
const intentPath = z.object({ intent_id: z.string().regex(INTENT_ID) });

export const createIntentRequest = z.object({ path: devicePath, headers: legacyHeaders, body: createIntentBody });
export const getIntentRequest = z.object({ path: intentPath });
export const cancelIntentRequest = z.object({ path: intentPath });

const pageNumber = z.string().regex(/^\d{1,9}$/);
export const listDevicesRequest = z.object({
  query: z.object({
    store_id: z.string().max(64).optional(),
    pos_id: z
      .string()
      .regex(/^\d{1,20}$/)
      .optional(),
    limit: pageNumber.optional(),
    offset: pageNumber.optional(),
  }),
});

export const operatingModes = ['PDV', 'STANDALONE'] as const;
/** A list also shows terminals of kiosks, which the vendor's guide to SELF_SERVICE describes (LIM-71). */
export const listedModes = [...operatingModes, 'SELF_SERVICE'] as const;
export const changeModeRequest = z.object({
  path: devicePath,
  body: z.looseObject({ operating_mode: z.enum(operatingModes) }),
});

const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
export const listEventsRequest = z.object({ query: z.object({ startDate: day, endDate: day }) });

export const createRefundIntentBody = z.looseObject({
  payment_id: z.union([z.string(), z.int()]),
  additional_info: jsonObject({ print_on_terminal: z.array(z.string()).optional() }).optional(),
});

// ---- answers -------------------------------------------------------------------------------------------------

/** Create answer: no `state` (`docs/field-notes.md` Point §1.3); `payment_mode` as in the captured SDK fixture. */
export const createIntentAnswer = z.object({
  body: z.object({
    id: z.string(),
    device_id: z.string(),
    amount: z.int(),
    description: z.string().optional(),
    additional_info: z.unknown().optional(),
    payment: z.unknown().optional(),
    payment_mode: z.literal('card'),
  }),
});

/** `docs/field-notes.md` Point §1.4; `payment.id` is a JSON number, present once a payment exists. */
export const getIntentAnswer = z.object({
  body: z.object({
    id: z.string(),
    state: z.enum(intentStates),
    amount: z.int(),
    device_id: z.string(),
    description: z.string().optional(),
    payment: z
      .object({
        id: z.int().optional(),
        type: z.string().optional(),
        installments: z.int().optional(),
        installments_cost: z.string().optional(),
        voucher_type: z.string().optional(),
      })
      .optional(),
    additional_info: z.unknown().optional(),
  }),
});

export const cancelIntentAnswer = z.object({ body: z.object({ id: z.string() }) });
export const lastStatusAnswer = z.object({ body: z.object({ status: z.enum(intentStates), created_on: z.string() }) });

export const listEventsAnswer = z.object({
  body: z.object({
    events: z.array(z.object({ payment_intent_id: z.string(), status: z.enum(intentStates), created_on: z.string() })),
  }),
});

/** `store_id` is a digit string (`docs/field-notes.md` Point §1.1, PHP SDK note of §4.2). */
export const device = z.object({
  id: z.string(),
  pos_id: z.int(),
  store_id: z.string().nullable(),
  external_pos_id: z.string(),
  operating_mode: z.enum(listedModes),
});
export const listDevicesAnswer = z.object({
  body: z.object({
    devices: z.array(device),
    paging: z.object({ total: z.int(), limit: z.int(), offset: z.int() }),
  }),
});
export const changeModeAnswer = z.object({ body: z.object({ operating_mode: z.enum(operatingModes) }) });

/** `error` is a number as a string, `status` a number; never an `id` (`docs/field-notes.md` Point §1.9, finding 7). */
export const legacyError = z.object({ error: z.string(), message: z.string(), status: z.int() });

/** Both Point dialects (`docs/field-notes.md` Point §3.1, §3.2). `created_at` is `YYYY-MM-DD HH:MM:SS` in UTC. */
export const noticeBody = z.object({
  body: z.object({
    id: z.string(),
    state: z.enum(intentStates),
    amount: z.int(),
    caller_id: z.int(),
    client_id: z.int().optional(),
    created_at: z.string(),
    payment: z.object({ id: z.int().optional(), state: z.string(), type: z.string() }).optional(),
    additional_info: z.unknown().optional(),
  }),
});

/**
 * The status and text that clients match (`docs/field-notes.md` Point §1.9). In a text, `{}` is replaced by the detail (a
 * property name, a minimum). @param error a code that was never seen is the HTTP number.
 */
function pointError(status: number, message: string, error = String(status)): LegacyErrorEntry {
  return answered(status, error, message);
}

export const pointErrors = {
  self_service: pointError(409, 'The device is in SELF_SERVICE mode, which can not be changed from here'),
  queued_intent: pointError(409, 'There is already a queued intent for the device', '2205'),
  amount_minimum: pointError(400, 'amount: Must be greater than or equal to {}'),
  amount_maximum: pointError(400, 'amount: Must be less than or equal to {}'),
  additional_property: pointError(400, 'Additional property {} is not allowed'),
  missing_property: pointError(400, '{} is required'),
  invalid_property: pointError(400, '{} is not valid'),
  bad_json: pointError(400, 'Invalid JSON body'),
  bad_request: pointError(400, 'Bad request'),
  unauthorized: pointError(401, 'unauthorized'),
  not_device_owner: pointError(403, 'Forbidden Error checking device owner'),
  forbidden: pointError(403, 'Forbidden'),
  intent_not_found: pointError(404, "Payment intent doesn't exist"),
  intent_not_cancelable: pointError(404, "Payment intent doesn't exist", '101'),
  device_not_found: pointError(404, 'Device not found'),
  payment_not_found: pointError(404, 'Payment not found'),
  refund_refused: pointError(409, 'The payment can not be refunded'),
  action_not_supported: { ...doorErrors.action_not_supported, error: '111' },
  cancel_blocked: pointError(409, 'Verify if the intent is already being processed'),
  device_in_pos: pointError(409, 'A device is already in PDV mode for this point of sale'),
  refund_on_terminal: pointError(409, 'Payment {} was made by an order: it has no refund on the terminal'),
  too_large: { ...doorErrors.too_large, error: '413' },
  unsupported_media: { ...doorErrors.unsupported_media, error: '415' },
  too_many_requests: { ...doorErrors.too_many_requests, error: '105' },
  internal: pointError(500, 'Internal server error'),
  bad_gateway: { ...doorErrors.bad_gateway, error: '502' },
  not_yet: { ...doorErrors.not_yet, error: '503' },
  bad_answer: pointError(
    502,
    'The answer of the payments service can not be read; check the terminal before trying again',
  ),
  unavailable: { ...doorErrors.unavailable, error: '503' },
  outcome_unknown: { ...doorErrors.outcome_unknown, error: '504' },
  no_answer: pointError(504, 'The payments service did not answer in time; check the terminal before trying again'),
} as const;
