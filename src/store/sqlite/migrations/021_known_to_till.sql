-- Columns and indexes are named as the glossary and `docs/protocol.md` §3.9 name what they hold: known to the till, answered.

ALTER TABLE links RENAME COLUMN heard_by TO known_by;
ALTER TABLE refunds RENAME COLUMN told_at TO answered_at;
ALTER TABLE refunds RENAME COLUMN heard_at TO known_at;
DROP INDEX links_unheard;
CREATE INDEX links_retriable ON links (merchant_id, fingerprint, coalesce(client_key, ''), created_at)
  WHERE (known_by IS NULL OR (known_by = 'notice' AND client_key IS NOT NULL));
DROP INDEX links_paid_unheard;
CREATE INDEX links_paid_unacknowledged ON links (merchant_id, legacy_state_at, legacy_id)
  WHERE state = 'DONE' AND known_by IS NULL AND (legacy_state = 'FINISHED' OR legacy_state = 'paid');
