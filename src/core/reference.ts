/** References upstream: the client's own when it fits and is new, a derived one otherwise (DESIGN decision 5). */
import { ORDER_REFERENCE } from '../contract/identifiers.ts';

/** Marks derived references, so that a restored database recognises its own orders (`reliability.md` §3.2). */
const PREFIX = 'pnt';

/** True when the client's reference may go upstream as it is, were it unused. */
export function fitsUpstream(reference: string | undefined): reference is string {
  return reference !== undefined && ORDER_REFERENCE.test(reference);
}

/** 35 characters of `[A-Za-z0-9]`, unique because the legacy id is. */
export function derivedReference(legacy_id: string): string {
  return PREFIX + legacy_id.replaceAll('-', '');
}
