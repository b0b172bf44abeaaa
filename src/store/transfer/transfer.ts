/** Carries a whole installation from its file to a server: copied while it runs, then settled and proved while it is stopped. */

import { type Failpoint, noFailpoint } from '../../proxy/failpoint.ts';
import type { Secret } from '../../proxy/secret.ts';
import { postgresMigrations } from '../postgres/migrate.ts';
import { locationOf, prepareDatabase } from '../postgres/prepare.ts';
import { noteTransferred } from '../sqlite/transferred.ts';
import { beginTransfer, shapesOf } from './begin.ts';
import { copyTable } from './copy.ts';
import { finishTransfer, type LinkCounts, proveSums } from './finish.ts';
import { type Settled, settle } from './settle.ts';
import { openSource, type Source } from './source.ts';
import { openTarget, type Target } from './target.ts';

export interface TransferOrder {
  /** Path of the database file. */
  file: string;
  url: Secret;
  connect_timeout_ms: number;
  /** Of the secret key in force, as the store has it. */
  key_mark: string;
  /** Copies while a Puente is running, and leaves the rest to a later order. */
  is_ahead: boolean;
  /** Epoch ms. */
  now: () => number;
  tell: (news: TransferNews) => void;
  failpoint?: Failpoint;
}

export interface TransferNews {
  step: 'copying' | 'comparing';
  table: string;
  rows: number;
  of_rows: number;
}

export interface TransferOutcome {
  from: string;
  to: string;
  /** An earlier run had begun it. */
  is_resumed: boolean;
  /** Rows copied by this run. */
  copied: number;
  /** Null as long as it only went ahead: then nothing is proved yet. */
  proved: { rows: number; tables: Settled[]; links: LinkCounts; audit_lines: number } | null;
}

/**
 * Can be cut off at any moment and repeated: until the end no Puente starts on the target; from the note on none starts on the
 * file, whose rows stay as they are.
 * @throws PuenteError store_unusable, conflict or store_failed, each with the repair.
 */
export async function transferStore(order: TransferOrder): Promise<TransferOutcome> {
  const { file, url, key_mark, is_ahead, connect_timeout_ms, now } = order;
  const location = locationOf(url.reveal());
  const source = openSource(file, !is_ahead, key_mark);
  try {
    const migrations = postgresMigrations();
    const address = { url: url.reveal(), location, connect_timeout_ms };
    await prepareDatabase({ ...address, migrations, key_mark, now, is_transfer: true });
    const target = await openTarget(address.url, location, connect_timeout_ms);
    try {
      return await carry(source, target, order);
    } finally {
      await target.close();
    }
  } finally {
    source.close();
  }
}

async function carry(source: Source, target: Target, order: TransferOrder): Promise<TransferOutcome> {
  const { tell, now, failpoint = noFailpoint } = order;
  const tables = await shapesOf(source, target);
  const is_resumed = await beginTransfer(source, target);
  const teller = (step: TransferNews['step'], table: string) => {
    const of_rows = source.count(table);
    return (rows: number) => tell({ step, table, rows, of_rows });
  };
  let copied = 0;
  for (const [table, shape] of tables)
    copied += await copyTable(source, target, table, shape, teller('copying', table.name), failpoint);
  const outcome = { from: source.path, to: target.location, is_resumed, copied };
  if (order.is_ahead) return { ...outcome, proved: null };
  const settled = await settle(source, target, tables, (table) => teller('comparing', table));
  const links = await proveSums(source, target);
  failpoint('transfer.proved');
  noteTransferred(source.path, { to: target.location, at: now() });
  failpoint('transfer.noted');
  const shapes = tables.map(([, shape]) => shape);
  await finishTransfer(source, target, shapes, now());
  const rows = settled.reduce((sum, one) => sum + one.rows, 0);
  return { ...outcome, proved: { rows, tables: settled, links, audit_lines: source.auditHead()?.sequence ?? 0 } };
}
