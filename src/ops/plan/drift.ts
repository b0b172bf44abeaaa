/** Drift: what people changed by hand since a file of merchants was last applied; read from the audit chain. */
import { isDeepStrictEqual } from 'node:util';
import type { Spoken } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { AuditAction, AuditLine } from '../../proxy/audit.ts';
import { changeOf } from '../audit.ts';
import { iso } from '../fields.ts';
import { joined } from '../moves/bulk.ts';
import type { Ports } from '../ports.ts';

/** Applies that are looked back at for the last one that named a merchant: a file for each region, and more. */
const MOST_APPLIES = 50;
/** Lines of a merchant since an apply: more than people write between two. */
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
}

/** Newest first. */
export async function lastApplies({ store }: Ports): Promise<Apply[]> {
  const lines = await store.audit.auditsOf({ action: APPLIED }, MOST_APPLIES);
  return lines.map(({ sequence, at, who, detail: { file, sha256, merchants } }) => ({
    ...{ sequence, at, who },
    ...{ file: String(file), sha256: String(sha256) },
    merchants: new Set(Array.isArray(merchants) ? merchants : []),
  }));
}

const BY_HAND: readonly string[] = ['stage', 'rollback', 'merchant settings'] satisfies AuditAction[];

/**
 * What was changed since the last apply that named the merchant, by hand and by ramps and bulk moves; newest first. A move
 * that a file proposed and a person approved is the file's.
 */
export async function changedSince(ports: Ports, merchant_id: string, applies: readonly Apply[]): Promise<AuditLine[]> {
  const last = applies.find(({ merchants }) => merchants.has(merchant_id));
  if (last === undefined) return [];
  const lines = await ports.store.audit.auditsOf({ subject: merchant_id }, MOST_LINES);
  return lines.filter(
    ({ sequence, action, detail }) => sequence > last.sequence && BY_HAND.includes(action) && !isOfFile(detail),
  );
}

function isOfFile({ sha256 }: AuditLine['detail']): boolean {
  return typeof sha256 === 'string';
}

/**
 * The sentence about the newest change that left one of these fields other than the apply had left it; null for none.
 * @param lines as `changedSince`. @param fields as the facts of audit lines name them.
 */
export function driftOf(lines: readonly AuditLine[], fields: readonly string[]): Spoken | null {
  const drifted = fields.flatMap((field) => {
    const touching = lines.filter(
      ({ detail }) => Object.hasOwn(factsOf(detail.after), field) || isSecret(detail, field),
    );
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

function factsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}; // the facts of a line are JSON
}

function isSecret({ secrets }: AuditLine['detail'], field: string): boolean {
  return Array.isArray(secrets) && secrets.includes(field);
}
