/** The last steps of a transfer: makes the target equal, proves it, and releases it for a start. */

import { createHash, type Hash } from 'node:crypto';
import { PuenteError } from '../../error.ts';
import { verifyAuditStream } from '../../ops/audit.ts';
import type { MigratedTable } from '../../ops/cli/store.ts';
import type { AuditEntry, AuditLine } from '../../proxy/audit.ts';
import { LIVE } from '../conditions.ts';
import { TRANSFER } from '../postgres/prepare.ts';
import { valuesOfAudit } from '../writes.ts';
import { type CopiedTable, keyOf, type Row, type Shape, textOf } from './rows.ts';
import type { Source } from './source.ts';
import type { Target } from './target.ts';

/** Names in `meta` that the target keeps. */
const KEPT_FACTS = ['instance_id', 'created_at', 'restored_from', 'restored_at', 'incident_line'];

/** Proves the counts and the audit chain. @returns links by state. @throws PuenteError conflict. */
export async function proveSums(source: Source, target: Target): Promise<Record<string, number>> {
  const counted = await target.run('SELECT state, count(*) AS links FROM links GROUP BY state');
  const links = Object.fromEntries(counted.map(({ state, links }) => [String(state), Number(links)]));
  for (const [state, count] of source.linkCounts())
    if ((links[state] ?? 0) !== count)
      throw notProved(`the file counts ${count} links in ${state} and ${links[state] ?? 0} are there`);
  const { intact, broken } = await verifyAuditStream(
    { auditsAfter: (from, limit) => auditsAfter(target, from, limit) },
    source.auditHead(),
  );
  if (!intact) throw notProved(`the chain of decisions is broken: ${broken?.reason ?? 'its end is missing'}`);
  return links;
}

/** One transaction: before it no Puente starts on the target, after it any number may. @param now epoch ms. */
export async function finishTransfer(
  source: Source,
  target: Target,
  shapes: readonly Shape[],
  now: number,
): Promise<void> {
  await target.together(async () => {
    for (const shape of shapes) await numberOn(source, target, shape);
    await target.run('DELETE FROM tallies WHERE part <> 0');
    await target.run(
      `UPDATE tallies SET rows = CASE what WHEN 'parked' THEN (SELECT count(*) FROM events WHERE state = 'parked')
         ELSE (SELECT count(*) FROM links WHERE state = what AND NOT ${LIVE}) END`,
    );
    for (const name of KEPT_FACTS) {
      const value = source.meta.get(name);
      if (value !== undefined) await target.write('remember', [name, value]);
    }
    const detail = { from: 'sqlite', to: target.location };
    const line: AuditEntry = {
      at: now,
      who: 'puente',
      action: 'store transferred',
      subject: 'puente',
      reason: 'puente migrate-store',
      detail,
    };
    await target.write('insert_audit', valuesOfAudit(source.auditHead() ?? undefined, line));
    await target.run('DELETE FROM meta WHERE name = $1', [TRANSFER.under_way]);
    await target.write('remember', [TRANSFER.done, source.instance_id]);
  });
  await target.run('ANALYZE');
}

/** New rows get numbers after the last one ever given, also when its row is deleted. */
async function numberOn(source: Source, target: Target, { table, columns }: Shape): Promise<void> {
  for (const { name } of columns.filter(({ is_numbered }) => is_numbered)) {
    await target.run(
      `SELECT setval(pg_get_serial_sequence($1, $2), last, true)
       FROM (SELECT greatest(max("${name}"), $3::bigint) AS last FROM "${table}") AS given WHERE last > 0`,
      [`"${table}"`, name, source.lastNumber(table)],
    );
  }
}

async function auditsAfter(target: Target, after: number, limit: number): Promise<AuditLine[]> {
  const rows = await target.run('SELECT * FROM audit WHERE sequence > $1 ORDER BY sequence LIMIT $2', [after, limit]);
  return rows.map(({ sequence, at, detail, ...texts }) => ({
    ...(texts as Pick<AuditLine, 'who' | 'action' | 'subject' | 'reason' | 'hash'>), // no column is NULL
    sequence: Number(sequence),
    at: Number(at),
    detail: JSON.parse(String(detail)),
  }));
}

