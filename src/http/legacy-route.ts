/** Where an operation is found on the legacy door: its method, its paths, and what a path names. */
import { type RequestHandler, Router } from 'express';
import { slotOf } from '../core/link.ts';
import type { Operation } from '../mapping/tables.ts';

export interface NarrowRouters {
  add(operation: Operation, handler: RequestHandler): void;
  /** Leaves what is no operation's to the next handler. */
  handle: RequestHandler;
}

/** One router for each method and first part of a path: walked through one by one, seventy patterns cost every call 10 µs. */
export function narrowRouters(): NarrowRouters {
  const make = (): Router => Router({ caseSensitive: true, strict: true });
  const narrow = new Map<string, Router>();
  /** For HEAD, which Express answers as GET. */
  const all = make();
  return {
    add(operation, handler) {
      const start = startOf(operation.method, operation.path);
      const router = narrow.get(start) ?? make();
      narrow.set(start, router);
      for (const one of [router, all]) one[methodOf(operation)](pathsOf(operation), handler);
    },
    handle(request, response, next) {
      const { method, url } = request;
      const router = method === 'HEAD' ? all : narrow.get(startOf(method, url));
      if (router === undefined) next();
      else router(request, response, next);
    },
  };
}

/** `GET /v1`; operations have no parameter there. */
function startOf(method: string, target: string): string {
  return `${method} ${/^\/[^/?]*/.exec(target)?.[0]}`;
}

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
  for (const name in parameters) {
    const value = parameters[name];
    if (value !== undefined) values[name] = String(value);
  }
  return values;
}

/**
 * Official clients end some paths of payments with a slash, and legacy took it on all of them, and on merchant orders
 * (`legacy-qr.md` §2, §3). It took it on sales too (DESIGN decision 12), and work on a unit that went by unseen could be a
 * second charge.
 */
function pathsOf({ family, path }: Operation): string[] {
  const isOfUnit = family === 'point' || family === 'qr' || family === 'qr_v1';
  const mayEndSo = isOfUnit || family === 'payments' || /^\/merchant_orders\/./.test(path);
  return mayEndSo ? [path, `${path}/`] : [path];
}

/** The name of the router's method for an operation. */
function methodOf(operation: Operation): 'get' | 'post' | 'patch' | 'put' | 'delete' {
  return operation.method.toLowerCase() as 'get' | 'post' | 'patch' | 'put' | 'delete'; // lower case of a closed list
}
