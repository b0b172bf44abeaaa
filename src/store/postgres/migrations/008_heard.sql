-- An equal create is answered with a sale that its till has not heard of, in whatever state that sale is: until now a sale in a final
-- state was never answered again, so that a till whose answer was lost could charge twice.
ALTER TABLE links ADD COLUMN acknowledged_at BIGINT;
ALTER TABLE links ADD COLUMN heard_by byte_text CHECK (heard_by = 'till' OR heard_by = 'notice');
-- Of sales of before it is not known whether they were heard. Those in a final state whose till was answered are treated as before.
UPDATE links SET acknowledged_at = created_at WHERE client_answer = 'maybe';
UPDATE links SET heard_by = 'till' WHERE client_answer = 'maybe' AND state NOT IN ('SENDING', 'IN_DOUBT', 'LIVE');
DROP INDEX links_live_request;
CREATE INDEX links_unheard ON links (merchant_id, fingerprint, coalesce(client_key, ''), created_at)
  WHERE (heard_by IS NULL OR (heard_by = 'notice' AND client_key IS NOT NULL));
CREATE INDEX links_unacknowledged ON links (merchant_id, fingerprint, created_at)
  WHERE (heard_by IS NULL OR (heard_by = 'notice' AND client_key IS NOT NULL)) AND acknowledged_at IS NULL;

ALTER TABLE refunds ADD COLUMN heard_at BIGINT;
UPDATE refunds SET heard_at = told_at;
