/** Moves of merchants: those that wait for a second person, and many in a row. */

import { PuenteError } from '../error.ts';
import { say } from '../locales/sentences.ts';
import type { BulkMove, Proposal } from '../proxy/records/routing.ts';
import type { AuditEntry, Store } from '../proxy/store.ts';
import type { Reader, Writer } from './engine.ts';
import { filteredReads, whereOf } from './filtered.ts';
import { rowLock } from './locks.ts';
import type { Step, Unit } from './unit.ts';

type MoveMethods = Pick<Store, 'saveProposal' | 'proposal' | 'proposals' | 'saveBulkMove' | 'bulkMove' | 'bulkMoves'>;

export function moveMethods(reader: Reader, writer: Writer, now: () => number): MoveMethods {
  const run = filteredReads(reader);
  const proposal = reader.prepare<[string], ProposalRow>(`SELECT ${PROPOSAL} FROM proposals WHERE id = ?`);
  const bulk = reader.prepare<[string], BulkRow>(`SELECT ${BULK} FROM bulk_moves WHERE id = ?`);
  const bulks = reader.prepare<[string, number], BulkRow>(
    `SELECT ${BULK} FROM bulk_moves WHERE state IN (SELECT value FROM json_each(?)) ORDER BY sequence DESC LIMIT ?`,
  );
  return {
    async saveProposal(one, audit) {
      const { id, merchant_id, reason, proposed_by, proposed_at, expires_at, state, decided_by, decided_at } = one;
      const move = JSON.stringify(one.move);
      const values = [
        id,
        merchant_id,
        move,
        reason,
        proposed_by,
        proposed_at,
        expires_at,
        state,
        decided_by,
        decided_at,
      ];
      const result = await writer.commit(unitOf({ write: 'save_proposal', values, changes: 1 }, audit, id));
      if (result.kind === 'done') return;
      throw new PuenteError('conflict', say('refusal.proposal_decided', { id }));
    },
    proposal: async (id) => (await proposal.all(id)).map(proposalOf)[0] ?? null,
    async proposals(filter, limit) {
      const { where, values } = whereOf([
        ['merchant_id = ?', filter.merchant_id],
        ['state = ?', filter.state],
      ]);
      const sql = `SELECT ${PROPOSAL} FROM proposals WHERE ${where} ORDER BY sequence DESC LIMIT ?`;
      return (await run<ProposalRow>(sql, [...values, limit])).map(proposalOf);
    },
    async saveBulkMove(one, expected_revision, audit) {
      const updated_at = now();
      const result = await writer.commit(unitOf(bulkStep(one, expected_revision, updated_at), audit, one.id));
      if (result.kind === 'done') return { ...one, revision: expected_revision + 1, updated_at };
      throw new PuenteError('conflict', say('refusal.bulk_changed', { id: one.id, expected: expected_revision }));
    },
    bulkMove: async (id) => (await bulk.all(id)).map(bulkOf)[0] ?? null,
    bulkMoves: async (states, limit) => (await bulks.all(JSON.stringify(states), limit)).map(bulkOf),
  };
}

const PROPOSAL = 'id, merchant_id, move, reason, proposed_by, proposed_at, expires_at, state, decided_by, decided_at';
interface ProposalRow extends Omit<Proposal, 'move'> {
  move: string;
}

function proposalOf(row: ProposalRow): Proposal {
  return { ...row, move: JSON.parse(row.move) };
}

const BULK = 'id, move, reason, who, per_day, items, state, detail, created_at, updated_at, revision';
interface BulkRow extends Omit<BulkMove, 'move' | 'items'> {
  move: string;
  items: string;
}

function bulkOf(row: BulkRow): BulkMove {
  return { ...row, move: JSON.parse(row.move), items: JSON.parse(row.items) };
}

function bulkStep(one: BulkMove, expected_revision: number, updated_at: number): Step {
  const { id, reason, who, per_day, state, detail, created_at } = one;
  const [move, items] = [JSON.stringify(one.move), JSON.stringify(one.items)];
  if (expected_revision === 0) {
    const values = [id, move, reason, who, per_day, items, state, detail, created_at, updated_at];
    return { write: 'insert_bulk_move', values, changes: 1 };
  }
  const values = [per_day, items, state, detail, updated_at, id, expected_revision];
  return { write: 'update_bulk_move', values, changes: 1 };
}

/** Of two that change one row at a time the one that asked first is the one that did. */
function unitOf(step: Step, audit: AuditEntry | null, id: string): Unit {
  const locks = { alone: [rowLock(id)] };
  return audit === null ? { steps: [step], locks } : { steps: [step], audit, locks };
}
