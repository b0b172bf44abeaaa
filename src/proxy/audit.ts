/** The audit chain: every line's hash covers the line before it, so that a changed or missing line shows (P16). */

import { createHash } from 'node:crypto';
import type { Spoken } from '../error.ts';
import { say } from '../locales/message.ts';

/** What the first line is chained to. */
export const AUDIT_GENESIS = '0'.repeat(64);

export type AuditVerdict = { intact: true; lines: number } | { intact: false; sequence: number; why: Spoken };

/** Where a chain ends, or a line of it that somebody noted. */
export interface ChainMark {
  sequence: number;
  /** Lower-case hex. */
  hash: string;
}

export interface BrokenLink {
  /** The first line that does not follow from the one before it. */
  sequence: number;
  why: Spoken;
}

/**
 * Checks lines in any order. The oldest one given is taken as the anchor unless it is line 1, so a part of the chain can be
 * checked as well; that lines are missing after the newest one given can't be seen from the lines alone.
 */
export function verifyAudit(lines: readonly AuditLine[]): AuditVerdict {
  const ordered = lines.toSorted((first, second) => first.sequence - second.sequence);
  const oldest = ordered[0];
  let previous = oldest === undefined || oldest.sequence === 1 ? chainStart() : null;
  for (const line of ordered) {
    const broken = previous === null ? null : brokenLink(previous, line);
    if (broken !== null) return { intact: false, ...broken };
    previous = line;
  }
  return { intact: true, lines: ordered.length };
}

/** What line 1 follows. */
export function chainStart(): ChainMark {
  return { sequence: 0, hash: AUDIT_GENESIS };
}

/** What is wrong between a line and the one before it; null when it follows. */
export function brokenLink(previous: ChainMark, line: AuditLine): BrokenLink | null {
  const { sequence } = line;
  if (sequence !== previous.sequence + 1)
    return { sequence, why: say('chain.missing', { line: previous.sequence + 1 }) };
  if (chainHash(previous.hash, line) !== line.hash) return { sequence, why: say('chain.changed', { line: sequence }) };
  return null;
}

/** SHA-256 over the previous hash and the line's canonical JSON, hex; a `hash` that the line already carries is left out. */
export function chainHash(previous: string, line: Omit<AuditLine, 'hash'>): string {
  const { sequence, at, who, action, subject, reason, detail } = line;
  const text = canonicalJson({ sequence, at, who, action, subject, reason, detail });
  return createHash('sha256').update(previous).update('\n').update(text).digest('hex');
}

/** JSON with sorted keys and no spaces, so that one content has one text. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([first], [second]) => (first < second ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}

// What a line of the audit chain can say was done: a closed list, so that each has words in every language.

export const auditActions = [
  'stage',
  'move proposed',
  'move approved',
  'move declined',
  'move expired',
  'move withdrawn',
  'bulk move started',
  'bulk move aborted',
  'bulk move stopped',
  'bulk move done',
  'brown-out scheduled',
  'brown-out aborted',
  'merchant settings',
  'judge difference',
  'safety stop',
  'safety stop observed',
  'safety reset',
  'settle',
  'reconcile',
  'mismatch missing',
  'mismatch stale',
  'mismatch orphan',
  'mismatch amount',
  'mismatch contradiction',
  'mismatch state',
  'terminal held',
  'replay notice',
  'replay notices',
  'backup',
  'restored',
  'restored sale',
  'log lost',
  'store transferred',
  'erase',
] as const;
export type AuditAction = (typeof auditActions)[number];

/** An audit line before it is chained; `who` is the name on the ops token, or `puente` for its own decisions. */
export interface AuditEntry {
  at: number;
  who: string;
  action: AuditAction;
  /** A merchant id or a legacy id. */
  subject: string;
  /** A person's own words, or an encoded message (`readStored`). */
  reason: string;
  /** Facts before and after; never a secret. */
  detail: Record<string, unknown>;
}

/** Lines of older builds may name an action that there is no more. */
export interface AuditLine extends Omit<AuditEntry, 'action'> {
  action: string;
  sequence: number;
  /** SHA-256 over the previous hash and this line's canonical JSON, hex. */
  hash: string;
}
