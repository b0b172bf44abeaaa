/** Drift: what people changed by hand since a file of merchants was last applied; read from the audit chain. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Spoken } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { AuditAction, AuditLine } from '../../proxy/audit.ts';
import { yieldToEventLoop } from '../../proxy/concurrency.ts';
import type { RoutedKind } from '../../proxy/routing/merchant.ts';
import { changeOf } from '../audit.ts';
import { defined, iso, said, time } from '../fields.ts';
import { joined } from '../moves/bulk.ts';
import type { Ports } from '../ports.ts';

/** Applies that are read at once. */
const PAGE = 50;
/** Last lines of a merchant: more than people write between two applies. */
const MOST_LINES = 500;

/** The action of the line that an apply writes before its changes, with the merchants of the file. */
export const APPLIED = 'file applied' satisfies AuditAction;

export interface Apply {
  sequence: number;
  /** Epoch ms. */
  at: number;
  who: string;
  file: string;
  sha256: string;
  merchants: ReadonlySet<unknown>;
  /** By merchant: the fields of its steps, which did not yet stand as the file wanted when the line was written. */
  open: ReadonlyMap<string, readonly unknown[]>;
}

/** Among the open fields: nothing of the merchant was looked at. */
export const ALL_FIELDS = '*';

/** Newest first, as far back as one that found each of these merchants as its file wanted. */
export async function lastApplies({ store }: Ports, merchants: readonly string[]): Promise<Apply[]> {
  const sought = new Set(merchants);
  const applies: Apply[] = [];
  for (;;) {
    const before = applies.at(-1)?.sequence;
    const lines = await store.audit.auditsOf(defined({ action: APPLIED, before }), PAGE);
    applies.push(...lines.map(applyOf));
    for (const { merchants: its, open } of applies.slice(-lines.length))
      for (const id of sought) if (its.has(id) && !open.has(id)) sought.delete(id);
    if (lines.length < PAGE || sought.size === 0) return applies;
    await yieldToEventLoop();
  }
}

function applyOf({ sequence, at, who, detail: { file, sha256, merchants, open } }: AuditLine): Apply {
  return {
    ...{ sequence, at, who },
    ...{ file: String(file), sha256: String(sha256) },
    merchants: new Set(Array.isArray(merchants) ? merchants : []),
    open: new Map(Object.entries(factsOf(open)).map(([id, fields]) => [id, Array.isArray(fields) ? fields : []])),
  };
}

const CHANGES: readonly string[] = ['stage', 'rollback', 'merchant settings'] satisfies AuditAction[];

/** What became of a merchant: the applies that named it, and its changes by files and by hand; each newest first. */
export interface Since {
  merchant_id: string;
  applies: readonly Apply[];
  lines: readonly AuditLine[];
}

/**
 * By hand is also by ramps and bulk moves. A move that a file proposed and a person approved is the file's.
 * @param applies newest first.
 */
export async function changedSince({ store }: Ports, merchant_id: string, applies: readonly Apply[]): Promise<Since> {
  const own = applies.filter(({ merchants }) => merchants.has(merchant_id));
  if (own.length === 0) return { merchant_id, applies: [], lines: [] };
  const lines = await store.audit.auditsOf({ subject: merchant_id }, MOST_LINES);
  return { merchant_id, applies: own, lines: lines.filter(({ action }) => CHANGES.includes(action)) };
}

export const driftView = z.object({
  drifted: z.array(
    z.object({
      merchant_id: z.string(),
      name: z.string().nullable(),
      file: z.string().describe('that was last applied to it'),
      applied_at: time,
      drift: z.array(z.string()).describe('what was changed by hand since'),
      drift_said: z.array(said),
    }),
  ),
});

