/** Changes between the captured result of a call and today's, by path, and grouped by signature. */
import { isExactNumber, stringifyJson } from '../../contract/json.ts';
import type { Exchange } from '../../proxy/evidence/exchange.ts';
import { signatureOf } from '../../proxy/shadow/shadow.ts';

/**
 * `operation`: another one, or none. `verdict`: of a shadow. `refusal`: refused or not, or with another error.
 * `upstream`: the request. `loss`: a field is lost now, or no longer. `answer`: the answer to the till.
 */
type ChangeKind = 'operation' | 'verdict' | 'refusal' | 'upstream' | 'loss' | 'answer';

export interface Change {
  what: ChangeKind;
  /** Path in the value; '' for the whole. `[]` is any element of a list. */
  path: string;
  /** The captured and today's value: JSON text, or words. */
  before: string;
  after: string;
  /** Both without sentences, where they have some; part of the signature. */
  kind?: string;
}

export interface ChangeGroup extends Omit<Change, 'kind'> {
  signature: string;
  operation: string;
  /** Exchanges that show it. */
  count: number;
  /** The id of the first one. */
  sample: string;
}

/** Characters of each value. */
const MAX_SHOWN = 500;
const NOTHING = 'nothing';

/** Differing paths of two values, each once; key order and trailing zeros are no difference. */
export function changesIn(what: ChangeKind, before: unknown, after: unknown, path = ''): Change[] {
  if (Array.isArray(before) && Array.isArray(after)) {
    const length = Math.max(before.length, after.length);
    const elements = Array.from({ length }, (_, index) => changesIn(what, before[index], after[index], `${path}[]`));
    return eachPathOnce(elements.flat());
  }
  if (isObject(before) && isObject(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
    return keys.flatMap((key) => changesIn(what, before[key], after[key], path === '' ? key : `${path}.${key}`));
  }
  return sameText(before, after) ? [] : [{ what, path, before: shown(before), after: shown(after) }];
}

/** One change of the whole value, or none; long values are cut. @param kind both values without their sentences. */
export function changeOf(what: ChangeKind, before: string, after: string, kind = `${before}, ${after}`): Change[] {
  if (before === after) return [];
  return [{ what, path: '', before: before.slice(0, MAX_SHOWN), after: after.slice(0, MAX_SHOWN), kind }];
}

/** Counts changes by signature. `all` returns the most frequent first. */
export function createChangeGroups() {
  const groups = new Map<string, ChangeGroup>();
  return {
    add({ id, operation }: Exchange, changes: readonly Change[]): void {
      for (const change of changes) {
        const name = operation ?? 'none';
        const path = `${change.what} ${change.path}`;
        const signature = signatureOf({ operation: name, what: 'value', path, kind: kindOf(change) });
        const known = groups.get(signature);
        const { kind: _, ...shown } = change;
        if (known === undefined) groups.set(signature, { ...shown, signature, operation: name, count: 1, sample: id });
        else known.count++;
      }
    },
    all: (): ChangeGroup[] =>
      [...groups.values()].sort((one, other) => other.count - one.count || (one.signature < other.signature ? -1 : 1)),
  };
}

/** Part of the signature: codes of verdicts and refusals, but no field values. */
function kindOf({ what, path, before, after, kind }: Change): string {
  if (path === '') return kind ?? `${before}, ${after}`;
  if (before === NOTHING) return `${what} extra`;
  return after === NOTHING ? `${what} missing` : `${what} other`;
}

function eachPathOnce(changes: readonly Change[]): Change[] {
  const seen = new Set<string>();
  return changes.filter(({ path }) => !seen.has(path) && seen.add(path));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !isExactNumber(value);
}

function sameText(before: unknown, after: unknown): boolean {
  if ((before ?? null) === null || (after ?? null) === null) return (before ?? null) === (after ?? null);
  if (typeof before !== typeof after && !isNumeric(before, after)) return false;
  return isNumeric(before, after) ? plain(before) === plain(after) : stringifyJson(before) === stringifyJson(after);
}

function isNumeric(...values: unknown[]): boolean {
  return values.every((value) => typeof value === 'number' || isExactNumber(value));
}

/** `1.50` equals `1.5`: the two were written by different JSON writers. */
function plain(value: unknown): string {
  const text = String(value);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

function shown(value: unknown): string {
  return value === undefined || value === null ? NOTHING : stringifyJson(value).slice(0, MAX_SHOWN);
}

/** Fields lost only then or only now; all elements of a list are one field. */
export function lossChanges(before: Exchange['losses'], after: Exchange['losses']): Change[] {
  const lost = namesOf(before);
  const losing = namesOf(after);
  return [...new Set([...lost, ...losing])]
    .filter((name) => lost.has(name) !== losing.has(name))
    .sort()
    .map((name) => ({
      what: 'loss',
      path: name,
      before: lost.has(name) ? 'lost' : NOTHING,
      after: losing.has(name) ? 'lost' : NOTHING,
    }));
}

function namesOf(losses: Exchange['losses']): Set<string> {
  return new Set(losses.map(({ table, path }) => `${table} ${path.replaceAll(/\[\d+\]/g, '[]')}`));
}
