/** The countries of the orders API: their currencies, and the orders that exist there. */

export const siteIds = ['MLA', 'MLB', 'MLM', 'MLC', 'MLU'] as const;
export type SiteId = (typeof siteIds)[number];
export type Exponent = 0 | 2;

export interface Site {
  site_id: SiteId;
  country_alpha3: string;
  country_alpha2: string;
  currency: string;
  /** Decimals of the currency (`docs/field-notes.md` Orders §10). */
  exponent: Exponent;
  /** Whether the orders API has terminals there (`docs/field-notes.md` Orders §5). */
  has_terminals: boolean;
  /** By the enum of currencies (`docs/field-notes.md` Spec Order), which lacks Mexico's. */
  has_qr: boolean;
  /** Smallest order amount seen live, in minor units; null where none was seen (`docs/field-notes.md` Orders §10). */
  minimum_minor: number | null;
}

export const sites: Readonly<Record<SiteId, Site>> = {
  MLA: site('MLA', 'ARG', 'AR', 'ARS', { minimum_minor: 1500 }),
  MLB: site('MLB', 'BRA', 'BR', 'BRL'),
  MLM: site('MLM', 'MEX', 'MX', 'MXN', { minimum_minor: 500, has_qr: false }),
  MLC: site('MLC', 'CHL', 'CL', 'CLP', { exponent: 0 }),
  MLU: site('MLU', 'URY', 'UY', 'UYU', { has_terminals: false }),
};

function site(
  site_id: SiteId,
  country_alpha3: string,
  country_alpha2: string,
  currency: string,
  special: Partial<Site> = {},
): Site {
  const usual = { exponent: 2, has_terminals: true, has_qr: true, minimum_minor: null } as const;
  return { site_id, country_alpha3, country_alpha2, currency, ...usual, ...special };
}
