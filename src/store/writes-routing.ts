/** Statements that write what moving merchants needs: sales born on legacy, safety stops, proposals, bulk moves. */
import { ANY_POINT_OF_SALE } from '../proxy/records/routing.ts';
import { LIVE, oneOfThese } from './columns.ts';

/** A sale born on legacy that holds its slot; its ending is compared where it is used. */
export const HOLDING = holding('state');

/** The same, of a row by another name. */
export function holding(column: string): string {
  return oneOfThese(column, ['SENDING', 'IN_DOUBT', 'OPEN']);
}

export const routingWrites = {
  update_trips: `UPDATE merchants SET trips = ?, revision = revision + 1, updated_at = ? WHERE id = ? AND revision = ?`,

  /** The last three values are merchant, and the first and last slot: no row while a link of ours is live between them. */
  insert_legacy_sale: `INSERT INTO legacy_sales (id, merchant_id, family, work, unit, slot, legacy_id, client_reference, state,
    unproven_token, ends_at, created_at, updated_at) SELECT ?, ?, ?, ?, ?, ?, ?, cover(?), ?, ?, ?, ?, ?
    WHERE NOT EXISTS (SELECT 1 FROM links WHERE merchant_id = (SELECT ?) AND slot BETWEEN (SELECT ?) AND (SELECT ?)
    AND ${LIVE})`,
  update_legacy_sale: `UPDATE legacy_sales SET state = coalesce(?, state), legacy_id = CASE WHEN ? = 1 THEN ? ELSE legacy_id END,
    unit = coalesce(?, unit), slot = CASE WHEN ? = 1 THEN ? ELSE slot END,
    unproven_token = CASE WHEN ? = 1 THEN NULL ELSE unproven_token END,
    ends_at = coalesce(?, ends_at), updated_at = coalesce(?, updated_at) WHERE id = ?`,
  /**
   * Those written before the sale on its slot; of those without an answer only what can't take effect any more. Rows that
   * stand for any point of sale are about the same one only when they have the same number.
   */
  end_earlier_legacy_sales: `UPDATE legacy_sales SET state = 'ENDED', updated_at = ? WHERE sequence IN (
    SELECT earlier.sequence FROM legacy_sales AS sale CROSS JOIN legacy_sales AS earlier
    ON earlier.merchant_id = sale.merchant_id AND earlier.slot = sale.slot AND earlier.sequence < sale.sequence
    WHERE sale.id = ? AND sale.state = 'OPEN' AND earlier.slot IS NOT NULL AND ${holding('earlier.state')}
    AND (earlier.slot <> '${ANY_POINT_OF_SALE}' OR earlier.unit = sale.unit)
    AND (earlier.state = 'OPEN' OR earlier.updated_at <= ?))`,
  /** At a start: what was being carried when the process ended may exist, and may still arrive. */
  doubt_legacy_sales: `UPDATE legacy_sales SET state = 'IN_DOUBT', updated_at = ?
    WHERE slot IS NOT NULL AND ${HOLDING} AND state = 'SENDING'`,
  delete_legacy_sales: `DELETE FROM legacy_sales WHERE sequence IN (SELECT value FROM json_each(?))`,

  /** Only one that waits can be decided, and only once. */
  save_proposal: `INSERT INTO proposals (id, merchant_id, move, reason, proposed_by, proposed_at, expires_at, state,
    decided_by, decided_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, decided_by = excluded.decided_by,
    decided_at = excluded.decided_at, expires_at = excluded.expires_at WHERE proposals.state = 'waiting'`,
  insert_bulk_move: `INSERT INTO bulk_moves (id, move, reason, who, per_day, items, state, detail, created_at, updated_at,
    revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`,
  update_bulk_move: `UPDATE bulk_moves SET per_day = ?, items = ?, state = ?, detail = ?, updated_at = ?,
    revision = revision + 1 WHERE id = ? AND revision = ?`,
} as const;