/** All merchants that are not as the file that was last applied to them left them, without the file. */
export async function viewDrift(ports: Ports): Promise<z.infer<typeof driftView>> {
  const merchants = await ports.store.merchants.merchants();
  const applies = await lastApplies(
    ports,
    merchants.map(({ id }) => id),
  );
  const drifted: z.infer<typeof driftView>['drifted'] = [];
  for (const { id: merchant_id, settings } of merchants) {
    const since = await changedSince(ports, merchant_id, applies);
    const [last] = since.applies;
    const by_hand = since.lines.filter((line) => !isOfFile(line));
    const fields = by_hand.flatMap(({ detail }) => [...Object.keys(factsOf(detail.after)), ...secretsIn(detail)]);
    const found = [...new Set(fields)].flatMap((field) => driftOf(since, [field]) ?? []);
    const drift = [...new Map(found.map((one) => [one.text, one])).values()];
    if (last !== undefined && drift.length > 0)
      drifted.push({
        ...{ merchant_id, name: settings.name, file: last.file, applied_at: iso(last.at) },
        ...{ drift: drift.map(({ text }) => text), drift_said: drift.map((one) => one.said) },
      });
    await yieldToEventLoop();
  }
  return { drifted };
}

/** The fields of the facts of a move's audit line that say where it leads. */
export function fieldsOfMove(kind: RoutedKind | null): string[] {
  return [kind ?? 'share', 'stage', 'units_in', 'units_out'];
}

/**
 * The sentence about the newest change by hand that left one of these fields other than a file had left it; null for none.
 * @param fields as the facts of audit lines name them.
 */
export function driftOf(since: Since, fields: readonly string[]): Spoken | null {
  const drifted = fields.flatMap((field) => {
    const from = appliedAt(since, field);
    if (from === null) return [];
    const touching = since.lines.filter((line) => line.sequence > from && !isOfFile(line) && touches(line, field));
    const [newest, oldest] = [touching[0], touching.at(-1)];
    if (newest === undefined || oldest === undefined) return [];
    const [applied, now] = [factsOf(oldest.detail.before)[field] ?? null, factsOf(newest.detail.after)[field] ?? null];
    // A URL is recorded without its path, and a secret not at all: equal facts prove nothing.
    const is_back = field !== 'notice_url' && !isSecret(newest.detail, field) && isDeepStrictEqual(applied, now);
    return is_back ? [] : [newest];
  });
  const [newest] = drifted.toSorted((one, other) => other.sequence - one.sequence);
  if (newest === undefined) return null;
  const change = joined(changeOf(newest).change_said, 'bulk.changes');
  return say('plan.drift', { change, name: newest.who, changed_at: iso(newest.at) });
}

/**
 * The sequence of the last line since which the field was as a file wants it: an apply that found it so, or the change
 * that a file made. A step that an apply left unmade (refused, held, proposed, not reached) has no such line.
 */
function appliedAt({ merchant_id, applies, lines }: Since, field: string): number | null {
  const found = applies.find(({ open }) => {
    const fields = open.get(merchant_id) ?? [];
    return !fields.includes(field) && !fields.includes(ALL_FIELDS);
  });
  const made = lines.find((line) => isOfFile(line) && isMadeBy(line, field));
  const sequences = [found, made].flatMap((one) => one?.sequence ?? []);
  return sequences.length === 0 ? null : Math.max(...sequences);
}

/** A move sets all its fields, also those that did not differ; a move of one kind leaves the merchant's stage alone. */
function isMadeBy(line: AuditLine, field: string): boolean {
  const { action, detail } = line;
  if (action !== 'stage') return touches(line, field);
  const { kind } = factsOf(detail.target);
  if (typeof kind !== 'string') return fieldsOfMove(null).includes(field) || touches(line, field);
  return [kind, 'units_in', 'units_out'].includes(field);
}

function touches({ detail }: AuditLine, field: string): boolean {
  return Object.hasOwn(factsOf(detail.after), field) || isSecret(detail, field);
}

function isOfFile({ detail: { sha256 } }: AuditLine): boolean {
  return typeof sha256 === 'string';
}

function factsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}; // the facts of a line are JSON
}

function isSecret(detail: AuditLine['detail'], field: string): boolean {
  return secretsIn(detail).includes(field);
}

function secretsIn({ secrets }: AuditLine['detail']): string[] {
  return Array.isArray(secrets) ? secrets.map(String) : [];
}
