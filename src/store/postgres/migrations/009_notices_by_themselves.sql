-- Each notice goes by itself: none waits for another of its sale any more, and an undelivered one is superseded by a newer one of the
-- same topic and id (docs/operations.md, Notices).

ALTER TABLE notices DROP CONSTRAINT notices_state_check,
  ADD CONSTRAINT notices_state_check CHECK (state IN ('pending', 'delivered', 'dead', 'superseded'));
-- The indexes that name the column go with it.
ALTER TABLE notices DROP COLUMN is_next;
DROP INDEX notices_pending;
CREATE INDEX notices_due ON notices (next_attempt_at, created_at, sequence) WHERE state = 'pending';
CREATE INDEX notices_due_by_merchant ON notices (merchant_id, next_attempt_at, created_at, sequence) WHERE state = 'pending';

UPDATE notices SET state = 'superseded' WHERE state = 'pending' AND replayed = 0 AND EXISTS (SELECT 1 FROM notices AS newer
  WHERE newer.legacy_id = notices.legacy_id AND newer.form = notices.form AND newer.topic = notices.topic
  AND newer.subject = notices.subject AND newer.sequence > notices.sequence AND newer.replayed = 0);
