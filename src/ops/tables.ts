/** The tables in force: which revision, whose rows, and an audit line when a start finds others than the last one. */
import { z } from 'zod';
import { encoded, say } from '../locales/message.ts';
import type { LoadedTables } from '../mapping/tables.ts';
import type { AuditLine } from '../proxy/audit.ts';
import { BY_ITSELF } from './api/person.ts';
import { noteOnce } from './audit.ts';
import { about, type Finding } from './doctor/finding.ts';
import type { Ports } from './ports.ts';
import { merchant_name, named } from './seen.ts';

const laidRow = z.object({
  row: z.string().describe('as in traces: `point.create.request#own.1`'),
  replaces: z.array(z.string()).describe('rows that it stands for, with the sites where only at some'),
  removes: z.boolean(),
  why: z.string(),
});
const set = z.object({ revision: z.string(), laid: z.array(laidRow).describe('rows of one’s own') });

export const tablesView = z.object({
  ...set.shape,
  shipped_revision: z.string().describe('of the tables of this build, without rows of one’s own'),
  folder: z.string().nullable().describe('mappings.folder'),
  merchants: z.array(set.extend({ merchant_id: z.string(), merchant_name })).describe('with tables of their own'),
});
export type TablesView = z.infer<typeof tablesView>;

/**
 * The shipped tables with the rows laid over them, for all and for single merchants. @param folder null: there are none
 * of one's own.
 */
export async function viewTables(ports: Pick<Ports, 'tables' | 'store'>, folder: string | null): Promise<TablesView> {
  const { tables } = ports;
  const setOf = ({ revision, laid }: LoadedTables) => ({
    revision,
    laid: laid.map((one) => ({ ...one, replaces: [...one.replaces] })),
  });
  return {
    ...setOf(tables),
    shipped_revision: tables.shipped_revision,
    folder,
    merchants: await named(
      ports,
      tables.with_own.map((merchant_id) => ({ merchant_id, ...setOf(tables.of(merchant_id)) })),
    ),
  };
}

/** For the doctor. */
export async function tableFindings(ports: Pick<Ports, 'tables' | 'store'>): Promise<Finding[]> {
  const unseen = await unseenWithTables(ports);
  if (unseen.length === 0) return [fineTables(ports.tables)];
  const folders = unseen.slice(0, MOST_NAMED).map((id) => `merchants/${id}`);
  const what = say('doctor.unseen_tables', { folders, more: unseen.length - folders.length });
  const it = about(say('check.own_tables', {}));
  return [fineTables(ports.tables), it.warning(what, say('doctor.unseen_tables_repair', {}))];
}

/** Merchants with tables of their own, but without a row or a call. */
async function unseenWithTables({ tables, store }: Pick<Ports, 'tables' | 'store'>): Promise<string[]> {
  if (tables.with_own.length === 0) return [];
  const stored = (await store.merchants.merchants()).map(({ id }) => id);
  const seen = new Set([...stored, ...(await store.exchanges.calledMerchants())]);
  return tables.with_own.filter((id) => !seen.has(id));
}

function fineTables(tables: LoadedTables): Finding {
  const { revision, shipped_revision, laid, with_own } = tables;
  const own = revision !== shipped_revision;
  const named = with_own.slice(0, MOST_NAMED);
  const merchants =
    named.length === 0 ? null : named.map((merchant_id) => `${merchant_id}: ${tables.of(merchant_id).revision}`);
  const more = with_own.length - named.length;
  return about(say('check.tables', {})).fine(
    say('doctor.tables', { revision, own, rows: laid.length, merchants, more }),
  );
}

const MOST_NAMED = 5;

// The audit line.

const ACTION = 'tables';
/** The subject of the line about the tables of all merchants without their own. */
const ALL = 'tables';
/** More than an installation has merchants with tables of their own, some times over. */
const MOST_LINES = 1000;
/** Calls that are looked through for one by the tables of all. */
const MOST_CALLS = 200;

/**
 * Writes an audit line for every set of tables that is another than the last start found, from → to: for all merchants,
 * and for each with its own (null: the tables of all). A first start with the shipped tables changes nothing.
 */
export async function noteTables(ports: Ports): Promise<void> {
  const { tables, store, clock, log } = ports;
  for (const merchant of await unseenWithTables(ports))
    log.warn('the folder has tables of a merchant that was never seen: is its id mistyped?', { merchant });
  const lines = await store.audit.auditsOf({ action: ACTION }, MOST_LINES);
  const subjects = new Set([ALL, ...tables.with_own, ...lines.map(({ subject }) => subject)]);
  for (const subject of subjects)
    await noteOnce(ports, subject, async () => {
      const [line] = await store.audit.auditsOf({ action: ACTION, subject }, 1);
      const first = async () => (subject === ALL ? revisionBefore(ports, subjects) : null);
      const before = line === undefined ? await first() : revisionIn(line);
      const after =
        subject === ALL ? tables.revision : tables.with_own.includes(subject) ? tables.of(subject).revision : null;
      const detail = { before: { tables: before }, after: { tables: after } };
      const why = { reason: encoded(say('audit_tables', {})), detail };
      return before === after ? null : { at: clock.now(), who: BY_ITSELF, action: ACTION, ...why };
    });
}

function revisionIn({ detail }: AuditLine): string | null {
  const { tables } = (detail.after ?? {}) as { tables?: unknown }; // as `noteTables` wrote it
  return typeof tables === 'string' ? tables : null;
}

/**
 * Before any line for all: what judged the newest call, or else the tables of this build.
 * @param apart merchants that have, or had, tables of their own: their calls show nothing of those for all.
 */
async function revisionBefore({ store, tables }: Ports, apart: ReadonlySet<string>): Promise<string> {
  const newest = await store.exchanges.lastExchange();
  const calls = await store.exchanges.exchanges({}, Math.max(0, newest - MOST_CALLS), MOST_CALLS);
  const call = calls.findLast(({ merchant_id }) => !apart.has(merchant_id ?? ''));
  return call?.tables_revision ?? tables.shipped_revision;
}
