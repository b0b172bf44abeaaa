/** Who acts on the ops API, with which role (`docs/architecture.md` Decision 13), and the reason that every change needs. */
import { z } from 'zod';
import { encoded, say } from '../../locales/message.ts';

/** Each role may do what the ones before it may. */
export const roles = ['viewer', 'operator', 'approver'] as const;
export type Role = (typeof roles)[number];

/** The caller; audit lines hold the name. */
export interface Person {
  name: string;
  role: Role;
}

/** The person behind `ops.token`: the sole owner of a small installation, who may do everything. */
export const SOLE_OWNER: Person = { name: 'operator', role: 'approver' };

/** Names that audit lines use already: Puente's own decisions, and all merchants at once. */
export const RESERVED_NAMES: readonly string[] = ['puente', 'all'];

/** Whether a role is enough where `needed` is required. */
export function isEnough(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}

/** The name in audit lines of Puente's own decisions. */
export const BY_ITSELF = 'puente';

/** For a reason that is missing, too short or too long. */
export const no_reason = say('input.reason', {});
const NO_REASON = encoded(no_reason);
export const reason = z
  .string(NO_REASON)
  .trim()
  .min(3, NO_REASON)
  .max(500, NO_REASON)
  .describe('why, for the audit trail');

/** The body of a change that needs nothing else. */
export const reasonAlone = z.strictObject({ reason });
