-- Notices that nobody acknowledges are counted for incidents, oldest first, without reading their rows.

CREATE INDEX notices_stuck ON notices (merchant_id, created_at) WHERE state = 'pending' AND replayed = 0;
