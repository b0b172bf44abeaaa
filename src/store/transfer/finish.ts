/** The last step of a transfer: the proof of the audit chain, and the target becomes a database that a Puente starts on. */

import { PuenteError } from '../../error.ts';
import { verifyAuditStream } from '../../ops/audit/audit-trail.ts';
import { AUDIT_GENESIS, type ChainMark, chainHash } from '../../proxy/audit.ts';
import { TRANSFER } from '../postgres/transferred.ts';
import type { Shape } from './rows.ts';
import type { Source } from './source.ts';
import type { Target } from './target.ts';

/** What a file says of itself that stays true of the installation. */
const KEPT_FACTS = ['instance_id', 'created_at', 'restored_from', 'restored_at'];

/** Links by state, as they were counted row by row. */
export type LinkCounts = Record<string, number>;

/**
 * Nothing is lost or doubled in what is kept beside the rows: links by state, and the chain of decisions up to its head.
 * @returns links by state. @throws PuenteError conflict.
 */
export async function proveSums(source: Source, target: Target): Promise<LinkCounts> {
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
         ELSE (SELECT count(*) FROM links WHERE state = what) END`,
    );
    for (const name of KEPT_FACTS) {
      const value = source.meta.get(name);
      if (value !== undefined) await remember(target, name, value);
    }
    await appendAudit(target, source.auditHead(), now);
    await target.run('DELETE FROM meta WHERE name = $1', [TRANSFER.under_way]);
    await remember(target, TRANSFER.done, source.instance_id);
    await target.run('DROP TABLE transfer_progress');
  });
  await target.run('ANALYZE');
}

/** New rows get numbers behind every one that was ever given, also where the row is gone. */
async function numberOn(source: Source, target: Target, { table, columns }: Shape): Promise<void> {
  for (const { name } of columns.filter(({ is_numbered }) => is_numbered)) {
    await target.run(
      `SELECT setval(pg_get_serial_sequence($1, $2), last, true)
       FROM (SELECT greatest(max("${name}"), $3::bigint) AS last FROM "${table}") AS given WHERE last > 0`,
      [`"${table}"`, name, source.lastNumber(table)],
    );
  }
}

function remember(target: Target, name: string, value: string): Promise<unknown> {
  const sql = 'INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value';
  return target.run(sql, [name, value]);
}

async function appendAudit(target: Target, head: ChainMark | null, now: number): Promise<void> {
  const line = {
    sequence: (head?.sequence ?? 0) + 1,
    at: now,
    who: 'puente',
    action: 'store transferred',
    subject: 'puente',
    reason: 'puente migrate-store',
    detail: { from: 'sqlite', to: target.location },
  };
  const { sequence, at, who, action, subject, reason, detail } = line;
  const hash = chainHash(head?.hash ?? AUDIT_GENESIS, line);
  await target.run(
    'INSERT INTO audit (sequence, at, who, action, subject, reason, detail, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)',
    [sequence, at, who, action, subject, reason, JSON.stringify(detail), hash],
  );
}

async function auditsAfter(target: Target, sequence: number, limit: number) {
  const rows = await target.run('SELECT * FROM audit WHERE sequence > $1 ORDER BY sequence LIMIT $2', [
    sequence,
    limit,
  ]);
  return rows.map((row) => ({
    sequence: Number(row.sequence),
    at: Number(row.at),
    who: String(row.who),
    action: String(row.action),
    subject: String(row.subject),
    reason: String(row.reason),
    detail: JSON.parse(String(row.detail)),
    hash: String(row.hash),
  }));
}

function notProved(why: string): PuenteError {
  return new PuenteError(
    'conflict',
    `The transfer is not proved: ${why}. Check the file with puente doctor --offline, and repeat the command. Nothing was changed in the file.`,
  );
}
