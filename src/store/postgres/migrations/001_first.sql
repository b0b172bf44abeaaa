-- The first schema: the tables of the embedded engine's, in PostgreSQL's words. Instants are epoch milliseconds. Sealed
-- columns hold ciphertext only. JSON is kept as the text it was, because its bytes matter.

-- Text that is compared and sorted by its bytes, whatever the database's own language is.
CREATE DOMAIN byte_text AS TEXT COLLATE "C";

-- Two functions under the names that the shared statements use.
CREATE FUNCTION instr(TEXT, TEXT) RETURNS INTEGER LANGUAGE sql IMMUTABLE AS 'SELECT strpos($1, $2)';
CREATE FUNCTION json_each(TEXT) RETURNS TABLE (value JSON) LANGUAGE sql IMMUTABLE AS
  'SELECT value FROM json_array_elements($1::json) AS element (value)';

-- Ends a transaction whose statement changed another number of rows than it had to.
CREATE FUNCTION must_be(changed BIGINT, wanted BIGINT) RETURNS BIGINT LANGUAGE plpgsql AS $$
BEGIN
  IF changed <> wanted THEN RAISE EXCEPTION USING ERRCODE = 'PU001', MESSAGE = 'another number of rows'; END IF;
  RETURN changed;
END $$;

CREATE TABLE meta (
  name byte_text PRIMARY KEY,
  value byte_text NOT NULL
);

CREATE TABLE merchants (
  id byte_text PRIMARY KEY,
  site byte_text,
  settings byte_text NOT NULL,
  sealed_notice_url BYTEA,
  sealed_notice_secret BYTEA,
  sealed_credential BYTEA,
  -- Safety stops that stand, apart from the operator's intent in `settings`.
  trips byte_text NOT NULL DEFAULT '{}',
  revision BIGINT NOT NULL CHECK (revision >= 1),
  updated_at BIGINT NOT NULL
);

CREATE TABLE tokens (
  -- Order of writing, which tells the later of two that were seen in one millisecond.
  rowid BIGINT GENERATED ALWAYS AS IDENTITY,
  fingerprint byte_text PRIMARY KEY,
  merchant_id byte_text NOT NULL REFERENCES merchants (id),
  sealed_token BYTEA NOT NULL,
  accepted_until BIGINT NOT NULL,
  seen_at BIGINT NOT NULL
);
CREATE INDEX tokens_latest ON tokens (merchant_id, seen_at);

CREATE TABLE links (
  legacy_id byte_text PRIMARY KEY,
  merchant_id byte_text NOT NULL,
  lane byte_text NOT NULL CHECK (lane IN ('orders')),
  family byte_text NOT NULL CHECK (family IN ('point', 'qr')),
  unit byte_text NOT NULL,
  -- What only one live link may hold, such as `point:PAX_A910__1` or `qr:SUC001POS001`; null for a dynamic QR.
  slot byte_text,
  client_key byte_text,
  fingerprint byte_text NOT NULL,
  reference_sent byte_text NOT NULL,
  client_reference byte_text,
  held byte_text NOT NULL,
  amount_minor BIGINT NOT NULL CHECK (amount_minor BETWEEN 0 AND 9007199254740991),
  merchant_order_id BIGINT,
  sealed_notice_url BYTEA,
  idempotency_key byte_text NOT NULL,
  sealed_body BYTEA,
  tables_revision byte_text NOT NULL,
  state byte_text NOT NULL CHECK (state IN ('SENDING', 'IN_DOUBT', 'LIVE', 'DONE', 'REJECTED', 'NOT_SENT', 'LOST')),
  attempts BIGINT NOT NULL,
  first_sent_at BIGINT,
  boot_id byte_text NOT NULL,
  client_answer byte_text NOT NULL CHECK (client_answer IN ('none', 'maybe', 'error')),
  order_id byte_text,
  order_json byte_text,
  order_version byte_text,
  payment_id byte_text,
  legacy_state byte_text NOT NULL,
  legacy_state_at BIGINT NOT NULL,
  cancel byte_text CHECK (cancel IN ('sent', 'acknowledged')),
  expires_at BIGINT NOT NULL,
  next_check_at BIGINT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  revision BIGINT NOT NULL CHECK (revision >= 1)
);
-- One live link per unit: the race between two creates is decided here.
CREATE UNIQUE INDEX links_live ON links (merchant_id, slot) WHERE state IN ('SENDING', 'IN_DOUBT', 'LIVE');
-- A dynamic QR has no slot: the retry of one is recognised by its request.
CREATE INDEX links_live_request ON links (merchant_id, fingerprint)
  WHERE slot IS NULL AND state IN ('SENDING', 'IN_DOUBT', 'LIVE');
