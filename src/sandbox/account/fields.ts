/** Fields of stores and tills: one check and one upper-case error code per field. Source: `legacy-qr.md` §4, reference pages of `/pos` and `/users/{user_id}/stores`. */
import { isWithinCharacters } from '../../contract/characters.ts';
import type { Json } from '../../contract/json.ts';
import type { PuenteError } from '../../error.ts';
import { bodyObject, type JsonObject, type OlderCall, refuse, refuseWith } from '../older-call.ts';

export interface FieldRule {
  code: string;
  holds(value: Json): boolean;
}

/** The wanted fields of a create or a change, each of the right kind, whatever they mean together. */
export function readFields(
  call: OlderCall,
  rules: Readonly<Record<string, readonly FieldRule[]>>,
  unknown_code: string,
): JsonObject {
  const body = bodyObject(call.request);
  if (Object.keys(body).length === 0) throw accountFault('MISSING_BODY');
  for (const [name, value] of Object.entries(body)) {
    const checks = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (checks === undefined) throw accountFault(unknown_code, name);
    const broken = checks.find((rule) => !rule.holds(value));
    if (broken !== undefined) throw accountFault(broken.code, name);
  }
  return body;
}

/** 400 with an upper-case code; the envelope is the payments one, since none is published. */
export function accountFault(code: string, detail = ''): PuenteError {
  const message = detail === '' ? code : `${code}: ${detail}`;
  return refuseWith({ status: 400, error: code, message });
}

/**
 * A path's user id must be the token's owner.
 * @throws PuenteError refused: INVALID_USER_ID, or 403 for somebody else's (`legacy-qr.md` §6).
 */
export function checkOwner(call: OlderCall): void {
  const user_id = call.path('user');
  if (!/^\d+$/.test(user_id)) throw accountFault('INVALID_USER_ID');
  if (user_id !== call.merchant.user_id) throw refuse('forbidden');
}

export function isText(value: Json): boolean {
  return typeof value === 'string' && value !== '';
}

/** An id that clients write as a number and as text. */
export function isNumeric(value: Json): boolean {
  return /^\d{1,15}$/.test(typeof value === 'number' || typeof value === 'string' ? String(value) : '');
}

/** Letters and digits alone, or null for none. */
export function isExternalId(value: Json): boolean {
  return value === null || (typeof value === 'string' && /^[A-Za-z0-9]+$/.test(value));
}

/** True for anything but longer text. */
export function isWithin(length: number): (value: Json) => boolean {
  return (value) => typeof value !== 'string' || isWithinCharacters(value, length);
}
