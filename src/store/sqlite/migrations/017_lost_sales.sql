-- Lost sales are few, and every verdict on a merchant counts them.

CREATE INDEX links_lost ON links (merchant_id, created_at, legacy_id) WHERE state = 'LOST';
