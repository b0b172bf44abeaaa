/** What the service would answer to an order, judged by the rules: the exact status and code, or null when it would take it. */
import { type Fields, isObject, type OrderFacts, type PredictedCode, type Rule } from './rule.ts';
import { serviceRules, shapeRules, siteRules, wholeRules } from './rules-shape.ts';
import { qrRules, valueRules } from './rules-values.ts';

export interface Prediction {
  status: Rule['status'];
  code: PredictedCode;
  /** The property to blame, `[]` for any element; '' for the whole order. */
  path: string;
  /** What the service would say. */
  message: string;
  /** One sentence: the rule, on which field. Never a value. */
  detail: string;
}

/**
 * The first broken rule of `rules.ts`. What hangs on the state of things can't be predicted and counts as fine: a busy
 * terminal or till, a key or a reference that was used before, a token, a terminal or a till that is not the seller's.
 * @param order as it would be sent: a JSON value.
 */
export function predict(order: unknown, facts: Omit<OrderFacts, 'type'>): Prediction | null {
  const fields: Fields = isObject(order) ? order : {};
  const known: OrderFacts = { ...facts, type: typeOf(fields) };
  for (const { rule, segments } of compiled[known.type]) {
    const culprit = breach(rule, segments, 0, order, known, fields);
    if (culprit !== null) return told(rule, culprit, known);
  }
  return null;
}

/** The error body in which the service would say it (`docs/field-notes.md` Orders §1.5). */
export function predictedBody({ code, message, path }: Prediction): unknown {
  return { errors: [{ code, message, ...(path === '' ? {} : { details: [path.replaceAll('[]', '[0]')] }) }] };
}

/** An order without a type is judged as what its config says. */
function typeOf({ type, config }: Fields): OrderFacts['type'] {
  if (type === 'point' || type === 'qr') return type;
  return isObject(config) && config.qr !== undefined ? 'qr' : 'point';
}

interface Compiled {
  rule: Rule;
  segments: readonly string[];
}

/** Paths are split once: `items[].title` is `items`, `[]`, `title`. */
const compile = (rule: Rule): Compiled => ({ rule, segments: rule.path.match(/\[\]|[^.[\]]+/g) ?? [] });

/** The key to blame inside the place, '' for the place itself; null when the rule holds everywhere. */
function breach(
  rule: Rule,
  segments: readonly string[],
  depth: number,
  value: unknown,
  facts: OrderFacts,
  order: Fields,
): string | null {
  const segment = segments[depth];
  if (segment === undefined) {
    if (value === undefined && rule.demands === undefined) return null;
    return rule.holds(value, facts, order) ? null : (rule.culprit?.(value) ?? '');
  }
  if (segment !== '[]') return isObject(value) ? breach(rule, segments, depth + 1, value[segment], facts, order) : null;
  if (!Array.isArray(value)) return null;
  for (const element of value) {
    const culprit = breach(rule, segments, depth + 1, element, facts, order);
    if (culprit !== null) return culprit;
  }
  return null;
}

function told(rule: Rule, culprit: string, facts: OrderFacts): Prediction {
  const { status, code, why } = rule;
  // A key that the rules don't know is the caller's own word, and is told without its value.
  const path = culprit === '' ? rule.path : rule.path === '' ? culprit : `${rule.path}.${culprit}`;
  const message = rule.says?.(facts) ?? why;
  return { status, code, path, message, detail: `${path === '' ? 'order' : path}: ${why}` };
}

// Every rule of the specification (`docs/field-notes.md` Spec) for a create on the orders API that can be told from the order alone, in the order in
// which they are judged.

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

const compiled: Readonly<Record<OrderFacts['type'], readonly Compiled[]>> = {
  point: rulesOf.point.map(compile),
  qr: rulesOf.qr.map(compile),
};
