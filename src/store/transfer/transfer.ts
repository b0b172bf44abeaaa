/** Transfers an installation from its file to PostgreSQL: copied while it runs, completed and proved while stopped. */

import { setTimeout as pause } from 'node:timers/promises';
import type { MigrateStoreNews, MigrateStoreOutcome } from '../../ops/cli/store.ts';
import { type Failpoint, noFailpoint } from '../../proxy/process-memory.ts';
import type { Secret } from '../../proxy/vault.ts';
import { databaseUnusable } from '../postgres/pool.ts';
import {
  locationOf,
  postgresMigrations,
  prepareDatabase,
  refuseForeignTransfer,
  TRANSFER,
} from '../postgres/prepare.ts';
import { noteTransferred, transferredNote } from '../sqlite/under-way.ts';
import { equalize, finishTransfer, proveSums } from './finish.ts';
import { COPIED, type CopiedTable, keyOf, OWN_OF_FILE, type Shape } from './rows.ts';
import { openSource, type Source } from './source.ts';
import { openTarget, type Target } from './target.ts';

export interface TransferOrder {
  file: string;
  url: Secret;
  connect_timeout_ms: number;
  key_mark: string;
  /** Copies while a Puente is running, and leaves the rest to a later run. */
  is_ahead: boolean;
  /** Epoch ms. */
  now: () => number;
  /** Called after each step of rows, for a progress line. */
  report: (news: MigrateStoreNews) => void;
  failpoint?: Failpoint;
}

/**
 * May be interrupted at any moment and repeated: until the end no Puente starts on the target; once the note is written
 * none starts on the file, whose rows stay unchanged.
 * @throws PuenteError store_unusable, conflict or store_failed, each with the repair.
 */
export async function transferStore(order: TransferOrder): Promise<MigrateStoreOutcome> {
  const { file, url, key_mark, is_ahead, connect_timeout_ms, now } = order;
  const location = locationOf(url.reveal());
  const source = openSource(file, !is_ahead, key_mark);
  try {
    const migrations = postgresMigrations();
    const address = { url: url.reveal(), location, connect_timeout_ms };
    await prepareDatabase({ ...address, migrations, key_mark, now, is_transfer: true });
    const target = await openTarget(address.url, location, connect_timeout_ms);
    try {
      return await copyAll(source, target, order);
    } finally {
      await target.close();
    }
  } finally {
    source.close();
  }
}

async function copyAll(source: Source, target: Target, order: TransferOrder): Promise<MigrateStoreOutcome> {
  const { report, now, failpoint = noFailpoint } = order;
  const tables = await shapesOf(source, target);
  const is_resumed = await beginTransfer(source, target);
  const reporterOf = (step: MigrateStoreNews['step'], table: string) => {
    const of_rows = source.count(table);
    return (rows: number) => report({ step, table, rows, of_rows });
  };
  let copied = 0;
  for (const table of tables)
    copied += await copyTable(source, target, table, reporterOf('copying', table[0].name), failpoint);
  const outcome = { from: source.path, to: target.location, is_resumed, copied };
  if (order.is_ahead) return { ...outcome, proved: null };
  const proved = await equalize(source, target, tables, (table) => reporterOf('comparing', table));
  const links = await proveSums(source, target);
  failpoint('transfer.proved');
  noteTransferred(source.path, { to: target.location, at: now() });
  failpoint('transfer.noted');
  const shapes = tables.map(([, shape]) => shape);
  await finishTransfer(source, target, shapes, now());
  const rows = proved.reduce((sum, one) => sum + one.rows, 0);
  return { ...outcome, proved: { rows, tables: proved, links, audit_lines: source.auditHead()?.sequence ?? 0 } };
}

// Prepares the target: it must be empty, or an earlier run of the same transfer must have begun it.

/** Connections that were just closed are still listed for a moment. */
const LOOKS = 20;
const BETWEEN_LOOKS_MS = 100;
const LOCK = `SELECT pg_try_advisory_lock(hashtextextended('puente transfer', 0)) AS taken`;

/** Whether an earlier run began it. @throws PuenteError store_unusable: other rows, a Puente or transfer at work. */
async function beginTransfer(source: Source, target: Target): Promise<boolean> {
  const { location } = target;
  if (!(await soon(async () => (await target.run(LOCK))[0]?.taken === 't')))
    throw databaseUnusable(location, 'another transfer into it is running', 'Wait for it, or stop it');
  const is_begun = await refuseForeignTransfer(location, source.instance_id, (sql) => target.run(sql));
  if (!is_begun) {
    const note = transferredNote(source.path);
    if (note !== null)
      throw databaseUnusable(location, `the file was copied to ${note.to} already`, 'Name that database');
    for (const { name } of COPIED)
      if ((await target.run(`SELECT 1 FROM "${name}" LIMIT 1`)).length > 0)
        throw databaseUnusable(location, `it has rows of its own, in ${name}`, 'Make an empty database and name it');
    await target.write('remember', [TRANSFER.under_way, source.instance_id]);
  }
  if (await soon(async () => (await othersAt(target)) === 0)) return is_begun;
  if (!is_begun) await target.run('DELETE FROM meta WHERE name = $1', [TRANSFER.under_way]);
  throw databaseUnusable(location, 'a Puente is running on it', 'Stop every Puente that has this postgres.url');
}

/** Once the mark is written no Puente starts on it; one that started before is connected. */
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

/** The tables and their columns. @throws PuenteError store_unusable when a table or a column is missing on one side. */
export async function shapesOf(source: Source, target: Target): Promise<[CopiedTable, Shape][]> {
  const left_out = source.tables().filter((name) => ![...OWN_OF_FILE, ...COPIED.map((one) => one.name)].includes(name));
  const shapes: [CopiedTable, Shape][] = [];
  for (const table of COPIED) {
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

// Copies rows in steps. After an interruption a run continues after the last stored row.

/**
 * A step may be repeated. Rows that changed since, rows before the last stored one, and rows that a unique index
 * refused are left to `equalize`.
 * @param report gets the number of rows of the table so far. @returns rows added by this run.
 */
async function copyTable(
  source: Source,
  target: Target,
  [table, shape]: readonly [CopiedTable, Shape],
  report: (rows: number) => void,
  failpoint: Failpoint,
): Promise<number> {
  let key = await target.lastKey(shape);
  let copied_rows = await target.count(table.name);
  let added = 0;
  for (;;) {
    const rows = source.after(shape, key);
    const last = rows.at(-1);
    if (last === undefined) return added;
    key = keyOf(shape, last);
    added += await target.insert(table, shape, rows);
    copied_rows += rows.length;
    failpoint('transfer.copied');
    report(copied_rows);
  }
}
