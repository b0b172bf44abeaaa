/** Who acts on the ops door: a name for audit lines, and a role (DESIGN decision 13). */

/** Each role may do what the ones before it may. */
export const roles = ['viewer', 'operator', 'approver'] as const;
export type Role = (typeof roles)[number];

/** Who asks: the name stands in audit lines. */
export interface Person {
  name: string;
  role: Role;
}

/** The person behind `ops.token`: the sole owner of a small installation, who may do everything. */
export const SOLE_OWNER: Person = { name: 'operator', role: 'approver' };

/** Names that audit lines use already: Puente's own decisions, and all merchants at once. */
export const RESERVED_NAMES: readonly string[] = ['puente', 'all'];

/** Whether a role is enough where `needed` is asked for. */
export function isEnough(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}

/** Who stands in lines that nobody decided. */
export const BY_ITSELF = 'puente';
