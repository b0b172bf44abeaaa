-- What is due after an outage can be a hundred thousand rows: it is found by merchant, and in small parts.

-- One merchant's backlog must not hide the others', nor be read past again and again.
CREATE INDEX notices_due_by_merchant ON notices (merchant_id, next_attempt_at, created_at, sequence)
  WHERE state = 'pending' AND is_next = 1;

-- With the merchant in it, links of merchants that have to wait are passed without being read.
DROP INDEX links_due;
CREATE INDEX links_due ON links (next_check_at, merchant_id) WHERE next_check_at IS NOT NULL;
-- Creates without an outcome hold their terminals, so they go before looks at orders that are well.
CREATE INDEX links_in_doubt ON links (next_check_at, merchant_id)
  WHERE next_check_at IS NOT NULL AND state IN ('SENDING', 'IN_DOUBT');
