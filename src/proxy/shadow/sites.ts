/** What of the orders API hangs on the site: where there are terminals and QR codes, and the least amount. */

interface SiteFacts {
  has_terminals: boolean;
  has_qr: boolean;
  /** Least amount of an order, minor units; null where nobody has seen one. */
  minimum_minor: number | null;
}

/**
 * Terminals: `orders-api.md` §10. QR: the currencies of `interface.md`, Order; Mexico's is not among them.
 * Least amounts: refusals that were seen live (`orders-api.md` §10).
 */
const sites: Readonly<Record<string, SiteFacts>> = {
  MLA: { has_terminals: true, has_qr: true, minimum_minor: 1500 },
  MLB: { has_terminals: true, has_qr: true, minimum_minor: null },
  MLC: { has_terminals: true, has_qr: true, minimum_minor: null },
  MLM: { has_terminals: true, has_qr: false, minimum_minor: 500 },
  MLU: { has_terminals: false, has_qr: true, minimum_minor: null },
};

/** A site that is not listed has neither. Null where the site is not known: nothing is judged by it then. */
export function siteFacts(site: string | null): SiteFacts | null {
  if (site === null) return null;
  return (Object.hasOwn(sites, site) ? sites[site] : undefined) ?? NOWHERE;
}

const NOWHERE: SiteFacts = { has_terminals: false, has_qr: false, minimum_minor: null };
