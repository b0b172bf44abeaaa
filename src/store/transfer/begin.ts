/** Makes a database ready for rows, or refuses it: it is empty, or an earlier run of the same transfer has begun it. */
import { setTimeout as pause } from 'node:timers/promises';
import { databaseUnusable } from '../postgres/failure.ts';
import { refuseForeignTransfer, TRANSFER } from '../postgres/transferred.ts';
import { transferredNote } from '../sqlite/transferred.ts';
import { PROGRESS_TABLE } from './copy.ts';
import type { Shape } from './rows.ts';
import type { Source } from './source.ts';
import { CARRIED, type CarriedTable, OWN_OF_FILE } from './tables.ts';
import type { Target } from './target.ts';

/** Connections that were closed a moment ago are still listed. */
const LOOKS = 20;
const BETWEEN_LOOKS_MS = 100;
const LOCK = `SELECT pg_try_advisory_lock(hashtextextended('puente transfer', 0)) AS taken`;

/**
 * @returns whether an earlier run had begun it.
 * @throws PuenteError store_unusable: rows of another installation, a Puente or another transfer at work on it.
 */
export async function beginTransfer(source: Source, target: Target): Promise<boolean> {
  const { location } = target;
  if (!(await soon(async () => (await target.run(LOCK))[0]?.taken === 't')))
    throw databaseUnusable(location, 'another transfer into it is running', 'Wait for it, or stop it');
  const is_begun = await refuseForeignTransfer(location, source.instance_id, (sql) => target.run(sql));
  if (!is_begun) {
    const note = transferredNote(source.path);
    if (note !== null)
      throw databaseUnusable(location, `the file was carried to ${note.to} already`, 'Name that database');
    for (const { name } of CARRIED)
      if ((await target.run(`SELECT 1 FROM "${name}" LIMIT 1`)).length > 0)
        throw databaseUnusable(location, `it has rows of its own, in ${name}`, 'Make an empty database and name it');
    await target.together(async () => {
      await target.run(PROGRESS_TABLE);
      await target.run('INSERT INTO meta (name, value) VALUES ($1, $2)', [TRANSFER.under_way, source.instance_id]);
    });
  }
  if (await soon(async () => (await othersAt(target)) === 0)) return is_begun;
  if (!is_begun) await target.run('DELETE FROM meta WHERE name = $1', [TRANSFER.under_way]);
  throw databaseUnusable(location, 'a Puente is running on it', 'Stop every Puente that has this postgres.url');
}

/** From the mark on no Puente starts on it; one that was there before is connected. */
async function othersAt(target: Target): Promise<number> {
  const [row] = await target.run(
    `SELECT count(*) AS others FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'puente'`,
  );
  return Number(row?.others);
}

async function soon(isSo: () => Promise<boolean>): Promise<boolean> {
  for (let look = 1; look < LOOKS; look++) {
    if (await isSo()) return true;
    await pause(BETWEEN_LOOKS_MS);
  }
  return isSo();
}

/** What is carried, as both sides have it. @throws PuenteError store_unusable when a table or a column is on one side alone. */
export async function shapesOf(source: Source, target: Target): Promise<[CarriedTable, Shape][]> {
  const left_out = source
    .tables()
    .filter((name) => ![...OWN_OF_FILE, ...CARRIED.map((one) => one.name)].includes(name));
  const shapes: [CarriedTable, Shape][] = [];
  for (const table of CARRIED) {
    const columns = await target.columns(table.name);
    const names = columns.map(({ name }) => name);
    const there = new Set([...source.columns(table.name), ...(names.includes('rowid') ? ['rowid'] : [])]);
    if (there.size !== names.length || names.some((name) => !there.has(name))) left_out.push(table.name);
    shapes.push([table, { table: table.name, columns, key: table.key.map((name) => names.indexOf(name)) }]);
  }
  if (left_out.length === 0) return shapes;
  throw databaseUnusable(
    target.location,
    `its tables are not those of the file (${left_out.join(', ')})`,
    'This is a fault of Puente; report it. Nothing was changed',
  );
}