CREATE UNIQUE INDEX links_by_order ON links (order_id) WHERE order_id IS NOT NULL;
-- What others wrote may be longer than an index takes: its beginning stands there, or its hash.
CREATE INDEX links_by_reference ON links (merchant_id, left(reference_sent, 200));
CREATE INDEX links_by_client_reference ON links (merchant_id, left(client_reference, 200), created_at)
  WHERE client_reference IS NOT NULL;
CREATE INDEX links_by_payment ON links (payment_id) WHERE payment_id IS NOT NULL;
CREATE UNIQUE INDEX links_by_merchant_order ON links (merchant_order_id) WHERE merchant_order_id IS NOT NULL;
CREATE INDEX links_by_merchant ON links (merchant_id, created_at);
CREATE INDEX links_by_change ON links (updated_at, legacy_id);
CREATE INDEX links_finished ON links (merchant_id, legacy_state_at)
  WHERE legacy_state IN ('FINISHED', 'CONFIRMATION_REQUIRED', 'CANCELED', 'ERROR', 'ABANDONED');
CREATE INDEX links_due ON links (next_check_at) WHERE next_check_at IS NOT NULL;
-- Creates without an outcome hold their terminals, so they go before looks at orders that are well.
CREATE INDEX links_in_doubt ON links (next_check_at)
  WHERE next_check_at IS NOT NULL AND state IN ('SENDING', 'IN_DOUBT');

-- One key, one reference, one body per link for ever, whatever the code does.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = TG_ARGV[0];
END $$;
CREATE TRIGGER links_fixed BEFORE UPDATE OF
  legacy_id, merchant_id, lane, family, unit, slot, client_key, fingerprint, reference_sent, client_reference, held,
  amount_minor, merchant_order_id, sealed_notice_url, idempotency_key, tables_revision, boot_id, created_at ON links
  FOR EACH ROW EXECUTE FUNCTION refuse_change('a fixed column of a link can not be changed');
CREATE TRIGGER links_body_only_erased BEFORE UPDATE OF sealed_body ON links FOR EACH ROW
  WHEN (new.sealed_body IS NOT NULL AND new.sealed_body IS DISTINCT FROM old.sealed_body)
  EXECUTE FUNCTION refuse_change('the body of a link can only be erased');

-- Counting a million rows for every scrape would take too long, so the counts are kept with the rows; in sixteen parts, so
-- that sales do not wait for each other at one row.
CREATE TABLE tallies (
  -- A state of links, or `parked` for events.
  what byte_text NOT NULL,
  part INTEGER NOT NULL,
  rows BIGINT NOT NULL,
  PRIMARY KEY (what, part)
) WITH (fillfactor = 50);
INSERT INTO tallies (what, part, rows)
SELECT what, 0, 0 FROM unnest(ARRAY['SENDING', 'IN_DOUBT', 'LIVE', 'DONE', 'REJECTED', 'NOT_SENT', 'LOST', 'parked']) AS what;
CREATE VIEW link_counts AS SELECT what AS state, rows AS links FROM tallies WHERE what <> 'parked';
CREATE FUNCTION tally(counted TEXT, change INTEGER) RETURNS void LANGUAGE sql AS $$
  INSERT INTO tallies (what, part, rows) VALUES (counted, pg_backend_pid() % 16, change)
  ON CONFLICT (what, part) DO UPDATE SET rows = tallies.rows + excluded.rows
$$;
CREATE FUNCTION count_link() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM tally(new.state, 1);
  ELSIF TG_OP = 'DELETE' THEN
    PERFORM tally(old.state, -1);
  ELSIF new.state < old.state THEN -- in one order, so that two never wait for each other
    PERFORM tally(new.state, 1);
    PERFORM tally(old.state, -1);
  ELSE
    PERFORM tally(old.state, -1);
    PERFORM tally(new.state, 1);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER links_counted AFTER INSERT OR DELETE ON links FOR EACH ROW EXECUTE FUNCTION count_link();
CREATE TRIGGER links_counted_over AFTER UPDATE OF state ON links FOR EACH ROW
  WHEN (new.state <> old.state) EXECUTE FUNCTION count_link();

