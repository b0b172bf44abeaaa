/** Predicts upstream's refusal of an order: status and code, or null for an order that it would accept. */
import { isObject, type JsonObject } from '../../contract/json.ts';
import type { OrderFacts, PredictedCode, Rule } from './rule.ts';
import { rulesOf } from './rules.ts';

export interface Prediction {
  status: Rule['status'];
  code: PredictedCode;
  /** The property to blame, `[]` for any element; '' for the whole order. */
  path: string;
  message: string;
  /** One sentence: the rule, on which field. Never a value. */
  detail: string;
  /** The rule without its sentence: its path, and its number among the rules with this path and code. */
  rule: string;
}

/**
 * The first broken rule of `rules.ts`. State can't be predicted and counts as fine: a busy unit, a used key or
 * reference, a token, a unit of another seller.
 */
export function predict(order: unknown, facts: Omit<OrderFacts, 'type'>): Prediction | null {
  const fields: JsonObject = isObject(order) ? order : {};
  const known: OrderFacts = { ...facts, type: typeOf(fields) };
  for (const compiled of compiledRules[known.type]) {
    const culprit = breach(compiled.rule, compiled.segments, 0, order, known, fields);
    if (culprit !== null) return predictionOf(compiled, culprit, known);
  }
  return null;
}

/** The error body of such a refusal (`docs/field-notes.md` Orders §1.5). */
export function predictedBody({ code, message, path }: Prediction): unknown {
  return { errors: [{ code, message, ...(path === '' ? {} : { details: [path.replaceAll('[]', '[0]')] }) }] };
}

/** Without a type the config decides. */
function typeOf({ type, config }: JsonObject): OrderFacts['type'] {
  if (type === 'point' || type === 'qr') return type;
  return isObject(config) && config.qr !== undefined ? 'qr' : 'point';
}

/** Paths are split once: `items[].title` is `items`, `[]`, `title`. */
const compile = (rule: Rule, _index: number, all: readonly Rule[]) => {
  const alike = all.filter(({ path, code }) => path === rule.path && code === rule.code);
  return { rule, segments: rule.path.match(/\[\]|[^.[\]]+/g) ?? [], id: `${rule.path}#${alike.indexOf(rule) + 1}` };
};
const compiledRules = { point: rulesOf.point.map(compile), qr: rulesOf.qr.map(compile) };

/** The key to blame inside the value, '' for the value itself; null when the rule holds everywhere. */
function breach(
  rule: Rule,
  segments: readonly string[],
  depth: number,
  value: unknown,
  facts: OrderFacts,
  order: JsonObject,
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

function predictionOf({ rule, id }: ReturnType<typeof compile>, culprit: string, facts: OrderFacts): Prediction {
  const { status, code, why } = rule;
  // An unknown key is the caller's own text; it is named without its value.
  const path = [rule.path, culprit].filter((part) => part !== '').join('.');
  const detail = `${path === '' ? 'order' : path}: ${why}`;
  return { status, code, path, message: rule.says?.(facts) ?? why, detail, rule: id };
}
