/** Every rule of `interface.md` for a create on the orders API that can be told from the order alone, in the order in which they are judged. */
import type { OrderFacts, Rule } from './rule.ts';
import { qrRules } from './rules-qr.ts';
import { serviceRules, siteRules, wholeRules } from './rules-service.ts';
import { shapeRules } from './rules-shape.ts';
import { valueRules } from './rules-values.ts';

/**
 * The first broken rule is the verdict. Nobody has published in which order the service looks: the header and the site
 * come first here, then the shape by its codes, then values, then what several fields say together.
 */
const rules: readonly Rule[] = [...wholeRules, ...siteRules, ...shapeRules, ...valueRules, ...qrRules, ...serviceRules];

/** The rules of one type of order. */
export const rulesOf: Readonly<Record<OrderFacts['type'], readonly Rule[]>> = {
  point: rules.filter((rule) => rule.of !== 'qr'),
  qr: rules.filter((rule) => rule.of !== 'point'),
};
