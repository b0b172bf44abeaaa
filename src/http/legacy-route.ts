/** Where an operation is found on the legacy door: its method, its paths, and what a path names. */
import { slotOf } from '../core/link.ts';
import type { Operation } from '../mapping/tables.ts';

/** Allow-list of everything a path parameter may be before it reaches a table or a path (`reliability.md` F76). */
const PATH_VALUE = /^[A-Za-z0-9_-]{1,64}$/;

/** Whether a path parameter may reach a table or a path. */
export function isPathValue(value: string): boolean {
  return PATH_VALUE.test(value);
}

/** The slot of the unit that a path names by itself. */
export function slotNamed({ device_id, external_pos_id }: Record<string, string>): string | null {
  const [family, unit] = device_id === undefined ? (['qr', external_pos_id] as const) : (['point', device_id] as const);
  return unit !== undefined && isPathValue(unit) ? slotOf(family, unit) : null;
}

/** The path parameters of a request, by name. */
export function pathValues(parameters: Record<string, string | string[]>): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) values[name] = String(value);
  return values;
}

/**
 * Official clients end some paths of payments with a slash, and legacy took it on all of them, and on merchant orders
 * (`legacy-qr.md` §2, §3). It took it on sales too (DESIGN decision 12), and work on a unit that went by unseen could be a
 * second charge.
 */
export function pathsOf({ family, path }: Operation): string[] {
  const isOfUnit = family === 'point' || family === 'qr' || family === 'qr_v1';
  const mayEndSo = isOfUnit || family === 'payments' || /^\/merchant_orders\/./.test(path);
  return mayEndSo ? [path, `${path}/`] : [path];
}

/** The name of the router's method for an operation. */
export function methodOf(operation: Operation): 'get' | 'post' | 'patch' | 'put' | 'delete' {
  return operation.method.toLowerCase() as 'get' | 'post' | 'patch' | 'put' | 'delete'; // lower case of a closed list
}
