/** Paths of tables, such as `body.transactions.payments[0].amount`: parsing, reading and writing them. */

/** A key, or the index of an array element; in shapes and proofs `'[]'` is any element. */
export type Path = readonly (string | number)[];

const PATH = /^[\w-]+(?:\[\d+\])*(?:\.[\w-]+(?:\[\d+\])*)*$/;

/** `a.b[0]` as `['a', 'b', 0]`; null for a text of another form. */
export function parsePath(text: string): Path | null {
  if (!PATH.test(text)) return null;
  return text
    .split('.')
    .flatMap((part) => [
      part.replace(/\[.*$/, ''),
      ...[...part.matchAll(/\[(\d+)\]/g)].map((match) => Number(match[1])),
    ]);
}

/** The inverse of `parsePath`. */
export function printPath(path: Path): string {
  return path.reduce<string>((text, segment) => {
    if (segment === '[]') return `${text}[]`;
    if (typeof segment === 'number') return `${text}[${segment}]`;
    return text === '' ? segment : `${text}.${segment}`;
  }, '');
}

/** The path as a client names the property: without its part (`body`, `path`, `query`, `headers`). */
export function propertyName(path: Path): string {
  const [part, ...rest] = path;
  return printPath(rest.length > 0 && ['body', 'path', 'query', 'headers'].includes(String(part)) ? rest : path);
}

/** Any index becomes `'[]'`, so that paths of rows and of shapes compare. */
export function anyElement(path: Path): Path {
  return path.map((segment) => (typeof segment === 'number' ? '[]' : segment));
}

/** True when `outer` is `inner` or one of its ancestors. */
export function contains(outer: Path, inner: Path): boolean {
  return outer.length <= inner.length && outer.every((segment, index) => segment === inner[index]);
}

/** A function that reads the path; undefined where any part is missing. */
export function reader(path: Path): (from: unknown) => unknown {
  const [first, second, third] = path;
  if (path.length === 0) return (from) => from;
  if (path.length === 1) return (from) => step(from, first);
  if (path.length === 2) return (from) => step(step(from, first), second);
  if (path.length === 3) return (from) => step(step(step(from, first), second), third);
  return (from) => {
    let value = from;
    for (const segment of path) value = step(value, segment);
    return value;
  };
}

/** Paths come from proved tables, never from a request, so no key reaches a prototype. */
function step(from: unknown, segment: string | number | undefined): unknown {
  if (from === null || typeof from !== 'object' || segment === undefined) return undefined;
  return (from as Record<string | number, unknown>)[segment]; // an object or an array
}

/** True when a request has a value there, in any element where the path goes through lists. */
export function hasValue(source: unknown, path: Path): boolean {
  const [segment, ...rest] = path;
  if (segment === undefined) return source !== undefined && source !== null;
  if (source === null || typeof source !== 'object') return false;
  if (segment === '[]') return Array.isArray(source) && source.some((one) => hasValue(one, rest));
  return hasValue((source as Record<string | number, unknown>)[segment], rest); // an object or an array
}

type Container = Record<string | number, unknown>;

/** A function that writes at the path, making the objects and arrays on the way. */
export function writer(path: Path): (target: Record<string, unknown>, value: unknown) => void {
  const last = path.at(-1) as string | number; // no table writes at the root
  const way = path.slice(0, -1).map((segment, index) => ({ segment, list: typeof path[index + 1] === 'number' }));
  return (target, value) => {
    let at: Container = target;
    for (const { segment, list } of way) {
      let next = at[segment] as Container | undefined; // made here, or by an earlier row of the same table
      if (next === undefined) {
        next = (list ? [] : {}) as Container; // an array takes its indexes as keys
        at[segment] = next;
      }
      at = next;
    }
    at[last] = value;
  };
}

// Paths of operations as patterns: a part that begins with a colon matches any value.

/** Patterns of the tables, split once: each call that has no operation is matched against all of them. */
const split = new Map<string, readonly string[]>();

function partsOf(pattern: string): readonly string[] {
  const known = split.get(pattern) ?? pattern.split('/');
  split.set(pattern, known);
  return known;
}

/** Matches many patterns against one path, without its query: the values of a pattern's `:names`; null where it differs or a value is empty. */
export function matcherOf(path: string): (pattern: string) => Record<string, string> | null {
  const given = (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path).split('/');
  return (pattern) => {
    const wanted = partsOf(pattern);
    if (wanted.length !== given.length) return null;
    const found: Record<string, string> = {};
    for (const [index, part] of wanted.entries()) {
      const value = given[index] as string; // equal lengths
      if (part.startsWith(':') && value !== '') found[part.slice(1)] = value;
      else if (part !== value) return null;
    }
    return found;
  };
}
