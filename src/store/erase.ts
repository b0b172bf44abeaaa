/** Erases a merchant: its rows are counted and deleted in steps, and at last the bytes leave the file and its log. */

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { PuenteError } from '../error.ts';
import { say } from '../locales/message.ts';
import type { AuditEntry } from '../proxy/audit.ts';
import type { Holdings, OpenWork } from '../proxy/records/upkeep.ts';
import { AWAITS_IN_BULK, HOLDING, LIVE, NAMED_IN_BULK, OVER } from './conditions.ts';
import type { Read, Reader, Step, StoreMethods, Unit, Writer } from './engine.ts';
import { linkSteps } from './retention.ts';
import { merchantLock, rowLock } from './rows.ts';
import { SUM_TABLES, type WriteName } from './writes.ts';

/** Rows of one step: payments wait some milliseconds behind it. */
const STEP_ROWS = 500;
/** Rows read at once from tables without an index by merchant: the inbox, and sales created on legacy. */
const SLICE_ROWS = 20_000;

/**
 * `eraseMerchant` returns the rows that it deleted, by kind. It commits in steps and may be repeated after an
 * interruption. @throws PuenteError conflict when the merchant got new work meanwhile. @param emptyLog takes the
 * deleted bytes out of the write-ahead log.
 */
export function eraseMethods(reader: Reader, writer: Writer, now: () => number, emptyLog: () => Promise<void>) {
  const reads = prepareReads(reader);
  const commit = async (unit: Unit): Promise<void> => {
    const result = await writer.commit(unit);
    if (result.kind !== 'done') throw began();
  };
  return {
    holdings: (merchant_id) => countAll(reads, merchant_id),
    openWork: async (id) => (await reads.open.get(id, id, id, now(), id, id, now(), id)) ?? NO_WORK,
    async eraseMerchant(merchant_id, audit) {
      const erased = await countAll(reads, merchant_id);
      for await (const keys of listsOf(reads.links, merchant_id))
        await commit({ steps: linkSteps(keys, 'erase_links') });
      const at = now();
      for await (const keys of slicesOf(reads.sales, merchant_id))
        await commit({ steps: [{ ...step('erase_legacy_sales', JSON.stringify(keys), at), changes: keys.length }] });
      for await (const keys of listsOf(reads.exchanges, merchant_id))
        await commit({ steps: [step('delete_exchanges', JSON.stringify(keys))] });
      for await (const keys of slicesOf(reads.events, merchant_id))
        await commit({ steps: [step('erase_events', JSON.stringify(keys))] });
      for (const { id } of await reads.bulks.all(merchant_id)) {
        const first = { ...step('erase_from_bulk_move', merchant_id, id, merchant_id), changes: 1 };
        await commit({ steps: [first, step('erase_bulk_items', id, merchant_id)], locks: { alone: [rowLock(id)] } });
      }
      const is_known = (await reads.merchant.get(merchant_id)) !== undefined;
      await commit(lastUnit(merchant_id, is_known, audit(erased), now()));
      await emptyLog();
      return erased;
    },
  } satisfies Partial<StoreMethods>;
}

/** One unit: tokens refer to the merchant, and sums must not remain without it. */
function lastUnit(merchant_id: string, is_known: boolean, audit: AuditEntry, at: number): Unit {
  const steps: Step[] = [
    ...SUM_TABLES.map((table) => step(`erase_${table}`, merchant_id)),
    step('erase_proposals', merchant_id, at),
    step('erase_alerts', merchant_id),
    step('erase_incidents', merchant_id),
    step('erase_tokens', merchant_id),
    { ...step('erase_merchant', merchant_id), changes: is_known ? 1 : 0 },
  ];
  return { steps, audit, locks: { alone: [merchantLock(merchant_id)] } };
}

function step(write: WriteName, ...values: Step['values']): Step {
  return { write, values };
}

/** Lists of keys, each read after the one before was deleted. @throws PuenteError conflict when a list stays. */
async function* listsOf(read: Read<[string, number], { key: string | number }>, merchant_id: string) {
  for (let before = ''; ; ) {
    const keys = (await read.all(merchant_id, STEP_ROWS)).map(({ key }) => key as string); // ids of links, numbers otherwise
    if (keys.length === 0) return;
    const list = JSON.stringify(keys);
    if (list === before) throw began();
    before = list;
    yield keys;
  }
}

interface Slices {
  ends: Read<[], { first: number | null; last: number | null }>;
  /** After the first value, up to the second. */
  rows: Read<[number, number, string], { key: number }>;
}

