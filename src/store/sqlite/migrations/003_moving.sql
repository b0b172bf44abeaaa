-- Moving merchants: safety stops, sales born on legacy, the history of links, exchanges and the sums made of them.

-- Safety stops that stand, apart from the operator's intent in `settings`.
ALTER TABLE merchants ADD COLUMN trips TEXT NOT NULL DEFAULT '{}';

CREATE TABLE legacy_sales (
  -- Order of writing, which tells the earlier of two sales of one millisecond.
  sequence INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  merchant_id TEXT NOT NULL,
  family TEXT NOT NULL CHECK (family IN ('point', 'qr')),
  work TEXT NOT NULL CHECK (work IN ('sale', 'refund')),
  unit TEXT NOT NULL,
  slot TEXT,
  legacy_id TEXT,
  client_reference TEXT,
  state TEXT NOT NULL CHECK (state IN ('SENDING', 'IN_DOUBT', 'OPEN', 'ENDED', 'REFUSED')),
  unproven_token TEXT,
  ends_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
-- Every create on orders looks here first.
CREATE INDEX legacy_sales_holding ON legacy_sales (merchant_id, slot, ends_at)
  WHERE slot IS NOT NULL AND state IN ('SENDING', 'IN_DOUBT', 'OPEN');
CREATE INDEX legacy_sales_until ON legacy_sales (merchant_id, ends_at)
  WHERE slot IS NOT NULL AND state IN ('SENDING', 'IN_DOUBT', 'OPEN');
CREATE INDEX legacy_sales_by_age ON legacy_sales (created_at);
CREATE INDEX legacy_sales_by_legacy ON legacy_sales (legacy_id) WHERE legacy_id IS NOT NULL;
CREATE INDEX legacy_sales_by_reference ON legacy_sales (merchant_id, client_reference)
  WHERE client_reference IS NOT NULL;

-- Triggers keep the history, so that no way of writing a link can forget it. It starts with this schema.
CREATE TABLE link_states (
  legacy_id TEXT NOT NULL,
  -- Of the link, which rises with each of its changes.
  revision INTEGER NOT NULL,
  at INTEGER NOT NULL,
  state TEXT NOT NULL,
  legacy_state TEXT NOT NULL,
  order_status TEXT,
  PRIMARY KEY (legacy_id, revision)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER links_began AFTER INSERT ON links
BEGIN
  INSERT INTO link_states (legacy_id, revision, at, state, legacy_state, order_status)
  VALUES (new.legacy_id, new.revision, new.updated_at, new.state, new.legacy_state,
    json_extract(new.order_json, '$.status'));
END;
CREATE TRIGGER links_went_on AFTER UPDATE OF state, legacy_state, order_json ON links
WHEN new.state <> old.state OR new.legacy_state <> old.legacy_state OR (new.order_json IS NOT old.order_json
  AND json_extract(new.order_json, '$.status') IS NOT json_extract(old.order_json, '$.status'))
BEGIN
  INSERT INTO link_states (legacy_id, revision, at, state, legacy_state, order_status)
  VALUES (new.legacy_id, new.revision, new.updated_at, new.state, new.legacy_state,
    json_extract(new.order_json, '$.status'));
END;
CREATE INDEX links_by_change ON links (updated_at, legacy_id);

CREATE TABLE exchanges (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  at INTEGER NOT NULL,
  merchant_id TEXT,
  operation TEXT,
  kind TEXT,
  lane TEXT NOT NULL CHECK (lane IN ('legacy', 'orders')),
  stage TEXT NOT NULL,
  unit TEXT,
  legacy_id TEXT,
  status INTEGER NOT NULL,
  error TEXT,
  outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'business', 'auth', 'fault')),
  duration_ms REAL NOT NULL,
  tables_revision TEXT NOT NULL,
  -- JSON from here on; an empty list is null.
  upstream TEXT,
  fired TEXT,
  losses TEXT,
  lost TEXT,
  unknown TEXT,
  shadow TEXT,
  signatures TEXT,
  messages TEXT
) STRICT;
-- An index ends in the row's sequence, so each of these is read in the order of pages.
CREATE INDEX exchanges_by_merchant ON exchanges (merchant_id);
CREATE INDEX exchanges_by_legacy ON exchanges (legacy_id) WHERE legacy_id IS NOT NULL;
CREATE INDEX exchanges_by_time ON exchanges (at);
CREATE INDEX exchanges_captured ON exchanges (merchant_id) WHERE messages IS NOT NULL;
CREATE INDEX exchanges_captured_by_time ON exchanges (at) WHERE messages IS NOT NULL;
-- Which sequences an hour's exchanges lie between: a page of a period starts and ends near it without a sort.
CREATE TABLE exchange_hours (
  hour INTEGER PRIMARY KEY,
  first_sequence INTEGER NOT NULL,
  last_sequence INTEGER NOT NULL
) STRICT;
CREATE TRIGGER exchanges_placed AFTER INSERT ON exchanges
BEGIN
  INSERT INTO exchange_hours (hour, first_sequence, last_sequence)
  VALUES (new.at / 3600000, new.sequence, new.sequence)
  ON CONFLICT (hour) DO UPDATE SET last_sequence = excluded.last_sequence;
