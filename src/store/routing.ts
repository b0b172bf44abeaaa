/** Sales on legacy, proposed moves and bulk moves. */

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { PuenteError } from '../error.ts';
import { say } from '../locales/message.ts';
import type { AuditEntry } from '../proxy/audit.ts';
import {
  type BulkChange,
  type BulkMove,
  LATE_EFFECT_MS,
  type LegacySale,
  type LegacySaleChange,
  type PartOf,
  type Proposal,
} from '../proxy/records/routing.ts';
import { AWAITS_IN_BULK, BULK, BULK_CHANGE, HOLDING, NAMED_IN_BULK, PROPOSAL, SALE } from './conditions.ts';
import {
  type Condition,
  filteredReads,
  listOf,
  type Reader,
  type Step,
  type StoreMethods,
  type Unit,
  type Value,
  type Writer,
} from './engine.ts';
import { jsonOf, type PageValues, pageOf, parsing, RAMPS_LOCK, readsOf, rowLock, valuesIn } from './rows.ts';

/**
 * `saveLegacySale` @throws PuenteError not_found for an id without a row, or in another state. Times are epoch ms; lists by reference are
 * newest first, open sales oldest first.
 */
export function legacySaleMethods(reader: Reader, writer: Writer, now: () => number) {
  const { one, list } = readsOf(reader);
  const old = reader.prepare<[number, number, number], { sequence: number }>(
    `SELECT sequence FROM legacy_sales INDEXED BY legacy_sales_by_age WHERE created_at < (SELECT ?)
       AND NOT (${HOLDING} AND ends_at > (SELECT ?)) ORDER BY created_at LIMIT ?`,
  );
  const made: (...values: PageValues) => Promise<LegacySale[]> = list(
    `SELECT ${SALE} FROM legacy_sales WHERE ${pageOf('id')}`,
  );
  return {
    async saveLegacySale(id, change) {
      const at = now();
      const steps: Step[] = [{ write: 'update_legacy_sale', values: valuesOfChange(change, at, id), changes: 1 }];
      if (change.state === 'OPEN' || change.slot !== undefined)
        steps.push({ write: 'end_earlier_legacy_sales', values: [at, id, at - LATE_EFFECT_MS] });
      const result = await writer.commit({ steps });
      if (result.kind === 'done') return;
      throw new PuenteError('not_found', `There is no such sale ${id} created on legacy: nothing was changed.`);
    },
    legacySale: one(`SELECT ${SALE} FROM legacy_sales WHERE legacy_id = (SELECT ?) ORDER BY sequence DESC LIMIT 1`),
    openLegacySales: list(
      `SELECT ${SALE} FROM legacy_sales INDEXED BY legacy_sales_holding WHERE merchant_id = (SELECT ?) AND slot IS NOT NULL
         AND ${HOLDING} AND ends_at > (SELECT ?) ORDER BY sequence LIMIT (SELECT ?)`,
    ),
    legacySalesByReference: list(
      `SELECT ${SALE} FROM legacy_sales WHERE merchant_id = (SELECT ?) AND client_reference = (SELECT cover(?))
         ORDER BY sequence DESC LIMIT (SELECT ?)`,
    ),
    legacySalesMade: ({ merchant_id, since, until, after, limit }) =>
      made(merchant_id, until, after?.created_at ?? since, after?.id ?? '', limit),
    async tidyLegacySales(before, at, limit) {
      const old_sequences = (await old.all(before, at, limit)).map(({ sequence }) => sequence);
      if (old_sequences.length === 0) return 0;
      const values = [JSON.stringify(old_sequences)];
      const result = await writer.commit({ steps: [{ write: 'delete_legacy_sales', values }] });
      if (result.kind === 'done') return old_sequences.length;
      throw new PuenteError('store_failed', 'Old sales created on legacy were not deleted: try again.');
    },
  } satisfies Partial<StoreMethods>;
}

/** Creates that were being proxied when the last process ended are in doubt. @param now epoch ms. */
export function doubtLegacySales(now: number): Unit {
  return { steps: [{ write: 'doubt_legacy_sales', values: [now] }] };
}

/** The values of `update_legacy_sale`, in its order. */
function valuesOfChange(change: LegacySaleChange, now: number, id: string): Value[] {
  const given = (value: string | null | undefined): Value[] => (value === undefined ? [0, null] : [1, value]);
  return [
    change.state ?? null,
    ...given(change.legacy_id),
    change.unit ?? null,
    ...given(change.slot),
    change.unproven_token === null ? 1 : 0,
    change.ends_at ?? null,
    change.end_state ?? null,
    change.amount ?? null,
    change.state === undefined ? null : (change.at ?? now),
    id,
    change.only_while ?? null,
    change.only_unproven === true ? 1 : 0,
  ];
}

// Moves of merchants: proposals that wait for a second person, and bulk moves.

/**
 * `saveProposal` @throws PuenteError conflict when the proposal is decided, its merchant has a line after `newest_seen`, or its
 * bulk move was changed; `saveBulkMove` when the stored revision is another. Lists are newest first.
 */