function notProved(why: string): PuenteError {
  return new PuenteError(
    'conflict',
    `The transfer is not proved: ${why}. Check the file with \`puente doctor --offline\`, and repeat the command. Nothing was changed in the file.`,
  );
}

// Makes the target equal to the source, which has no writer any more, and proves it row by row.

/**
 * First deleted rows are removed, children before parents, and changed rows release their unique values; then rows are
 * written, parents first; then all is read back. A table that is equal at first is read once.
 * @param reporterOf gets the number of rows of a table so far. @throws PuenteError conflict when a row is not equal in the
 * end.
 */
export async function equalize(
  source: Source,
  target: Target,
  tables: readonly (readonly [CopiedTable, Shape])[],
  reporterOf: (table: string) => (rows: number) => void,
): Promise<MigratedTable[]> {
  const first = new Map<string, Compared>();
  for (const [table, shape] of tables.toReversed()) {
    const repairs = {
      extra: (keys: Row[]) => target.remove(shape, keys),
      changed: async (rows: Row[]) => {
        const keys = rows.map((row) => keyOf(shape, row));
        if (table.release !== undefined) await target.release(table, shape, keys);
      },
    };
    first.set(table.name, await compareTable(source, target, shape, repairs, reporterOf(table.name)));
  }
  const compared = tables.flatMap(([table, shape]) => {
    const found = first.get(table.name);
    return found === undefined ? [] : [{ table, shape, found }];
  });
  for (const { table, shape, found } of compared) {
    if (isEqual(found)) continue;
    const repairs = {
      changed: (rows: Row[]) => target.update(shape, rows),
      missing: async (rows: Row[]) => void (await target.insert(table, shape, rows)),
    };
    await compareTable(source, target, shape, repairs, reporterOf(table.name));
  }
  const proved: MigratedTable[] = [];
  for (const { table, shape, found } of compared) {
    const last = isEqual(found) ? found : await compareTable(source, target, shape, {}, reporterOf(table.name));
    if (!isEqual(last)) throw notEqual(table.name, last);
    const { changed, missing, extra } = found;
    proved.push({ table: table.name, rows: last.rows, changed, missing, extra, sha256: last.target_sha256 });
  }
  return proved;
}

function isEqual({ changed, missing, extra, source_sha256, target_sha256 }: Compared): boolean {
  return changed === 0 && missing === 0 && extra === 0 && source_sha256 === target_sha256;
}

function notEqual(table: string, { changed, missing, extra }: Compared): PuenteError {
  return new PuenteError(
    'conflict',
    `${changed + missing + extra} rows of ${table} are not what they were in the file (${changed} changed, ${missing} missing, ${extra} too many): see that nothing else writes to the database, and repeat the command. Nothing was changed in the file.`,
  );
}

// Reads every row back and compares it with its source.

/** Repairs of unequal rows, one step at a time; without a repair the rows are only counted. */
interface Repairs {
  /** Rows of the source that the target has with other cells. */
  changed?(rows: Row[]): Promise<void>;
  /** Rows of the source that the target lacks. */
  missing?(rows: Row[]): Promise<void>;
  /** Keys that only the target has. */
  extra?(keys: Row[]): Promise<void>;
}

interface Compared {
  rows: number;
  changed: number;
  missing: number;
  /** Only in the target. */
  extra: number;
  /** SHA-256 over the rows in the order of their keys, hex; the same on both sides when every row is equal. */
  source_sha256: string;
  target_sha256: string;
}

/** @param report gets the number of rows compared so far. */
export async function compareTable(
  source: Source,
  target: Target,
  shape: Shape,
  repairs: Repairs,
  report: (rows: number) => void,
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
    report(counts.rows);
  }
  // Repairs may have added missing rows just now. In both cases a larger count means extra rows.
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
    const extra_keys = keys.filter((one) => !source.has(shape, one));
    extra += extra_keys.length;
    if (extra_keys.length > 0) await repairs.extra?.(extra_keys);
  }
}