-- Triggers keep the history, so that no way of writing a link can forget it.
CREATE TABLE link_states (
  legacy_id byte_text NOT NULL,
  -- Of the link, which rises with each of its changes.
  revision BIGINT NOT NULL,
  at BIGINT NOT NULL,
  state byte_text NOT NULL,
  legacy_state byte_text NOT NULL,
  order_status byte_text,
  PRIMARY KEY (legacy_id, revision)
);
-- An order in which somebody wrote a NUL is JSON that this server can't look into: then the first status in it is taken.
CREATE FUNCTION status_of(order_json TEXT) RETURNS TEXT LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN order_json::json ->> 'status';
EXCEPTION WHEN OTHERS THEN
  RETURN substring(order_json FROM '"status":"([a-z_]+)"');
END $$;
CREATE FUNCTION note_link_state() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  status TEXT := status_of(new.order_json);
BEGIN
  IF TG_OP = 'UPDATE' AND new.state = old.state AND new.legacy_state = old.legacy_state
    AND (new.order_json IS NOT DISTINCT FROM old.order_json OR status IS NOT DISTINCT FROM status_of(old.order_json))
  THEN RETURN NULL; END IF;
  INSERT INTO link_states (legacy_id, revision, at, state, legacy_state, order_status)
  VALUES (new.legacy_id, new.revision, new.updated_at, new.state, new.legacy_state, status);
  RETURN NULL;
END $$;
CREATE TRIGGER links_began AFTER INSERT ON links FOR EACH ROW EXECUTE FUNCTION note_link_state();
CREATE TRIGGER links_went_on AFTER UPDATE OF state, legacy_state, order_json ON links
  FOR EACH ROW EXECUTE FUNCTION note_link_state();

CREATE TABLE notices (
  rowid BIGINT GENERATED ALWAYS AS IDENTITY,
  id byte_text PRIMARY KEY,
  legacy_id byte_text NOT NULL REFERENCES links (legacy_id),
  merchant_id byte_text NOT NULL,
  sequence BIGINT NOT NULL,
  topic byte_text NOT NULL CHECK (topic IN ('point', 'payment', 'merchant_order')),
  -- IPN and webhook of one sale are deliveries of their own, each in its own order.
  form byte_text NOT NULL CHECK (form IN ('point', 'ipn', 'webhook')),
  -- The id the notice is about: an intent, a payment or a merchant order.
  subject byte_text NOT NULL,
  body byte_text NOT NULL,
  state byte_text NOT NULL CHECK (state IN ('pending', 'delivered', 'dead')),
  -- 1 for the first pending notice of its link and form; the others wait, and must cost nothing while they do.
  is_next INTEGER NOT NULL CHECK (is_next IN (0, 1)),
  -- 1 once an operator has asked for it again: it waits for nothing in its link, and nothing waits for it.
  replayed INTEGER NOT NULL DEFAULT 0 CHECK (replayed IN (0, 1)),
  attempts BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  next_attempt_at BIGINT NOT NULL,
  UNIQUE (legacy_id, sequence)
);
CREATE INDEX notices_due ON notices (next_attempt_at, created_at, sequence) WHERE state = 'pending' AND is_next = 1;
-- One merchant's backlog must not hide the others', nor be read past again and again.
CREATE INDEX notices_due_by_merchant ON notices (merchant_id, next_attempt_at, created_at, sequence)
  WHERE state = 'pending' AND is_next = 1;
CREATE INDEX notices_pending ON notices (merchant_id) WHERE state = 'pending';
CREATE INDEX notices_by_time ON notices (created_at);
CREATE INDEX notices_by_merchant ON notices (merchant_id, created_at);
CREATE INDEX notices_by_state ON notices (state, created_at);

CREATE TABLE notice_attempts (
  rowid BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  notice_id byte_text NOT NULL REFERENCES notices (id),
  at BIGINT NOT NULL,
  duration_ms BIGINT NOT NULL,
  outcome byte_text NOT NULL CHECK (outcome IN ('delivered', 'theirs', 'ours')),
  status BIGINT,
  detail byte_text NOT NULL,
  -- Where it went, without the URL's path and parameters, which may be keys.
  url byte_text
);
CREATE INDEX notice_attempts_by_notice ON notice_attempts (notice_id);

