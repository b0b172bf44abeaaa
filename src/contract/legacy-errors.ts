/** The legacy error catalogues: for each family of paths the status, code and text that clients match, and its envelope. */
import type { Catalogue, LegacyErrorEntry } from './legacy-errors/catalogue.ts';
import { merchantOrderErrors, paymentErrors } from './legacy-errors/payments.ts';
import { instoreErrors, preferenceErrors } from './legacy-errors/qr.ts';
import { namesOf } from './legacy-names.ts';
import { pointErrors } from './legacy-point.ts';

export type { CommonErrorName, LegacyErrorEntry } from './legacy-errors/catalogue.ts';

/** Families of legacy paths; each has its own error codes and its own envelope. */
export const families = ['point', 'qr_v1', 'qr', 'merchant_orders', 'payments'] as const;
export type Family = (typeof families)[number];

const catalogues = {
  point: pointErrors,
  qr_v1: preferenceErrors,
  qr: instoreErrors,
  merchant_orders: merchantOrderErrors,
  payments: paymentErrors,
} as const satisfies Record<Family, Catalogue>;

/** Every error name of any family. */
export type LegacyErrorName = {
  [F in Family]: keyof (typeof catalogues)[F];
}[Family];

/** The entry of a name in a family's catalogue; null when that family has no such error. */
export function legacyError(family: Family, name: string): LegacyErrorEntry | null {
  const catalogue: Readonly<Record<string, LegacyErrorEntry>> = catalogues[family];
  return Object.hasOwn(catalogue, name) ? (catalogue[name] ?? null) : null;
}

/**
 * The body of an error in its family's envelope; never an `id` (`legacy-point.md` §1.9, `legacy-qr.md` §1.1 and §3).
 * @param detail fills `{}`.
 */
export function errorBody(family: Family, entry: LegacyErrorEntry, detail: string): Record<string, unknown> {
  const named = namesOf(family, detail);
  const message = entry.message.replace('{}', named.text).trim();
  const error = entry.error.replace('{}', named.code);
  const { status } = entry;
  if (family === 'point') return { error, message, status };
  if (family === 'payments' || family === 'merchant_orders') {
    const cause = entry.cause === undefined ? [] : [{ code: entry.cause, description: message, data: null }];
    return { message, error, status, cause };
  }
  return { error, message, status, causes: [] };
}
