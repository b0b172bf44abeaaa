/** Reads every row back and lays it beside the one that it was made of. */
import { createHash, type Hash } from 'node:crypto';
import { keyOf, type Row, type Shape, textOf } from './rows.ts';
import type { Source } from './source.ts';
import type { Target } from './target.ts';

/** What is done about rows that are not equal, a step at a time; each is left alone where nothing is named. */
export interface Repairs {
  changed?(rows: Row[]): Promise<void>;
  missing?(rows: Row[]): Promise<void>;
  extra?(keys: Row[]): Promise<void>;
}

export interface Compared {
  /** Of the source. */
  rows: number;
  changed: number;
  missing: number;
  /** In the target alone. */
  extra: number;
  /** SHA-256 over the rows in the order of their keys, hex; the same on both sides where every row is equal. */
  source_sha256: string;
  target_sha256: string;
}

/** @param tell rows compared so far. */
export async function compareTable(
  source: Source,
  target: Target,
  shape: Shape,
  repairs: Repairs,
  tell: (rows: number) => void,
): Promise<Compared> {
  const hashes = { source: createHash('sha256'), target: createHash('sha256') };
  const counts = { rows: 0, changed: 0, missing: 0 };
  for (let key: Row | null = null; ; ) {
    const rows = source.after(shape, key);
    const last = rows.at(-1);
    if (last === undefined) break;
    key = keyOf(shape, last);
    const { changed, missing } = await compareStep(target, shape, rows, hashes);
    counts.rows += rows.length;
    counts.changed += changed.length;
    counts.missing += missing.length;
    if (changed.length > 0) await repairs.changed?.(changed);
    if (missing.length > 0) await repairs.missing?.(missing);
    tell(counts.rows);
  }
  // Rows that were missing may have been added just now: either way more than these are extra.
  const is_extra =
    (await target.count(shape.table)) > counts.rows - (repairs.missing === undefined ? counts.missing : 0);
  const extra = is_extra ? await removeExtra(source, target, shape, repairs) : 0;
  return { ...counts, extra, source_sha256: hashes.source.digest('hex'), target_sha256: hashes.target.digest('hex') };
}

async function compareStep(target: Target, shape: Shape, rows: Row[], hashes: { source: Hash; target: Hash }) {
  const found = new Map<string, string>();
  const keys = rows.map((row) => keyOf(shape, row));
  for (const row of await target.find(shape, keys)) found.set(textOf(keyOf(shape, row)), textOf(row));
  const changed: Row[] = [];
  const missing: Row[] = [];
  for (const [at, row] of rows.entries()) {
    const text = textOf(row);
    const kept = found.get(textOf(keys[at] ?? []));
    hashes.source.update(text).update('\n');
    if (kept !== undefined) hashes.target.update(kept).update('\n');
    if (kept === undefined) missing.push(row);
    else if (kept !== text) changed.push(row);
  }
  return { changed, missing };
}

async function removeExtra(source: Source, target: Target, shape: Shape, repairs: Repairs): Promise<number> {
  let extra = 0;
  for (let key: Row | null = null; ; ) {
    const keys = await target.keysAfter(shape, key);
    const last = keys.at(-1);
    if (last === undefined) return extra;
    key = last;
    const gone = keys.filter((one) => !source.has(shape, one));
    extra += gone.length;
    if (gone.length > 0) await repairs.extra?.(gone);
  }
}
