/** The tables that a transfer carries, parents before their children, and what is particular about each. */

export interface CarriedTable {
  name: string;
  /** Columns that name a row, in the order in which rows are walked. */
  key: readonly string[];
  /** A row goes only where its parent is: `column` refers to `key` of the other table. */
  parent?: { table: string; column: string; key: string };
  /** Lets a row that is going to change go of what only one row may hold, so that it is in no other's way. */
  release?: string;
}

export const CARRIED: readonly CarriedTable[] = [
  { name: 'merchants', key: ['id'] },
  { name: 'tokens', key: ['fingerprint'], parent: { table: 'merchants', column: 'merchant_id', key: 'id' } },
  { name: 'links', key: ['legacy_id'], release: `state = 'DONE', order_id = NULL, merchant_order_id = NULL` },
  { name: 'link_states', key: ['legacy_id', 'revision'] },
  { name: 'notices', key: ['id'], parent: { table: 'links', column: 'legacy_id', key: 'legacy_id' } },
  { name: 'notice_attempts', key: ['rowid'], parent: { table: 'notices', column: 'notice_id', key: 'id' } },
  { name: 'events', key: ['sequence'] },
  { name: 'audit', key: ['sequence'] },
  {
    name: 'refunds',
    key: ['id'],
    parent: { table: 'links', column: 'legacy_id', key: 'legacy_id' },
    release: `state = 'DONE'`,
  },
  { name: 'legacy_sales', key: ['sequence'] },
  { name: 'exchanges', key: ['sequence'] },
  { name: 'exchange_hours', key: ['hour'] },
  { name: 'traffic', key: ['merchant_id', 'day', 'operation', 'lane', 'outcome'] },
  { name: 'seen_units', key: ['merchant_id', 'slot'] },
  { name: 'ledger', key: ['merchant_id', 'operation', 'table', 'path'] },
  { name: 'coverage', key: ['merchant_id', 'operation', 'field'] },
  { name: 'differences', key: ['merchant_id', 'signature'] },
  { name: 'unknowns', key: ['merchant_id', 'what', 'name'] },
  { name: 'verdicts', key: ['merchant_id', 'operation', 'verdict', 'code', 'error', 'detail'] },
  { name: 'readiness_days', key: ['merchant_id', 'day'] },
  { name: 'shed', key: ['day', 'reason'] },
  { name: 'proposals', key: ['sequence'] },
  { name: 'bulk_moves', key: ['sequence'] },
];

/** Of the file alone: what it says of itself, of which `finish.ts` carries what stays true, and counts, which are made anew. */
export const OWN_OF_FILE: readonly string[] = ['meta', 'link_counts'];
