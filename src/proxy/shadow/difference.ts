/** Differences between the sides: their signatures, and what is kept of the two values. */
import { createHash } from 'node:crypto';
import { stringifyJson } from '../../contract/json.ts';
import type { DifferenceSeen } from '../records/evidence.ts';

/** Kept of each side (`DifferenceSeen`). */
const MAX_SHOWN = 500;

/** What makes a difference the same as another: never a value, and never a place in a list. */
export interface DifferenceKind {
  operation: string;
  what: DifferenceSeen['what'];
  path: string;
  /** `missing`, or which code on which rule. */
  kind: string;
}

/** 16 hex digits. */
export function signatureOf({ operation, what, path, kind }: DifferenceKind): string {
  const text = [operation, what, withoutIndexes(path), withoutIndexes(kind)].join('\n');
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function withoutIndexes(text: string): string {
  return text.replaceAll(/\[\d+\]/g, '[]');
}

/** A value as it may be shown: redacted under its own name, as JSON, cut. */
export function shown(redact: (value: unknown) => unknown, path: string, value: unknown): string {
  if (value === undefined) return 'nothing';
  const name = path.replaceAll('[]', '').split('.').at(-1) ?? '';
  const clean = redact({ [name]: value }) as Record<string, unknown>; // a redactor keeps objects objects
  return stringifyJson(clean[name] ?? Object.values(clean)[0] ?? null).slice(0, MAX_SHOWN);
}