export function moveMethods(reader: Reader, writer: Writer, now: () => number) {
  const run = filteredReads(reader);
  const { one } = readsOf(reader);
  const bulkMove = one(`SELECT ${BULK}, items FROM bulk_moves WHERE id = ?`, bulkOf);
  const bulkLines: StoreMethods['bulkLines'] = ({ states, is_ramp, merchant_id, awaited_by, before }, limit) => {
    const conditions: Condition[] = [
      ['state IN (SELECT value FROM json_each(?))', listOf(states)],
      [NAMED_IN_BULK, merchant_id],
      [AWAITS_IN_BULK('?'), awaited_by],
      ['sequence < (SELECT sequence FROM bulk_runs WHERE id = ?)', before],
    ];
    const kind = is_ramp === undefined ? 'true' : `ramp IS ${is_ramp ? 'NOT ' : ''}NULL`;
    const sql = (where: string) =>
      `SELECT id, created_at FROM bulk_runs WHERE ${where} AND ${kind} ORDER BY sequence DESC LIMIT ?`;
    return run(conditions, sql, limit);
  };
  return {
    async saveProposal(one, audit, newest_seen, bulk) {
      const unit = unitOf(partSteps({ proposal: one, bulk }, now()), audit);
      const result = await writer.commit(newest_seen === undefined ? unit : { ...unit, newest_seen });
      if (result.kind === 'done') return;
      if (newest_seen === undefined) throw new PuenteError('conflict', say('refusal.proposal_decided', { id: one.id }));
      throw new PuenteError('conflict', say('refusal.decided_meanwhile', { merchant: one.merchant_id }));
    },
    proposal: one(`SELECT ${PROPOSAL} FROM proposals WHERE id = ?`, proposalOf),
    async proposals(filter, limit) {
      const conditions: Condition[] = [
        ['merchant_id = ?', filter.merchant_id],
        ['state = ?', filter.state],
      ];
      const sql = (where: string) => `SELECT ${PROPOSAL} FROM proposals WHERE ${where} ORDER BY sequence DESC LIMIT ?`;
      return (await run<Parameters<typeof proposalOf>[0]>(conditions, sql, limit)).map(proposalOf);
    },
    async saveBulkMove(one, before, audit, newest) {
      const updated_at = now();
      const expected = before?.revision ?? 0;
      const steps = bulkSteps({ before, after: one }, updated_at, newest);
      const alone = [rowLock(one.id), ...(newest === undefined ? [] : [RAMPS_LOCK])];
      const result = await writer.commit(unitOf({ steps, alone }, audit));
      if (result.kind === 'done') return { ...one, revision: expected + 1, updated_at };
      const changed = say('refusal.bulk_changed', { id: one.id, expected });
      throw new PuenteError('conflict', newest === undefined ? changed : say('refusal.ramps_meanwhile', {}));
    },
    bulkMove,
    bulkLines,
    async bulkMoves(filter, limit) {
      const found: BulkMove[] = [];
      for (const { id } of await bulkLines(filter, limit)) {
        const bulk = await bulkMove(id);
        if (bulk !== null) found.push(bulk);
        // One of ten thousand merchants takes some 10 ms to read and parse: payments run between two.
        await yieldToEventLoop();
      }
      return found;
    },
  } satisfies Partial<StoreMethods>;
}

const proposalValues = valuesIn(PROPOSAL);
const proposalOf = parsing<Proposal>('move');
const bulkOf = parsing<BulkMove>('move', 'items', 'ramp');
const bulkValues = valuesIn(BULK);
const bulkChange = valuesIn(BULK_CHANGE);

/**
 * Its row, and those of the merchants that changed. The unit is a conflict unless the stored revision is that of `before`.
 * @param before null inserts it. @param updated_at epoch ms. @param newest as for `saveBulkMove`.
 */
function bulkSteps(
  { before, after }: Omit<BulkChange, 'before'> & { before: BulkMove | null },
  updated_at: number,
  newest: string | null = null,
): Step[] {
  const { id } = after;
  const row = { ...after, move: JSON.stringify(after.move), ramp: jsonOf(after.ramp), updated_at, revision: 1 };
  const first: Step =
    before === null
      ? { write: 'insert_bulk_move', values: [...bulkValues(row), newest], changes: 1 }
      : { write: 'update_bulk_move', values: [...bulkChange(row), id, before.revision], changes: 1 };
  const changed = after.items.flatMap((item, place) =>
    item === before?.items[place] ? [] : [[id, place, item.merchant_id, item.state, JSON.stringify(item)]],
  );
  return changed.length === 0 ? [first] : [first, { write: 'save_bulk_items', values: [JSON.stringify(changed)] }];
}

/** The rows of a bulk move and of a proposal, each a conflict when it was changed since. @param updated_at epoch ms. */
export function partSteps({ bulk, proposal }: PartOf, updated_at: number): { steps: Step[]; alone: string[] } {
  const steps = bulk === undefined ? [] : bulkSteps(bulk, updated_at);
  if (proposal !== undefined) {
    const values = proposalValues({ ...proposal, move: JSON.stringify(proposal.move) });
    steps.push({ write: 'save_proposal', values, changes: 1 });
  }
  return { steps, alone: [bulk?.after, proposal].flatMap((row) => (row === undefined ? [] : [rowLock(row.id)])) };
}

/** Changes of one row are applied in the order of their requests. */
function unitOf({ steps, alone }: ReturnType<typeof partSteps>, audit: AuditEntry | null): Unit {
  return { steps, locks: { alone }, ...(audit === null ? {} : { audit }) };
}