CREATE TABLE events (
  sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  received_at BIGINT NOT NULL,
  order_id byte_text,
  reference byte_text,
  user_id byte_text,
  verified INTEGER NOT NULL CHECK (verified IN (0, 1)),
  action byte_text NOT NULL,
  state byte_text NOT NULL CHECK (state IN ('pending', 'parked', 'done', 'expired')),
  attempts BIGINT NOT NULL,
  next_attempt_at BIGINT NOT NULL
);
CREATE INDEX events_due ON events (next_attempt_at, sequence) WHERE state = 'pending';
CREATE INDEX events_parked_order ON events (order_id) WHERE state = 'parked';
CREATE INDEX events_parked_reference ON events (left(reference, 200)) WHERE state = 'parked';
CREATE INDEX events_parked_rank ON events (verified, sequence) WHERE state = 'parked';
CREATE INDEX events_over ON events (received_at) WHERE state IN ('done', 'expired');
CREATE INDEX events_by_order ON events (order_id) WHERE order_id IS NOT NULL;
CREATE INDEX events_by_reference ON events (left(reference, 200)) WHERE reference IS NOT NULL;
CREATE INDEX events_unmatched ON events (sequence) WHERE state IN ('parked', 'expired');
CREATE FUNCTION count_parked() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tally('parked', CASE WHEN TG_OP <> 'DELETE' AND new.state = 'parked' THEN 1 ELSE -1 END);
  RETURN NULL;
END $$;
CREATE TRIGGER events_parked AFTER UPDATE OF state ON events FOR EACH ROW
  WHEN (new.state <> old.state AND 'parked' IN (new.state, old.state)) EXECUTE FUNCTION count_parked();
CREATE TRIGGER events_unparked AFTER DELETE ON events FOR EACH ROW
  WHEN (old.state = 'parked') EXECUTE FUNCTION count_parked();

-- Which store has taken a row to work on. Apart from the rows themselves, so that what is not taken pays nothing for it.
CREATE TABLE leases (
  what byte_text NOT NULL CHECK (what IN ('link', 'notice', 'event')),
  id byte_text NOT NULL,
  holder byte_text NOT NULL,
  until TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (what, id)
);
CREATE INDEX leases_ended ON leases (until);

CREATE TABLE audit (
  sequence BIGINT PRIMARY KEY,
  at BIGINT NOT NULL,
  who byte_text NOT NULL,
  action byte_text NOT NULL,
  subject byte_text NOT NULL,
  reason byte_text NOT NULL,
  detail byte_text NOT NULL,
  hash byte_text NOT NULL
);
CREATE TRIGGER audit_not_changed BEFORE UPDATE ON audit
  FOR EACH ROW EXECUTE FUNCTION refuse_change('an audit line can not be changed');
CREATE TRIGGER audit_not_deleted BEFORE DELETE ON audit
  FOR EACH ROW EXECUTE FUNCTION refuse_change('an audit line can not be deleted');
CREATE INDEX audit_by_subject ON audit (subject);
CREATE INDEX audit_by_action ON audit (action);

CREATE TABLE refunds (
  id byte_text PRIMARY KEY,
  -- What the till sees when the service gives no number of its own.
  number BIGINT NOT NULL UNIQUE,
  legacy_id byte_text NOT NULL REFERENCES links (legacy_id),
  merchant_id byte_text NOT NULL,
  payment_id byte_text NOT NULL,
  client_key byte_text,
  fingerprint byte_text NOT NULL,
  -- Null asks for everything that is left.
  amount_minor BIGINT,
  -- What had been refunded before, so that an unknown outcome can be told from a read.
  refunded_before_minor BIGINT NOT NULL,
  idempotency_key byte_text NOT NULL,
  state byte_text NOT NULL CHECK (state IN ('SENDING', 'IN_DOUBT', 'DONE', 'REFUSED', 'NOT_SENT')),
  upstream_id byte_text,
  reference_id byte_text,
  refunded_minor BIGINT,
  upstream_status byte_text,
  -- When the till's answer had left; null means that it may repeat itself because it heard nothing.
  told_at BIGINT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  revision BIGINT NOT NULL CHECK (revision >= 1)
);
-- One refund of a payment at a time: a second one could not be told from the first when its outcome is unknown.
CREATE UNIQUE INDEX refunds_open ON refunds (legacy_id) WHERE state IN ('SENDING', 'IN_DOUBT');
CREATE INDEX refunds_by_link ON refunds (legacy_id, created_at);
-- A person has the number that the till was told, or the service's own id.
CREATE INDEX refunds_by_upstream ON refunds (upstream_id) WHERE upstream_id IS NOT NULL;
CREATE INDEX refunds_by_number ON refunds (reference_id) WHERE reference_id IS NOT NULL;

