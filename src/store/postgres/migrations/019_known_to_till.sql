-- Columns and indexes are named as the glossary and `docs/protocol.md` §3.9 name what they hold: known to the till, answered.

ALTER TABLE links RENAME COLUMN heard_by TO known_by;
ALTER TABLE refunds RENAME COLUMN told_at TO answered_at;
ALTER TABLE refunds RENAME COLUMN heard_at TO known_at;
ALTER INDEX links_unheard RENAME TO links_retriable;
ALTER INDEX links_paid_unheard RENAME TO links_paid_unacknowledged;
