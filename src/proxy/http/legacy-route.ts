/** Where an operation is found on the legacy door: its method, its paths, and what a path names. */
import { type RequestHandler, Router } from 'express';
import { matchPath } from '../../mapping/path.ts';
import type { Operation } from '../../mapping/tables.ts';
import type { OperationKind } from '../evidence/exchange.ts';
import { slotOf } from '../sales/link.ts';

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
      const found: RequestHandler = (request, response, next) => {
        request.url = request.originalUrl; // what is carried goes as it came
        return handler(request, response, next);
      };
      for (const one of [router, all]) one[methodOf(operation)](pathsOf(operation), found);
    },
    handle(request, response, next) {
      const { method, url } = request;
      const plain = plainTarget(url);
      const router = method === 'HEAD' ? all : narrow.get(startOf(method, plain));
      if (router === undefined) return next();
      request.url = plain;
      router(request, response, (error?: unknown) => {
        request.url = url; // what is carried goes as it came
        next(error);
      });
    },
  };
}

/** `GET /v1`; operations have no parameter there. */
function startOf(method: string, target: string): string {
  return `${method} ${/^\/[^/?]*/.exec(target)?.[0]}`;
}

/** What a path may have that its plain spelling has not. */
const SPELLED = /\/\/|\/\.(?=\/|$)|%(?:2d|2e|5f|7e|3[0-9]|[46][1-9a-f]|[57][0-9a])/i;
const ESCAPED_PLAIN = /%(?:2d|2e|5f|7e|3[0-9]|[46][1-9a-f]|[57][0-9a])/gi;

/**
 * The plain spelling of a target: without empty parts and parts that are a dot, and without escapes of characters that need
 * none, which is the same path to every server (RFC 3986 §6.2.2). A till whose base URL ends with a slash sends `//point/…`.
 * @param target path and query as they came; the query stays as it is.
 */
export function plainTarget(target: string): string {
  const mark = target.indexOf('?');
  const path = mark === -1 ? target : target.slice(0, mark);
  if (!SPELLED.test(path)) return target;
  const unescaped = path.replace(ESCAPED_PLAIN, (one) => String.fromCharCode(Number.parseInt(one.slice(1), 16)));
  const plain = unescaped.replaceAll(/(?:\/\.(?=\/|$)|\/(?=\/))/g, '');
  return (plain === '' ? '/' : plain) + (mark === -1 ? '' : target.slice(mark));
}

/** How often a path may be escaped over its escapes before it is taken as it is. */
const MOST_ESCAPES = 4;

/**
 * The path that the boldest of servers could read a target as: escapes of escapes, backslashes, parameters of parts, dots at
 * their ends, letters of other widths and in the other case all taken away. Nothing is routed by it; it tells what must not
 * be carried unread.
 * @param target path and query as they came. @returns lower case, without a slash at its end.
 */
export function boldPath(target: string): string {
  let path = target.split('?', 1)[0] ?? '';
  for (let round = 0; round < MOST_ESCAPES; round++) {
    const before = path;
    path = path.replaceAll(/(?:%u[0-9a-f]{4}|%[0-9a-f]{2}|[\x80-\xff])+/gi, unescaped);
    if (path === before) break;
  }
  const parts: string[] = [];
  for (const part of path.normalize('NFKC').replaceAll('\\', '/').split('/')) {
    const word = part.replace(/[;?#].*$/s, '').replaceAll(/[^\x21-\x7e]/g, '');
    if (word === '..') parts.pop();
    else if (/[^.]/.test(word)) parts.push(word.replace(/\.+$/, ''));
  }
  return `/${parts.join('/')}`.toLowerCase();
}

/** A run of escapes as text: UTF-8, also when it is longer than it need be (`%c1%b0` for `p`), `%u0070`, else byte by byte. */
function unescaped(run: string): string {
  const bytes: number[] = [];
  for (const [, unit, byte, raw] of run.matchAll(/%u([0-9a-f]{4})|%([0-9a-f]{2})|([\x80-\xff])/gi)) {
    if (unit !== undefined) bytes.push(...Buffer.from(String.fromCharCode(Number.parseInt(unit, 16))));
    else bytes.push(byte === undefined ? (raw ?? '').charCodeAt(0) : Number.parseInt(byte, 16));
  }
  const short = Buffer.from(bytes)
    .toString('latin1')
    .replaceAll(/\xe0[\x80\x81]([\x80-\xbf])|([\xc0\xc1])([\x80-\xbf])/g, (_all, _deep, lead?: string, tail = '') =>
      lead === undefined ? '' : String.fromCharCode(((lead.charCodeAt(0) & 1) << 6) | (tail.charCodeAt(0) & 0x3f)),
    );
  const text = Buffer.from(short, 'latin1').toString('utf8');
  return text.includes('\ufffd') ? short : text;
}

/** Below these every unsafe method may make a sale, whatever a table knows. */
const SALES = /^\/(?:point|instore|mpmobile)(?:\/|$)/;

/** What a path is that no route has taken. */
export interface Unrouted {
  /** The boldest reading, in lower case. */
  path: string;
  /** It is not spelled as it would have to be to be read by the tables. */
  is_odd: boolean;
  /** It is below a path at which sales are made. */
  is_of_sales: boolean;
  /** What its unit would be on the word of its path; null where it names none. */
  slot: string | null;
  kind: OperationKind;
}

/** @returns null for a path that has nothing to do with any operation of the tables. */
export function unroutedOf(operations: readonly Operation[], target: string): Unrouted | null {
  const path = boldPath(target);
  const plain =
    plainTarget(target)
      .split('?', 1)[0]
      ?.replace(/(?<=.)\/$/, '') ?? '';
  const is_of_sales = SALES.test(path);
  const named = operations.find((one) => matchPath(one.path, path) !== null);
  if (!is_of_sales && named === undefined) return null;
  const is_misspelled = is_of_sales && (!SALES.test(plain) || plain.toLowerCase() !== path);
  const is_odd =
    is_misspelled || (named !== undefined && !operations.some((one) => matchPath(one.path, plain) !== null));
  return {
    path,
    is_odd,
    is_of_sales,
    slot: slotIn(target),
    kind: named?.kind ?? (path.startsWith('/point') ? 'intents' : 'qr'),
  };
}

/** The unit that a path names by itself, as it is spelled there. */
function slotIn(target: string): string | null {
  const path = plainTarget(target).split('?', 1)[0] ?? '';
  const [, device_id] = /\/devices\/([^/;]+)/i.exec(path) ?? [];
  if (device_id !== undefined) return slotNamed({ device_id });
  const [, external_pos_id] = /\/(?:pos|mpmobile\/instore\/qr\/\d+)\/([^/;]+)/i.exec(path) ?? [];
  return external_pos_id === undefined ? null : slotNamed({ external_pos_id });
}

/** Allow-list of everything a path parameter may be before it reaches a table or a path (`test/faults/README.md` F76). */
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
 * (`docs/field-notes.md` QR §2, §3). It took it on sales too (`docs/architecture.md` Decision 12), and work on a unit that went by unseen could be a
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
