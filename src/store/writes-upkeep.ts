/** Statements that delete what is old, or a merchant: each takes a JSON list of keys, and none takes a live row. */
import { HOLDING } from './writes-routing.ts';

/** Links that nothing is left to do for. */
export const OVER = `state IN ('DONE', 'REJECTED', 'NOT_SENT', 'LOST')`;
/** A bulk move that runs, in which the turn of a merchant is still to come. */
export const AWAITS_IN_BULK = (merchant: string): string => `state = 'running' AND EXISTS (
    SELECT 1 FROM json_each(bulk_moves.items) AS item
    WHERE item.value ->> 'merchant_id' = ${merchant} AND item.value ->> 'state' = 'waiting')`;
const LISTED = 'IN (SELECT value FROM json_each(?))';

export const upkeepWrites = {
  /**
   * The events, attempts, notices, refunds and history of links go first: the links are what they hang on. A reference may be
   * another merchant's too, or a later sale's: of what it names only events that are over go, and of this very sale.
   */
  delete_events_of_links: `DELETE FROM events WHERE sequence IN (
    SELECT events.sequence FROM json_each(?) AS named CROSS JOIN links ON links.legacy_id = named.value
    CROSS JOIN events INDEXED BY events_by_order ON events.order_id = links.order_id UNION
    SELECT events.sequence FROM json_each(?) AS named CROSS JOIN links ON links.legacy_id = named.value
    CROSS JOIN events INDEXED BY events_by_reference ON events.reference = links.reference_sent
    WHERE events.state IN ('done', 'expired') AND events.user_id = links.merchant_id
    AND (events.order_id IS NULL OR events.order_id = links.order_id))`,
  delete_attempts_of_links: `DELETE FROM notice_attempts WHERE notice_id IN (SELECT notices.id FROM json_each(?) AS named
    CROSS JOIN notices ON notices.legacy_id = named.value)`,
  delete_notices_of_links: `DELETE FROM notices WHERE legacy_id ${LISTED}`,
  delete_refunds_of_links: `DELETE FROM refunds WHERE legacy_id ${LISTED} AND state NOT IN ('SENDING', 'IN_DOUBT')`,
  delete_history_of_links: `DELETE FROM link_states WHERE legacy_id ${LISTED}`,
  delete_links: `DELETE FROM links WHERE legacy_id ${LISTED} AND ${OVER} AND next_check_at IS NULL`,
  /** The same whoever wanted to look again: nobody will. */
  erase_links: `DELETE FROM links WHERE legacy_id ${LISTED} AND ${OVER}`,

  delete_attempts_of_notices: `DELETE FROM notice_attempts WHERE notice_id ${LISTED}`,
  delete_notices: `DELETE FROM notices WHERE id ${LISTED} AND state <> 'pending'`,
  delete_events: `DELETE FROM events WHERE sequence ${LISTED} AND state IN ('done', 'expired')`,
  delete_traffic: `DELETE FROM traffic WHERE (merchant_id, day, operation, lane, outcome) IN (
    SELECT merchant_id, day, operation, lane, outcome FROM traffic WHERE day < (SELECT ?) LIMIT ?)`,
  delete_readiness: `DELETE FROM readiness_days WHERE (merchant_id, day) IN (
    SELECT merchant_id, day FROM readiness_days WHERE day < (SELECT ?) LIMIT ?)`,
  delete_shed: `DELETE FROM shed WHERE day < ?`,
  /** Hours without exchanges: the pages of a period need the others. */
  delete_hours: `DELETE FROM exchange_hours WHERE hour < ?
    AND last_sequence < (SELECT coalesce(min(sequence), 9223372036854775807) FROM exchanges)`,
  blank_tokens: `UPDATE tokens SET sealed_token = x'' WHERE fingerprint ${LISTED} AND seen_at < ?`,

  erase_legacy_sales: `DELETE FROM legacy_sales WHERE sequence ${LISTED} AND NOT (${HOLDING} AND ends_at > ?)`,
  erase_events: `DELETE FROM events WHERE sequence ${LISTED}`,
  erase_traffic: `DELETE FROM traffic WHERE merchant_id = ?`,
  erase_units: `DELETE FROM seen_units WHERE merchant_id = ?`,
  erase_ledger: `DELETE FROM ledger WHERE merchant_id = ?`,
  erase_coverage: `DELETE FROM coverage WHERE merchant_id = ?`,
  erase_differences: `DELETE FROM differences WHERE merchant_id = ?`,
  erase_unknowns: `DELETE FROM unknowns WHERE merchant_id = ?`,
  erase_verdicts: `DELETE FROM verdicts WHERE merchant_id = ?`,
  erase_readiness: `DELETE FROM readiness_days WHERE merchant_id = ?`,
  erase_proposals: `DELETE FROM proposals WHERE merchant_id = ? AND state <> 'waiting'`,
  /** Its lines stay as they count; the revision has a step that is under way read them anew. The values are its id twice, the row's, its id. */
  erase_from_bulk_move: `UPDATE bulk_moves SET revision = revision + 1,
    items = (SELECT json_group_array(json(CASE WHEN item.value ->> 'merchant_id' = (SELECT ?)
      THEN json_set(item.value, '$.merchant_id', 'erased', '$.detail', '') ELSE item.value END) ORDER BY item.key)
      FROM json_each(bulk_moves.items) AS item),
    detail = CASE WHEN instr(detail, ?) > 0 THEN 'It told of a merchant that was erased.' ELSE detail END
    WHERE id = ? AND NOT (${AWAITS_IN_BULK('(SELECT ?)')})`,
  erase_tokens: `DELETE FROM tokens WHERE merchant_id = ?`,
  /** Not while a row is left: then work began meanwhile. */
  erase_merchant: `DELETE FROM merchants WHERE id = ?
    AND NOT EXISTS (SELECT 1 FROM links WHERE merchant_id = merchants.id)
    AND NOT EXISTS (SELECT 1 FROM legacy_sales WHERE merchant_id = merchants.id)
    AND NOT EXISTS (SELECT 1 FROM proposals WHERE merchant_id = merchants.id)
    AND NOT EXISTS (SELECT 1 FROM bulk_moves WHERE ${AWAITS_IN_BULK('merchants.id')})`,
} as const;
