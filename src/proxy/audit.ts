/** The audit chain: each line's hash covers the line before it, so that a changed or missing line shows (P16). */
import { createHash } from 'node:crypto';

/** The hash before line 1. */
export const AUDIT_GENESIS = '0'.repeat(64);

/** The head of a chain, or a line whose hash was stored elsewhere. */
export interface ChainMark {
  sequence: number;
  /** Lower-case hex. */
  hash: string;
}

/** Where a chain without lines begins. */
export function chainStart(): ChainMark {
  return { sequence: 0, hash: AUDIT_GENESIS };
}

/** SHA-256 over the previous hash and the line's canonical JSON without its `hash`, hex. */
export function chainHash(previous: string, line: Omit<AuditLine, 'hash'>): string {
  const { sequence, at, who, action, subject, reason, detail } = line;
  const text = canonicalJson({ sequence, at, who, action, subject, reason, detail });
  return createHash('sha256').update(previous).update('\n').update(text).digest('hex');
}

/** JSON with sorted keys and no spaces: equal contents have equal texts. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([first], [second]) => (first < second ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}

// Actions of audit lines: a closed list, so that each has a text in every language.

export const auditActions = [
  'stage',
  'rollback',
  'move proposed',
  'move approved',
  'move declined',
  'move expired',
  'move withdrawn',
  'bulk move started',
  'bulk move aborted',
  'bulk move stopped',
  'bulk move done',
  'ramp proposed',
  'ramp started',
  'ramp approved',
  'ramp paused',
  'ramp resumed',
  'ramp canceled',
  'ramp expired',
  'ramp done',
  'brown-out scheduled',
  'brown-out aborted',
  'merchant settings',
  'file applied',
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
  'mismatch approvals',
  'sale acknowledged',
  'terminal held',
  'incident closed',
  'test alert',
  'replay notice',
  'replay notices',
  'test notice',
  'backup',
  'restored',
  'restored sale',
  'log lost',
  'store transferred',
  'erase',
  'tables',
] as const;
export type AuditAction = (typeof auditActions)[number];

/** An audit line before it is chained; `who`: the name of the ops token, or `puente`. */
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

/** Lines of older versions may have an action that no longer exists. */
export interface AuditLine extends Omit<AuditEntry, 'action'> {
  action: string;
  sequence: number;
  hash: string;
}
