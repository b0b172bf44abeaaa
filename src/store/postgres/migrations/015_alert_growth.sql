-- Incidents that grow are announced again, and an incident may close although it is not over.

-- What the incident counted when it was last announced.
ALTER TABLE incidents ADD COLUMN announced BIGINT NOT NULL DEFAULT 0;
UPDATE incidents SET announced = count;

ALTER TABLE alerts DROP CONSTRAINT alerts_event_check;
ALTER TABLE alerts ADD CONSTRAINT alerts_event_check CHECK (event IN ('opened', 'grown', 'recovered', 'unwatched'));
