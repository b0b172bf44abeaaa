/** The person who calls the ops API, with a role (`docs/architecture.md` Decision 13). */
/** The first three ascend: each may also do what those before it may. `rollback`: may roll back by alert, and nothing else. */
export const roles = ['viewer', 'operator', 'approver', 'rollback'] as const;
export type Role = (typeof roles)[number];

export interface Person {
  name: string;
  role: Role;
}

/** The person of `ops.token`: the sole owner of a small installation, with every permission. */
export const SOLE_OWNER: Person = { name: 'operator', role: 'approver' };

/** The name in audit lines of Puente's own decisions. */
export const BY_ITSELF = 'puente';
/** Names with a meaning in audit lines: Puente's own decisions, and all merchants at once. */
export const RESERVED_NAMES: readonly string[] = [BY_ITSELF, 'all'];

/** `rollback` is beside the other roles: it permits nothing else, and every operator may roll back too. */
export function isEnough(role: Role, needed: Role): boolean {
  if (needed === 'rollback') return role === 'rollback' || isEnough(role, 'operator');
  return role !== 'rollback' && roles.indexOf(role) >= roles.indexOf(needed);
}