CREATE TABLE legacy_sales (
  -- Order of writing, which tells the earlier of two sales of one millisecond.
  sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id byte_text NOT NULL UNIQUE,
  merchant_id byte_text NOT NULL,
  family byte_text NOT NULL CHECK (family IN ('point', 'qr')),
  work byte_text NOT NULL CHECK (work IN ('sale', 'refund')),
  unit byte_text NOT NULL,
  slot byte_text,
  legacy_id byte_text,
  client_reference byte_text,
  state byte_text NOT NULL CHECK (state IN ('SENDING', 'IN_DOUBT', 'OPEN', 'ENDED', 'REFUSED')),
  unproven_token byte_text,
  ends_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
-- Every create on orders looks here first.
CREATE INDEX legacy_sales_holding ON legacy_sales (merchant_id, slot, ends_at)
  WHERE slot IS NOT NULL AND state IN ('SENDING', 'IN_DOUBT', 'OPEN');
CREATE INDEX legacy_sales_until ON legacy_sales (merchant_id, ends_at)
  WHERE slot IS NOT NULL AND state IN ('SENDING', 'IN_DOUBT', 'OPEN');
CREATE INDEX legacy_sales_by_age ON legacy_sales (created_at);
CREATE INDEX legacy_sales_by_legacy ON legacy_sales USING hash (legacy_id) WHERE legacy_id IS NOT NULL;
CREATE INDEX legacy_sales_by_reference ON legacy_sales (merchant_id, left(client_reference, 200))
  WHERE client_reference IS NOT NULL;

CREATE TABLE exchanges (
  sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id byte_text NOT NULL UNIQUE,
  at BIGINT NOT NULL,
  merchant_id byte_text,
  operation byte_text,
  kind byte_text,
  lane byte_text NOT NULL CHECK (lane IN ('legacy', 'orders')),
  stage byte_text NOT NULL,
  unit byte_text,
  legacy_id byte_text,
  status BIGINT NOT NULL,
  error byte_text,
  outcome byte_text NOT NULL CHECK (outcome IN ('ok', 'business', 'auth', 'fault')),
  duration_ms DOUBLE PRECISION NOT NULL,
  tables_revision byte_text NOT NULL,
  -- JSON from here on; an empty list is null.
  upstream byte_text,
  fired byte_text,
  losses byte_text,
  lost byte_text,
  unknown byte_text,
  shadow byte_text,
  signatures byte_text,
  messages byte_text,
  -- JSON list of numbers, null where they were not counted.
  limitations byte_text
);
CREATE INDEX exchanges_by_merchant ON exchanges (merchant_id, sequence);
CREATE INDEX exchanges_by_legacy ON exchanges USING hash (legacy_id) WHERE legacy_id IS NOT NULL;
CREATE INDEX exchanges_by_time ON exchanges (at);
CREATE INDEX exchanges_captured ON exchanges (merchant_id, sequence) WHERE messages IS NOT NULL;
CREATE INDEX exchanges_captured_by_time ON exchanges (at) WHERE messages IS NOT NULL;
-- Which sequences an hour's exchanges lie between: a page of a period starts and ends near it without a sort.
CREATE TABLE exchange_hours (
  hour BIGINT PRIMARY KEY,
  first_sequence BIGINT NOT NULL,
  last_sequence BIGINT NOT NULL
);
CREATE FUNCTION place_exchange() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO exchange_hours (hour, first_sequence, last_sequence)
  VALUES (new.at / 3600000, new.sequence, new.sequence)
  ON CONFLICT (hour) DO UPDATE SET last_sequence = excluded.last_sequence;
  RETURN NULL;
END $$;
CREATE TRIGGER exchanges_placed AFTER INSERT ON exchanges FOR EACH ROW EXECUTE FUNCTION place_exchange();

-- Sums of exchanges; each is written in the transaction of its exchanges, and outlives them.
CREATE TABLE traffic (
  merchant_id byte_text NOT NULL,
  day BIGINT NOT NULL,
  operation byte_text NOT NULL,
  kind byte_text NOT NULL,
  lane byte_text NOT NULL,
  outcome byte_text NOT NULL,
  calls BIGINT NOT NULL,
  PRIMARY KEY (merchant_id, day, operation, lane, outcome)
);
CREATE INDEX traffic_by_day ON traffic (day);
CREATE TABLE seen_units (
  merchant_id byte_text NOT NULL,
  slot byte_text NOT NULL,
  first_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  calls BIGINT NOT NULL,
  last_lane byte_text NOT NULL
);
CREATE UNIQUE INDEX seen_units_by_name ON seen_units (merchant_id, md5(slot));
CREATE TABLE ledger (
  merchant_id byte_text NOT NULL,
  operation byte_text NOT NULL,
  "table" byte_text NOT NULL,
  path byte_text NOT NULL,
  why byte_text NOT NULL,
  weight byte_text NOT NULL CHECK (weight IN ('money', 'identity', 'other')),
  count BIGINT NOT NULL,
  would_be_count BIGINT NOT NULL,
  first_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  sample byte_text NOT NULL,
  tables_revision byte_text NOT NULL,
  PRIMARY KEY (merchant_id, operation, "table", path)
);
CREATE TABLE coverage (
  merchant_id byte_text NOT NULL,
  operation byte_text NOT NULL,
  field byte_text NOT NULL,
  equal BIGINT NOT NULL,
  different BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  PRIMARY KEY (merchant_id, operation, field)
);
CREATE TABLE differences (
  merchant_id byte_text NOT NULL,
  signature byte_text NOT NULL,
  operation byte_text NOT NULL,
  what byte_text NOT NULL CHECK (what IN ('verdict', 'error', 'value')),
  path byte_text NOT NULL,
  legacy byte_text NOT NULL,
  orders byte_text NOT NULL,
  state byte_text NOT NULL CHECK (state IN ('new', 'explained', 'accepted', 'fixed')),
  accepted_until BIGINT,
  note byte_text NOT NULL,
  who byte_text,
  count BIGINT NOT NULL,
  first_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  sample byte_text NOT NULL,
  tables_revision byte_text NOT NULL,
  revision BIGINT NOT NULL CHECK (revision >= 1),
  PRIMARY KEY (merchant_id, signature)
);
-- Here the merchant is '' where no token told whose call it was.
CREATE TABLE unknowns (
  merchant_id byte_text NOT NULL,
  what byte_text NOT NULL CHECK (what IN ('endpoint', 'field', 'header')),
  name byte_text NOT NULL,
  count BIGINT NOT NULL,
  first_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX unknowns_by_name ON unknowns (merchant_id, what, md5(name));
-- '' stands for none.
CREATE TABLE verdicts (
  merchant_id byte_text NOT NULL,
  operation byte_text NOT NULL,
  verdict byte_text NOT NULL CHECK (verdict IN ('accepted', 'refused_here', 'refused_there')),
  code byte_text NOT NULL,
  error byte_text NOT NULL,
  detail byte_text NOT NULL,
  count BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  sample byte_text NOT NULL
);
CREATE UNIQUE INDEX verdicts_by_content ON verdicts 
  (merchant_id, operation, verdict, md5(code), md5(error), md5(detail));
CREATE TABLE shed (
  day BIGINT NOT NULL,
  reason byte_text NOT NULL CHECK (reason IN ('shadow', 'evidence')),
  count BIGINT NOT NULL,
  PRIMARY KEY (day, reason)
);

CREATE TABLE proposals (
  sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id byte_text NOT NULL UNIQUE,
  merchant_id byte_text NOT NULL,
  move byte_text NOT NULL,
  reason byte_text NOT NULL,
  proposed_by byte_text NOT NULL,
  proposed_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  state byte_text NOT NULL CHECK (state IN ('waiting', 'approved', 'declined', 'expired', 'withdrawn')),
  decided_by byte_text,
  decided_at BIGINT
);
CREATE INDEX proposals_by_merchant ON proposals (merchant_id);
CREATE INDEX proposals_by_state ON proposals (state);

CREATE TABLE bulk_moves (
  sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id byte_text NOT NULL UNIQUE,
  move byte_text NOT NULL,
  reason byte_text NOT NULL,
  who byte_text NOT NULL,
  per_day BIGINT NOT NULL,
  items byte_text NOT NULL,
  state byte_text NOT NULL CHECK (state IN ('running', 'stopped', 'done', 'aborted')),
  detail byte_text NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  revision BIGINT NOT NULL CHECK (revision >= 1)
);
CREATE INDEX bulk_moves_by_state ON bulk_moves (state);
