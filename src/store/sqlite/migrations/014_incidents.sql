-- Incidents, and the alerts that go out for them.

CREATE TABLE incidents (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  -- '' for the whole installation.
  merchant_id TEXT NOT NULL,
  -- What a merchant's incidents of one kind are grouped by; '' where nothing divides them.
  subject TEXT NOT NULL,
  opened_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  closed_at INTEGER,
  closed_by TEXT,
  count INTEGER NOT NULL,
  sample TEXT,
  reason TEXT NOT NULL,
  -- The newest line of the audit chain that it counts; 0 without one.
  line INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX incidents_open ON incidents (kind, merchant_id, subject) WHERE closed_at IS NULL;
CREATE INDEX incidents_by_merchant ON incidents (merchant_id);
CREATE INDEX incidents_by_line ON incidents (line);
CREATE INDEX incidents_by_time ON incidents (opened_at, id);
CREATE INDEX incidents_closed ON incidents (closed_at) WHERE closed_at IS NOT NULL;

CREATE TABLE alerts (
  sequence INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  incident_id TEXT NOT NULL,
  receiver TEXT NOT NULL,
  event TEXT NOT NULL CHECK (event IN ('opened', 'recovered')),
  state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  attempts INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  next_attempt_at INTEGER NOT NULL,
  detail TEXT
) STRICT;
CREATE INDEX alerts_by_incident ON alerts (incident_id);
CREATE INDEX alerts_by_receiver ON alerts (receiver, state, sequence);

-- Paid sales of which their till does not know: a row goes in with the payment and out with the acknowledgement.
CREATE INDEX links_paid_unheard ON links (merchant_id, legacy_state_at, legacy_id)
  WHERE state = 'DONE' AND heard_by IS NULL AND (legacy_state = 'FINISHED' OR legacy_state = 'paid');
