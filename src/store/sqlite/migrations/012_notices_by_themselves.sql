-- Each notice goes by itself: none waits for another of its sale any more, and an undelivered one is superseded by a newer one of the
-- same topic and id (docs/operations.md, Notices). The rule of the states is changed as in schema 9; the new indexes make every
-- connection read it anew.

PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (state = ''pending'' OR state = ''delivered'' OR state = ''dead'')',
  'CHECK (state = ''pending'' OR state = ''delivered'' OR state = ''dead'' OR state = ''superseded'')')
WHERE type = 'table' AND name = 'notices';
PRAGMA writable_schema = RESET;

DROP INDEX notices_due;
DROP INDEX notices_due_by_merchant;
-- The one below begins as it did.
DROP INDEX notices_pending;
ALTER TABLE notices DROP COLUMN is_next;
CREATE INDEX notices_due ON notices (next_attempt_at, created_at, sequence) WHERE state = 'pending';
CREATE INDEX notices_due_by_merchant ON notices (merchant_id, next_attempt_at, created_at, sequence) WHERE state = 'pending';

UPDATE notices SET state = 'superseded' WHERE state = 'pending' AND replayed = 0 AND EXISTS (SELECT 1 FROM notices AS newer
  WHERE newer.legacy_id = notices.legacy_id AND newer.form = notices.form AND newer.topic = notices.topic
  AND newer.subject = notices.subject AND newer.sequence > notices.sequence AND newer.replayed = 0);