async function* slicesOf({ ends, rows }: Slices, merchant_id: string): AsyncGenerator<number[]> {
  const { first, last } = (await ends.get()) ?? { first: null, last: null };
  for (let after = (first ?? 1) - 1; after < (last ?? 0); after += SLICE_ROWS) {
    const keys = (await rows.all(after, after + SLICE_ROWS, merchant_id)).map(({ key }) => key);
    if (keys.length > 0) yield keys;
    await yieldToEventLoop();
  }
}

async function countAll(reads: Reads, merchant_id: string): Promise<Holdings> {
  const counts: Record<string, number> = {
    events: await countOf(reads.events, merchant_id),
    legacy_sales: await countOf(reads.sales, merchant_id),
  };
  for (const [what, read] of Object.entries(reads.counts)) counts[what] = (await read.get(merchant_id))?.count ?? 0;
  return counts as unknown as Holdings; // `COUNTED` has the others
}

async function countOf(slices: Slices, merchant_id: string): Promise<number> {
  let rows = 0;
  for await (const keys of slicesOf(slices, merchant_id)) rows += keys.length;
  return rows;
}

/** Refunds through their links, because they have no index of merchants. */
const COUNTED: Record<Exclude<keyof Holdings, 'events' | 'legacy_sales'>, string> = {
  links: 'links WHERE merchant_id = ?',
  refunds: 'refunds WHERE legacy_id IN (SELECT legacy_id FROM links WHERE merchant_id = ?)',
  notices: 'notices WHERE merchant_id = ?',
  exchanges: 'exchanges WHERE merchant_id = ?',
  tokens: 'tokens WHERE merchant_id = ?',
  sums: `(${SUM_TABLES.map((table) => `SELECT merchant_id FROM ${table}`).join(' UNION ALL ')}) AS sums WHERE merchant_id = ?`,
  proposals: 'proposals WHERE merchant_id = ?',
  bulk_moves: `bulk_runs WHERE ${NAMED_IN_BULK}`,
};

const NO_WORK: OpenWork = { links: 0, refunds: 0, legacy_sales: 0, notices: 0, proposals: 0, bulk_moves: 0 };

type Reads = ReturnType<typeof prepareReads>;

function prepareReads(reader: Reader) {
  const countOf = (rows: string) =>
    reader.prepare<[string], { count: number }>(`SELECT count(*) AS count FROM ${rows}`);
  return {
    counts: Object.fromEntries(Object.entries(COUNTED).map(([what, rows]) => [what, countOf(rows)])),
    merchant: reader.prepare<[string], { id: string }>('SELECT id FROM merchants WHERE id = ?'),
    links: reader.prepare<[string, number], { key: string }>(
      `SELECT legacy_id AS key FROM links WHERE merchant_id = (SELECT ?) AND ${OVER} LIMIT ?`,
    ),
    sales: slicesBy(reader, 'legacy_sales', 'merchant_id'),
    exchanges: reader.prepare<[string, number], { key: number }>(
      `SELECT sequence AS key FROM exchanges INDEXED BY exchanges_by_merchant WHERE merchant_id = (SELECT ?) LIMIT ?`,
    ),
    events: slicesBy(reader, 'events', 'user_id'),
    bulks: reader.prepare<[string], { id: string }>(`SELECT id FROM bulk_runs WHERE ${NAMED_IN_BULK}`),
    open: reader.prepare<[string, string, string, number, string, string, number, string], OpenWork>(OPEN_WORK),
  };
}

/** By the index of live links: the index of all links of a merchant would take as long as it has sold. */
export const OPEN_WORK = `SELECT
  (SELECT count(*) FROM links INDEXED BY links_live WHERE merchant_id = ? AND ${LIVE}) AS links,
  (SELECT count(*) FROM refunds WHERE merchant_id = ? AND state IN ('SENDING', 'IN_DOUBT')) AS refunds,
  (SELECT count(*) FROM legacy_sales WHERE merchant_id = ? AND slot IS NOT NULL AND ${HOLDING} AND ends_at > ?)
    AS legacy_sales,
  (SELECT count(*) FROM notices WHERE merchant_id = ? AND state = 'pending') AS notices,
  (SELECT count(*) FROM proposals WHERE merchant_id = ? AND state = 'waiting' AND expires_at > ?) AS proposals,
  (SELECT count(*) FROM bulk_runs WHERE ${AWAITS_IN_BULK('?')}) AS bulk_moves`;

function slicesBy(reader: Reader, table: 'events' | 'legacy_sales', owner: 'user_id' | 'merchant_id'): Slices {
  return {
    ends: reader.prepare(
      `SELECT (SELECT min(sequence) FROM ${table}) AS first, (SELECT max(sequence) FROM ${table}) AS last`,
    ),
    rows: reader.prepare(`SELECT sequence AS key FROM ${table} WHERE sequence > ? AND sequence <= ? AND ${owner} = ?`),
  };
}

function began(): PuenteError {
  return new PuenteError('conflict', say('refusal.erase_raced', {}));
}
