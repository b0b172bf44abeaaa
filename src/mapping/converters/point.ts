/** Converters of the Point tables, and those that any table may use. */

import type { MappingContext } from '../tables.ts';
import {
  type Converted,
  type Converter,
  cutText,
  dateTime,
  decimalText,
  exponentOf,
  type Given,
  instant,
  isNumberText,
  minorUnits,
  NOTHING,
  text,
  wholeNumber,
} from '../values.ts';

/** Longest description of the orders API (`docs/field-notes.md` Spec Limits). */
const MAX_DESCRIPTION = 150;
/** Shortest and longest life of a Point order, seconds (`docs/field-notes.md` Spec Limits: PT30S and PT3H). */
const MIN_LIFE_S = 30;
const MAX_LIFE_S = 3 * 60 * 60;
/** Largest page of `/terminals/v1/list`; larger limits are clamped there too (`docs/field-notes.md` Orders §5). */
const MAX_PAGE = 50;

export const pointConverters: Readonly<Record<string, Converter>> = {
  amount_text: {
    says: "minor units to a decimal string, with the decimals of the site's currency; BigInt, never a double",
    convert: (value, { context }) => ({ value: decimalText(value, exponentOf(context)) }),
  },
  amount_of_order: {
    says: "the order's amount in minor units; the amount of the create when the order's can't be read",
    convert: (value, { reads, context }) => ({ value: minorUnits(reads[0], exponentOf(context)) ?? value }),
  },
  ticket_choice: {
    says: 'true to `seller_ticket`, false to `no_ticket`',
    convert: (value) => ({ value: value === true ? 'seller_ticket' : 'no_ticket' }),
  },
  short_description: {
    says: `cut to ${MAX_DESCRIPTION} characters; a cut is a loss`,
    loses: true,
    convert: (value) => cutText(value, MAX_DESCRIPTION),
  },
  payment_type: {
    says: "`credit_card` and `debit_card` stay; anything else is refused or dropped, as the merchant's voucher setting says",
    loses: true,
    convert: (value, given) => (isCard(value) ? { value } : byVoucherSetting('payment.type', value, given)),
  },
  voucher: {
    says: "refused or dropped, as the merchant's voucher setting says",
    loses: true,
    convert: (value, given) => byVoucherSetting('payment.voucher_type', value, given),
  },
  with_credit_card: {
    says: 'kept when the payment type is `credit_card`, otherwise a loss',
    loses: true,
    convert: (value, { reads }) => {
      if (reads[0] === 'credit_card') return { value };
      return { loss: 'orders take a preference on installments with credit_card only' };
    },
  },
  lifetime: {
    says: `seconds to an ISO duration, between ${MIN_LIFE_S} s and ${MAX_LIFE_S} s; a clamp is a loss`,
    loses: true,
    convert: lifetime,
  },
  filled: { says: 'kept unless it is empty', convert: (value) => (value === '' ? NOTHING : { value }) },
  page_size: {
    says: `between 1 and ${MAX_PAGE}, as upstream clamps it`,
    convert: (value) => ({ value: String(Math.min(Math.max(Number(value), 1), MAX_PAGE)) }),
  },
  whole_number: {
    says: 'digits to a number; nothing when it is not one, a loss when it is too large to be exact',
    loses: true,
    convert: wholeNumber,
  },
  digits_or_null: {
    says: 'digits stay, an empty text becomes null, because typed clients fail on it',
    convert: (value) => ({ value: value === '' ? null : String(value) }),
  },
  operating_mode: {
    says: '`PDV`, `STANDALONE` and `SELF_SERVICE` stay, the last as a noted loss; anything else shows as STANDALONE, a loss',
    loses: true,
    convert: operatingMode,
  },
  paid_type: {
    says: 'the method of the payment once there is one, else what the client requested',
    convert: (value, { reads }) => ({ value: isNumberText(reads[0]) ? (text(reads[1]) ?? text(value)) : text(value) }),
  },
  paid_installments: {
    says: 'the installments of the payment once there is one, else what the client requested',
    convert: (value, { reads }) => {
      const paid = isNumberText(reads[0]) ? wholeNumber(reads[1]).value : undefined;
      return { value: paid ?? wholeNumber(value).value };
    },
  },
  application_number: {
    says: "the application's id as a number, from the context or else from the order",
    loses: true,
    convert: (value, { reads }) => wholeNumber(value ?? reads[0]),
  },
  announced_payment_id: {
    says: 'the number of the payment when the state announces one',
    loses: true,
    convert: (value, { context }) => (announcesPayment(context) ? wholeNumber(value) : NOTHING),
  },
  announced_payment_state: {
    says: 'how the payment ended: for FINISHED as it is, for CONFIRMATION_REQUIRED an empty text, otherwise nothing',
    convert: (value, { context }) => announced(value, context.payment_state),
  },
  announced_payment_type: {
    says: 'the method of the payment: for FINISHED as it is or empty, for CONFIRMATION_REQUIRED an empty text, otherwise nothing',
    convert: (value, { reads }) => announced(value, text(reads[0]) ?? ''),
  },
  second_instant: {
    says: 'epoch milliseconds to `2023-09-13T18:22:30Z`',
    convert: (value) => ({ value: instant(value) }),
  },
  date_time: {
    says: 'epoch milliseconds to `2026-01-31 17:10:37` in UTC',
    convert: (value) => ({ value: dateTime(value) }),
  },
  history: {
    says: 'each event of the history with its time as `2023-09-13T18:22:30Z`',
    convert: (value) => ({
      value: (value as HistoryEvent[]).map(({ payment_intent_id, status, created_on }) => ({
        payment_intent_id,
        status,
        created_on: instant(created_on),
      })), // the context declares this array
    }),
  },
};

