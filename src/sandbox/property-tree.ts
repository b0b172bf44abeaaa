/** A tree of the properties that a request may have, and the documented refusal of whatever does not fit it. Source: `interface.md` Errors. */
import type { Json } from '../contract/json.ts';
import type { Problem } from './answer.ts';
import type { Settings } from './assumptions.ts';
import type { Site } from './cast.ts';

export type Fields = { [key: string]: Json };

/** What decides beside the request: the seller's site, what the sandbox was set to, and its time in epoch milliseconds. */
export interface Circumstances {
  site: Site;
  settings: Settings;
  now_ms: number;
}

interface AnyProperty {
  required?: true;
  /** Without it the property is known always. */
  isKnown?: (settings: Settings) => boolean;
}

/** A check of a text answers false or the message of the refusal; a check of an object answers the path of the culprit. */
export type Property =
  | (AnyProperty & { kind: 'string'; check?: (value: string, circumstances: Circumstances) => boolean | string })
  | (AnyProperty & { kind: 'integer'; check?: (value: number) => boolean })
  | ObjectProperty
  | (AnyProperty & { kind: 'array'; min: number; max: (settings: Settings) => number; item: Property });

export interface ObjectProperty extends AnyProperty {
  kind: 'object';
  properties: Record<string, Property>;
  check?: (value: Fields, circumstances: Circumstances) => string | null;
}

/** @returns the refusal of the first kind of fault, in the order of `codesInOrder`, with every path it occurs at. */
export function checkProperties(body: Fields, tree: ObjectProperty, circumstances: Circumstances): Problem | undefined {
  const found: Found[] = [];
  checkObject(body, tree, '', circumstances, found);
  return firstProblem(found);
}

interface Found {
  code: PropertyCode;
  path: string;
  message?: string;
}

/** The first of these that occurs is answered, with every path it occurs at. The live order is not known. */
const codesInOrder = [
  'minimum_properties',
  'unsupported_properties',
  'required_properties',
  'property_type',
  'minimum_items',
  'maximum_items',
  'property_value',
] as const;
export type PropertyCode = (typeof codesInOrder)[number];

const messages: Readonly<Record<PropertyCode, string>> = {
  minimum_properties: 'The minimum number of properties was not sent',
  unsupported_properties: 'The following properties are not supported',
  required_properties: 'The following properties are required',
  property_type: 'The following properties have a wrong type',
  minimum_items: 'Too few items',
  maximum_items: 'Too many items',
  property_value: 'The following value is not valid',
};

/** A 400 with one of the codes about properties. */
export function problemOf(code: PropertyCode, details: string[], message: string = messages[code]): Problem {
  return { status: 400, code, message, details };
}

/** True for a JSON object; an exact number is not one. */
export function isObject(value: Json | undefined): value is Fields {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function checkObject(
  fields: Fields,
  property: ObjectProperty,
  path: string,
  circumstances: Circumstances,
  found: Found[],
): void {
  if (Object.keys(fields).length === 0) {
    found.push({ code: 'minimum_properties', path });
    return;
  }
  const prefix = path === '' ? '' : `${path}.`;
  const known = Object.entries(property.properties).filter(
    ([, { isKnown }]) => isKnown?.(circumstances.settings) ?? true,
  );
  for (const name of Object.keys(fields)) {
    if (!known.some(([other]) => other === name)) found.push({ code: 'unsupported_properties', path: prefix + name });
  }
  for (const [name, child] of known) {
    const value = fields[name];
    if (value !== undefined) checkValue(value, child, prefix + name, circumstances, found);
    else if (child.required) found.push({ code: 'required_properties', path: prefix + name });
  }
  const wrong = property.check?.(fields, circumstances) ?? null;
  if (wrong !== null) found.push({ code: 'property_value', path: prefix + wrong });
}

function checkValue(value: Json, property: Property, path: string, circumstances: Circumstances, found: Found[]): void {
  const add = (code: PropertyCode, message?: string): void => {
    found.push(message === undefined ? { code, path } : { code, path, message });
  };
  if (property.kind === 'object' && isObject(value)) checkObject(value, property, path, circumstances, found);
  else if (property.kind === 'array' && Array.isArray(value)) {
    if (value.length < property.min) add('minimum_items');
    else if (value.length > property.max(circumstances.settings)) add('maximum_items');
    for (const [index, item] of value.entries())
      checkValue(item, property.item, `${path}[${index}]`, circumstances, found);
  } else if (property.kind === 'integer' && typeof value === 'number') {
    if (property.check?.(value) === false) add('property_value');
  } else if (property.kind === 'string' && typeof value === 'string') {
    const verdict = property.check?.(value, circumstances) ?? true;
    if (verdict === false) add('property_value');
    else if (typeof verdict === 'string') add('property_value', verdict);
  } else add('property_type');
}

function firstProblem(found: Found[]): Problem | undefined {
  for (const code of codesInOrder) {
    const same = found.filter((entry) => entry.code === code);
    if (same.length > 0)
      return problemOf(
        code,
        same.map((entry) => entry.path),
        same.find((entry) => entry.message)?.message,
      );
  }
  return undefined;
}
