/** Writes that move whole schedules; whoever changes a link at that moment decides again on its new revision. */

export const scheduleWrites = {
  hasten_links: `UPDATE links SET next_check_at = next_check_at - ?, revision = revision + 1 WHERE next_check_at IS NOT NULL`,
  hasten_events: `UPDATE events SET next_attempt_at = next_attempt_at - ? WHERE state = 'pending'`,
  hasten_all_notices: `UPDATE notices SET next_attempt_at = next_attempt_at - ? WHERE state = 'pending'`,
  hasten_legacy_sales: `UPDATE legacy_sales SET ends_at = ends_at - ? WHERE state <> 'ENDED'`,
};
export type ScheduleWrite = keyof typeof scheduleWrites;