END;

-- Sums of exchanges; each is written in the transaction of its exchanges, and outlives them.
CREATE TABLE traffic (
  merchant_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  operation TEXT NOT NULL,
  kind TEXT NOT NULL,
  lane TEXT NOT NULL,
  outcome TEXT NOT NULL,
  calls INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, day, operation, lane, outcome)
) STRICT, WITHOUT ROWID;
CREATE INDEX traffic_by_day ON traffic (day);
CREATE TABLE seen_units (
  merchant_id TEXT NOT NULL,
  slot TEXT NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  last_lane TEXT NOT NULL,
  PRIMARY KEY (merchant_id, slot)
) STRICT, WITHOUT ROWID;
CREATE TABLE ledger (
  merchant_id TEXT NOT NULL,
  operation TEXT NOT NULL,
  "table" TEXT NOT NULL,
  path TEXT NOT NULL,
  why TEXT NOT NULL,
  weight TEXT NOT NULL CHECK (weight IN ('money', 'identity', 'other')),
  count INTEGER NOT NULL,
  would_be_count INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  sample TEXT NOT NULL,
  tables_revision TEXT NOT NULL,
  PRIMARY KEY (merchant_id, operation, "table", path)
) STRICT, WITHOUT ROWID;
CREATE TABLE coverage (
  merchant_id TEXT NOT NULL,
  operation TEXT NOT NULL,
  field TEXT NOT NULL,
  equal INTEGER NOT NULL,
  different INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, operation, field)
) STRICT, WITHOUT ROWID;
CREATE TABLE differences (
  merchant_id TEXT NOT NULL,
  signature TEXT NOT NULL,
  operation TEXT NOT NULL,
  what TEXT NOT NULL CHECK (what IN ('verdict', 'error', 'value')),
  path TEXT NOT NULL,
  legacy TEXT NOT NULL,
  orders TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('new', 'explained', 'accepted', 'fixed')),
  accepted_until INTEGER,
  note TEXT NOT NULL,
  who TEXT,
  count INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  sample TEXT NOT NULL,
  tables_revision TEXT NOT NULL,
  revision INTEGER NOT NULL CHECK (revision >= 1),
  PRIMARY KEY (merchant_id, signature)
) STRICT, WITHOUT ROWID;
-- Here the merchant is '' where no token told whose call it was.
CREATE TABLE unknowns (
  merchant_id TEXT NOT NULL,
  what TEXT NOT NULL CHECK (what IN ('endpoint', 'field', 'header')),
  name TEXT NOT NULL,
  count INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, what, name)
) STRICT, WITHOUT ROWID;
-- A key can't hold nulls: here '' stands for none.
CREATE TABLE verdicts (
  merchant_id TEXT NOT NULL,
  operation TEXT NOT NULL,
  verdict TEXT NOT NULL CHECK (verdict IN ('accepted', 'refused_here', 'refused_there')),
  code TEXT NOT NULL,
  error TEXT NOT NULL,
  detail TEXT NOT NULL,
  count INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  sample TEXT NOT NULL,
  PRIMARY KEY (merchant_id, operation, verdict, code, error, detail)
) STRICT, WITHOUT ROWID;
CREATE TABLE shed (
  day INTEGER NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('shadow', 'evidence')),
  count INTEGER NOT NULL,
  PRIMARY KEY (day, reason)
) STRICT, WITHOUT ROWID;

CREATE TABLE proposals (
  sequence INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  merchant_id TEXT NOT NULL,
  move TEXT NOT NULL,
  reason TEXT NOT NULL,
  proposed_by TEXT NOT NULL,
  proposed_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'approved', 'declined', 'expired', 'withdrawn')),
  decided_by TEXT,
  decided_at INTEGER
) STRICT;
CREATE INDEX proposals_by_merchant ON proposals (merchant_id);
CREATE INDEX proposals_by_state ON proposals (state);

CREATE TABLE bulk_moves (
  sequence INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  move TEXT NOT NULL,
  reason TEXT NOT NULL,
  who TEXT NOT NULL,
  per_day INTEGER NOT NULL,
  items TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'stopped', 'done', 'aborted')),
  detail TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  revision INTEGER NOT NULL CHECK (revision >= 1)
) STRICT;
CREATE INDEX bulk_moves_by_state ON bulk_moves (state);

-- A person has the number that the till was told, or the service's own id.
CREATE INDEX refunds_by_upstream ON refunds (upstream_id) WHERE upstream_id IS NOT NULL;
CREATE INDEX refunds_by_number ON refunds (reference_id) WHERE reference_id IS NOT NULL;

CREATE INDEX audit_by_subject ON audit (subject);
CREATE INDEX audit_by_action ON audit (action);

CREATE INDEX events_by_order ON events (order_id) WHERE order_id IS NOT NULL;
CREATE INDEX events_by_reference ON events (reference) WHERE reference IS NOT NULL;
CREATE INDEX events_unmatched ON events (sequence) WHERE state IN ('parked', 'expired');
