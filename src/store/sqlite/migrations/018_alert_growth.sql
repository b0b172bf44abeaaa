-- Incidents that grow are announced again, and an incident may close although it is not over.

-- What the incident counted when it was last announced.
ALTER TABLE incidents ADD COLUMN announced INTEGER NOT NULL DEFAULT 0;
UPDATE incidents SET announced = count;

ALTER TABLE alerts RENAME TO alerts_before;
CREATE TABLE alerts (
  sequence INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  incident_id TEXT NOT NULL,
  receiver TEXT NOT NULL,
  event TEXT NOT NULL CHECK (event IN ('opened', 'grown', 'recovered', 'unwatched')),
  state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  attempts INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  next_attempt_at INTEGER NOT NULL,
  detail TEXT
) STRICT;
INSERT INTO alerts SELECT * FROM alerts_before;
DROP TABLE alerts_before;
CREATE INDEX alerts_by_incident ON alerts (incident_id);
CREATE INDEX alerts_by_receiver ON alerts (receiver, state, sequence);
