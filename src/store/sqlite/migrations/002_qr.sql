-- QR orders, merchant orders, refunds, and notices of more than one topic.

ALTER TABLE links RENAME COLUMN intent_state TO legacy_state;
ALTER TABLE links RENAME COLUMN intent_state_at TO legacy_state_at;
DROP TRIGGER links_fixed;
ALTER TABLE links ADD COLUMN family TEXT NOT NULL DEFAULT 'point' CHECK (family IN ('point', 'qr'));
-- What only one live link may hold, such as `point:PAX_A910__1` or `qr:SUC001POS001`; null for a dynamic QR, which holds nothing.
ALTER TABLE links ADD COLUMN slot TEXT;
ALTER TABLE links ADD COLUMN client_reference TEXT;
ALTER TABLE links ADD COLUMN merchant_order_id INTEGER;
ALTER TABLE links ADD COLUMN sealed_notice_url BLOB;
UPDATE links SET slot = 'point:' || unit,
  client_reference = CASE json_type(held, '$.additional_info.external_reference')
    WHEN 'text' THEN json_extract(held, '$.additional_info.external_reference') END;

DROP INDEX links_live;
CREATE UNIQUE INDEX links_live ON links (merchant_id, slot) WHERE state IN ('SENDING', 'IN_DOUBT', 'LIVE');
-- A dynamic QR has no slot: the retry of one is recognised by its request.
CREATE INDEX links_live_request ON links (merchant_id, fingerprint)
  WHERE slot IS NULL AND state IN ('SENDING', 'IN_DOUBT', 'LIVE');
CREATE INDEX links_by_client_reference ON links (merchant_id, client_reference, created_at)
  WHERE client_reference IS NOT NULL;
DROP INDEX links_by_payment;
CREATE INDEX links_by_payment ON links (payment_id) WHERE payment_id IS NOT NULL;
CREATE UNIQUE INDEX links_by_merchant_order ON links (merchant_order_id) WHERE merchant_order_id IS NOT NULL;
CREATE INDEX links_by_merchant ON links (merchant_id, created_at);
CREATE TRIGGER links_fixed BEFORE UPDATE OF
  legacy_id, merchant_id, lane, family, unit, slot, client_key, fingerprint, reference_sent, client_reference, held,
  amount_minor, merchant_order_id, sealed_notice_url, idempotency_key, tables_revision, boot_id, created_at ON links
BEGIN
  SELECT RAISE(ABORT, 'a fixed column of a link can not be changed');
END;

ALTER TABLE notices ADD COLUMN topic TEXT NOT NULL DEFAULT 'point'
  CHECK (topic IN ('point', 'payment', 'merchant_order'));
-- The id the notice is about: an intent, a payment or a merchant order.
ALTER TABLE notices ADD COLUMN subject TEXT NOT NULL DEFAULT '';
UPDATE notices SET subject = legacy_id;
-- IPN and webhook of one sale are deliveries of their own, each in its own order.
ALTER TABLE notices ADD COLUMN form TEXT NOT NULL DEFAULT 'point' CHECK (form IN ('point', 'ipn', 'webhook'));
-- 1 once an operator has asked for it again: it waits for nothing in its link, and nothing waits for it.
ALTER TABLE notices ADD COLUMN replayed INTEGER NOT NULL DEFAULT 0 CHECK (replayed IN (0, 1));
DROP INDEX notices_due;
CREATE INDEX notices_due ON notices (next_attempt_at, created_at, sequence) WHERE state = 'pending' AND is_next = 1;
CREATE INDEX notices_by_time ON notices (created_at);
CREATE INDEX notices_by_merchant ON notices (merchant_id, created_at);
CREATE INDEX notices_by_state ON notices (state, created_at);
-- Where a merchant's notices go; until its next save it may still stand in `settings`, in clear, as schema 1 had it.
ALTER TABLE merchants ADD COLUMN sealed_notice_url BLOB;
-- Where an attempt went, without the URL's path and parameters, which may be keys.
ALTER TABLE notice_attempts ADD COLUMN url TEXT;

CREATE TABLE refunds (
  id TEXT PRIMARY KEY,
  -- What the till sees when the service gives no number of its own.
  number INTEGER NOT NULL UNIQUE,
  legacy_id TEXT NOT NULL REFERENCES links (legacy_id),
  merchant_id TEXT NOT NULL,
  payment_id TEXT NOT NULL,
  client_key TEXT,
  fingerprint TEXT NOT NULL,
  -- Null asks for everything that is left.
  amount_minor INTEGER,
  -- What had been refunded before, so that an unknown outcome can be told from a read.
  refunded_before_minor INTEGER NOT NULL,
  idempotency_key TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('SENDING', 'IN_DOUBT', 'DONE', 'REFUSED', 'NOT_SENT')),
  upstream_id TEXT,
  reference_id TEXT,
  refunded_minor INTEGER,
  upstream_status TEXT,
  -- When the till's answer had left; null means that it may repeat itself because it heard nothing.
  told_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  revision INTEGER NOT NULL CHECK (revision >= 1)
) STRICT;
-- One refund of a payment at a time: a second one could not be told from the first when its outcome is unknown.
CREATE UNIQUE INDEX refunds_open ON refunds (legacy_id) WHERE state IN ('SENDING', 'IN_DOUBT');
CREATE INDEX refunds_by_link ON refunds (legacy_id, created_at);
