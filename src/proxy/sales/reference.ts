/** References upstream: the client's own when it fits and is new, a derived one otherwise (DESIGN decision 5). */
import { ORDER_REFERENCE } from '../../contract/identifiers.ts';

/** Marks derived references, so that a restored database recognises its own orders (`reliability.md` §3.2). */
const PREFIX = 'pnt';

/** True when the client's reference may go upstream as it is, were it unused. */
export function fitsUpstream(reference: string): boolean {
  return ORDER_REFERENCE.test(reference);
}

/** The legacy id that a reference was derived from; null for a reference that was not. */
export function legacyIdOf(reference: string): string | null {
  const hex = /^pnt([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/.exec(reference);
  return hex === null ? null : hex.slice(1).join('-');
}

/** 35 characters of `[A-Za-z0-9]`, unique because the legacy id is. */
export function derivedReference(legacy_id: string): string {
  return PREFIX + legacy_id.replaceAll('-', '');
}
