-- Incidents, and the alerts that go out for them.

CREATE TABLE incidents (
  id byte_text PRIMARY KEY,
  kind byte_text NOT NULL,
  -- '' for the whole installation.
  merchant_id byte_text NOT NULL,
  -- What a merchant's incidents of one kind are grouped by; '' where nothing divides them.
  subject byte_text NOT NULL,
  opened_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  closed_at BIGINT,
  closed_by byte_text,
  count BIGINT NOT NULL,
  sample byte_text,
  reason byte_text NOT NULL,
  -- The newest line of the audit chain that it counts; 0 without one.
  line BIGINT NOT NULL
);
CREATE UNIQUE INDEX incidents_open ON incidents (kind, merchant_id, subject) WHERE closed_at IS NULL;
CREATE INDEX incidents_by_merchant ON incidents (merchant_id);
CREATE INDEX incidents_by_line ON incidents (line);
CREATE INDEX incidents_by_time ON incidents (opened_at, id);
CREATE INDEX incidents_closed ON incidents (closed_at) WHERE closed_at IS NOT NULL;

CREATE TABLE alerts (
  sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id byte_text NOT NULL UNIQUE,
  incident_id byte_text NOT NULL,
  receiver byte_text NOT NULL,
  event byte_text NOT NULL CHECK (event IN ('opened', 'recovered')),
  state byte_text NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  attempts BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  next_attempt_at BIGINT NOT NULL,
  detail byte_text
);
CREATE INDEX alerts_by_incident ON alerts (incident_id);
CREATE INDEX alerts_by_receiver ON alerts (receiver, state, sequence);

-- Paid sales of which their till does not know: a row goes in with the payment and out with the acknowledgement.
CREATE INDEX links_paid_unheard ON links (merchant_id, legacy_state_at, legacy_id)
  WHERE state = 'DONE' AND heard_by IS NULL AND (legacy_state = 'FINISHED' OR legacy_state = 'paid');
