/** The contract schemas that a table may name in `from` and `to`. */
import { z } from 'zod';
import { legacyHeaders } from '../contract/legacy-body.ts';
import * as point from '../contract/legacy-point.ts';
import * as qr from '../contract/legacy-qr.ts';
import * as merchantOrders from '../contract/merchant-orders.ts';
import * as orders from '../contract/orders.ts';
import * as payments from '../contract/payments.ts';
import * as terminals from '../contract/terminals.ts';
import { contextSchema } from './context.ts';
import type { Path } from './path.ts';

export interface Contract {
  name: string;
  schema: z.ZodType;
  shape: Shape;
}

const schemas = new Map<string, unknown>([
  ...[point, qr, merchantOrders, orders, payments, terminals].flatMap((contract) => Object.entries<unknown>(contract)),
  ['nothing', z.object({})],
  ['context', contextSchema],
  ['legacyHeaders', legacyHeaders],
]);

/** Every name that a table may give in `from` and `to`. */
export const contractNames: readonly string[] = [...schemas]
  .filter(([, schema]) => schema instanceof z.ZodType)
  .map(([name]) => name);

const known = new Map<string, Contract>();

/** Null when tables may not name it. `nothing` has no fields, `context` is `context.ts`. */
export function contractOf(name: string): Contract | null {
  const schema = schemas.get(name);
  if (!(schema instanceof z.ZodType)) return null;
  const contract = known.get(name) ?? { name, schema, shape: shapeOf(schema) };
  known.set(name, contract);
  return contract;
}

// The shape of a contract schema, as a tree for the proofs.

export interface Shape {
  /** `any`: the schema allows everything, so every path below exists. */
  kind: 'object' | 'array' | 'leaf' | 'any';
  properties: Map<string, Shape>;
  required: Set<string>;
  /** The object accepts keys that the schema doesn't name. */
  loose: boolean;
  item: Shape | null;
  /** Least number of elements of an array. */
  least: number;
  json: JsonSchema;
}

/** The shape of a schema's input, before its transforms. */
export function shapeOf(schema: z.ZodType): Shape {
  return build(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema); // its own output, narrowed
}

/** A schema that allows everything. */
export function isSilent(schema: JsonSchema): boolean {
  return Object.keys(schema).every((key) => key === '$schema' || key === 'description');
}

export interface JsonSchema {
  [limit: string]: unknown;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  minItems?: number;
  anyOf?: JsonSchema[];
}

function build(schema: JsonSchema): Shape {
  const structured = schema.anyOf?.find((option) => option.type === 'object' || option.type === 'array');
  if (structured) return { ...build(structured), json: schema };
  if (schema.type === 'object') {
    const properties = new Map(Object.entries(schema.properties ?? {}).map(([key, value]) => [key, build(value)]));
    const loose = schema.additionalProperties !== undefined && schema.additionalProperties !== false;
    return {
      kind: 'object',
      properties,
      required: new Set(schema.required),
      loose,
      item: null,
      least: 0,
      json: schema,
    };
  }
  if (schema.type === 'array')
    return { ...plain('array', schema), item: build(schema.items as JsonSchema), least: schema.minItems ?? 0 }; // zod always writes `items`
  return plain(isSilent(schema) ? 'any' : 'leaf', schema);
}

function plain(kind: Shape['kind'], json: JsonSchema): Shape {
  return { kind, properties: new Map(), required: new Set(), loose: false, item: null, least: 0, json };
}

/** Every path at which a value can be, array elements as `'[]'`. */
export function leavesOf(shape: Shape, path: Path = []): Path[] {
  if (shape.kind === 'array' && shape.item) return leavesOf(shape.item, [...path, '[]']);
  if (shape.kind !== 'object' || shape.properties.size === 0) return path.length === 0 ? [] : [path];
  return [...shape.properties].flatMap(([key, value]) => leavesOf(value, [...path, key]));
}

/**
 * Every object that also accepts keys the schema does not name, with the keys that it names; array elements as `'[]'`.
 */
export function looseObjectsOf(shape: Shape, path: Path = []): { path: Path; known: string[] }[] {
  if (shape.kind === 'array' && shape.item) return looseObjectsOf(shape.item, [...path, '[]']);
  const own = shape.loose ? [{ path, known: [...shape.properties.keys()] }] : [];
  return [...own, ...[...shape.properties].flatMap(([key, value]) => looseObjectsOf(value, [...path, key]))];
}

/** Null without such a path; `always` when every step on the way is required. */
export function findIn(shape: Shape, path: Path): { shape: Shape; always: boolean } | null {
  let at = shape;
  let always = true;
  for (const segment of path) {
    if (at.kind === 'any') return { shape: at, always: false };
    const next = typeof segment === 'number' || segment === '[]' ? at.item : at.properties.get(segment);
    if (!next) return null;
    if (typeof segment === 'number') always &&= segment < at.least;
    else if (segment !== '[]') always &&= at.required.has(segment);
    at = next;
  }
  return { shape: at, always };
}