interface HistoryEvent {
  payment_intent_id: string;
  status: string;
  created_on: number;
}

function byVoucherSetting(property: string, value: unknown, { context }: Given): Converted {
  if (context.voucher === 'drop')
    return { loss: `orders have no counterpart of ${String(value)}; the preference is dropped` };
  const refusal = { error: 'invalid_property', detail: property } as const;
  // Legacy accepted this type, and no other value that orders lack.
  return { refusal: value === 'voucher_card' ? { ...refusal, limitation: 'LIM-07' } : refusal };
}

function isCard(value: unknown): boolean {
  return value === 'credit_card' || value === 'debit_card';
}

function lifetime(value: unknown): Converted {
  const seconds = /^\d{1,9}$/.test(String(value)) ? Number(value) : null;
  if (seconds === null)
    return { loss: 'the lifetime is not a number of seconds; upstream decides how long the order can be paid' };
  const clamped = Math.min(Math.max(seconds, MIN_LIFE_S), MAX_LIFE_S);
  const kept = { value: `PT${clamped}S` };
  return clamped === seconds
    ? kept
    : { ...kept, loss: `a Point order can be paid for ${MIN_LIFE_S} to ${MAX_LIFE_S} seconds; taken as ${clamped}` };
}

/** Readiness finds such terminals by this text (`ops/readiness/remarks.ts`). */
export const SELF_SERVICE_SHOWN = 'legacy documents no SELF_SERVICE; the terminal is shown in it and keeps it';

function operatingMode(value: unknown): Converted {
  if (value === 'PDV' || value === 'STANDALONE') return { value };
  if (value === 'SELF_SERVICE') return { value, loss: SELF_SERVICE_SHOWN };
  return { value: 'STANDALONE', loss: `legacy has PDV and STANDALONE only; ${String(value)} shows as STANDALONE` };
}

/** Notices of CANCELED, ERROR and the like have no payment (`docs/field-notes.md` Point §2). */
function announcesPayment(context: MappingContext): boolean {
  return context.state === 'FINISHED' || context.state === 'CONFIRMATION_REQUIRED';
}

function announced(state: unknown, finished: unknown): Converted {
  if (state === 'FINISHED') return { value: finished };
  return state === 'CONFIRMATION_REQUIRED' ? { value: '' } : NOTHING;
}
