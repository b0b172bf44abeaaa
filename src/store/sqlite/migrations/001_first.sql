-- The first schema. Instants are integers, epoch milliseconds. Sealed columns hold ciphertext only.

CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE merchants (
  id TEXT PRIMARY KEY,
  site TEXT,
  settings TEXT NOT NULL,
  sealed_notice_secret BLOB,
  sealed_credential BLOB,
  revision INTEGER NOT NULL CHECK (revision >= 1),
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
  fingerprint TEXT PRIMARY KEY,
  merchant_id TEXT NOT NULL REFERENCES merchants (id),
  sealed_token BLOB NOT NULL,
  accepted_until INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT;
CREATE INDEX tokens_latest ON tokens (merchant_id, seen_at);

CREATE TABLE links (
  legacy_id TEXT PRIMARY KEY,
  merchant_id TEXT NOT NULL,
  lane TEXT NOT NULL CHECK (lane IN ('orders')),
  unit TEXT NOT NULL,
  client_key TEXT,
  fingerprint TEXT NOT NULL,
  reference_sent TEXT NOT NULL,
  held TEXT NOT NULL,
  amount_minor INTEGER NOT NULL CHECK (amount_minor BETWEEN 0 AND 9007199254740991),
  idempotency_key TEXT NOT NULL,
  sealed_body BLOB,
  tables_revision TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('SENDING', 'IN_DOUBT', 'LIVE', 'DONE', 'REJECTED', 'NOT_SENT', 'LOST')),
  attempts INTEGER NOT NULL,
  first_sent_at INTEGER,
  boot_id TEXT NOT NULL,
  client_answer TEXT NOT NULL CHECK (client_answer IN ('none', 'maybe', 'error')),
  order_id TEXT,
  order_json TEXT,
  order_version TEXT,
  payment_id TEXT,
  intent_state TEXT NOT NULL,
  intent_state_at INTEGER NOT NULL,
  cancel TEXT CHECK (cancel IN ('sent', 'acknowledged')),
  expires_at INTEGER NOT NULL,
  next_check_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  revision INTEGER NOT NULL CHECK (revision >= 1)
) STRICT;
-- One live link per unit: the race between two creates is decided here.
CREATE UNIQUE INDEX links_live ON links (merchant_id, unit) WHERE state IN ('SENDING', 'IN_DOUBT', 'LIVE');
CREATE UNIQUE INDEX links_by_order ON links (order_id) WHERE order_id IS NOT NULL;
CREATE INDEX links_by_reference ON links (merchant_id, reference_sent);
CREATE INDEX links_by_payment ON links (merchant_id, payment_id) WHERE payment_id IS NOT NULL;
CREATE INDEX links_due ON links (next_check_at) WHERE next_check_at IS NOT NULL;
CREATE INDEX links_finished ON links (merchant_id, intent_state_at)
  WHERE intent_state IN ('FINISHED', 'CONFIRMATION_REQUIRED', 'CANCELED', 'ERROR', 'ABANDONED');

-- One key, one reference, one body per link for ever, whatever the code does.
CREATE TRIGGER links_fixed BEFORE UPDATE OF
  legacy_id, merchant_id, lane, unit, client_key, fingerprint, reference_sent, held, amount_minor, idempotency_key,
  tables_revision, boot_id, created_at ON links
BEGIN
  SELECT RAISE(ABORT, 'a fixed column of a link can not be changed');
END;
CREATE TRIGGER links_body_only_erased BEFORE UPDATE OF sealed_body ON links
WHEN new.sealed_body IS NOT NULL AND new.sealed_body IS NOT old.sealed_body
BEGIN
  SELECT RAISE(ABORT, 'the body of a link can only be erased');
END;

-- Counting a million rows for every scrape would stall the process, so the counts are kept with the rows.
CREATE TABLE link_counts (
  state TEXT PRIMARY KEY,
  links INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO link_counts (state, links)
VALUES ('SENDING', 0), ('IN_DOUBT', 0), ('LIVE', 0), ('DONE', 0), ('REJECTED', 0), ('NOT_SENT', 0), ('LOST', 0);
CREATE TRIGGER links_counted_in AFTER INSERT ON links
BEGIN
  UPDATE link_counts SET links = links + 1 WHERE state = new.state;
END;
CREATE TRIGGER links_counted_over AFTER UPDATE OF state ON links WHEN new.state <> old.state
BEGIN
  UPDATE link_counts SET links = links - 1 WHERE state = old.state;
  UPDATE link_counts SET links = links + 1 WHERE state = new.state;
END;
CREATE TRIGGER links_counted_out AFTER DELETE ON links
BEGIN
  UPDATE link_counts SET links = links - 1 WHERE state = old.state;
END;

CREATE TABLE notices (
  id TEXT PRIMARY KEY,
  legacy_id TEXT NOT NULL REFERENCES links (legacy_id),
  merchant_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  body TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'dead')),
  -- 1 for the first pending notice of its link; the others wait, and must cost nothing while they do.
  is_next INTEGER NOT NULL CHECK (is_next IN (0, 1)),
  attempts INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  next_attempt_at INTEGER NOT NULL,
  UNIQUE (legacy_id, sequence)
) STRICT;
CREATE INDEX notices_due ON notices (next_attempt_at, created_at) WHERE state = 'pending' AND is_next = 1;
CREATE INDEX notices_pending ON notices (merchant_id) WHERE state = 'pending';

CREATE TABLE notice_attempts (
  notice_id TEXT NOT NULL REFERENCES notices (id),
  at INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('delivered', 'theirs', 'ours')),
  status INTEGER,
  detail TEXT NOT NULL
) STRICT;
CREATE INDEX notice_attempts_by_notice ON notice_attempts (notice_id);

CREATE TABLE events (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  received_at INTEGER NOT NULL,
  order_id TEXT,
  reference TEXT,
  user_id TEXT,
  verified INTEGER NOT NULL CHECK (verified IN (0, 1)),
  action TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'parked', 'done', 'expired')),
  attempts INTEGER NOT NULL,
  next_attempt_at INTEGER NOT NULL
) STRICT;
CREATE INDEX events_due ON events (next_attempt_at) WHERE state = 'pending';
CREATE INDEX events_unread ON events (order_id, reference) WHERE state = 'pending';
CREATE INDEX events_parked_order ON events (order_id) WHERE state = 'parked';
CREATE INDEX events_parked_reference ON events (reference) WHERE state = 'parked';
CREATE INDEX events_parked_rank ON events (verified, sequence) WHERE state = 'parked';
CREATE INDEX events_over ON events (received_at) WHERE state IN ('done', 'expired');

CREATE TABLE audit (
  sequence INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  who TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE TRIGGER audit_not_changed BEFORE UPDATE ON audit
BEGIN
  SELECT RAISE(ABORT, 'an audit line can not be changed');
END;
CREATE TRIGGER audit_not_deleted BEFORE DELETE ON audit
BEGIN
  SELECT RAISE(ABORT, 'an audit line can not be deleted');
END;
