/** The five countries in which the sandbox's merchants sell. */

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
  /** Smallest order amount seen live, in minor units; null where none was seen (`docs/field-notes.md` Orders §10). */
  minimum_minor: number | null;
}

export const sites: Readonly<Record<SiteId, Site>> = {
  MLA: site('MLA', 'ARG', 'AR', 'ARS', 2, true, 1500),
  MLB: site('MLB', 'BRA', 'BR', 'BRL', 2, true, null),
  MLM: site('MLM', 'MEX', 'MX', 'MXN', 2, true, 500),
  MLC: site('MLC', 'CHL', 'CL', 'CLP', 0, true, null),
  MLU: site('MLU', 'URY', 'UY', 'UYU', 2, false, null),
};

function site(
  site_id: SiteId,
  country_alpha3: string,
  country_alpha2: string,
  currency: string,
  exponent: Exponent,
  has_terminals: boolean,
  minimum_minor: number | null,
): Site {
  return { site_id, country_alpha3, country_alpha2, currency, exponent, has_terminals, minimum_minor };
}
