/** Reading fields of a legacy QR body one by one, so that each refusal names the field in its family's code. */
import { isWithinCharacters } from '../../../contract/identifiers.ts';
import { type Json, plainNumber } from '../../../contract/json.ts';
import { decimalOf } from '../../../contract/legacy-amount.ts';
import type { PuenteError } from '../../../error.ts';
import type { Site } from '../../cast.ts';
import { minorOf } from '../../money.ts';

export type JsonObject = { [key: string]: Json };

/** Builds the refusal of a field. */
export type RefuseField = (fault: 'missing_property' | 'invalid_property', name: string) => PuenteError;

export interface FieldReader {
  /** A text of 1 to `max` characters that must be there. */
  text(name: string, max: number): string;
  /** A text of at most `max` characters; null when it is missing or null. */
  optionalText(name: string, max: number): string | null;
  /** A text or a whole number, told as text; null when missing (samples show both, `docs/field-notes.md` QR §1.1). */
  optionalId(name: string, max: number): string | null;
  /** Minor units and the decimal text as sent; more decimals than the currency has are refused, unless they are zeros. */
  amount(name: string): { minor: number; text: string };
  optionalAmount(name: string): { minor: number; text: string } | null;
}

/** @throws PuenteError from `refuse`, at the field that does not hold. */
export function fieldsOf(object: JsonObject, site: Site, refuse: RefuseField): FieldReader {
  const given = (name: string): Json | null => object[name] ?? null;
  const reader: FieldReader = {
    text(name, max) {
      const value = reader.optionalText(name, max);
      if (value === null) throw refuse('missing_property', name);
      if (value === '') throw refuse('invalid_property', name);
      return value;
    },
    optionalText(name, max) {
      const value = given(name);
      if (value === null) return null;
      if (typeof value !== 'string' || !isWithinCharacters(value, max)) throw refuse('invalid_property', name);
      return value;
    },
    optionalId(name, max) {
      const value = plainNumber(given(name));
      if (typeof value === 'number' && value >= 0) return String(value); // only whole numbers come as numbers
      return reader.optionalText(name, max);
    },
    amount(name) {
      const value = reader.optionalAmount(name);
      if (value === null) throw refuse('missing_property', name);
      return value;
    },
    optionalAmount(name) {
      const value = given(name);
      if (value === null) return null;
      const text = decimalOf(value);
      const minor = minorOf(value, site);
      if (text === null || minor === null) throw refuse('invalid_property', name);
      return { minor, text };
    },
  };
  return reader;
}
