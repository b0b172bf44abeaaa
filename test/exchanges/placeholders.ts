/** The `<names>` of golden exchanges: values that differ in every run, filled in if known, learned when first seen. */

export type Names = Record<string, string>;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Synthetic numbers have sixteen digits (`proxy/ids.ts`); a payment has upstream's number where there is one. */
const MINTED = /^8\d{15}$/;
const OFFSET_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}(?:Z|[+-]\d{2}:\d{2})$/;

/** The form of a value that may be learned under a name. */
const forms: Readonly<Record<string, RegExp>> = {
  intent: UUID,
  'merchant order': MINTED,
  preference: /^\d+-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  payment: /^\d{8,16}$/,
  refund: /^\d{1,16}$/,
  'offset time': OFFSET_TIME,
  'later time': OFFSET_TIME,
  reference: /^pnt[0-9a-f]{32}$/,
  key: /^[\w-]{16,64}$/,
  'other key': /^[\w-]{16,64}$/,
  'created at': /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/,
  'created on': /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/,
  'request id': UUID,
  signature: /^ts=\d{10}(?:\d{3})?,v1=[0-9a-f]{64}$/,
};

const NAME = /<([a-z][a-z0-9 ]*)>/g;

/** A copy with every known name filled in; a text `<merchant number>` becomes the value of `<merchant>` as a number. */
export function fill<Template>(template: Template, names: Names): Template {
  return filled(template, names) as Template; // the same structure with other texts
}

function filled(template: unknown, names: Names): unknown {
  if (typeof template === 'string') {
    const number = names[numberName(template) ?? ''];
    if (number !== undefined) return Number(number);
    return template.replaceAll(NAME, (whole, name: string) => names[name] ?? whole);
  }
  if (Array.isArray(template)) return template.map((item) => filled(item, names));
  if (template === null || typeof template !== 'object') return template;
  return Object.fromEntries(Object.entries(template).map(([key, item]) => [key, filled(item, names)]));
}

/** Learns each value in the place of an unknown name, if it has the form of that name. */
export function learn(template: unknown, actual: unknown, names: Names): void {
  if (typeof template === 'string') {
    const name = typeof actual === 'number' ? numberName(template) : /^<([a-z][a-z0-9 ]*)>$/.exec(template)?.[1];
    const form = forms[(name ?? '').replace(/^new /, '')];
    if (name !== null && name !== undefined && names[name] === undefined && form?.test(String(actual)))
      names[name] = String(actual);
    return;
  }
  if (template === null || typeof template !== 'object' || actual === null || typeof actual !== 'object') return;
  const seen = actual as Record<string, unknown>; // an object or an array, read by key
  for (const [key, item] of Object.entries(template)) learn(item, seen[key], names);
}

/** The name in `<name number>`, a JSON number; null for any other text. */
function numberName(template: string): string | null {
  return /^<([a-z][a-z0-9 ]*) number>$/.exec(template)?.[1] ?? null;
}
