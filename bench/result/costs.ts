/** The main thread's time: a CPU profile, summed by the owner of the work. */
import { readFileSync } from 'node:fs';
import type { Profiler } from 'node:inspector/promises';
import { tableOf } from './table.ts';

export interface Cost {
  arrangement: string;
  case_name: string;
  in_flight: number;
  contestant: string;
  /** µs per request, by owner. */
  us: Record<string, number>;
}

/**
 * The owner of a file, by the first match. Time in Node and V8 counts for its caller, so a socket write counts for its
 * writer; only work without a caller, such as reading sockets, is Node's own.
 */
const OWNERS: readonly (readonly [RegExp, string])[] = [
  [/\/node_modules\/(?:express|router|path-to-regexp|parseurl|finalhandler|debug)\//, 'Express'],
  [/\/node_modules\/(?:http-proxy-middleware|httpxy|is-glob|is-extglob|micromatch)\//, 'http-proxy-middleware'],
  [/\/node_modules\/(?:pino|sonic-boom|quick-format-unescaped)\//, 'pino'],
  [/\/node_modules\/(@[^/]+\/[^/]+|[^/]+)/, '$1'],
  [/\/src\/store\/sqlite\/reader\.ts$/, 'reads of the database'],
  [/\/src\/store\/sqlite\//, 'to and from the writer thread'],
  [/\/src\/proxy\/evidence\//, 'evidence'],
  [/\/src\/proxy\/vault\.ts$/, 'sealing and fingerprints'],
  [/\/src\/(proxy\/[^/.]+|[^/]+)/, 'src/$1'],
];
/** The profiler's own work, which counts for no owner. */
const PROBE = /\/contestants\/probe\.ts$/;
const GARBAGE = 'garbage collection';
const NODE = 'Node and V8';

/**
 * @param file a CPU profile as V8 writes it.
 * @param requests number served meanwhile.
 * @returns µs per request, by owner; idle time is left out.
 */
export function costOf(file: string, requests: number): Record<string, number> {
  const profile: Profiler.Profile = JSON.parse(readFileSync(file, 'utf8')); // written by our probe
  const owners = ownersOf(profile);
  const us: Record<string, number> = {};
  for (const [index, node] of (profile.samples ?? []).entries()) {
    const owner = owners.get(node) ?? null;
    if (owner !== null) us[owner] = (us[owner] ?? 0) + (profile.timeDeltas?.[index] ?? 0) / requests;
  }
  return us;
}

/** Owner of each node of the profile; null where nothing ran, or only the profiler. */
function ownersOf({ nodes }: Profiler.Profile): ReadonlyMap<number, string | null> {
  const owners = new Map<number, string | null>();
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const walk = (id: number, caller: string): void => {
    const node = byId.get(id);
    if (node === undefined || PROBE.test(node.callFrame.url)) return;
    const { functionName, url } = node.callFrame;
    const owner = functionName === '(garbage collector)' ? GARBAGE : (ownerOf(url) ?? caller);
    owners.set(id, functionName === '(idle)' ? null : owner);
    for (const child of node.children ?? []) walk(child, owner);
  };
  for (const { id, callFrame } of nodes) if (callFrame.functionName === '(root)') walk(id, NODE);
  return owners;
}

/** Null for a file of Node itself, and for native code. */
function ownerOf(url: string): string | null {
  for (const [pattern, owner] of OWNERS) {
    const found = pattern.exec(url);
    if (found !== null) return owner.replace('$1', found[1] ?? '');
  }
  return url.startsWith('file:') ? 'the contestant' : null;
}

/** Smaller costs are summed up. */
const SHOWN_US = 1;

export function renderCosts(costs: readonly Cost[]): string {
  const groups = Map.groupBy(costs, (one) => `${one.arrangement}, ${one.case_name}, ${one.in_flight} in flight`);
  return [...groups]
    .map(([what, group]) => `Main thread, µs for one request: ${what}\n${tableOfCosts(group)}`)
    .join('\n\n');
}

function tableOfCosts(group: readonly Cost[]): string {
  const table = tableOf(['whose', ...group.map(({ contestant }) => contestant)], 1);
  const highest = (owner: string): number => Math.max(...group.map(({ us }) => us[owner] ?? 0));
  const owners = [...new Set(group.flatMap(({ us }) => Object.keys(us)))].toSorted((a, b) => highest(b) - highest(a));
  const [shown, small] = [
    owners.filter((one) => highest(one) >= SHOWN_US),
    owners.filter((one) => highest(one) < SHOWN_US),
  ];
  const sum = (us: Cost['us'], of: readonly string[]): string =>
    of.reduce((total, owner) => total + (us[owner] ?? 0), 0).toFixed(1);
  for (const owner of shown) table.push([owner, ...group.map(({ us }) => sum(us, [owner]))]);
  table.push([`${small.length} more`, ...group.map(({ us }) => sum(us, small))]);
  table.push(['in all', ...group.map(({ us }) => sum(us, owners))]);
  return table.toString();
}
